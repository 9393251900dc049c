"""What the program does between an outermost call and backward: the loss, term by term, without a hook in the model.

A function mode lies at the bottom of torch's stack of modes only there, so that whatever the program itself enters and leaves stays in its
order. It sees calls, not the operations inside them, and nothing inside a compiled function: with one of those it stays away.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
calls: Any = hook.load("_bitten_probes.nan_calls")

STACK = ("_len_torch_function_stack", "_pop_torch_function_stack", "_push_on_torch_function_stack")
MOST, MOST_TERMS = 256, 8
LARGE = 1 << 22
"""Elements of a tensor above which it is not kept: its call is then left out of the replay."""
MOST_HELD = 1 << 26


class Ref:
    """A tensor that a call was given: made by an earlier call (`record`, `slot`), or from outside. Its values without its graph."""

    def __init__(self, record: int | None, slot: int, tensor: Any) -> None:
        self.record, self.slot, self.value, self.has_grad, self.key = record, slot, tensor.detach(), bool(tensor.requires_grad), id(tensor)


class Record:
    """One call of a torch function or method.

    Of tensors it keeps the values alone, from the first: a loop may fail, free its memory and begin anew untold, and a graph that we held
    would then be too much.
    """

    def __init__(self, call: Any, owners: dict[int, tuple[Any, int, int]], number: int) -> None:
        func, args, kwargs, out, lines = call
        self.func, self.lines = func, lines
        self.args, self.kwargs = (calls.changed(each, lambda tensor: _ref(tensor, owners)) for each in (args, kwargs))
        made = list(calls.tensors(out, 2))
        self.outs = [each.detach() for each in made]
        for slot, each in enumerate(made):
            owners[id(each)] = (weakref.ref(each), number, slot)

    @property
    def name(self) -> str:
        return name_of(self.func)

    @property
    def is_in_place(self) -> bool:
        name = str(getattr(self.func, "__name__", ""))
        writes = name.startswith("__i") if name.startswith("__") else name.endswith("_")
        return (writes and name != "__invert__") or "out" in self.kwargs

    def refs(self) -> list[Ref]:
        return list(_refs((self.args, self.kwargs)))


def name_of(func: Any) -> str:
    return str(getattr(func, "__name__", "")).strip("_")


def _refs(nest: Any) -> Iterator[Ref]:
    if isinstance(nest, Ref):
        yield nest
    elif isinstance(nest, dict):
        for each in nest.values():
            yield from _refs(each)
    elif isinstance(nest, (list, tuple)):
        for each in nest:
            yield from _refs(each)


def _ref(tensor: Any, owners: dict[int, tuple[Any, int, int]]) -> Ref:
    record, slot = _owner(tensor, owners)
    return Ref(record, slot, tensor)


def _owner(tensor: Any, owners: dict[int, tuple[Any, int, int]]) -> tuple[int | None, int]:
    alive, record, slot = owners.get(id(tensor), (None, 0, 0))
    return (record, slot) if alive is not None and alive() is tensor else (None, 0)


class State:
    """The calls since the last step, and which of them made which tensor that still lives."""

    def __init__(self) -> None:
        self.mode: Any = None
        self.is_open = self.is_pushed = False
        self.is_allowed = True
        self.records: list[Record] = []
        self.owners: dict[int, tuple[Any, int, int]] = {}
        self.held = 0


Window = State()
_inherited: list[Any] = []


def owner(tensor: Any) -> tuple[int | None, int]:
    """Which record made this very tensor, and as which of its results."""
    return _owner(tensor, Window.owners)


def install(torch: Any) -> None:
    overrides = sys.modules.get("torch.overrides")
    if not all(hasattr(torch._C, name) for name in STACK):  # a torch before 2.0
        return
    Window.mode = _mode(overrides)
    bus.wrap("nan", torch, "compile", _compiling)


def _compiling(args: Any, kwargs: Any) -> None:
    """A compiled function's guards look at torch's stack of modes. (A module is called as a whole: the window is shut meanwhile.)"""
    model = args[0] if args else kwargs.get("model")
    if not isinstance(model, sys.modules["torch"].nn.Module):
        Window.is_allowed = False


def _mode(overrides: Any) -> Any:
    class LossWindow(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            if Window.is_open:
                _note(func, args, kwargs or {}, out)
            return out

    return LossWindow()


def _note(func: Any, args: Any, kwargs: Any, out: Any) -> None:
    """On the way of each call in the window, so it only counts what it holds."""
    try:
        kind = sys.modules["torch"].Tensor
        if not isinstance(out, kind) and next(calls.tensors(out, 2), None) is None:
            return
        size = out.numel() if isinstance(out, kind) else 0
        for each in args:
            size += each.numel() if isinstance(each, kind) else 0
        if size <= LARGE:
            Window.records.append(Record((func, args, kwargs, out, calls.raw_lines(3)), Window.owners, len(Window.records)))
            Window.held += size
            Window.is_open = _has_room()
    except Exception as error:  # the window stays shut, and the program goes on
        Window.is_open = Window.is_allowed = False
        hook.emit("hookerr", where="instrument nan at the loss", err=f"{type(error).__name__}: {str(error)[:200]}")


def open() -> None:
    if Window.mode is None or not Window.is_allowed:
        return
    if not Window.is_pushed:
        _insert()
        Window.is_pushed = True
    Window.is_open = _has_room()


def _has_room() -> bool:
    return len(Window.records) < MOST and Window.held < MOST_HELD


def close() -> None:
    """Inside a call that the window itself forwards, its mode is off the stack: then it is shut now and removed at the next occasion."""
    Window.is_open = False
    if Window.is_pushed:
        Window.is_pushed = not _remove()


def forked() -> None:
    """What lies on a device is the parent's to free; the mode is on the child's stack too."""
    _inherited.append(Window.records)
    clear()


def clear() -> None:
    Window.records, Window.owners, Window.held = [], {}, 0


def _insert() -> None:
    """Below all others, but above torch's default device, which must lie lowest."""
    core = sys.modules["torch"]._C
    others = [core._pop_torch_function_stack() for _ in range(core._len_torch_function_stack())]
    if others and type(others[-1]).__name__ == "DeviceContext":
        core._push_on_torch_function_stack(others.pop())
    core._push_on_torch_function_stack(Window.mode)
    for each in reversed(others):
        core._push_on_torch_function_stack(each)


def _remove() -> bool:
    core = sys.modules["torch"]._C
    others = [core._pop_torch_function_stack() for _ in range(core._len_torch_function_stack())]
    for each in reversed(others):
        if each is not Window.mode:
            core._push_on_torch_function_stack(each)
    return any(each is Window.mode for each in others)


def terms() -> list[tuple[Any, str, Any]]:
    """The numbers that the program made on its way to the loss: value, function, raw lines."""
    found = [each for each in Window.records if len(each.outs) == 1 and _is_number(each.outs[0])]
    return [(each.outs[0], each.name, each.lines) for each in found[-MOST_TERMS:]]


def _is_number(out: Any) -> bool:
    return isinstance(out, sys.modules["torch"].Tensor) and out.dim() == 0 and out.is_floating_point()

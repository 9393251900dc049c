"""Follows every operation of a replay and names the one at which the first number stopped being finite.

NaN out of operands without NaN is the origin, not "NaN out of finite operands": a softmax over a row that is masked throughout gets -Inf.
Inf is followed too, to say "Inf at A, NaN at B"; the -Inf of a mask is no origin. What a tensor inherits is known by its storage, so it
reads every result: for a replay alone. Loaded after a trip; knows nothing of what runs inside one fused operation.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
calls: Any = hook.load("_bitten_probes.nan_calls")
torch: Any = sys.modules["torch"]

FILLS = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "full", "full_like", "new_full", "scalar_tensor",
         "fill_", "fill", "masked_fill", "masked_fill_", "lift_fresh", "lift_fresh_copy")  # fmt: skip
HALF = (torch.float16, torch.bfloat16)


class Collective(Exception):  # noqa: N818 - it is no error of ours
    """The replay was about to wait for other ranks."""


class Event:
    """Where a number stopped being finite: at an operation, or in something that came from outside (`source`: kind and name)."""

    def __init__(self, what: str, op: str, lines: Any, module: Any, dtype: Any, source: tuple[str, str, Any] | None = None) -> None:
        self.what, self.op, self.lines, self.module, self.dtype, self.source = what, op, lines, module, dtype, source
        self.overflow = what == "inf" and dtype in HALF and source is None
        self.is_fill = False
        self.earlier: Event | None = None  # the Inf that this NaN was made of

    def origin(self) -> Event:
        return self if self.earlier is None or self.earlier.is_fill else self.earlier

    def chain(self) -> str:
        first = self.origin()
        name = first.op or (first.source[1] if first.source is not None else "")
        return f"Inf at {name} -> NaN at {self.op}" if first is not self else ""


def finder(sources: dict[int, tuple[str, str, Any]]) -> Any:
    """A dispatch mode; `sources` are the storages of what the replay was given: kind, name, tensor."""
    base: Any = __import__("torch.utils._python_dispatch", fromlist=["TorchDispatchMode"]).TorchDispatchMode

    class Finder(base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.taints: dict[int, Event] = {}
            self.first: Event | None = None

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = _alone(func)
            given = [each for each in calls.tensors((args, kwargs or {}), 3) if calls.is_float(each)]
            before = [_state(each) for each in given] if func._schema.is_mutable else None
            out = func(*args, **(kwargs or {}))
            self._look(name, args, given, before, out)
            return out

        def _look(self, name: str, args: Any, given: list[Any], before: Any, out: Any) -> None:
            for each in calls.tensors(out, 3):
                if not calls.is_float(each):
                    continue
                state, key = _state(each), _key(each)
                if not state:
                    if all(_key(one) != key for one in given):
                        self.taints.pop(key, None)
                    continue
                event = self._event(name, args, given, before or [_state(one) for one in given], state, each)
                self.taints[key] = event
                if self.first is None and not event.is_fill:
                    self.first = event

        def _event(self, name: str, args: Any, given: list[Any], states: Any, state: str, out: Any) -> Event:
            like = [one for one, its in zip(given, states) if its == state and one is not None]
            if like:
                return self._inherited(like, state, name)
            made = Event(state, name, calls.raw_lines(4), _module(sys._getframe(3)), out.dtype)
            if name in FILLS or _has_endless(args):
                made.is_fill = True
            elif state == "nan":
                endless = [one for one, its in zip(given, states) if its == "inf"]
                made.earlier = self._inherited(endless, "inf", name) if endless else None
            return made

        def _inherited(self, given: list[Any], state: str, name: str) -> Event:
            """What an operand brought with it; of several the one that an operation made."""
            known = [self.taints[_key(each)] for each in given if _key(each) in self.taints]
            if known:
                return next((each for each in known if not each.is_fill), known[0])
            kind, label, tensor = sources.get(_key(given[0]), ("outside", "", given[0]))
            found = Event(state, "", calls.raw_lines(5), _module(sys._getframe(4)), given[0].dtype, (kind, label, tensor))
            may_mask = state == "inf" and kind in ("input", "buffer", "outside")
            found.is_fill = may_mask and not bool((given[0].detach() == float("inf")).any())
            found.reader = name  # type: ignore[attr-defined]
            return found

    return Finder()


def refusing() -> Any:
    """A dispatch mode under which nothing waits for other ranks: for a replay's backward."""
    base: Any = __import__("torch.utils._python_dispatch", fromlist=["TorchDispatchMode"]).TorchDispatchMode

    class Refusing(base):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            _alone(func)
            return func(*args, **(kwargs or {}))

    return Refusing()


def _alone(func: Any) -> str:
    """The operation's name, if it needs no other rank."""
    space, _, name = str(func._schema.name).partition("::")
    if space in ("c10d", "_c10d_functional", "_c10d_functional_autograd"):
        raise Collective(name)
    return name


def _state(tensor: Any) -> str:
    data = tensor.detach()
    if bool(torch.isfinite(data).all()):
        return ""
    return "nan" if bool(torch.isnan(data).any()) else "inf"


def _key(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _has_endless(args: Any) -> bool:
    """Whether the caller wrote Inf or NaN as a number: a mask by intention."""
    return any(isinstance(each, float) and not abs(each) < float("inf") for each in args)


def _module(frame: Any) -> Any:
    """The innermost module that is being called."""
    while frame is not None:
        if frame.f_code is _CALL:
            return frame.f_locals.get("self")
        frame = frame.f_back
    return None


_CALL = torch.nn.Module._call_impl.__code__


# ---------------------------------------------------------------------------------------------- backward


class Nodes:
    """The graph that a replay builds: each node with the module in which it was made, and the first that turned gradients bad."""

    def __init__(self) -> None:
        self.of: dict[Any, Any] = {}  # node -> whatever it was tagged with
        self.bad: Event | None = None
        self.last: Event | None = None

    def tag(self, outs: Any, label: Any) -> None:
        """All nodes that lead to these tensors and that nobody has tagged."""
        ahead = [each.grad_fn for each in calls.tensors(outs) if each.grad_fn is not None]
        while ahead:
            node = ahead.pop()
            if node not in self.of:
                self.of[node] = label
                ahead += [each for each, _ in node.next_functions if each is not None]

    def watch(self) -> list[Any]:
        inner = [(node, label) for node, label in self.of.items() if type(node).__name__ != "AccumulateGrad"]
        return [node.register_hook(self._hook(node, label)) for node, label in inner]

    def _hook(self, node: Any, label: Any) -> Any:
        def look(made: Any, given: Any) -> None:
            if self.bad is not None and self.bad.what == "nan":
                return
            out = _worst(made)
            if out and (_worst(given) != out):
                dtype = next((each.dtype for each in made if each is not None), None)
                event = Event(out, type(node).__name__, _lines_of(node), label, dtype)
                if self.bad is None:
                    self.bad = event
                else:
                    event.earlier, self.bad = self.bad, event

        return look


def _worst(grads: Any) -> str:
    states = [_state(each) for each in grads if each is not None and calls.is_float(each)]
    return "nan" if "nan" in states else "inf" if "inf" in states else ""


def _lines_of(node: Any) -> list[str]:
    """The traceback that torch's anomaly mode keeps of where the node was made."""
    try:
        return list(node.metadata.get("traceback_", ()))
    except AttributeError:  # a node that has none
        return []

"""Which tensors come from an outermost module's output: they share its memory, or are a known copy of it.

A storage is known by a weak reference of torch's own, which keeps nothing alive and lets no other storage take its name. Which dimension
of an output holds the classes is learnt from the loss calls on it. Copies that nobody told of (a mask, an index) are not known.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")

MOST = 256
MANY = 4
"""Tensors of one output that are followed."""


class Root:
    """What is known of an outermost module: how it was called, and what its outputs are."""

    def __init__(self) -> None:
        self.class_dim: dict[int, int] = {}
        self.losses: set[str] = set()


class Output:
    """One tensor that a root gave: which root, the how many-eth of its tensors, and how it lay in memory."""

    def __init__(self, root: Any, at: int, tensor: Any, reference: Any) -> None:
        self.root, self.at, self.weak = root, at, reference
        self.shape, self.strides = tuple(tensor.shape), tuple(tensor.stride())


_roots: Any = weakref.WeakKeyDictionary()
_outputs: dict[int, Output] = {}
_installed: list[bool] = []


def install() -> None:
    """Once, by each instrument that asks."""
    if not _installed:
        _installed.append(True)
        bus.listen("outputs", root_post=_root_post, forked=_outputs.clear)


def _root_post(module: Any, args: Any, kwargs: Any, out: Any) -> None:
    known = _roots.get(module)
    if known is None:
        known = _roots[module] = Root()
    for at, tensor in enumerate(tensors(out)):
        follow(tensor, known, at)


def follow(tensor: Any, root: Root, at: int) -> None:
    name = storage(tensor)
    if name:
        _outputs.pop(name, None)
        _outputs[name] = Output(root, at, tensor, weak(tensor))
        if len(_outputs) > MOST:
            del _outputs[next(iter(_outputs))]


def of(tensor: Any) -> Output | None:
    """The output that this tensor is, or is a view of."""
    return _outputs.get(storage(tensor)) if _outputs else None


def tensors(nest: Any) -> list[Any]:
    """The first few plain tensors of what a module gave."""
    if is_plain(nest):
        return [nest]
    items = nest.values() if isinstance(nest, dict) else nest if isinstance(nest, (tuple, list)) else ()
    found: list[Any] = []
    for item in items:
        found.extend([item] if is_plain(item) else [each for each in item if is_plain(each)] if type(item) in (tuple, list) else [])
        if len(found) >= MANY:
            break
    return found[:MANY]


def is_plain(value: Any) -> bool:
    """A tensor with memory of its own that may be read: none of a subclass, of a transform such as vmap, or without data."""
    torch = sys.modules["torch"]
    if type(value) is not torch.Tensor and type(value) is not torch.nn.Parameter:
        return False
    return value.layout is torch.strided and not value.is_meta and not _is_wrapped(value)


def _is_wrapped(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    ask = getattr(getattr(torch._C, "_functorch", None), "is_functorch_wrapped_tensor", None)
    return bool(ask is not None and ask(tensor))


def storage(tensor: Any) -> int:
    """The name of its memory: no other has it as long as somebody holds `weak` of it. 0 where it has none."""
    return int(tensor.untyped_storage()._cdata) if is_plain(tensor) and hasattr(tensor, "untyped_storage") else 0


def weak(tensor: Any) -> Any:
    return sys.modules["torch.multiprocessing.reductions"].StorageWeakRef(tensor.untyped_storage())


def dim_of(output: Output, tensor: Any, dim: int) -> int | None:
    """Which dimension of the output a dimension of a view of it is; None where it can't be told."""
    size, stride = tensor.shape[dim], tensor.stride(dim)
    same = [at for at, each in enumerate(zip(output.shape, output.strides)) if each == (size, stride)]
    return same[0] if len(same) == 1 and size > 1 else None

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
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")

MOST = 256
MANY = 4
"""Tensors of one output that are followed."""


class Root:
    """What is known of an outermost module, output by output: the losses called on it, and the dimensions that held their classes.

    An output of another rank counts as another: a layer may be trained on rows and asked of sequences.
    """

    def __init__(self, module: Any) -> None:
        self.module = weakref.ref(module)
        self.class_dims: dict[tuple[int, int], set[int]] = {}
        self.losses: dict[int, set[str]] = {}


class Output:
    """A tensor that a root gave, or a known copy of one: which of its tensors, of which rank (`at`), and which dimensions are here.

    `is_squashed`: a softmax came between. `is_choice`: it is a prediction that was made of one; `doubt` is what is wrong with that.
    """

    def __init__(self, root: Root, at: tuple[int, int], tensor: Any, dims: tuple[int | None, ...], is_squashed: bool = False) -> None:
        self.root, self.at, self.dims, self.is_squashed = root, at, dims, is_squashed
        self.losses = root.losses.setdefault(at[0], set())
        self.is_choice = False
        self.doubt: Any = None
        self.shape, self.strides, self.weak = tuple(tensor.shape), tuple(tensor.stride()), weak(tensor)


_roots: Any = weakly.Keys()
_outputs: dict[int, Output] = {}
_installed: list[bool] = []


def install() -> None:
    """Once, by each instrument that asks."""
    if not _installed:
        _installed.append(True)
        bus.listen("outputs", root_post=_root_post, forked=_outputs.clear)


def _root_post(module: Any, args: Any, kwargs: Any, out: Any) -> None:
    module = unwrapped(module)
    known = _roots.get(module)
    if known is None:
        known = _roots[module] = Root(module)
    for at, tensor in enumerate(tensors(out)):
        _follow(tensor, Output(known, (at, tensor.dim()), tensor, tuple(range(tensor.dim()))))


def unwrapped(module: Any) -> Any:
    """The program's own module inside one that distributes or compiles it."""
    inner = {"DistributedDataParallel": "module", "DataParallel": "module", "OptimizedModule": "_orig_mod"}.get(type(module).__name__)
    return getattr(module, inner, module) if inner is not None else module


def _follow(tensor: Any, output: Output) -> None:
    name = storage(tensor)
    if name:
        _outputs.pop(name, None)
        _outputs[name] = output
        if len(_outputs) > MOST:
            del _outputs[next(iter(_outputs))]


def follow_copy(tensor: Any, of_tensor: Any, is_squashed: bool = False) -> None:
    """`tensor` has the values of `of_tensor` in the same dimensions, or what a softmax made of them."""
    source = of(of_tensor)
    if source is not None and is_plain(tensor) and tensor.dim() == of_tensor.dim() and storage(tensor) != storage(of_tensor):
        dims = tuple(root_dim(source, of_tensor, dim) for dim in range(of_tensor.dim()))
        copy = Output(source.root, source.at, tensor, dims, is_squashed or source.is_squashed)
        copy.is_choice, copy.doubt = source.is_choice, source.doubt
        _follow(tensor, copy)


def follow_choice(tensor: Any, source: Output, doubt: Any = None) -> None:
    """`tensor` is a prediction made of an output."""
    if is_plain(tensor):
        choice = Output(source.root, source.at, tensor, (None,) * tensor.dim())
        choice.is_choice, choice.doubt = True, doubt
        _follow(tensor, choice)


def of(tensor: Any) -> Output | None:
    """The output that this tensor is, or is a view of."""
    try:
        return _outputs.get(tensor.untyped_storage()._cdata) if _outputs else None
    except Exception:  # no tensor, or none with memory: asked of each comparison, so that it must be quick
        return None


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


def root_dim(output: Output, tensor: Any, dim: int) -> int | None:
    """Which dimension of the root's output this one of a view is; None where it can't be told."""
    size, stride = tensor.shape[dim], tensor.stride(dim)
    if tuple(tensor.shape) == output.shape and tuple(tensor.stride()) == output.strides:
        return output.dims[dim]
    same = [at for at, each in enumerate(zip(output.shape, output.strides)) if each == (size, stride)]
    return output.dims[same[0]] if len(same) == 1 and size > 1 else None

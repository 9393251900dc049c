"""What a layer expects beside what it got, and which story of their misfit the shapes tell.

Runs inside the failing program and reads attributes only. Does not know what the model was meant to be.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

SEAMS = (
    "torch.nn.modules.linear:Linear.forward",
    "torch.nn.modules.conv:Conv1d.forward",
    "torch.nn.modules.conv:Conv2d.forward",
    "torch.nn.modules.conv:Conv3d.forward",
    "torch.nn.modules.normalization:LayerNorm.forward",
    "torch.nn.modules.batchnorm:_BatchNorm.forward",
)
LIBRARIES = ("site-packages", "dist-packages", "<frozen", os.path.dirname(os.__file__))  # noqa: PTH120 - pathlib is slow to import here
STORIES = ("layer.swapped_axis", "layer.unflattened", "layer.missing_axis", "layer.computed_width_off", "layer.data_width_off")


def read(call: dict[str, Any], frames: list[Any]) -> dict[str, Any] | None:
    layer, given = call["self"], call["input"]
    fit = _fit(layer, given)
    if fit is None:
        return None
    _, expects, got = fit
    owner = _owner(frames, layer)
    facts = {"layer.expects": expects, "layer.got": got, "layer.type": type(layer).__name__, "layer.input": list(given.shape),
             "layer.owner": owner.partition(":")[2], **dict.fromkeys(STORIES, 0)}
    if expects != got:
        root = _root(frames)
        facts["layer.path"] = _path(root, layer)
        facts.update(_story(layer, given, fit, root, frames))
    return dict(facts, at=owner) if owner else facts


def finding(facts: dict[str, Any]) -> bool:
    return bool(facts["layer.expects"] != facts["layer.got"])


# ------------------------------------------------------------------------------------------------ expected and given


def _fit(layer: Any, given: Any) -> tuple[int, int, int] | None:
    """An axis of the input, the width that the layer expects there, and the one it got: the first that don't agree, else the last.

    None for what is no such layer, and for an input with too few axes.
    """
    shape = getattr(given, "shape", None)
    if not hasattr(layer, "_parameters") or not shape or not all(type(size) is int for size in shape):
        return None
    wanted = [(axis % len(shape), expects) for axis, expects in _wanted(layer, len(shape)) if -len(shape) <= axis]
    fits = [(axis, expects, shape[axis]) for axis, expects in wanted]
    return next((fit for fit in fits if fit[1] != fit[2]), fits[-1] if fits else None)


def _wanted(layer: Any, rank: int) -> list[tuple[int, int]]:
    """The axes, counted from the end, that must have a width, with that width."""
    own = vars(layer)
    if "in_features" in own:
        return [(-1, _width(own, "in_features"))]
    if "in_channels" in own:
        return [(-1 - len(own["kernel_size"]), _width(own, "in_channels"))]
    if "normalized_shape" in own:
        return list(enumerate(own["normalized_shape"], -len(own["normalized_shape"])))
    return [(1 - rank, own["num_features"])] if rank > 1 and "num_features" in own else []


def _width(own: dict[str, Any], name: str) -> int:
    """Read off the weight where there is one: the attribute may have been changed since."""
    weight = own["_parameters"].get("weight")
    return int(own[name] if weight is None else weight.shape[1] * own.get("groups", 1))


# ------------------------------------------------------------------------------------------------ the story of a misfit


def _story(layer: Any, given: Any, fit: tuple[int, int, int], root: Any, frames: list[Any]) -> dict[str, int | None]:
    """One story: not flattened, an axis wanting or elsewhere; else a width, computed by the model or the data's own."""
    (axis, expects, got), shape, kernel = fit, list(given.shape), vars(layer).get("kernel_size")
    if kernel is None and any(_product(shape[first:]) == expects for first in range(len(shape) - 1)):
        return {"layer.unflattened": 1}
    if kernel is not None and expects == 1 and len(shape) == len(kernel) + 1:
        return {"layer.missing_axis": 1}
    elsewhere = [at for at, size in enumerate(shape) if size == expects and at != axis]
    computed = _is_computed(given, layer, root, frames)
    if elsewhere == [0] and len(shape) == 2 and not computed:
        return _transposed_or_wide(shape, given, expects, frames)
    if len(elsewhere) == 1 and elsewhere != [0]:
        return {"layer.swapped_axis": elsewhere[0] + 1}
    return {"layer.computed_width_off" if computed else "layer.data_width_off": got - expects}


def _product(sizes: list[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _transposed_or_wide(shape: list[int], given: Any, expects: int, frames: list[Any]) -> dict[str, int | None]:
    """A table on its side, or a batch that happens to be as large as the layer is wide: another tensor's length tells."""
    tensors = (value for frame in frames[:32] for value in list(frame.f_locals.values()) if _is_tensor(value))
    others = {value.shape[0] for value in tensors if value is not given and value.dim() == 1}
    if (shape[0] in others) is (shape[1] in others):
        return {"layer.swapped_axis": None, "layer.data_width_off": None}
    return {"layer.data_width_off": shape[1] - expects} if shape[0] in others else {"layer.swapped_axis": 1}


def _is_computed(given: Any, layer: Any, root: Any, frames: list[Any]) -> bool:
    """Whether earlier layers made this input: it has a gradient, or is no part of what the model was called with while layers with
    parameters were registered before this one. (Whether gradients were off can't be asked: at a crash they are on again.)"""
    if given.grad_fn is not None:
        return True
    memory = {each.untyped_storage().data_ptr() for each in _called_with(frames)}
    return given.untyped_storage().data_ptr() not in memory and bool(_before(root, layer))


def _called_with(frames: list[Any]) -> list[Any]:
    """The tensors that the outermost module was called with."""
    calls = [frame for frame in frames[:200] if frame.f_code.co_name == "_call_impl"]
    given = (*(calls[-1].f_locals.get("args") or ()), *(calls[-1].f_locals.get("kwargs") or {}).values()) if calls else ()
    return list(filter(_is_tensor, given))


def _is_tensor(value: Any) -> bool:
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return kind is not None and issubclass(type(value), kind)


def _before(root: Any, layer: Any) -> list[Any]:
    """Layers with parameters that were registered before this one."""
    order = [module for _, module in _walk(root) if any(each is not None for each in vars(module)["_parameters"].values())]
    at = next((index for index, module in enumerate(order) if module is layer), 0)
    return order[:at]


# ------------------------------------------------------------------------------------------------ whose layer it is


def _owner(frames: list[Any], layer: Any) -> str:
    """`FILE:Class` of the innermost module class of the user's on the stack; "" where there is none."""
    for frame in frames:
        if _is_mine(frame.f_code.co_filename):
            module = frame.f_locals.get("self")
            place = _class_place(module) if module is not layer and _is_module(module) else ""
            if place:
                return place
    return ""


def _class_place(module: Any) -> str:
    kind = type(module)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return os.path.abspath(file) + ":" + kind.__qualname__ if file and _is_mine(file) else ""  # noqa: PTH100 - as above


def _root(frames: list[Any]) -> Any:
    """The outermost module on the stack."""
    selves = (frame.f_locals.get("self") for frame in reversed(frames[:200]))
    return next((each for each in selves if _is_module(each)), None)


def _path(root: Any, layer: Any) -> str:
    return next((path for path, module in _walk(root) if module is layer), "")


def _walk(root: Any, path: str = "", seen: Any = None) -> Iterator[tuple[str, Any]]:
    """Modules with their dotted paths, in order of registration, each once, without calling any of their methods."""
    seen = set() if seen is None else seen
    if not _is_module(root) or id(root) in seen:
        return
    seen.add(id(root))
    yield path, root
    for name, child in list(vars(root)["_modules"].items()):
        yield from _walk(child, path + "." + name if path else name, seen)


def _is_module(value: Any) -> bool:
    kind = getattr(sys.modules.get("torch.nn"), "Module", None)
    return kind is not None and issubclass(type(value), kind) and "_modules" in vars(value)


def _is_mine(file: str) -> bool:
    return not any(part in file for part in LIBRARIES) and not file.startswith("<")

"""The items of a batch: which are odd, whether the odd one is its source's last, and what of the source stays unread.

Runs inside the failing program. Calls nothing of the user's, but for a data set's own `len` and `next` when it watches: then it
runs in a throw-away copy, and only of a call that is about to raise.
"""
from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from types import FunctionType, GeneratorType
from typing import Any

SEAMS = (
    "torch.utils.data._utils.collate:collate_tensor_fn",
    "torch.utils.data._utils.collate:collate",  # lists of plain numbers
    "torch:stack",
    "numpy:stack",
    "numpy._core.shape_base:stack",  # where numpy:stack has its Python frame at a crash
    "numpy.core.shape_base:stack",
)
CHANNELS = {1, 2, 3, 4}
"""Sizes that an axis of channels has: grey, grey and alpha, colour, colour and alpha."""


def read(call: dict[str, Any], frames: list[Any]) -> dict[str, Any] | None:
    batch = _batch(call)
    if batch is None:
        return None
    with _plain_torch():
        batch = _arrays_before_torch(batch, frames)
        shapes = [_shape(item) for item in batch]
        return dict(_facts(batch, shapes, frames), **_producer(_fetch(frames)))


def finding(facts: dict[str, Any]) -> bool:
    return facts["items.odd_at"] is not None


def look(variables: dict[str, Any]) -> dict[str, Any] | None:
    """At a crash in `stack`, which has no frame of its own: a list among the locals whose items differ in shape."""
    for value in variables.values():
        batch = _batch({"batch": value})
        if batch is not None and len(set(map(_shape, batch))) > 1:
            return {"seam": "torch:stack", "batch": value}
    return None


# ------------------------------------------------------------------------------------------------ what is in the batch


def _batch(call: dict[str, Any]) -> list[Any] | None:
    """The items, two or more: one alone can't be unequal. Lists of numbers count at `collate` only."""
    named = [call[name] for name in ("batch", "tensors", "arrays") if name in call]
    found: Any = (named or list(call.get("args") or ()) or [None])[0]
    if type(found) not in (list, tuple) or len(found) < 2:
        return None
    alike = _is_list_of_numbers if call.get("seam", "").endswith(":collate") else _is_array
    return list(found) if all(map(alike, found)) else None


def _is_array(item: Any) -> bool:
    return any(kind is not None and issubclass(type(item), kind) for kind in (_of("torch", "Tensor"), _of("numpy", "ndarray")))


def _is_list_of_numbers(item: Any) -> bool:
    return type(item) is list and bool(item) and type(item[0]) in (int, float)


def _of(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)


def _shape(item: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in item.shape) if hasattr(item, "shape") else (len(item),)


def _plain_torch() -> Any:
    """Subclasses of Tensor may answer even `.shape` with code of their own; here they don't."""
    return getattr(_of("torch", "_C"), "DisableTorchFunctionSubclass", nullcontext)()


def _arrays_before_torch(batch: list[Any], frames: list[Any]) -> list[Any]:
    """Arrays lose sight of their base when torch takes them over, so read them where `collate` still has the arrays."""
    for frame in frames[:4]:
        if frame.f_code.co_name == "collate_numpy_array_fn":
            return list(frame.f_locals.get("batch", batch))
    return batch


# ------------------------------------------------------------------------------------------------ what differs


def _facts(batch: list[Any], shapes: list[tuple[int, ...]], frames: list[Any]) -> dict[str, Any]:
    common = Counter(shapes).most_common(1)[0][0]
    odd = [at for at, shape in enumerate(shapes) if shape != common]
    facts = {"items.shapes": [list(shape) for shape in shapes[:64]], "items.batch": len(batch), "items.odd_at": odd[0] if odd else None,
             "items.last_short_by": 0, "items.unread_rows": None, "items.varying": 0, "items.layouts": 1}
    if odd:
        facts.update(_one_odd(batch, shapes, frames) or _many_odd(shapes))
    return facts


def _many_odd(shapes: list[tuple[int, ...]]) -> dict[str, Any]:
    """Layouts apart, and within each layout the items that have another size than most."""
    groups: dict[Any, list[tuple[int, ...]]] = {}
    for shape in shapes:
        groups.setdefault(_layout(shape, shapes), []).append(shape)
    varying = sum(len(group) - Counter(group).most_common(1)[0][1] for group in groups.values())
    return {"items.layouts": len(groups), "items.varying": varying}


def _layout(shape: tuple[int, ...], shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Rank, and the number of channels where an axis of an image is one of channels and its size differs between items."""
    rank = len(shape)
    peers = [other for other in shapes if len(other) == rank]
    axes = {0, rank - 1, rank - 3} if rank in (3, 4) else set()
    sizes = {axis: {peer[axis] for peer in peers} for axis in axes}
    return (rank, *(shape[axis] for axis in sorted(axes) if len(sizes[axis]) > 1 and sizes[axis] <= CHANNELS))


def _one_odd(batch: list[Any], shapes: list[tuple[int, ...]], frames: list[Any]) -> dict[str, Any] | None:
    """One item shorter along one axis, the others equal: a short last window, if it is its source's last."""
    at, axis = _short_one(shapes)
    if at is None or axis is None:
        return None
    fetch = _fetch(frames)
    view = _views([_span(item, axis) for item in batch], at, max(shape[axis] for shape in shapes), _holders(frames, fetch))
    is_last = view["is_last"] if view["is_last"] is not None else _is_last(fetch, at, len(batch))
    if _many_odd(shapes)["items.layouts"] > 1:
        is_last = view["is_last"] or False  # by its shape it is of another kind: only its view can say that it is a window
    if is_last is False:
        return None
    short_by = abs(shapes[at][axis] - shapes[at - 1][axis])
    return {"items.odd_at": at, "items.last_short_by": short_by if is_last else None, "items.varying": 0 if is_last else None,
            "items.unread_rows": view["unread"]}


def _short_one(shapes: list[tuple[int, ...]]) -> tuple[int | None, int | None]:
    """The place of the only short item, and the axis. Of two items the shorter is the odd one."""
    for at, shape in enumerate(shapes):
        others = {other for where, other in enumerate(shapes) if where != at}
        whole = next(iter(others))
        if len(others) == 1 and len(whole) == len(shape):
            axes = [axis for axis, size in enumerate(shape) if size != whole[axis]]
            if len(axes) == 1 and shape[axes[0]] < whole[axes[0]]:
                return at, axes[0]
    return None, None


# ------------------------------------------------------------------------------------------------ is it the source's last?


def _views(spans: list[Any], at: int, window: int, holders: Iterator[Any]) -> dict[str, Any]:
    """What the views tell: whether the odd one is the last of its source, and how many rows lie unread behind it.

    The source is the smallest tensor at hand that holds them all; without one it is their storage, which may hold more than it.
    """
    mine = spans[at]
    others = [span for where, span in enumerate(spans) if where != at and span and mine and span["owner"] == mine["owner"]]
    if not others or mine["row"] <= 0:
        return {"is_last": None, "unread": None}
    end = _end_of_source([mine, *others], holders)
    rows_behind = ((mine["total"] if end is None else end) - mine["end"]) // mine["row"]
    comes_last = all(mine["start"] > other["start"] for other in others)
    if comes_last and rows_behind < window:
        return {"is_last": True, "unread": rows_behind}
    return {"is_last": None if comes_last and end is None else False, "unread": None}


def _end_of_source(spans: list[dict[str, int]], holders: Iterator[Any]) -> int | None:
    owner, start, end = spans[0]["owner"], min(span["start"] for span in spans), max(span["end"] for span in spans)
    around = [span for span in map(_span, filter(_is_array, holders)) if span and span["owner"] == owner]
    around = [span for span in around if span["start"] <= start and end <= span["end"]]
    return min(around, key=lambda span: span["end"] - span["start"])["end"] if around else None


def _holders(frames: list[Any], fetch: Any) -> Iterator[Any]:
    """What may be the source: the locals of the frames and of the generator, what `self` holds there, what the data set holds."""
    fetcher = fetch.f_locals.get("self") if fetch else None
    source = _held(fetcher).get("dataset_iter")
    suspended = [source.gi_frame] if type(source) is GeneratorType and source.gi_frame else []
    yield from _held(_held(fetcher).get("dataset")).values()
    for frame in [*suspended, *frames[:40]]:
        variables = dict(frame.f_locals)
        yield from (*variables.values(), *_held(variables.get("self")).values())


def _held(thing: Any) -> dict[str, Any]:
    """An object's attributes, whatever it would answer itself."""
    try:
        return dict(object.__getattribute__(thing, "__dict__"))
    except AttributeError:
        return {}


def _span(item: Any, axis: int = 0) -> dict[str, int] | None:
    """Where a tensor or an array lies in what owns its memory, in bytes."""
    if not hasattr(item, "shape") or len(item.shape) == 0 or 0 in item.shape:
        return None
    return _tensor_span(item, axis) if hasattr(item, "untyped_storage") else _array_span(item, axis)


def _tensor_span(item: Any, axis: int) -> dict[str, int]:
    size, strides, storage = item.element_size(), item.stride(), item.untyped_storage()
    start = item.storage_offset() * size
    length = (sum((n - 1) * stride for n, stride in zip(item.shape, strides)) + 1) * size  # noqa: B905 - Python 3.8
    return {"owner": storage.data_ptr(), "start": start, "end": start + length, "total": storage.nbytes(), "row": strides[axis] * size}


def _array_span(item: Any, axis: int) -> dict[str, int]:
    owner = item
    while _is_array(getattr(owner, "base", None)):
        owner = owner.base
    begin = owner.__array_interface__["data"][0]
    start = item.__array_interface__["data"][0] - begin
    length = sum((n - 1) * stride for n, stride in zip(item.shape, item.strides)) + item.itemsize  # noqa: B905 - Python 3.8
    return {"owner": begin, "start": start, "end": start + length, "total": owner.nbytes, "row": item.strides[axis]}


def _is_last(fetch: Any, at: int, size: int) -> bool | None:
    """What torch's fetcher tells of the item at this place of the batch; None when it can't tell, or there is none."""
    fetcher = fetch.f_locals.get("self") if fetch else None
    data = fetch.f_locals.get("data") if fetch else None
    if fetcher is None or type(data) is not list or len(data) != size:
        return None
    if "dataset_iter" in _held(fetcher):
        return _is_last_of_iterable(fetcher, at, size)
    indices = fetch.f_locals.get("possibly_batched_index")
    source, index = _unwrapped(fetcher.dataset, indices[at])
    length = _length(source)
    return None if length is None else index % length == length - 1


def _is_last_of_iterable(fetcher: Any, at: int, size: int) -> bool | None:
    if at < size - 1:
        return False
    if fetcher.ended:
        return True
    return next(fetcher.dataset_iter, fetcher) is fetcher if _watching() else None


def _unwrapped(dataset: Any, index: int) -> tuple[Any, int]:
    """The data set below torch's subsets, and the index there."""
    while _torch_name(dataset) == "Subset":
        dataset, index = dataset.dataset, dataset.indices[index]
    return dataset, int(index)


def _length(dataset: Any) -> int | None:
    """Without the user's code where torch or Python own the data set; by its own `len` when watching."""
    if _torch_name(dataset) == "TensorDataset":
        return int(dataset.tensors[0].shape[0])
    return len(dataset) if type(dataset) in (list, tuple) or _watching() else None


def _torch_name(dataset: Any) -> str:
    kind = type(dataset)
    return kind.__qualname__ if kind.__module__ == "torch.utils.data.dataset" else ""


def _watching() -> bool:
    return os.environ.get("BITTEN_WATCH") == "1"


# ------------------------------------------------------------------------------------------------ who made the items


def _fetch(frames: list[Any]) -> Any:
    names = (frame for frame in frames if frame.f_code.co_name == "fetch")
    return next((frame for frame in names if frame.f_globals.get("__name__") == "torch.utils.data._utils.fetch"), None)


def _producer(fetch: Any) -> dict[str, str]:
    """The place of the user's function that gives the items: under a fetcher it is on no stack."""
    fetcher = fetch.f_locals.get("self") if fetch else None
    if fetcher is None:
        return {}
    made_by = _generator_of(fetcher) or _method_of(fetcher)
    return {"at": os.path.abspath(made_by[0]) + ":" + made_by[1]} if made_by else {}  # noqa: PTH100 - pathlib is slow to import here


def _generator_of(fetcher: Any) -> tuple[str, str] | None:
    source = _held(fetcher).get("dataset_iter")
    return (source.gi_code.co_filename, source.__qualname__) if type(source) is GeneratorType else None


def _method_of(fetcher: Any) -> tuple[str, str] | None:
    dataset, _ = _unwrapped(fetcher.dataset, 0) if "dataset_iter" not in _held(fetcher) else (fetcher.dataset, 0)
    names = ("__iter__",) if "dataset_iter" in _held(fetcher) else ("__getitems__", "__getitem__")
    methods = (getattr(type(dataset), name, None) for name in names)
    method = next((each for each in methods if type(each) is FunctionType), None)
    if _torch_name(dataset):
        return None
    return (method.__code__.co_filename, method.__qualname__) if method is not None else None

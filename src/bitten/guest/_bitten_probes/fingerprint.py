"""One fingerprint for all that is compared: shape, dtype, min, max, mean, finite share, and a hash of the bytes. Reads values; keeps none.

For tensors, arrays, tables, and nests of them with plain values. Costs a copy to the host and a pass over all bytes: not for a hot path.
"""

from __future__ import annotations

import hashlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
values: Any = hook.load("_bitten_values")

DEEP = 6
MANY = 10_000


def leaves(value: Any, path: str = "", depth: int = DEEP) -> Iterator[tuple[str, Any]]:
    """Each tensor or array in a nest of dicts, lists, tuples and data classes, with its path: `labels`, `0.image`."""
    if is_tensor(value) or is_array(value):
        yield path, value
    elif depth and isinstance(value, dict):
        for name, each in list(value.items())[:MANY]:
            yield from leaves(each, f"{path}.{name}" if path else str(name), depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for at, each in enumerate(value[:MANY]):
            yield from leaves(each, f"{path}.{at}" if path else str(at), depth - 1)
    elif depth and hasattr(type(value), "__dataclass_fields__"):
        yield from leaves({name: getattr(value, name, None) for name in type(value).__dataclass_fields__}, path, depth - 1)


def is_tensor(value: Any) -> bool:
    kind = values.loaded("torch", "Tensor")
    return kind is not None and isinstance(value, kind)


def is_array(value: Any) -> bool:
    kind = values.loaded("numpy", "ndarray")
    return kind is not None and isinstance(value, kind)


def is_here(tensor: Any) -> bool:
    """Whether its values can be read without waiting for other ranks: not sparse or nested, not without memory, not spread over ranks."""
    is_plain = tensor.layout is sys.modules["torch"].strided and tensor.device.type != "meta" and not getattr(tensor, "is_nested", False)
    return bool(is_plain and not hasattr(tensor, "placements") and type(tensor).__name__ != "FakeTensor")


def digest(value: Any) -> str:
    """16 hexadecimal digits of the bytes, the shape and the dtype: equal for equal values. Empty where they can't be read."""
    found = hashlib.blake2b(digest_size=8)
    try:
        _feed(found, value, DEEP)
    except Exception:  # a device that is gone, an object that has no bytes
        return ""
    return found.hexdigest()


def _feed(found: Any, value: Any, depth: int) -> None:
    if is_tensor(value):
        if not is_here(value):
            raise TypeError(str(value.layout))
        data = value.detach()
        found.update(f"{tuple(data.shape)}{str(data.dtype)[6:]}".encode())
        torch = sys.modules["torch"]
        data = data.resolve_conj().resolve_neg() if data.is_complex() else data
        found.update(memoryview(data.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()))
    elif is_array(value) and value.dtype != object:
        found.update(f"{value.shape}{value.dtype}".encode())
        found.update(memoryview(sys.modules["numpy"].ascontiguousarray(value).reshape(-1).view("uint8")))
    elif isinstance(value, dict) and depth:
        found.update(b"{%d" % len(value))
        for name, each in value.items():
            found.update((repr(name) if isinstance(name, (str, int, float, bool, bytes)) else type(name).__name__).encode())
            _feed(found, each, depth - 1)
    elif isinstance(value, (list, tuple)) and depth:
        found.update(b"[%d" % len(value))
        for each in value:
            _feed(found, each, depth - 1)
    elif value is None or isinstance(value, (bool, int, float, str, bytes)):
        found.update(repr(value).encode("utf-8", "surrogatepass") + b";")
    else:
        raise TypeError(type(value).__name__)


# ---------------------------------------------------------------------------------------------- what stands for a value


def of(value: Any, most: int = 0) -> dict[str, Any]:
    """The fingerprint of one tensor or array; numbers that are not finite are text, as JSON has no word for them.

    `size` is the mean of absolute values; `pattern` two sums weighted by place, which a change of order or of one value moves. Of more
    elements than `most`, where that is not 0, statistics are of evenly spaced ones; the hash is of all but the largest.
    """
    shape = [] if is_tensor(value) and getattr(value, "is_nested", False) else list(value.shape)
    dtype = str(value.dtype).replace("torch.", "")
    return {"shape": shape, "dtype": dtype, **_numbers(thinned(value, most)), "hash": digest(thinned(value, most and HASHED))}


HASHED = 1 << 24
"""Elements of which every one is in a hash."""


def thinned(value: Any, most: int) -> Any:
    """Itself, or every k-th of its elements."""
    count = value.numel() if is_tensor(value) else value.size
    if not most or count <= most or (is_tensor(value) and not is_here(value)):
        return value
    flat = value.detach().reshape(-1) if is_tensor(value) else value.reshape(-1)
    return flat[:: -(-count // most)]


def _numbers(value: Any) -> dict[str, Any]:
    """min, max and mean of the finite ones, their share, and the two of the whole."""
    found = (_of_tensor if is_tensor(value) else _of_array)(value)
    low, high, mean, share, size, pattern = found
    return {"min": low, "max": high, "mean": mean, "finite": share, "size": size, "pattern": pattern}


_NONE: Any = (None, None, None, 1.0, None, [])


def _of_tensor(value: Any) -> Any:
    torch = sys.modules["torch"]
    with torch.no_grad():
        data = value.detach()
        if data.numel() == 0 or data.is_complex() or not is_here(data):
            return _NONE
        data = data.cpu().double().reshape(-1)
        finite = torch.isfinite(data)
        good = data[finite]
        share = good.numel() / data.numel()
        if not good.numel():
            return None, None, None, share, None, []
        whole = torch.where(finite, data, torch.zeros((), dtype=data.dtype))
        pattern = [float((whole * weights).sum()) for weights in _weights(torch, whole.numel())]
        return (*(float(each) for each in (good.min(), good.max(), good.mean())), share, float(good.abs().mean()), pattern)


TURNS = (2.399963, 0.618034)
"""Radians from one element's weight to the next: no small multiple of either closes a circle, so no order repeats."""


_kept: dict[Any, tuple[Any, Any]] = {}
LONGEST = 1 << 18


def _weights(library: Any, count: int) -> list[Any]:
    """By place; those of the longest tensor so far are kept, up to four MiB of them."""
    known = _kept.get(library)
    if known is None or len(known[0]) < count:
        at = library.arange(count, dtype=library.float64)
        known = tuple(library.cos(at * turn) for turn in TURNS)
        if count <= LONGEST:
            _kept[library] = known
    return [each[:count] for each in known]


def _of_array(value: Any) -> Any:
    np = sys.modules["numpy"]
    if value.size == 0 or value.dtype.kind not in "fiub":
        return _NONE
    data = value.astype("float64").reshape(-1)
    finite = np.isfinite(data)
    good = data[finite]
    share = good.size / data.size
    if not good.size:
        return None, None, None, share, None, []
    whole = np.where(finite, data, 0.0)
    pattern = [float((whole * weights).sum()) for weights in _weights(np, whole.size)]
    return float(good.min()), float(good.max()), float(good.mean()), share, float(np.abs(good).mean()), pattern


def rows(tensor: Any) -> str:
    """One number for all rows of a tensor, whatever their order: two parts of one table add up to it. Empty where it has no rows."""
    torch = sys.modules["torch"]
    data = tensor.detach().cpu()
    if data.dim() == 0 or data.shape[0] == 0 or data.shape[0] > 20 * MANY or data.numel() > 50_000_000 or data.is_complex():
        return ""
    total = 0
    for part in data.contiguous().split(4096):
        held = part.reshape(part.shape[0], -1).view(torch.uint8).to(torch.int64)
        weights = torch.arange(1, held.shape[1] + 1) * 0x9E3779B1 % 0x7FFFFFFF
        signs = (held * weights).sum(1)
        signs = signs * signs % 0x7FFFFFFFFFFF
        total += int(signs.sum())
    return str(total)

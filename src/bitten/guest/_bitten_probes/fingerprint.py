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
        yield from leaves(dict(vars(value)), path, depth - 1)


def is_tensor(value: Any) -> bool:
    kind = values.loaded("torch", "Tensor")
    return kind is not None and isinstance(value, kind)


def is_array(value: Any) -> bool:
    kind = values.loaded("numpy", "ndarray")
    return kind is not None and isinstance(value, kind)


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
        data = value.detach()
        found.update(f"{tuple(data.shape)}{str(data.dtype)[6:]}".encode())
        torch = sys.modules["torch"]
        data = data.resolve_conj().resolve_neg() if data.is_complex() else data
        found.update(memoryview(data.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()))
    elif is_array(value) and value.dtype != object:
        found.update(f"{value.shape}{value.dtype}".encode())
        found.update(memoryview(sys.modules["numpy"].ascontiguousarray(value).reshape(-1).view("uint8")))
    elif isinstance(value, dict) and depth:
        for name, each in value.items():
            found.update(repr(name).encode())
            _feed(found, each, depth - 1)
    elif isinstance(value, (list, tuple)) and depth:
        for each in value:
            _feed(found, each, depth - 1)
    elif value is None or isinstance(value, (bool, int, float, str, bytes)):
        found.update(repr(value).encode())
    else:
        raise TypeError(type(value).__name__)


def of(value: Any) -> dict[str, Any]:
    """The fingerprint of one tensor or array; numbers that are not finite are text, as JSON has no word for them."""
    shape, dtype = list(value.shape), str(value.dtype).replace("torch.", "")
    return {"shape": shape, "dtype": dtype, **_numbers(value), "hash": digest(value)}


def _numbers(value: Any) -> dict[str, Any]:
    """min, max and mean of the finite ones, and their share."""
    low, high, mean, share = (_of_tensor if is_tensor(value) else _of_array)(value)
    return {"min": low, "max": high, "mean": mean, "finite": share}


def _of_tensor(value: Any) -> tuple[Any, Any, Any, float]:
    torch = sys.modules["torch"]
    with torch.no_grad():
        data = value.detach()
        if data.numel() == 0 or data.is_complex() or data.layout is not torch.strided:
            return None, None, None, 1.0
        data = data.double()
        good = data[torch.isfinite(data)] if data.dim() else data.reshape(1)
        share = good.numel() / data.numel()
        return (*(float(each) for each in (good.min(), good.max(), good.mean())), share) if good.numel() else (None, None, None, share)


def _of_array(value: Any) -> tuple[Any, Any, Any, float]:
    np = sys.modules["numpy"]
    if value.size == 0 or value.dtype.kind not in "fiub":
        return None, None, None, 1.0
    data = value.astype("float64")
    good = data[np.isfinite(data)]
    share = good.size / data.size
    return (float(good.min()), float(good.max()), float(good.mean()), share) if good.size else (None, None, None, share)

"""Values of any kind, in pieces that have a fingerprint each: tables by column, lists of numbers, texts. Keeps none."""

from __future__ import annotations

import hashlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
values: Any = hook.load("_bitten_values")


class Plain:
    """A list of numbers, a text, a number, a table of words: what is no tensor or array, and has a fingerprint all the same."""

    def __init__(self, shape: list[int], dtype: str, numbers: list[float], told: Any) -> None:
        self.shape, self.dtype, self.numbers, self.told = shape, dtype, numbers, told

    def of(self) -> dict[str, Any]:
        some = [float(each) for each in self.numbers if each - each == 0]
        sums = (min(some), max(some), sum(some) / len(some)) if some else (None, None, None)
        share = len(some) / len(self.numbers) if self.numbers else 1.0
        size = sum(map(abs, some)) / len(some) if some else None
        return {"shape": self.shape, "dtype": self.dtype, **dict(zip(("min", "max", "mean"), sums)), "finite": share, "size": size,
                "pattern": [], "hash": fingerprint.digest(self.told)}


def print_of(leaf: Any, most: int = 0) -> dict[str, Any]:
    return leaf.of() if isinstance(leaf, Plain) else fingerprint.of(leaf, most)


def pieces(value: Any, path: str = "", depth: int = fingerprint.DEEP) -> Iterator[tuple[str, Any]]:
    """Tensors and arrays, and also tables by column, sparse matrices, lists of numbers, texts and numbers."""
    found = _plain(value)
    if found is not None:
        yield path, found
    elif fingerprint.is_array(value) and value.dtype.kind not in "fiubc":
        yield path, Plain(list(value.shape), str(value.dtype), [], _words(value))
    elif fingerprint.is_tensor(value) or fingerprint.is_array(value):
        yield path, value
    elif depth and _is_table(value):
        for name, column in _columns(value):
            yield from pieces(column, f"{path}.{name}" if path else name, 1)
    elif depth and type(value).__module__.startswith("scipy.sparse") and hasattr(value, "indices"):
        for name in ("data", "indices"):
            yield f"{path}.{name}" if path else name, getattr(value, name)
    elif depth:
        for name, each in _inside(value):
            yield from pieces(each, f"{path}.{name}" if path else name, depth - 1)


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return [(_name(name), each) for name, each in list(value.items())[:fingerprint.MANY]]
    if isinstance(value, (list, tuple)):
        return [(str(at), each) for at, each in enumerate(value[:fingerprint.MANY])]
    fields = getattr(type(value), "__dataclass_fields__", ())
    return [(name, getattr(value, name, None)) for name in fields]


PLAIN = (str, int, float, bool, bytes, type(None))


def _name(key: Any) -> str:
    """What a program calls its parts (`labels`, 0); any other key may be data, such as an address: its digest stands for it."""
    is_name = (type(key) is str and key.isidentifier() and len(key) <= 40) or (type(key) is int and 0 <= key < 100)
    return str(key) if is_name else "#" + fingerprint.digest(_word(key))[:8]


def _word(value: Any) -> str:
    """In a `repr` of the program's own anything may happen, and an address in it differs from run to run."""
    return repr(value) if type(value) in PLAIN else type(value).__name__


def _plain(value: Any) -> Plain | None:
    kind = type(value)
    if kind in (bool, int, float):
        return Plain([], kind.__name__, [value], value)
    if kind in (str, set, frozenset):
        return Plain([len(value)], "text", [], value) if kind is str else Plain([len(value)], "set", [], sorted(map(_word, value)))
    if kind in (list, tuple) and value:
        return _of_list(value)
    if kind is dict and value and {type(each) for each in value.values()} == {int} and {type(name) for name in value} == {str}:
        return Plain([len(value)], "numbers by text", list(value.values()), sorted(value.items()))
    if _is_number(value) and value.dtype.kind in "fiub":
        return Plain([], str(value.dtype), [float(value)], float(value))
    return None


def _of_list(value: Any) -> Plain | None:
    kinds = {type(each) for each in value}
    if kinds <= {int, float, bool}:
        return Plain([len(value)], type(value[0]).__name__, list(value), list(value))
    if kinds == {str}:
        return Plain([len(value)], "texts", [], list(value))
    if kinds == {list} and all(type(each) is int for part in value for each in part):
        return Plain([len(value)], "lists of int", [each for part in value for each in part], [list(part) for part in value])
    return None


def _is_number(value: Any) -> bool:
    kind = values.loaded("numpy", "generic")
    return kind is not None and isinstance(value, kind)


def _is_table(value: Any) -> bool:
    frame, series = values.loaded("pandas", "DataFrame"), values.loaded("pandas", "Series")
    return frame is not None and isinstance(value, (frame, series))


def _columns(table: Any) -> list[tuple[str, Any]]:
    if hasattr(table, "columns"):
        return [(str(name), table.iloc[:, at].to_numpy()) for at, name in enumerate(table.columns[:64])]
    return [(str(table.name), table.to_numpy())]


def _words(array: Any) -> list[str]:
    return [_word(each) for each in array.reshape(-1)[:fingerprint.MANY].tolist()]


def brief(value: Any, most: int = 0) -> str:
    """A digest of whatever can be read of a value, of a module its parameters; empty where nothing can."""
    found = hashlib.blake2b(digest_size=8)
    module = values.loaded("torch", "nn")
    if module is not None and isinstance(value, module.Module):
        value = [each.detach() for each in (*value.parameters(), *value.buffers())]
    seen = 0
    for path, leaf in pieces(value):
        seen += 1
        found.update(path.encode())
        found.update(fingerprint.digest(leaf.told if isinstance(leaf, Plain) else fingerprint.thinned(leaf, most)).encode())
    return found.hexdigest() if seen or value is None or value == () else ""

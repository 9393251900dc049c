"""Rows of a table told apart by what they hold: one number a row, equal for equal values, whatever the container and the float's width.

Part of the instrument `tables`. Keeps numbers, never the program's arrays. What it does not know: rows that the program computed anew by
itself have other values and are strangers; of tables wider than 64 columns it looks at 64, of more than 200,000 rows at none.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
values: Any = hook.load("_bitten_values")

WIDEST = 64
LONGEST = 200_000
SAMPLE = 5000
FEWEST = 8
"""Rows that an evaluation, or one side of a split, has at least."""
TOLD = ("string", "integer", "floating", "mixed-integer-float", "boolean", "decimal", "date", "datetime", "datetime64")
"""Kinds of objects in a column that are told apart."""
CHUNK = 4096
"""Rows hashed at once: the work stays in the cache."""


class Kept:
    """Marks that are kept, 8 bytes each, by all parts of the instrument together."""

    count = 0
    most = 8_000_000


def keep(count: int) -> bool:
    """Whether there is room for so many more; negative, they were let go."""
    if count > 0 and Kept.count + count > Kept.most:
        return False
    Kept.count += count
    return True


class Rows:
    """What is known of a table's rows: `marks` one a row, names of the columns and labels of the rows where it has any."""

    def __init__(self, marks: Any, names: tuple[str, ...] = (), labels: Any = None, width: int = 0) -> None:
        self.marks, self.names, self.labels, self.width = marks, names, labels, width

    def __len__(self) -> int:
        return len(self.marks)

    def sample(self) -> Rows:
        """Some of them, evenly: enough to ask after, among others that are all known."""
        step = slice(None, None, max(1, len(self) // SAMPLE))
        return Rows(self.marks[step], self.names, None if self.labels is None else self.labels[step], self.width)


def of(table: Any) -> Rows | None:
    """None of what has no rows to speak of, or too many."""
    np = sys.modules["numpy"]
    frame = values.loaded("pandas", "DataFrame")
    with np.errstate(all="ignore"):
        if frame is not None and isinstance(table, frame):
            return _of_frame(np, table)
        if isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind in "fiub" and 0 < len(table) <= LONGEST:
            return Rows(_marks(np, table), width=table.shape[1])
        if hasattr(table, "tocsr") and len(table.shape) == 2 and 0 < table.shape[0] <= LONGEST:
            return Rows(_of_sparse(np, table.tocsr()), width=table.shape[1])
    return None


def picked(width: int) -> Any:
    """Which columns count: by the width alone, so that parts of a table agree with the whole."""
    return slice(None) if width <= WIDEST else sys.modules["numpy"].linspace(0, width - 1, WIDEST).astype(int)


def _bits(np: Any, numbers: Any) -> Any:
    """A number as the bits of its float32. Both zeros are one, and so are all NaN."""
    single = numbers.astype(np.float32)
    single += np.float32(0)
    if not np.isfinite(single.sum()):
        single[np.isnan(single)] = np.float32("nan")
    return single.view(np.uint32).astype(np.uint64)


def _spread(np: Any, bits: Any) -> Any:
    """Splitmix64's last steps: near numbers end far apart."""
    bits = bits * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return bits ^ (bits >> np.uint64(29))


def _salts(np: Any, width: int) -> Any:
    """An odd factor for each column."""
    return _spread(np, np.arange(1, width + 1, dtype=np.uint64)) | np.uint64(1)


def _marks(np: Any, array: Any) -> Any:
    """A sum of products, which keeps two rows apart but for one in billions; spread once a row."""
    array = array[:, picked(array.shape[1])]
    salts, found = _salts(np, array.shape[1]), np.empty(len(array), np.uint64)
    for start in range(0, len(array), CHUNK):
        found[start : start + CHUNK] = _bits(np, array[start : start + CHUNK]) @ salts
    return _spread(np, found)


def bags(array: Any) -> Any:
    """One number a row that is the same in whatever order its values stand."""
    np = sys.modules["numpy"]
    with np.errstate(all="ignore"):
        return _spread(np, _bits(np, array[:CHUNK])).sum(1, dtype=np.uint64)


def _of_frame(np: Any, frame: Any) -> Rows | None:
    if not 0 < len(frame) <= LONGEST or frame.shape[1] == 0:
        return None
    names = tuple(str(each) for each in frame.columns)
    part = frame.iloc[:, picked(frame.shape[1])]
    if all(isinstance(each, np.dtype) and each.kind in "fiub" for each in part.dtypes):
        marks = _marks(np, part.to_numpy())
    else:
        salts, marks = _salts(np, part.shape[1]), np.zeros(len(frame), np.uint64)
        for at in range(part.shape[1]):
            marks += column_bits(part.iloc[:, at]) * salts[at]
        marks = _spread(np, marks)
    return Rows(marks, names, labels_of(frame.index), frame.shape[1])


def column_bits(series: Any) -> Any:
    """One number a value of a pandas column; objects of the program's own are not asked, and count for nothing."""
    np = sys.modules["numpy"]
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "fiub":
        with np.errstate(all="ignore"):
            return _bits(np, series.to_numpy())
    if series.dtype == object and sys.modules["pandas"].api.types.infer_dtype(series, skipna=True) not in TOLD:
        return np.zeros(len(series), np.uint64)
    return sys.modules["pandas"].util.hash_array(series.to_numpy() if isinstance(series.dtype, np.dtype) else series.array)


def labels_of(index: Any) -> Any:
    """One number a label of a pandas index."""
    return sys.modules["pandas"].util.hash_pandas_object(index, index=False).to_numpy()


def _of_sparse(np: Any, table: Any) -> Any:
    bits = _bits(np, table.data) + (table.indices.astype(np.uint64) + np.uint64(1) << np.uint64(33))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_spread(np, bits), dtype=np.uint64)])
    return sums[table.indptr[1:]] - sums[table.indptr[:-1]]


# ---------------------------------------------------------------------------------------------- sets of rows


def among(marks: Any, known: Any) -> Any:
    """Which of `marks` are in `known`, which is sorted."""
    np = sys.modules["numpy"]
    if not len(known):
        return np.zeros(len(marks), bool)
    at = np.searchsorted(known, marks)
    at[at == len(known)] = 0
    return known[at] == marks


def share(mask: Any) -> float:
    return float(mask.mean()) if len(mask) else 0.0


def unique(marks: Any) -> Any:
    """Sorted, each once. Sorting costs a seventh of what numpy's own way does here."""
    np = sys.modules["numpy"]
    found = np.sort(marks)
    return found[np.concatenate([[True], found[1:] != found[:-1]])] if len(found) else found


def twins(marks: Any) -> float:
    """The share of rows that have an equal among themselves: what overlap there would be by nature."""
    np = sys.modules["numpy"]
    found = np.sort(marks)
    same = found[1:] == found[:-1]
    if not same.any():
        return 0.0
    return float((np.concatenate([[False], same]) | np.concatenate([same, [False]])).mean())

"""Means of the target per category, as a feature of the very rows whose targets they were computed from.

Part of the instrument `tables`. Each grouped mean that pandas computes is kept as one number a row; a feature column that equals it (or
is smoothed from it) on rows that took part carries their targets. A mean over training rows alone is no leak for test rows, which took no
part. What it does not know: encodings that are computed without pandas, or by other statistics than a mean.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
patches: Any = hook.load("_bitten_patches")
rows: Any = hook.load("_bitten_probes.table_rows")
events: Any = hook.load("_bitten_probes.table_events")
leaks: Any = hook.load("_bitten_probes.table_leaks")
seams: Any = hook.load("_bitten_probes.table_seams")

MOST = 24
METHODS = ("mean", "sum", "transform", "agg", "aggregate")


class Encoding:
    """One grouped mean, row by row."""

    def __init__(self, np: Any, keys: Any, series: Any, groups: Any) -> None:
        self.name, self.by = str(series.name), keys
        self.values = series.to_numpy(dtype="float64")
        counts = np.bincount(groups)
        self.counts = counts[groups]
        self.means = (np.bincount(groups, weights=self.values) / counts)[groups]
        self.labels = rows.labels_of(series.index)
        self.order = np.argsort(self.labels)
        self.pairs = np.sort(rows.column_bits(series) ^ self.labels)
        self.stack = events.stack()


_encodings: list[Encoding] = []


def install() -> None:
    patches.on_import("pandas.core.groupby.generic", _grouping)


def _grouping(module: Any) -> None:
    for cls in (module.SeriesGroupBy, module.DataFrameGroupBy):
        for name in METHODS:
            for base in cls.__mro__:
                if name in base.__dict__:
                    if not hasattr(base.__dict__[name], "_bitten"):
                        seams.watch_pandas(base, name, _computed if name in ("mean", "sum") else _aggregated)
                        base.__dict__[name]._bitten = True
                    break


def _aggregated(args: Any, kwargs: Any) -> None:
    """Only of what has to do with a mean."""
    if "mean" in str([*args[1:], *kwargs.values()])[:200]:
        _computed(args, kwargs)


def _computed(args: Any, kwargs: Any) -> None:
    grouped, np = args[0], sys.modules["numpy"]
    if len(_encodings) >= MOST or not events.called_by_user(sys._getframe(1), "pandas"):
        return
    table = getattr(grouped, "_selected_obj", grouped.obj)
    if not rows.FEWEST <= len(table) <= rows.LONGEST or not table.index.is_unique:
        return
    groups = grouped.ngroup().to_numpy()
    if groups.min() < 0 or groups.max() < 4:
        return
    columns = [table] if table.ndim == 1 else [table[name] for name in list(table.columns)[:8]]
    for series in columns:
        is_number = getattr(series.dtype, "kind", "O") in "fiub"
        if len(_encodings) < MOST and is_number and not series.isna().any() and rows.keep(6 * len(series)):
            found = Encoding(np, str(getattr(grouped, "keys", ""))[:80], series, groups)
            if not any(np.array_equal(found.pairs, each.pairs) and np.array_equal(found.means, each.means) for each in _encodings):
                _encodings.append(found)


# ---------------------------------------------------------------------------------------------- whose target, and which column


def matching(x: Any, y: Any) -> list[Encoding]:
    """Encodings of this target: by its labels and values where it has labels, else by all of its values in their order."""
    if not _encodings or y is None or getattr(y, "ndim", 1) != 1:
        return []
    np = sys.modules["numpy"]
    if hasattr(y, "index") and hasattr(y, "to_numpy"):
        pairs = rows.column_bits(y) ^ rows.labels_of(y.index)
        return [each for each in _encodings if rows.share(rows.among(pairs, each.pairs)) >= 0.99]
    plain = np.asarray(y)
    return [each for each in _encodings if plain.shape == each.values.shape and plain.dtype.kind in "fiub" and (plain == each.values).all()]


def column_of(encoding: Encoding, table: Any, found: Any) -> tuple[str, int]:
    """(the column that holds the encoding, how many of its rows took part); empty and 0 where there is none."""
    np = sys.modules["numpy"]
    if hasattr(table, "iloc"):
        at = np.searchsorted(encoding.labels, found.labels, sorter=encoding.order)
        at[at == len(encoding.labels)] = 0
        at = encoding.order[at]
        took_part = encoding.labels[at] == found.labels
        kinds = [getattr(each, "kind", "O") for each in table.dtypes]
        columns = [(str(name), table.iloc[:, i]) for i, name in enumerate(table.columns) if kinds[i] == "f"]
    elif getattr(table, "ndim", 0) == 2 and len(table) == len(encoding.means) and table.dtype.kind == "f":
        at, took_part = np.arange(len(table)), np.ones(len(table), bool)
        columns = [(f"column {i}", table[:, i]) for i in range(min(table.shape[1], rows.WIDEST))]
    else:
        return "", 0
    if took_part.sum() < rows.FEWEST or took_part.mean() < 0.5:
        return "", 0
    for name, column in columns:
        if _holds(np, encoding, np.asarray(column)[took_part], at[took_part]):
            return name, int(took_part.sum())
    return "", 0


def _holds(np: Any, encoding: Encoding, column: Any, at: Any) -> bool:
    """The mean itself; or, where categories have one size, anything that rises evenly with it, as a smoothed mean does."""
    means, counts = encoding.means[at], encoding.counts[at]
    if not np.isfinite(column).all() or len(np.unique(means)) < 3:
        return False
    if np.allclose(column, means, rtol=1e-4, atol=1e-6):
        return True
    sizes, number = np.unique(counts, return_counts=True)
    some = counts == sizes[number.argmax()]
    if some.sum() < rows.FEWEST or len(np.unique(means[some])) < 3 or column[some].std() == 0:
        return False
    return bool(np.corrcoef(column[some], means[some])[0, 1] > 0.99999)


def judge(encodings: list[Encoding], table: Any, found: Any, is_fresh: Any, where: list[Any]) -> None:
    """Rows are evaluated whose target these encodings are of."""
    if is_fresh.mean() >= 0.5:
        for each in encodings:
            name, count = column_of(each, table, found)
            if name:
                _tell(each, name, count, found, where)


def note_split(table: Any, given: Any, found: Any) -> None:
    """Of bare arrays the split is the last place where all rows stand in their order."""
    if hasattr(table, "iloc"):
        return
    for y in given[:4]:
        for each in matching(table, y):
            name, count = column_of(each, table, found)
            if name:
                _tell(each, name, count, found, events.stack())


def _tell(encoding: Encoding, column: str, count: int, found: Any, where: list[Any]) -> None:
    split = leaks.split_with_test(events.trace(found.marks)[0], found.labels)
    says = (f"{column} holds the mean of {encoding.name} per {encoding.by or 'category'} over {len(encoding.means)} rows, and {count} of "
            f"{len(found)} rows that a model is judged by are among them: each carries its own target")  # fmt: skip
    facts = {"tables.leaked_rows": count, "tables.leaked_share": count / len(found), "tables.column": column,
             "also": [encoding.stack[-1][1]] if encoding.stack else []}  # fmt: skip
    leaks.found("target_encoding", says, facts, events.turn(encoding.stack, split.event.stack if split else where))


def forget() -> None:
    _encodings.clear()

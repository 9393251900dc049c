"""Tables that pandas aligned by labels where rows were meant by position: one side was numbered anew, and the other keeps its old labels.

Part of the instrument `tables`. A numbering is new where the person's code made a series or a frame of bare values, or reset an index.
It is no fault where a common column says that the labels mean the same rows. What it does not know: an index that a library numbered anew.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
patches: Any = hook.load("_bitten_patches")
report: Any = hook.load("_bitten_probes.report")
rows: Any = hook.load("_bitten_probes.table_rows")
events: Any = hook.load("_bitten_probes.table_events")
seams: Any = hook.load("_bitten_probes.table_seams")

MOST = 256
LONGEST = 200_000
MOST_LABELS = 1_000_000
"""Labels kept of the indexes that numberings took the place of; the oldest are forgotten."""


class Numbering:
    """An index 0…n-1 that is new: whose, since which line, and the labels that the same rows had before, where they had any."""

    def __init__(self, table: Any, old: Any) -> None:
        self.index, self.old = table.index, old
        self.owner = weakref.ref(table)
        self.line = report.here()[0]


_new: list[Numbering] = []
_orders: list[tuple[Any, Any]] = []
"""Indexes before and after their rows were put in another order."""
_shuffled: list[tuple[Any, Any]] = []
"""The same of a single column that was shuffled."""


class Count:
    misaligned = 0


def install() -> None:
    patches.on_import("pandas.core.frame", lambda module: _made_of(module.DataFrame))
    patches.on_import("pandas.core.series", lambda module: _made_of(module.Series))
    patches.on_import("pandas.core.reshape.concat", _concat)


def _made_of(cls: Any) -> None:
    seams.watch_pandas(cls, "__init__", None, _made)
    seams.watch_pandas(cls, "reset_index", _before_reset, _reset)
    seams.watch_pandas(cls, "sort_values", None, ordered)


def _made(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """Of bare values, and with no index named."""
    data = args[1] if len(args) > 1 else kwargs.get("data")
    is_bare = isinstance(data, list) or (hasattr(data, "__array__") and not hasattr(data, "index"))
    if is_bare and len(args) <= 2 and kwargs.get("index") is None and events.called_by_user(sys._getframe(1)):
        _note(args[0], None)


def ordered(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """Rows were sorted, or (`kept` is "sample") shuffled."""
    is_whole = getattr(out, "index", None) is not None and len(out) == len(args[0]) <= LONGEST
    if is_whole and events.called_by_user(sys._getframe(1), "pandas"):
        _orders.append((args[0].index, out.index))
        del _orders[:-16]
        if kept == "sample" and out.ndim == 1:
            _shuffled.append((args[0].index, out.index))
            del _shuffled[:-16]


def _before_reset(args: Any, kwargs: Any) -> Any:
    return args[0].index if len(args[0].index) <= LONGEST else None


def _reset(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    if events.called_by_user(sys._getframe(1), "pandas"):
        _note(out if out is not None else args[0], kept)


def _note(table: Any, old: Any) -> None:
    if type(table.index).__name__ == "RangeIndex" and len(table.index) > 1:
        _new.append(Numbering(table, old))
        del _new[:-MOST]
        while sum(len(each.old) for each in _new if each.old is not None) > MOST_LABELS:
            del _new[0]


def _numbering(index: Any) -> Numbering | None:
    if type(index).__name__ != "RangeIndex":
        return None
    return next((each for each in reversed(_new) if each.index.is_(index)), None)


# ---------------------------------------------------------------------------------------------- where two tables meet


def assigned(frame: Any, name: str, value: Any, held: int, given: int) -> None:
    """`frame[name] = value`: called after it."""
    if hasattr(value, "index") and hasattr(value, "reindex"):
        _meet(frame, value, f"{name} was assigned", max(0, held - given))


def joined(args: Any, out: Any) -> None:
    """`one.join(other)`."""
    if len(args) > 1 and hasattr(args[1], "index"):
        _meet(args[0], args[1], "a table was joined", 0)


def computed(args: Any) -> None:
    """Arithmetic of two series."""
    if len(args) > 1 and hasattr(args[1], "index") and hasattr(args[1], "isna"):
        _meet(args[0], args[1], "two series were computed with each other", 0)


def _concat(module: Any) -> None:
    for owner in (module, sys.modules.get("pandas.core.reshape.api"), sys.modules.get("pandas")):
        if owner is not None and hasattr(owner, "concat"):
            seams.watch_pandas(owner, "concat", None, _side_by_side)


def _side_by_side(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """`concat` with axis=1."""
    parts = args[0] if args else kwargs.get("objs")
    if kwargs.get("axis", args[1] if len(args) > 1 else 0) not in (1, "columns") or not isinstance(parts, (list, tuple)):
        return
    if events.called_by_user(sys._getframe(1), "pandas"):
        for one, other in zip(parts, parts[1:]):  # noqa: RUF007 - pairwise is of Python 3.10
            if hasattr(one, "index") and hasattr(other, "index"):
                _meet(one, other, "two tables were put side by side", max(0, len(out) - len(one)))


def _meet(one: Any, other: Any, what: str, holes: int) -> None:
    """Two tables are aligned by labels: is it by a numbering of one that says nothing of the other's?"""
    left, right = one.index, other.index
    if min(len(left), len(right)) < 4 or left.is_(right) or left.equals(right):
        return
    numberings = [_numbering(left), _numbering(right)]
    for numbering, labelled in ((numberings[0], other), (numberings[1], one)):
        moved = _moved(numbering, labelled) if numbering is not None else 0
        if numbering is not None and moved:
            _tell(what, numbering, moved, holes)
            return


def _moved(numbering: Numbering, labelled: Any) -> int:
    """How many rows of the numbering meet another row than theirs."""
    np, labels = sys.modules["numpy"], labelled.index
    old, other = numbering.old, _numbering(labels)
    if old is not None and other is None and not old.equals(numbering.index) and rows.share(old.isin(labels)) >= 0.99:
        return int((np.asarray(old) != np.arange(len(old))).sum())
    if other is not None and other.old is None and old is not None and len(old) != len(labels) and rows.share(old.isin(labels)) >= 0.99:
        return int((np.asarray(old) != np.arange(len(old))).sum()) if _means_the_same(other.owner(), labelled) is not None else 0
    if other is not None or len(labels) != len(numbering.index) or _means_the_same(numbering.owner(), labelled) is not False:
        return 0
    return int((labels != numbering.index).sum())


def _tell(what: str, numbering: Numbering, moved: int, holes: int) -> None:
    Count.misaligned += 1
    size = len(numbering.index)
    says = (f"{what} by labels, where one side had been numbered 0…{size - 1} anew (at {numbering.line.rpartition('/')[2]}) and the other "
            f"keeps its labels: {moved} of {size} rows met another row than the one in their place, and {holes} met none")  # fmt: skip
    facts = {"tables.misaligned_rows": moved, "tables.unmatched_rows": holes, "also": [numbering.line] if numbering.line else []}
    where = events.stack()
    report.finding("tables", f"aligned {where[-1][1] if where else ''}", says, facts, (where[-1][1], where[-1][2]) if where else ("", ""))


_arrays: dict[int, tuple[Any, Any]] = {}
"""Bare arrays that were made of a series or a frame: the labels of their rows."""


def note_array(table: Any, array: Any) -> None:
    if len(_arrays) < MOST and hasattr(table, "index") and hasattr(table, "isna"):
        key = id(array)
        _arrays[key] = (weakref.ref(array, lambda _: _arrays.pop(key, None)), table.index)


def _index_of(table: Any) -> Any:
    known = _arrays.get(id(table))
    if known is not None and known[0]() is table:
        return known[1]
    index = getattr(table, "index", None)
    return index if hasattr(index, "equals") and hasattr(index, "is_unique") else None


def paired(x: Any, y: Any) -> None:
    """Features and targets go to a fit side by side, by position: their labels stand in one order, or one side has none of its own."""
    left, right = _index_of(x), _index_of(y)
    if left is None or right is None or len(left) != len(right) or left.is_(right):
        return
    np, numbering = sys.modules["numpy"], _numbering(left)
    if left.equals(right):
        moved = _moved_before(np, numbering, right) if numbering is not None else 0
    elif _is_shuffled(left, right):
        moved = 0
    elif numbering is None and _numbering(right) is None and left.is_unique and left.sort_values().equals(right.sort_values()):
        moved = int(np.sum(left != right))
    else:
        moved = 0
    if moved:
        _tell_paired(moved, len(left))


def _is_shuffled(left: Any, right: Any) -> bool:
    """The targets alone were put in another order, straight from that of the features: a test of what no features at all would score."""
    return any(now.is_(right) and was.is_(left) for was, now in _shuffled)


def _moved_before(np: Any, numbering: Numbering, right: Any) -> int:
    """The features were put in another order and numbered anew, and the targets still stand as in the table that both came from."""
    origin = next((was for was, now in _orders if numbering.old is not None and now.is_(numbering.old)), None)
    return int((np.asarray(numbering.old) != np.asarray(origin)).sum()) if origin is not None and right.is_(origin) else 0


def _tell_paired(moved: int, size: int) -> None:
    Count.misaligned += 1
    says = (f"features and targets of the same rows stand in different orders: a fit goes by position, so that {moved} of {size} rows get "
            "the target of another")  # fmt: skip
    where = events.stack()
    place = (where[-1][1], where[-1][2]) if where else ("", "")
    report.finding("tables", f"paired {place[0]}", says, {"tables.misaligned_rows": moved}, place)


def _means_the_same(owner: Any, labelled: Any) -> bool | None:
    """Whether rows of one label are the same row in both: None where nobody can say."""
    if owner is None:
        return None
    if getattr(owner, "ndim", 1) == 1:
        return False
    shared = [name for name in getattr(labelled, "columns", ()) if name in owner.columns][:8]
    if not shared:
        return False
    labels = [each for each in labelled.index[:200] if each in owner.index]
    same = [bool((owner[name].reindex(labels).to_numpy() == labelled[name].reindex(labels).to_numpy()).all()) for name in shared]
    return any(same) if labels else False


def forget() -> None:
    _new.clear()
    _orders.clear()
    _shuffled.clear()
    _arrays.clear()
    Count.misaligned = 0

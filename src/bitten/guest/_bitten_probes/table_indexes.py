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
events: Any = hook.load("_bitten_probes.table_events")
seams: Any = hook.load("_bitten_probes.table_seams")

MOST = 256
_fresh: list[tuple[Any, Any, str]] = []
"""(index, weak reference to whoever got it, `file:line`). A RangeIndex holds no data."""


class Count:
    misaligned = 0


def install() -> None:
    patches.on_import("pandas.core.frame", lambda module: _made_of(module.DataFrame))
    patches.on_import("pandas.core.series", lambda module: _made_of(module.Series))
    patches.on_import("pandas.core.reshape.concat", _concat)


def _made_of(cls: Any) -> None:
    seams.watch_pandas(cls, "__init__", None, _made)
    seams.watch_pandas(cls, "reset_index", None, _reset)


def _made(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """Of bare values, and with no index named."""
    data = args[1] if len(args) > 1 else kwargs.get("data")
    is_bare = isinstance(data, list) or (hasattr(data, "__array__") and not hasattr(data, "index"))
    if is_bare and len(args) <= 2 and kwargs.get("index") is None and events.called_by_user(sys._getframe(1)):
        _note(args[0])


def _reset(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    if events.called_by_user(sys._getframe(1), "pandas"):
        _note(out if out is not None else args[0])


def _note(table: Any) -> None:
    index = table.index
    if type(index).__name__ == "RangeIndex" and len(index) > 1:
        _fresh.append((index, weakref.ref(table), report.here()[0]))
        del _fresh[:-MOST]


def _origin(index: Any) -> tuple[Any, Any, str] | None:
    if type(index).__name__ != "RangeIndex":
        return None
    return next((each for each in reversed(_fresh) if each[0].is_(index)), None)


# ---------------------------------------------------------------------------------------------- where two tables meet


def assigned(frame: Any, name: str, value: Any, held: int, given: int) -> None:
    """`frame[name] = value`: called after it."""
    if hasattr(value, "index") and hasattr(value, "reindex"):
        _meet(frame, value, f"{name} was assigned", max(0, held - given))


def _concat(module: Any) -> None:
    for owner in (module, sys.modules.get("pandas.core.reshape.api"), sys.modules.get("pandas")):
        if owner is not None and hasattr(owner, "concat"):
            seams.watch_pandas(owner, "concat", None, _side_by_side)


def _side_by_side(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    parts = args[0] if args else kwargs.get("objs")
    if kwargs.get("axis", args[1] if len(args) > 1 else 0) not in (1, "columns") or not isinstance(parts, (list, tuple)):
        return
    if events.called_by_user(sys._getframe(1), "pandas"):
        for one, other in zip(parts, parts[1:]):  # noqa: RUF007 - pairwise is of Python 3.10
            if hasattr(one, "index") and hasattr(other, "index"):
                _meet(one, other, "two tables were put side by side", max(0, len(out) - len(one)))


def _meet(one: Any, other: Any, what: str, holes: int) -> None:
    left, right = one.index, other.index
    if len(left) != len(right) or len(left) < 4 or left.is_(right) or left.equals(right):
        return
    origins = [_origin(left), _origin(right)]
    if (origins[0] is None) == (origins[1] is None):
        return
    origin = origins[0] or origins[1]
    labelled = other if origins[0] else one
    if origin is None or _means_the_same(origin[1](), labelled) is not False:
        return
    Count.misaligned += 1
    moved = int((left != right).sum())
    says = (f"{what} by labels, where one side had been numbered 0…{len(left) - 1} anew (at {_short(origin[2])}) and the other keeps its "
            f"labels: {moved} of {len(left)} rows met another row than the one in their place, and {holes} met none")  # fmt: skip
    facts = {"tables.misaligned_rows": moved, "tables.unmatched_rows": holes, "also": [origin[2]] if origin[2] else []}
    where = events.stack()
    report.finding("tables", f"aligned {where[-1][1] if where else ''}", says, facts, (where[-1][1], where[-1][2]) if where else ("", ""))


def _short(line: str) -> str:
    return line.rpartition("/")[2]


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
    _fresh.clear()
    Count.misaligned = 0

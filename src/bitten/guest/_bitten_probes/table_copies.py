"""Copies of a row on both sides of a split, where something copied them: not the rows that are equal by nature.

Part of the instrument `tables`. Proofs are: a call that draws rows with replacement, equal labels of an index, copies that all stand at the
end, or classes that are of one size only because of the copies. What it does not know: synthetic rows that no watched resampler made.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
patches: Any = hook.load("_bitten_patches")
report: Any = hook.load("_bitten_probes.report")
rows: Any = hook.load("_bitten_probes.table_rows")
events: Any = hook.load("_bitten_probes.table_events")
leaks: Any = hook.load("_bitten_probes.table_leaks")
seams: Any = hook.load("_bitten_probes.table_seams")

MOST = 32
GENUINE = 0.95
"""Share of the largest class that is no copy: nobody copies rows of that one. Below it rows are equal by nature."""
_drawn: list[Any] = []
"""Events of rows that were drawn with replacement."""


def install() -> None:
    patches.on_import("sklearn.utils", lambda module: seams.watch(module, "resample", None, _resampled))
    patches.on_import("pandas.core.frame", _frames)


def _frames(module: Any) -> None:
    seams.watch_pandas(next(each for each in module.DataFrame.__mro__ if "sample" in each.__dict__), "sample", None, _sampled)


def _resampled(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    if kwargs.get("replace", True):
        _note("resample", out[0] if isinstance(out, (list, tuple)) and out else out)


def _sampled(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    if kwargs.get("replace", args[3] if len(args) > 3 else False):
        _note("sample", out)
    else:
        hook.load("_bitten_probes.table_indexes").ordered("sample", args, kwargs, out)


def _note(name: str, out: Any) -> None:
    found = rows.of(out) if events.called_by_user(sys._getframe(1), "pandas") and len(_drawn) < MOST and "numpy" in sys.modules else None
    if found is not None:
        _drawn.append(events.Event(name, "copies", found.marks))


def judge(given: Any, pool: Any, train: Any, test: Any) -> None:
    """At a split, or (`test` is None) where all of the pool is tested fold by fold."""
    np = sys.modules["numpy"]
    if test is None:
        _, at, counts = np.unique(pool.marks, return_inverse=True, return_counts=True)
        crossing = counts[at] > 1
        marks = pool.marks
    else:
        marks, crossing = test.marks, rows.among(test.marks, rows.unique(train.marks))
    if crossing.sum() < rows.FEWEST:
        return
    proof, source = _proof(np, given, pool, train, test, marks[crossing])
    count, share = int(crossing.sum()), rows.share(crossing)
    facts: dict[str, Any] = {"tables.rows_in_common": count, "tables.share_in_common": share}
    where = events.stack()
    says = f"{count} of {len(marks)} test rows ({share:.0%}) have a copy among the training rows"
    if proof:
        facts = {"tables.leaked_rows": count, "tables.leaked_share": share, "also": [where[-1][1]] if where else []}
        leaks.found("copies", f"{says}: {proof}", facts, events.turn(source, where))
    elif share > 0.05:
        report.hint("tables", "copies", f"{says}; they may be equal by nature", facts, (where[-1][1], where[-1][2]) if where else ("", ""))


def _proof(np: Any, given: Any, pool: Any, train: Any, test: Any, crossed: Any) -> tuple[str, list[Any]]:
    """(why these are copies that somebody made, the stack of whoever made them or of the split)."""
    where = events.stack()
    for event in _drawn:
        if rows.share(rows.among(crossed, event.rows)) >= 0.9:
            return f"{event.name} drew {event.size} rows with replacement before the split", event.stack
    has_labels = train is not None and train.labels is not None
    if has_labels and rows.share(rows.among(_labelled(test, crossed), np.sort(_labelled(train)))) >= 0.9:
        return "they have the same labels in the index", where
    _, first = np.unique(pool.marks, return_index=True)
    extra = np.ones(len(pool), bool)
    extra[first] = False
    if extra.sum() >= rows.FEWEST and extra[np.argmax(extra) :].all():
        return f"the last {int(extra.sum())} rows of the table repeat earlier ones", where
    return (_evened(np, given, pool, extra), where)


def _labelled(part: Any, only: Any = None) -> Any:
    """Row and label as one number: two tables that were put together may have equal labels, and rows of the same values, not both."""
    both = part.marks ^ (part.labels << sys.modules["numpy"].uint64(1))
    return both if only is None else both[rows.among(part.marks, rows.unique(only))]


def _evened(np: Any, given: Any, pool: Any, extra: Any) -> str:
    """Classes of one size, that are of different sizes without the copies; or copies of one class only, the smallest but for them."""
    for each in given:
        found = _by_class(np, each, extra) if getattr(each, "ndim", 0) == 1 and len(each) == len(pool) else ""
        if found:
            return found
    return ""


def _by_class(np: Any, classes: Any, extra: Any) -> str:
    labels = np.asarray(classes)
    if labels.dtype.kind not in "iubUOT":
        return ""
    names, at = np.unique(labels, return_inverse=True)
    if not 1 < len(names) <= 100:
        return ""
    whole, bare = np.bincount(at), np.bincount(at[~extra], minlength=len(names))
    copied = whole - bare
    if (whole == whole[0]).all() and bare.max() >= max(1.2 * bare.min(), GENUINE * whole[0]):
        return f"its classes are {whole[0]} rows each, and without the copies {bare.min()} to {bare.max()}"
    which = int(copied.argmax())
    others = np.delete(bare, which)
    if copied.sum() == copied[which] >= 0.3 * bare[which] and bare[which] < 0.7 * others.max() and others.sum() >= 50:
        return f"all {copied[which]} copies are of the class {names[which]}, which has {bare[which]} rows without them"
    return ""


def in_training(roots: Any, classes: Any) -> str:
    """Why copies among the rows of a fit are copies that somebody made; empty where they may be so by nature."""
    np = sys.modules["numpy"]
    _, first = np.unique(roots, return_index=True)
    extra = np.ones(len(roots), bool)
    extra[first] = False
    is_paired = getattr(classes, "ndim", 0) == 1 and len(classes) == len(roots)
    return _by_class(np, classes, extra) if is_paired and extra.sum() >= rows.FEWEST else ""


def forget() -> None:
    _drawn.clear()

"""Whether rows that a model is judged by had been seen before: by its transformers, by itself, in a split of its own, in an earlier fold.

Part of the instrument `tables`. Verdicts wait for the end of the process, since a clean test that comes later takes them back. Tables whose
rows are often equal by nature are not judged: overlap means little there.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
report: Any = hook.load("_bitten_probes.report")
rows: Any = hook.load("_bitten_probes.table_rows")
events: Any = hook.load("_bitten_probes.table_events")

MOST = 64
CLEAN = 0.05
"""Share of seen rows below which a test is one of fresh rows."""
GROUPS = ("id", "group", "subject", "patient", "user", "speaker", "session", "customer", "person", "author")


class Split:
    """One call of `train_test_split`, in rows traced back."""

    def __init__(self, pool: Any, train: Any, test: Any, found: Any) -> None:
        self.event = events.Event("train_test_split", "split", pool)
        self.train, self.test = rows.unique(train), rows.unique(test)
        self.marks, self.labels = found.marks, None if found.labels is None else rows.unique(found.labels)


class Seen:
    """What was seen in this process."""

    splits: list[Split] = []  # noqa: RUF012 - one process, one list
    pending: dict[int, tuple[Any, Any, dict[str, Any], bool]] = {}  # noqa: RUF012
    mixed: list[tuple[list[float], str, dict[str, Any], tuple[str, str]]] = []  # noqa: RUF012
    clean: set[int] = set()  # noqa: RUF012
    evaluations = 0
    leaked = 0


def note_split(pool: Any, train: Any, test: Any, found: Any) -> None:
    """Rows traced back; `found` are the test's as they stand."""
    if len(Seen.splits) < MOST and min(len(train), len(test)) >= rows.FEWEST and rows.keep(4 * len(pool)):
        Seen.splits.append(Split(pool, train, test, found))


def note_groups(train: Any, test: Any) -> None:
    """A column that by its name says who a row is of, with the same ones on both sides: a prompt, as many ids are no groups."""
    for name in list(getattr(train, "columns", ()))[:64]:
        words = str(name).lower().replace("-", "_").split("_")
        if not any(word in GROUPS for word in words) or len(test) < rows.FEWEST:
            continue
        ours, theirs = rows.unique(rows.column_bits(train[name])), rows.column_bits(test[name])
        shared = rows.share(rows.among(theirs, ours))
        if shared >= 0.5 and 5 <= len(ours) <= len(train) / 2:
            says = f"{shared:.0%} of the test rows have a {name} that training rows have, too: if it tells groups, these are split apart"
            where = events.stack()
            report.hint("tables", f"groups {name}", says, {"tables.groups_in_common": shared, "tables.column": str(name)},
                        (where[-1][1], where[-1][2]) if where else ("", ""))  # fmt: skip


def split_with_test(roots: Any, labels: Any = None) -> Split | None:
    """The latest split whose test part holds these rows, by their values or by their labels."""
    for split in reversed(Seen.splits):
        if rows.share(rows.among(roots, split.test)) >= 0.99:
            return split
        if labels is not None and split.labels is not None and rows.share(rows.among(labels, split.labels)) >= 0.99:
            return split
    return None


# ---------------------------------------------------------------------------------------------- fitted before the split


def judge(marks: Any, size: int, is_fresh: Any, later: list[Any], is_cross: bool) -> None:
    """Rows are evaluated: were they among those that their transformers were fitted on? `is_fresh` tells which the model has not seen.

    `marks` are some of `size` rows.
    """
    Seen.evaluations += 1
    roots, touched = events.trace(marks)
    for event, hit in touched:
        if is_fresh.sum() < rows.FEWEST or rows.share(hit[is_fresh]) < 0.5:
            continue
        inside = rows.among(roots[is_fresh & hit], event.rows)
        if rows.share(inside) >= 0.5 and rows.share(inside) - event.twins >= 0.3:
            count = round(rows.share(inside) * rows.share(is_fresh & hit) * size)
            facts = {"tables.rows_in_common": count, "tables.share_in_common": rows.share(inside), "tables.fitted_rows": event.size,
                     "tables.estimator": event.name}  # fmt: skip
            split = split_with_test(roots)
            Seen.pending.setdefault(id(event), (event, split.event.stack if split else later, facts, is_cross))
        elif rows.share(inside) <= 0.1:
            Seen.clean.add(id(event))


def judge_own_statistics(touched: list[Any], marks: Any, size: int, is_fresh: Any, where: list[Any]) -> bool:
    """Training rows went through `touched`; these went through one of the same name that was fitted on themselves alone.

    One that learnt the same of both, or nothing at all, is no fault.
    """
    roots, now = events.trace(marks)
    for event, hit in now:
        others = [each for each in touched if each.name == event.name and each is not event and each.learnt != event.learnt]
        is_own = event.size == size and rows.share(rows.among(roots, event.rows)) >= 0.99 and event.size > 1
        if others and is_own and hit.all() and rows.share(is_fresh) >= 0.9 and event not in touched:
            says = (f"{event.name} was fitted anew on the {event.size} rows that a model is judged by; its training rows went through one "
                    f"that was fitted on {others[0].size} others (at {others[0].line.rpartition('/')[2]})")  # fmt: skip
            facts = {"tables.estimator": event.name, "tables.fitted_rows": event.size, "also": [others[0].line]}
            found("own_statistics", says, facts, event.here)
            return True
    return False


def tell_pending() -> None:
    """At the end: a transformer that used the targets is a finding, one that did not is mild."""
    if not Seen.evaluations:
        _judge_splits()
    _tell_mixed()
    for event, later, facts, is_cross in Seen.pending.values():
        is_clean = id(event) in Seen.clean and not is_cross
        how = {"resampler": "made rows from", "supervised": "chose by the targets of"}.get(event.kind, "was fitted on")
        says = (f"{event.name} {how} {event.size} rows before they were split: {facts['tables.rows_in_common']} rows "
                f"({facts['tables.share_in_common']:.0%}) that a model is judged by were among them")  # fmt: skip
        also = [event.line] if event.line else []
        if event.kind in ("supervised", "resampler") and not is_clean:
            count, share = facts.pop("tables.rows_in_common"), facts.pop("tables.share_in_common")
            facts.update({"tables.leaked_rows": count, "tables.leaked_share": share, "also": also})
            found("fit_before_split", says, facts, events.turn(event.stack, later))
        else:
            mild = "an inner validation only" if is_clean else "mild, as no target was used"
            report.hint("tables", f"fitted {event.line}", f"{says} ({mild})", {**facts, "also": also}, events.turn(event.stack, later))


def _judge_splits() -> None:
    """Nothing of scikit-learn was evaluated, so a model of another kind was: its test rows are the split's."""
    np = sys.modules["numpy"]
    for split in Seen.splits[:1]:
        judge(split.marks, len(split.marks), np.ones(len(split.marks), bool), split.event.stack, False)


# ---------------------------------------------------------------------------------------------- a model and the rows it has seen


def judge_model(name: str, fitted: Any, roots: Any, size: int, where: list[Any], variables: list[str]) -> None:
    """`fitted` is the event of the model's last fit; `roots` some of `size` rows."""
    seen = rows.among(roots, fitted.rows)
    overlap, by_nature = rows.share(seen), max(fitted.twins, rows.twins(roots))
    fitted.tests[:] = [min([overlap, *fitted.tests])]
    count = round(overlap * size)
    covered = count / max(1, len(fitted.rows))
    facts = {"tables.leaked_rows": count, "tables.leaked_share": overlap, "tables.fitted_rows": fitted.size,
             "tables.estimator": name, "also": [fitted.line]}  # fmt: skip
    if overlap - by_nature < CLEAN or by_nature > 0.5:
        return
    tests = [each for each in variables if _is_test_name(each)]
    if overlap >= 0.99 and tests:
        says = f"{tests[0]} is called a test set, and each of its {size} rows is one that {name} was fitted on"
        found("test_is_train", says, facts, (where[-1][1], where[-1][2]) if where else ("", ""))
    elif overlap < 0.99 and covered < 0.9:
        _judge_redrawn(name, fitted, roots, size, where, facts)


def _judge_redrawn(name: str, fitted: Any, roots: Any, size: int, where: list[Any], facts: dict[str, Any]) -> None:
    """A part of the rows, neither all nor none: as if test rows had been drawn a second time."""
    says = f"{facts['tables.leaked_rows']} of {size} rows that {name} is judged by are rows that it was fitted on"
    second = split_with_test(roots)
    first = next((each for each in Seen.splits if rows.share(rows.among(fitted.rows, each.train)) >= 0.99 and each is not second), None)
    if second is not None and first is not None:
        facts["also"] = [first.event.line, *facts["also"]]
        found("split_redrawn", f"{says}: the rows were split twice, and the second draw is another", facts, second.event.here)
    elif facts["tables.leaked_share"] >= 0.3 or fitted.twins < 0.01:
        says += ": its training rows and these were drawn apart from each other"
        Seen.mixed[MOST:] = []
        Seen.mixed.append((fitted.tests, says, facts, (where[-1][1], where[-1][2])))


def _tell_mixed() -> None:
    """Rows of both sides, as for a picture or a group, are no fault where the same fit was tested on fresh rows as well."""
    for tests, says, facts, where in Seen.mixed:
        if tests[0] >= CLEAN:
            found("split_redrawn", says, facts, where)


def _is_test_name(variable: str) -> bool:
    words = variable.lower().replace(".", "_").split("_")
    return any(word in ("test", "te", "val", "valid", "validation", "holdout", "xtest", "xval") for word in words)


def found(kind: str, says: str, facts: dict[str, Any], where: tuple[str, str]) -> None:
    Seen.leaked = max(Seen.leaked, facts.get("tables.leaked_rows", 0))
    report.finding("tables", f"{kind} {where[0]}", says, {"tables.leak": kind, **facts}, where)


def forget() -> None:
    Seen.splits.clear()
    Seen.pending.clear()
    Seen.mixed.clear()
    Seen.clean.clear()
    Seen.evaluations = Seen.leaked = 0

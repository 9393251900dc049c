"""Where numbers stopped being finite, and whether they reached a model so: divisions, logarithms, joins and alignments of pandas.

Part of the instrument `tables`. Nothing is said of a gap that is filled before a model sees the table. What it does not know: arithmetic
of bare numpy arrays, but for what numpy warned of; a column that is renamed on its way.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
patches: Any = hook.load("_bitten_patches")
report: Any = hook.load("_bitten_probes.report")
events: Any = hook.load("_bitten_probes.table_events")
lines: Any = hook.load("_bitten_probes.table_lines")
seams: Any = hook.load("_bitten_probes.table_seams")

LONGEST = 2_000_000
MOST = 64
MOST_CALLS, EACH_CALL, SOME_CALLS = 2000, 64, 8
"""Calls of models whose inputs are looked at: how many, how many of the first without a gap, and every which later one."""
ARITHMETIC = ("add", "sub", "mul", "truediv", "rtruediv", "floordiv", "mod", "pow", "rsub", "radd", "rmul")


class Gap:
    """One operation that made NaN or infinity of finite values."""

    def __init__(self, what: str, columns: set[str], count: int, size: int) -> None:
        self.what, self.columns, self.count, self.size = what, columns, count, size
        self.stack = events.stack()

    @property
    def here(self) -> tuple[str, str]:
        return (self.stack[-1][1], self.stack[-1][2]) if self.stack else ("", "")


_gaps: list[Gap] = []
_left: dict[str, tuple[int, tuple[str, str]]] = {}
"""Columns that left pandas with such values: how many, and where."""


class Reached:
    calls = 0
    refused: Any = None
    is_told = False


def install() -> None:
    patches.on_import("pandas.core.frame", _frames)
    patches.on_import("pandas.core.series", _series)
    bus.listen("tables.gaps", root_pre=_fed)


def _frames(module: Any) -> None:
    frame, generic = module.DataFrame, sys.modules["pandas.core.generic"].NDFrame
    seams.watch_pandas(generic, "__array_ufunc__", None, _computed("a function of numpy", 3))
    seams.watch_pandas(frame, "_set_item", None, _set)
    _to_arrays(frame)
    for name in ("merge", "join", "reindex"):
        seams.watch_pandas(frame, name, None, _joined(name))


def _to_arrays(cls: Any) -> None:
    for name in ("to_numpy", "__array__"):
        base = next((each for each in cls.__mro__ if name in each.__dict__), None)
        if base is not None:
            seams.watch_pandas(base, name, None, _leaves)
    seams.watch_property(cls, "values", _leaves)


def _series(module: Any) -> None:
    _to_arrays(module.Series)
    base = next((each for each in module.Series.__mro__ if "__truediv__" in each.__dict__), module.Series)
    for name in ARITHMETIC:
        seams.watch_pandas(base, f"__{name}__", None, _computed(name, 0))
    seams.watch_pandas(module.Series, "map", None, _computed("map", 0))
    seams.watch_pandas(module.Series, "reindex", None, _computed("reindex", 0))


# ---------------------------------------------------------------------------------------------- where they arise


def bad(value: Any) -> int:
    """How many values of a column or an array are not finite."""
    np, kind = sys.modules["numpy"], getattr(getattr(value, "dtype", None), "kind", "")
    if kind not in "fcO" or getattr(value, "size", LONGEST + 1) > LONGEST:
        return 0
    if kind == "O":
        return int(value.isna().sum()) if hasattr(value, "isna") and value.size <= 200_000 else 0
    array = value.values if hasattr(value, "isna") else value
    return int(array.size - np.isfinite(array).sum()) if isinstance(array, np.ndarray) and array.dtype.kind in "fc" else 0


def _computed(what: str, skip: int) -> Any:
    def after(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
        if what in ARITHMETIC and len(args) > 1 and hasattr(args[1], "isna") and args[0].index is not args[1].index:
            _aligns(args)
        count = bad(out) if getattr(out, "ndim", 0) == 1 and hasattr(out, "isna") else 0
        if not count or not events.called_by_user(sys._getframe(1), "pandas"):
            return
        if count > max([bad(each) for each in args[skip:] if hasattr(each, "isna") and getattr(each, "ndim", 0) == 1], default=0):
            name = f"numpy's {args[1].__name__}" if skip and len(args) > 1 else _WORDS.get(what, what)
            _note(Gap(name, {str(out.name)} if out.name is not None else set(), count, len(out)))

    return after


def _aligns(args: Any) -> None:
    if events.called_by_user(sys._getframe(1), "pandas"):
        hook.load("_bitten_probes.table_indexes").computed(args)


_WORDS = {"truediv": "a division", "rtruediv": "a division", "floordiv": "a division", "mod": "a remainder", "pow": "a power",
          "add": "a sum", "radd": "a sum", "sub": "a difference", "rsub": "a difference", "mul": "a product", "rmul": "a product",
          "map": "a map", "reindex": "a reindex"}  # fmt: skip


def _note(gap: Gap) -> None:
    if len(_gaps) < MOST and gap.stack:
        _gaps.append(gap)


def _joined(what: str) -> Any:
    def after(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
        if not hasattr(out, "columns") or len(out) > 200_000 or not events.called_by_user(sys._getframe(1), "pandas"):
            return
        if what == "join":
            hook.load("_bitten_probes.table_indexes").joined(args, out)
        before = {str(name) for each in [*args, *kwargs.values()] if hasattr(each, "columns") for name in each.columns if bad(each[name])}
        holes = {str(name): bad(out[name]) for name in list(out.columns)[:256]}
        fresh = {name for name, count in holes.items() if count and name not in before}
        if fresh:
            _note(Gap(what, fresh, max(holes[name] for name in fresh), len(out)))

    return after


def _set(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """A column is given a name, and may be aligned on the way."""
    if len(args) < 3 or not isinstance(args[1], str) or not events.called_by_user(sys._getframe(1), "pandas"):
        return
    frame, name, value = args[0], args[1], args[2]
    column = frame[name]
    if getattr(column, "ndim", 0) != 1:
        return
    held, given = bad(column), bad(value)
    hook.load("_bitten_probes.table_indexes").assigned(frame, name, value, held, given)
    if held > given and hasattr(value, "index"):
        _note(Gap("an assignment that aligns by labels", {name}, held, len(frame)))
    elif held:
        for gap in _gaps[-4:]:
            if gap.count == held and gap.size == len(frame):
                gap.columns.add(name)


# ---------------------------------------------------------------------------------------------- where they go


def _leaves(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """A frame or a series becomes an array, at the person's own line."""
    np = sys.modules["numpy"]
    if not isinstance(out, np.ndarray) or out.size > LONGEST or not events.called_by_user(sys._getframe(1)):
        return
    frame = args[0]
    hook.load("_bitten_probes.table_indexes").note_array(frame, out)
    if out.ndim != 2:
        return
    hook.load("_bitten_probes.table_features").note_frame(frame, out)
    if out.dtype.kind == "f" and not np.isfinite(out).all():
        here = events.stack()
        for at in np.flatnonzero(~np.isfinite(out).all(0))[:64]:
            _left[str(frame.columns[at])] = (int((~np.isfinite(out[:, at])).sum()), (here[-1][1], here[-1][2]) if here else ("", ""))


def reaches(estimator: Any, method: str, table: Any) -> Any:
    """Before a fit or a prediction: a call that then raises has refused the values. Gives what `accepted` takes, if it comes back."""
    Reached.refused = None
    columns = _bad_columns(table)
    if columns:
        lines.chained()
        Reached.refused = (type(estimator).__name__, method, columns, events.stack())
    return Reached.refused


def accepted(given: Any) -> None:
    if given is not None and Reached.refused is given:
        Reached.refused = None


def _bad_columns(table: Any) -> dict[str, int]:
    np = sys.modules["numpy"]
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        counted = {str(name): bad(table.iloc[:, at]) for at, name in enumerate(list(table.columns)[:1000])}
        return {name: count for name, count in counted.items() if count}
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind == "f" and table.size <= LONGEST:
        counts = (~np.isfinite(table)).sum(0)
        return {f"column {at}": int(counts[at]) for at in np.flatnonzero(counts)}
    return {}


def _fed(module: Any, args: Any) -> None:
    """A model of torch is called: the sum of its input is read with the other numbers of the step."""
    if Reached.is_told or Reached.calls >= MOST_CALLS or "numpy" not in sys.modules:
        return
    Reached.calls += 1
    if Reached.calls > EACH_CALL and Reached.calls % SOME_CALLS:
        return
    torch, here = sys.modules["torch"], None
    with torch.no_grad():
        for at, each in enumerate(args[:3]):
            if type(each) is torch.Tensor and each.dtype.is_floating_point and each.layout is torch.strided and each.numel():
                here = here or report.here()
                bus.defer(each.detach().float().sum().reshape(1), lambda numbers, at=at, where=here: _summed(numbers[0], at, where))


def _summed(number: float, at: int, where: tuple[str, str]) -> None:
    """Behind the first argument infinity is a mask's."""
    is_bad = number != number if at else number - number != 0  # noqa: PLR0124 - NaN; or infinite, too
    if is_bad and not Reached.is_told:
        Reached.is_told = True
        _tell("a model of torch", {}, where, is_nan=number != number)  # noqa: PLR0124


def tell_refused() -> None:
    """At the end: a call that never came back."""
    if Reached.refused is not None:
        name, method, columns, stack = Reached.refused
        _tell(f"{name}.{method}", columns, (stack[-1][1], stack[-1][2]) if stack else ("", ""), is_nan=True)


def _tell(whom: str, columns: dict[str, int], where: tuple[str, str], is_nan: bool) -> None:
    names = set(columns) or set(_left)
    gap = next((each for each in _gaps if each.columns & names), None) or (_gaps[-1] if _gaps and not names else None)
    facts: dict[str, Any] = {"tables.bad_columns": sorted(names)[:20], "also": [where[0]] if where[0] else []}
    chained = lines.chained()
    if gap is not None:
        known = ", ".join(sorted(gap.columns)) or "a column"
        facts.update({"tables.bad_values": gap.count, "tables.made_by": gap.what})
        says = f"{gap.what} made {gap.count} of {gap.size} values of {known} NaN or infinite, and they reached {whom}"
        report.finding("tables", "gap", says, facts, gap.here)
    elif chained and names:
        facts.update({"tables.bad_values": max(columns.values(), default=0), "tables.made_by": "a fill without effect",
                      "also": [*chained[1:4], *facts["also"]]})  # fmt: skip
        says = (f"{', '.join(sorted(names)[:6])} still held NaN at {whom}: under copy-on-write, table[column].fillna(…, inplace=True) "
                "fills a copy")  # fmt: skip
        report.finding("tables", "gap", says, facts, _place(chained[0]))
    elif names:
        count, left = max((_left[name] for name in names if name in _left), default=(max(columns.values(), default=0), where))
        facts.update({"tables.bad_values": count, "tables.made_by": "the data"})
        says = f"{', '.join(sorted(names)[:6])}: {count} values are NaN or infinite, and they reached {whom}"
        report.finding("tables", "gap", says, facts, left)
    else:
        _tell_of_numpy(whom, facts, is_nan)


def _tell_of_numpy(whom: str, facts: dict[str, Any], is_nan: bool) -> None:
    warned = lines.warned()
    if warned:
        facts.update({"tables.made_by": "numpy", "also": [*warned[1:5], *facts["also"]]})
        says = f"numpy warned of a value that is not finite at this line first, and such values reached {whom}"
        report.finding("tables", "gap", says, facts, _place(warned[0]))
    elif is_nan:
        found = lines.dividing()[:8]
        if found:
            report.hint("tables", "gap", f"NaN reached {whom}; these lines divide or take a logarithm", {**facts, "also": found})


def _place(line: str) -> tuple[str, str]:
    return line, line.rpartition(":")[0] + ":"


def summary() -> dict[str, Any]:
    return {"tables.gaps": len(_gaps)}


def forget() -> None:
    _gaps.clear()
    _left.clear()
    Reached.calls, Reached.refused, Reached.is_told = 0, None, False

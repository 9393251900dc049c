"""What columns are at fit and at predict: their names, their order, and their scale.

Part of the instrument `tables`. The columns of a bare array are known by its rows, which were a frame's before, or a split's. What it does
not know: an array whose rows it never saw in another order; a shift of a few columns, which may be the world's.
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

SAMPLE = 5000
MOST = 32
RATIO = 1000.0
"""Spread of the widest column over that of the narrowest: a solver of gradients sees the narrow one a million times flatter."""
TELLING = 0.9
"""Share of the rows that their values tell apart in whatever order they stand: of few values, other rows have the same."""
FAR = 10.0
"""Training's standard deviations between the two means."""
ITERATIVE = ("sklearn.linear_model", "sklearn.svm", "sklearn.neural_network", "sklearn.mixture")


class Known:
    """Rows whose columns are known, and in which order."""

    def __init__(self, marks: Any, bags: Any, names: tuple[str, ...]) -> None:
        self.marks, self.bags, self.names = rows.unique(marks), rows.unique(bags), names
        self.can_turn = len(self.bags) >= TELLING * len(rows.unique(marks[: rows.CHUNK]))


_known: list[Known] = []


def note_named(table: Any, found: Any) -> None:
    """The rows of a frame, or of an array that is about to be split: its columns go by these names."""
    if found is None or len(_known) >= MOST or (not found.names and names_of(found)):
        return
    array = as_array(table)
    if array is not None and rows.keep(len(found)):
        names = found.names or tuple(f"column {at}" for at in range(found.width))
        _known.append(Known(found.marks, rows.bags(array), names))


def note_frame(frame: Any, out: Any) -> None:
    """A frame becomes a bare array."""
    if len(_known) < MOST:
        found = rows.of(out)
        if found is not None:
            note_named(frame, rows.Rows(found.marks, tuple(str(each) for each in frame.columns), None, found.width))


def as_array(table: Any) -> Any:
    """The numbers of a table, or None."""
    np = sys.modules["numpy"]
    if isinstance(table, np.ndarray):
        return table if table.ndim == 2 and table.dtype.kind in "fiub" else None
    kinds = getattr(table, "dtypes", None)
    if kinds is None or not hasattr(table, "iloc") or not all(isinstance(each, np.dtype) and each.kind in "fiub" for each in kinds):
        return None
    return table.to_numpy(dtype="float64")


def note_made(estimator: Any, found: Any, made: Any) -> None:
    """A transformer that keeps its columns keeps their names."""
    is_one_to_one = any(base.__name__ == "OneToOneFeatureMixin" for base in type(estimator).__mro__)
    names = names_of(found)
    if is_one_to_one and names and not made.names and made.width == found.width and len(_known) < MOST \
            and rows.keep(len(made)):  # fmt: skip
        _known.append(Known(made.marks, made.marks[:0], names))


def names_of(found: Any) -> tuple[str, ...]:
    if found.names:
        return tuple(found.names)
    for each in _known:
        if len(each.names) == found.width and rows.share(rows.among(found.sample().marks, each.marks)) >= 0.9:
            return each.names
    return ()


class Features:
    """The columns of a fit."""

    def __init__(self, table: Any, found: Any) -> None:
        self.names, self.width = names_of(found), found.width
        self.mean, self.std = _spread(table)
        self.has_names = bool(found.names)
        self.line = report.here()[0]


def _spread(table: Any) -> tuple[Any, Any]:
    np = sys.modules["numpy"]
    array = as_array(table)
    if array is None:
        return None, None
    sample = array[:: max(1, len(array) // SAMPLE)].astype("float64")
    with np.errstate(all="ignore"):
        return sample.mean(0), sample.std(0)


# ---------------------------------------------------------------------------------------------- at predict


def compare(estimator: Any, fitted: Any, table: Any, found: Any) -> None:
    """`fitted` are the Features of the model, or the transformer, that is asked now."""
    if fitted is None or fitted.width != found.width:
        return
    if not _is_permuted(type(estimator).__name__, fitted, table, found) and not hasattr(estimator, "transform"):
        compare_scales(estimator, fitted, table, found)


def _is_permuted(name: str, fitted: Any, table: Any, found: Any) -> bool:
    if found.names and fitted.has_names:  # scikit-learn looks at the names itself, or takes columns by them
        return False
    now = names_of(found) or _turned(fitted.names, table, found)
    if not now or not fitted.names or now == fitted.names or sorted(now) != sorted(fitted.names):
        return False
    moved = [one for one, other in zip(fitted.names, now) if one != other]
    says = (f"{name} was fitted on the columns {_listed(fitted.names)} and is asked with {_listed(now)}: "
            f"{len(moved)} of {len(now)} stand in another place")  # fmt: skip
    facts = {"tables.order": "permuted", "tables.order_at_fit": list(fitted.names[:20]), "tables.order_at_predict": list(now[:20]),
             "also": [fitted.line]}  # fmt: skip
    where = events.stack()
    report.finding("tables", f"order {fitted.line}", says, facts, (where[-1][1], where[-1][2]) if where else ("", ""))
    return True


def _turned(names: tuple[str, ...], table: Any, found: Any) -> tuple[str, ...]:
    """Rows that are known by their values, and do not stand as they did: in which order, nobody can say for sure."""
    array = as_array(table)
    if array is None or len(found) < 5 or found.width < 2:
        return ()
    bags = rows.bags(array)
    for each in _known:
        if each.names == names and each.can_turn and len(each.bags) and rows.share(rows.among(bags, each.bags)) >= 0.9:
            return tuple(reversed(names)) if names != tuple(reversed(names)) else ()
    return ()


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:6]) + (f" … {len(names)}" if len(names) > 6 else "")


def compare_scales(estimator: Any, fitted: Any, table: Any, found: Any) -> None:
    """Training's columns were standardised and these are not, or the other way round."""
    np = sys.modules["numpy"]
    mean, std = _spread(table)
    is_outlier_search = any(base.__name__ == "OutlierMixin" for base in type(estimator).__mro__)
    if mean is None or fitted.mean is None or len(found) < 20 or found.width < 2 or is_outlier_search:
        return
    with np.errstate(all="ignore"):
        shift, wider = np.abs(mean - fitted.mean) / fitted.std, np.maximum(std / fitted.std, fitted.std / std)
        far = np.isfinite(shift) & ((shift > FAR) | (np.isfinite(wider) & (wider > FAR)))
    if far.mean() < 0.5 or _is_standard(mean, std) == _is_standard(fitted.mean, fitted.std):
        return
    which = int(np.nanargmax(np.where(np.isfinite(shift), shift, -1)))
    name = (fitted.names or found.names or tuple(f"column {at}" for at in range(found.width)))[which]
    says = (f"{type(estimator).__name__} was fitted where {name} is {fitted.mean[which]:.4g} ± {fitted.std[which]:.4g}, and is asked where "
            f"it is {mean[which]:.4g} ± {std[which]:.4g}: one side is standardised and the other is not")  # fmt: skip
    facts = {"tables.shift": float(shift[which]), "tables.shifted_columns": int(far.sum()), "also": [fitted.line]}
    where = events.stack()
    report.finding("tables", f"shift {fitted.line}", says, facts, (where[-1][1], where[-1][2]) if where else ("", ""))


def _is_standard(mean: Any, std: Any) -> bool:
    np = sys.modules["numpy"]
    return bool((np.abs(mean) < 1).mean() >= 0.9 and ((std > 0.2) & (std < 5)).mean() >= 0.9)


# ---------------------------------------------------------------------------------------------- convergence


def converged(estimator: Any, table: Any) -> None:
    """Called after each fit, those inside pipelines and folds too."""
    if not type(estimator).__module__.startswith(ITERATIVE):
        return
    np, held = sys.modules["numpy"], vars(estimator)
    most, made = held.get("max_iter"), held.get("n_iter_")
    is_short = held.get("converged_") is False or (isinstance(most, int) and most > 0 and made is not None and int(np.max(made)) >= most)
    if not is_short:
        return
    _, std = _spread(table)
    wide = std[std > 0] if std is not None else np.empty(0)
    ratio = float(wide.max() / wide.min()) if len(wide) else 1.0
    facts = {"tables.converged": False, "tables.iterations": int(np.max(made)) if made is not None else 0, "tables.scale_ratio": ratio}
    says = f"{type(estimator).__name__} stopped at its limit of {most} iterations and has not converged"
    where = report.here()
    if ratio > RATIO:
        says += f"; its columns are not scaled: the widest varies {ratio:.3g} times as much as the narrowest"
        report.finding("tables", f"converged {where[0]}", says, facts, where)
    else:
        report.hint("tables", f"converged {where[0]}", says, facts, where)


def forget() -> None:
    _known.clear()

"""What estimators of scikit-learn's kind are fitted on, made, and judged by: their public methods, where the person's own code calls them.

Part of the instrument `tables`. A call from inside a library (a pipeline's step, a fold of `cross_val_score`) tells only whether it
converged: its rows are that library's to choose. What it does not know: a model that was loaded from a file, or fitted in another process.
"""

from __future__ import annotations

import sys
import weakref
from time import thread_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")
patches: Any = hook.load("_bitten_patches")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
seams: Any = hook.load("_bitten_probes.table_seams")
rows: Any = hook.load("_bitten_probes.table_rows")
events: Any = hook.load("_bitten_probes.table_events")
leaks: Any = hook.load("_bitten_probes.table_leaks")
folds: Any = hook.load("_bitten_probes.table_folds")
features: Any = hook.load("_bitten_probes.table_features")
gaps: Any = hook.load("_bitten_probes.table_gaps")
targets: Any = hook.load("_bitten_probes.table_targets")
copies: Any = hook.load("_bitten_probes.table_copies")
scores: Any = hook.load("_bitten_probes.table_scores")
indexes: Any = hook.load("_bitten_probes.table_indexes")

SECONDS = 3.0
"""What a process spends on looking at its rows; after that it is blind, and says so."""


class Clock:
    spent = 0.0
    handfuls = 0


class Model:
    """A fitted estimator: its last fit, the rows of all its folds, and what its columns were like."""

    def __init__(self, name: str) -> None:
        self.name, self.turns = name, folds.Turns()
        self.event: Any = None
        self.features: Any = None
        self.touched: list[Any] = []
        self.is_continued = False
        self.copies = ""
        self.encoded: list[Any] = []

    def remember(self, event: Any) -> None:
        """The last fit, where there is room for its rows."""
        self.forget()
        if rows.keep(len(event.rows)):
            self.event = event

    def forget(self) -> None:
        rows.keep(-len(self.event.rows) if self.event is not None else 0)
        self.event = None


_models: dict[int, tuple[Any, Model]] = {}


def model_of(estimator: Any) -> Model:
    key = id(estimator)
    known = _models.get(key)
    if known is None or known[0]() is not estimator:
        known = _models[key] = (weakref.ref(estimator, lambda _: _gone(key)), Model(type(estimator).__name__))
    return known[1]


def _gone(key: int) -> None:
    known = _models.pop(key, None)
    if known is not None:
        known[1].forget()


def install() -> None:
    patches.on_import("sklearn.base", lambda module: seams.every_subclass(module.BaseEstimator, _born))
    patches.on_import("sklearn.model_selection", _selection)


METHODS = ("fit", "partial_fit", "fit_transform", "fit_predict", "fit_resample", "transform", "predict", "predict_proba",
           "predict_log_proba", "decision_function", "score")  # fmt: skip


def _born(cls: type) -> None:
    seams.watch_methods(cls, {name: (_before(name), _after(name)) for name in METHODS})


def _before(name: str) -> Any:
    if not name.startswith(("fit", "partial_fit", "predict", "score")):
        return None
    return lambda args, kwargs: _timed(_calling, name, args, kwargs)


def _after(name: str) -> Any:
    return lambda kept, args, kwargs, out: (gaps.accepted(kept), _timed(_called, name, args, kwargs, out))


def _timed(call: Any, *args: Any) -> Any:
    if Clock.spent > SECONDS:
        return None
    start = thread_time()
    try:
        return call(*args)
    finally:
        Clock.spent += thread_time() - start


def _given(args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    x = args[1] if len(args) > 1 else kwargs.get("X")
    return args[0], x, args[2] if len(args) > 2 else kwargs.get("y")


def _calling(name: str, args: Any, kwargs: Any) -> Any:
    if "numpy" not in sys.modules or not _is_direct():
        return None
    estimator, x, _ = _given(args, kwargs)
    return gaps.reaches(estimator, name, x)


def _is_direct() -> bool:
    return bool(events.called_by_user(sys._getframe(1)))


def _called(name: str, args: Any, kwargs: Any, out: Any) -> None:
    if "numpy" not in sys.modules:
        return
    estimator, x, y = _given(args, kwargs)
    if name.startswith(("fit", "partial_fit")):
        features.converged(estimator, x)
    if not _is_direct() or x is None:
        return
    if not name.startswith("fit") and _is_handful(x):
        return
    found = rows.of(x)
    if found is None:
        return
    if name.startswith(("fit", "partial_fit")):
        _fitted(name, estimator, x, y, found, out)
    elif name == "transform":
        features.compare(estimator, model_of(estimator).features, x, found)
        _made(estimator, found, out)
    else:
        _evaluated(name, estimator, x, found, out)


# ---------------------------------------------------------------------------------------------- fits


def _is_handful(table: Any) -> bool:
    """One of many requests for few rows, as a server gets them: a hundred of them tell what there is to tell."""
    shape = getattr(table, "shape", (rows.FEWEST,))
    Clock.handfuls += len(shape) > 0 and shape[0] < rows.FEWEST
    return len(shape) > 0 and shape[0] < rows.FEWEST and Clock.handfuls > 100


def _fitted(name: str, estimator: Any, x: Any, y: Any, found: Any, out: Any) -> None:
    indexes.paired(x, y)
    if hasattr(estimator, "best_estimator_") and len(found) >= rows.FEWEST:
        some = found.sample()
        leaks.judge(some.marks, len(found), _all(some), events.stack(), False)
    model, (roots, touched) = model_of(estimator), events.trace(found.marks)
    model.touched = [event for event, hit in touched if rows.share(hit) >= 0.5]
    model.is_continued = name == "partial_fit" or bool(getattr(estimator, "warm_start", False))
    if model.is_continued:
        model.turns.trained(roots)
    else:
        model.turns.reset()
    all_rows = sys.modules["numpy"].concatenate(model.turns.before + model.turns.since) if model.is_continued else roots
    model.remember(events.Event(model.name, _kind(name, estimator, y), all_rows))
    scores.note_truth(y)
    if model.event is None:
        return
    model.event.learnt = _learnt(estimator) if hasattr(estimator, "transform") else {}
    model.copies = copies.in_training(roots, y) if model.event.twins > 0.05 else ""
    model.features, model.encoded = features.Features(x, found), targets.matching(x, y)
    if name == "fit_transform":
        _made(estimator, found, out)
    elif name == "fit_resample":
        _resampled(model.event, out)


def _learnt(estimator: Any) -> dict[str, str]:
    """What a fit left on a transformer, by name."""
    held = {name: each for name, each in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}
    return {name: fingerprint.digest(each) for name, each in held.items()}


def _all(found: Any) -> Any:
    return sys.modules["numpy"].ones(len(found), bool)


def _kind(name: str, estimator: Any, y: Any) -> str:
    if name == "fit_resample":
        return "resampler"
    if y is None or not hasattr(estimator, "transform"):
        return "unsupervised"
    of_selection = type(estimator).__module__.startswith("sklearn.feature_selection") and type(estimator).__name__ != "VarianceThreshold"
    return "supervised" if of_selection or _needs_targets(estimator) else "unsupervised"


def _needs_targets(estimator: Any) -> bool:
    try:
        return bool(estimator.__sklearn_tags__().target_tags.required)
    except Exception:  # before scikit-learn 1.6, or a class that is no whole estimator
        get = getattr(estimator, "_get_tags", None)
        return bool(get().get("requires_y")) if get is not None else False


def _made(estimator: Any, found: Any, out: Any) -> None:
    event = model_of(estimator).event
    made = rows.of(out) if event is not None else None
    if made is not None and len(made) == len(found):
        events.note_made(event, found.marks, made.marks)
        features.note_made(estimator, found, made)


def _resampled(event: Any, out: Any) -> None:
    """Rows that a resampler made of others, and those it handed through, are all its own."""
    made = rows.of(out[0]) if isinstance(out, tuple) and out else None
    if made is not None:
        np = sys.modules["numpy"]
        event.rows = np.union1d(event.rows, made.marks)
        events.note_made(event, made.marks, made.marks)


# ---------------------------------------------------------------------------------------------- evaluations


def _evaluated(name: str, estimator: Any, x: Any, found: Any, out: Any) -> None:
    model = model_of(estimator)
    if name != "score":
        scores.note_prediction(name, out)
    features.compare(estimator, model.features, x, found)
    if len(found) < rows.FEWEST or model.event is None:
        return
    some, where = found.sample(), events.stack()
    roots, _ = events.trace(some.marks)
    is_fresh = ~rows.among(roots, model.event.rows)
    if not leaks.judge_own_statistics(model.touched, some.marks, len(found), is_fresh, where):
        leaks.judge(some.marks, len(found), is_fresh, where, False)
    targets.judge(model.encoded, x, found, is_fresh, where)
    old = model.turns.evaluated(roots) if model.is_continued else 0
    seen = rows.share(~is_fresh)
    if old:
        _tell_reused(model, old / len(roots), len(found), where)
    elif model.copies and 0.05 <= seen <= 0.95 and leaks.split_with_test(roots) is None:
        _tell_copies(model, seen, len(found), where)
    else:
        leaks.judge_model(model.name, model.event, roots, len(found), where, _variables(x))


def _tell_copies(model: Model, share: float, size: int, where: list[Any]) -> None:
    says = f"{round(share * size)} of {size} rows that {model.name} is judged by have a copy among its training rows: {model.copies}"
    facts = {"tables.leaked_rows": round(share * size), "tables.leaked_share": share, "tables.estimator": model.name,
             "also": [where[-1][1]] if where else []}  # fmt: skip
    leaks.found("copies", says, facts, events.turn(model.event.stack, where))


def _tell_reused(model: Model, share: float, size: int, where: list[Any]) -> None:
    says = (f"{round(share * size)} of {size} rows that {model.name} is judged by are rows that it was fitted on in an earlier fold, "
            "and it kept what it had learnt")  # fmt: skip
    facts = {"tables.leaked_rows": round(share * size), "tables.leaked_share": share, "tables.estimator": model.name,
             "also": [where[-1][1]] if where else []}  # fmt: skip
    leaks.found("model_reused", says, facts, model.event.here)


def _variables(value: Any) -> list[str]:
    """By which names the caller knows this object."""
    frame = hook.load("_bitten_probes.report").user_frame(sys._getframe(1))
    if frame is None:
        return []
    held = frames.variables_of(frame)
    names = [str(key) for key, each in list(held.items()) if each is value]
    frames.forget(frame, held)
    return names


# ---------------------------------------------------------------------------------------------- splits and cross-validation


def _selection(module: Any) -> None:
    seams.watch(module, "train_test_split", None, lambda kept, args, kwargs, out: _timed(_split, args, out))
    for name in ("cross_val_score", "cross_validate", "cross_val_predict"):
        seams.watch(module, name, lambda args, kwargs: _timed(_crossed, args, kwargs))


def _split(args: Any, out: Any) -> None:
    if "numpy" not in sys.modules or not events.called_by_user(sys._getframe(1)):
        return
    for at, table in enumerate(args):
        pool = rows.of(table)
        train, test = (rows.of(out[2 * at + side]) for side in (0, 1))
        if pool is not None and train is not None and test is not None:
            roots = [events.trace(each.marks)[0] for each in (pool, train, test)]
            leaks.note_split(*roots, test)
            for part in out:
                scores.note_truth(part)
            leaks.note_groups(out[2 * at], out[2 * at + 1])
            copies.judge(args, pool, train, test)
            for other in args[at + 1 :]:
                indexes.paired(table, other)
            targets.note_split(table, args, pool)
            features.note_named(table, pool)
            return


def _crossed(args: Any, kwargs: Any) -> None:
    if "numpy" not in sys.modules or not events.called_by_user(sys._getframe(1)):
        return
    x, y = args[1] if len(args) > 1 else kwargs.get("X"), args[2] if len(args) > 2 else kwargs.get("y")
    found = rows.of(x)
    if found is not None and len(found) >= rows.FEWEST:
        some = found.sample()
        indexes.paired(x, y)
        leaks.judge(some.marks, len(found), _all(some), events.stack(), True)
        copies.judge((x, y), found, None, None)
        targets.judge(targets.matching(x, y), x, found, _all(found), events.stack())


def forget() -> None:
    _models.clear()
    Clock.spent, Clock.handfuls = 0.0, 0

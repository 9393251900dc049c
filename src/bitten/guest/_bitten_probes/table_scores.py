"""Metrics that are called with truth and prediction in each other's place, or with labels where they rank scores.

Part of the instrument `tables`. Predictions are known by their values, from the estimators that made them.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
patches: Any = hook.load("_bitten_patches")
report: Any = hook.load("_bitten_probes.report")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
events: Any = hook.load("_bitten_probes.table_events")
seams: Any = hook.load("_bitten_probes.table_seams")

ASYMMETRIC = ("precision_score", "recall_score", "fbeta_score", "precision_recall_fscore_support", "classification_report",
              "confusion_matrix", "r2_score", "explained_variance_score", "mean_absolute_percentage_error")  # fmt: skip
OF_SCORES = ("roc_auc_score", "average_precision_score", "roc_curve", "precision_recall_curve")
OF_PROBABILITIES = ("log_loss", "brier_score_loss")
LONGEST = 200_000
MOST = 200

_made: dict[str, str] = {}
"""Digest of a prediction: by which method."""
_truths: set[str] = set()
"""Digests of targets that were fitted on or split: a perfect model's predictions equal them."""


def install() -> None:
    patches.on_import("sklearn.metrics", _metrics)


def _metrics(module: Any) -> None:
    for name in (*ASYMMETRIC, *OF_SCORES, *OF_PROBABILITIES):
        seams.watch(module, name, lambda args, kwargs, name=name: _called(name, args, kwargs))


def note_prediction(method: str, out: Any) -> None:
    if getattr(out, "ndim", 0) == 1 and len(out) <= LONGEST and len(_made) < MOST:
        _made[fingerprint.digest(out)] = method


def note_truth(values: Any) -> None:
    values = _bare(values)
    if getattr(values, "ndim", 0) == 1 and len(values) <= LONGEST and len(_truths) < MOST:
        _truths.add(fingerprint.digest(values))


def _bare(value: Any) -> Any:
    values = getattr(value, "to_numpy", None)
    return values() if values is not None else value


def _called(name: str, args: Any, kwargs: Any) -> None:
    if not _made or not events.called_by_user(sys._getframe(1)):
        return
    truth = args[0] if args else kwargs.get("y_true")
    named = [kwargs[each] for each in ("y_pred", "y_score", "y_proba", "y_prob") if each in kwargs]
    given = args[1] if len(args) > 1 else named[0] if named else None
    by_truth, by_given = _method(truth), _method(given)
    if by_truth and fingerprint.digest(_bare(truth)) in _truths:
        return
    where = events.stack()
    place = (where[-1][1], where[-1][2]) if where else ("", "")
    if by_truth and not by_given and name in (*ASYMMETRIC, *OF_SCORES, *OF_PROBABILITIES):
        says = f"{name} was called with what {by_truth} gave in the place of the truth, and the truth in the place of the prediction"
        report.finding("tables", f"metric {place[0]}", says, {"tables.metric": name, "tables.arguments": "swapped"}, place)
    elif by_given == "predict" and not by_truth and name in OF_PROBABILITIES and _is_labels(given):
        says = f"{name} takes probabilities, and was called with the labels that predict gave"
        report.finding("tables", f"metric {place[0]}", says, {"tables.metric": name, "tables.arguments": "labels"}, place)
    elif by_given == "predict" and not by_truth and name in OF_SCORES and _is_labels(given):
        says = f"{name} ranks scores, and was called with the labels that predict gave: the threshold has been chosen already"
        report.hint("tables", f"metric {place[0]}", says, {"tables.metric": name, "tables.arguments": "labels"}, place)


def _method(value: Any) -> str:
    value = _bare(value)
    return _made.get(fingerprint.digest(value), "") if getattr(value, "ndim", 0) == 1 and len(value) <= LONGEST else ""


def _is_labels(value: Any) -> bool:
    np = sys.modules["numpy"]
    return len(np.unique(np.asarray(value)[:1000])) <= 2


def forget() -> None:
    _made.clear()
    _truths.clear()

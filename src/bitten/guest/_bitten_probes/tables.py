"""Tables of scikit-learn, pandas and numpy: which rows were fitted on and judged by, what columns are, and where NaN came from.

Rows are told apart by what they hold (`table_rows`), and traced through transformers (`table_events`). What it does not know: rows that
the program computes anew by itself, models that were fitted in another process, and what happens inside a library's own loops.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
events: Any = hook.load("_bitten_probes.table_events")
leaks: Any = hook.load("_bitten_probes.table_leaks")
folds: Any = hook.load("_bitten_probes.table_folds")
features: Any = hook.load("_bitten_probes.table_features")
copies: Any = hook.load("_bitten_probes.table_copies")
targets: Any = hook.load("_bitten_probes.table_targets")
scores: Any = hook.load("_bitten_probes.table_scores")
gaps: Any = hook.load("_bitten_probes.table_gaps")
indexes: Any = hook.load("_bitten_probes.table_indexes")
estimators: Any = hook.load("_bitten_probes.table_estimators")

FACTS = {
    "tables.leak": {
        "says": "in which way rows that a model is judged by had been seen before: fit_before_split, copies, split_redrawn, "
        "test_is_train, own_statistics, model_reused, target_encoding",
        "unit": "word",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.leaked_rows": {
        "says": "rows that a model is judged by and that had been seen before, in the worst leak; 0 where none was found",
        "unit": "rows",
        "threshold": "half of the judged rows, and 30 % more than are equal by nature",
        "source": "ours: less may be chance",
        "misfires": "rows that are often equal by nature are not judged",
    },
    "tables.leaked_share": {
        "says": "these as a share of the rows that are judged",
        "unit": "share",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.rows_in_common": {
        "says": "rows on both sides where that is mild or may be so by nature",
        "unit": "rows",
        "threshold": "",
        "source": "",
        "misfires": "data whose rows have few values",
    },
    "tables.share_in_common": {
        "says": "these as a share of the rows that are judged",
        "unit": "share",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.fitted_rows": {
        "says": "rows that the estimator was fitted on",
        "unit": "rows",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.estimator": {
        "says": "class of the estimator that had seen the rows",
        "unit": "name",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.groups_in_common": {
        "says": "test rows whose group, by a column's name, has training rows, too",
        "unit": "share",
        "threshold": "",
        "source": "",
        "misfires": "ids that are no groups",
    },
    "tables.column": {
        "says": "column that holds a mean of the target, or that tells groups",
        "unit": "name",
        "threshold": "equal to the mean, or rising evenly with it, on each row that took part",
        "source": "ours: exact",
        "misfires": "a value that is one for each group by nature, such as a price",
    },
    "tables.order": {
        "says": "whether the columns stand at predict as they stood at fit: permuted",
        "unit": "word",
        "threshold": "permuted",
        "source": "scikit-learn's own check of names, for arrays that have none",
        "misfires": "a model that is meant to be asked with its columns exchanged",
    },
    "tables.order_at_fit": {
        "says": "the columns at fit",
        "unit": "names",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.order_at_predict": {
        "says": "the columns at predict",
        "unit": "names",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.shift": {
        "says": "how far the mean of the farthest column moved between fit and predict",
        "unit": "training's standard deviations",
        "threshold": "10 in half of the columns, where only one side is standardised",
        "source": "ours: no drift of the world",
        "misfires": "training data that is standardised by nature, asked with outliers",
    },
    "tables.shifted_columns": {
        "says": "columns that moved so far",
        "unit": "columns",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.converged": {
        "says": "false where a solver stopped at its limit of iterations",
        "unit": "yes or no",
        "threshold": "at the limit, and tables.scale_ratio above 1000",
        "source": "ours: the narrow column's curvature is a millionth",
        "misfires": "columns of which the wide ones do not matter",
    },
    "tables.iterations": {
        "says": "iterations that were made",
        "unit": "count",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.scale_ratio": {
        "says": "standard deviation of the widest column over that of the narrowest",
        "unit": "ratio",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.loss_first": {
        "says": "mean of the first ten losses of a model whose columns are not scaled",
        "unit": "loss",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.loss_last": {
        "says": "mean of its last ten losses",
        "unit": "loss",
        "threshold": "above 0.9 of the first, where tables.scale_ratio is above 1000 and the widest column's deviation above 100",
        "source": "ours: training stands still",
        "misfires": "a fine-tuning that starts at its best",
    },
    "tables.bad_columns": {
        "says": "columns that were not finite where a model saw them",
        "unit": "names",
        "threshold": "any",
        "source": "ours: exact",
        "misfires": "infinity that is meant as a mask",
    },
    "tables.bad_values": {
        "says": "values that the named line made NaN or infinite",
        "unit": "count",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.made_by": {
        "says": "what made them so",
        "unit": "words",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.gaps": {
        "says": "operations of pandas that made NaN or infinity of finite values; most are filled later",
        "unit": "count",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.misaligned": {
        "says": "times that a table that was numbered anew met one that keeps its labels",
        "unit": "count",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.misaligned_rows": {
        "says": "rows that met another row than the one in their place",
        "unit": "rows",
        "threshold": "any",
        "source": "ours: exact",
        "misfires": "labels that are meant, where no common column says so",
    },
    "tables.unmatched_rows": {
        "says": "rows that met none",
        "unit": "rows",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.metric": {
        "says": "the metric that was called",
        "unit": "name",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "tables.arguments": {
        "says": "what was wrong with its arguments: swapped, labels",
        "unit": "word",
        "threshold": "any",
        "source": "ours: predictions are known by their values",
        "misfires": "labels that equal predictions by chance, so that neither order can be told",
    },
    "tables.is_blind": {
        "says": "whether the instrument stopped looking at rows, as it had spent its seconds",
        "unit": "yes or no",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
}

PARTS = (estimators, copies, targets, scores, gaps, indexes)


def install() -> None:
    for part in PARTS:
        part.install()
    bus.listen("tables.folds", root_pre=folds.called, backward=folds.backward, born=folds.born)
    bus.listen("tables", forked=_forked, end=_end)


def _end() -> None:
    if "numpy" not in sys.modules:  # no table was there to be seen
        return
    folds.settle_all()
    folds.judge_tests()
    leaks.tell_pending()
    gaps.tell_refused()
    report.fact("tables", "summary", _summary())


def _summary() -> dict[str, Any]:
    """What a prediction can be refuted by: healthy values too, but for what was not seen to its end."""
    is_blind = estimators.Clock.spent > estimators.SECONDS or folds.is_blind()
    leaked = {} if is_blind and not leaks.Seen.leaked else {"tables.leaked_rows": leaks.Seen.leaked}
    return {**leaked, "tables.misaligned": indexes.Count.misaligned, "tables.gaps": len(gaps._gaps), "tables.is_blind": is_blind}


def _forked() -> None:
    for part in (events, leaks, folds, features, copies, targets, scores, gaps, indexes, estimators):
        part.forget()

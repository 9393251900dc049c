"""How predictions are made of outputs before they are counted: a choice along a dimension that holds no classes, a threshold on raw scores.

Which dimension holds the classes, and whether an output is a raw score, is learnt from the losses on the same model's outputs; without such
a loss nothing is judged. Arrays are followed to the lines that the source shows. What is counted inside other libraries is not seen.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
outputs: Any = hook.load("_bitten_probes.root_outputs")
root_uses: Any = hook.load("_bitten_probes.root_uses")
metrics_choice: Any = hook.load("_bitten_probes.metrics_choice")
metrics_threshold: Any = hook.load("_bitten_probes.metrics_threshold")
metrics_compare: Any = hook.load("_bitten_probes.metrics_compare")

FACTS = {
    "metrics.kind": {
        "says": "what is wrong with how a prediction is made: wrong_axis, threshold_on_scores, broadcast; none in the summary when "
                "nothing is",
        "unit": "",
        "threshold": "wrong_axis: a choice along a dimension without classes, compared with labels; threshold_on_scores: a threshold "
                     "between 0 and 1 on what is trained as a raw score, a tenth of it outside [0, 1], some by 0.5",
        "source": "ours", "misfires": "a threshold that is meant for raw scores and happens to lie between 0 and 1"},
    "metrics.choices": {
        "says": "choices among outputs (argmax, max, topk) outside of modules", "unit": "calls", "threshold": "", "source": "",
        "misfires": ""},
    "metrics.thresholds": {
        "says": "thresholds on outputs outside of modules", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "metrics.function": {"says": "the operation on this line", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "metrics.dim": {
        "says": "dimension of the model's output along which the choice was made; -1 for all at once", "unit": "", "threshold": "",
        "source": "", "misfires": ""},
    "metrics.class_dim": {
        "says": "dimension of the model's output in which its loss has the classes", "unit": "", "threshold": "", "source": "",
        "misfires": ""},
    "metrics.shape": {"says": "shape of the tensor on this line", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "metrics.threshold": {"says": "the threshold", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "metrics.low": {"says": "lowest score met by the threshold", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "metrics.high": {"says": "highest score met by the threshold", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "metrics.outside": {
        "says": "share of the scores outside [0, 1] at the threshold", "unit": "share", "threshold": "0.1", "source": "ours",
        "misfires": "a threshold that is meant for raw scores"},
    "metrics.losses": {
        "says": "losses that were called on this model's outputs", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "metrics.mean_of_means": {
        "says": "mean over batches of each batch's share of hits", "unit": "share", "threshold": "", "source": "", "misfires": ""},
    "metrics.pooled": {
        "says": "share of hits over all samples of the same batches", "unit": "share", "threshold": "", "source": "", "misfires": ""},
    "metrics.suspicion": {
        "says": "a kind of low precision: threshold_on_scores (no loss tells what the scores mean), unequal_batches", "unit": "",
        "threshold": "", "source": "", "misfires": "often meant"},
}  # fmt: skip


class Now:
    choices = 0
    thresholds = 0
    kinds: list[str] = []  # noqa: RUF012 - of one process


def install() -> None:
    root_uses.install()
    root_uses.listen("metrics", _used)
    bus.listen("metrics", forked=_forked, end=_end)


def _used(name: str, output: Any, tensor: Any, args: Any, kwargs: Any, out: Any) -> None:
    if name in root_uses.CHOICES:
        chosen = out if name == "argmax" else out[1] if isinstance(out, tuple) else None
        if chosen is not None:
            Now.choices += 1
            metrics_compare.watch(tell)
            outputs.follow_choice(chosen, output, metrics_choice.doubt(name, output, tensor, args, kwargs))
    elif name in metrics_threshold.NAMES:
        Now.thresholds += 1
        metrics_compare.watch(tell)
        outputs.follow_choice(out, output)
        metrics_threshold.look(name, output, tensor, args, kwargs)
    elif name in root_uses.ARRAYS:
        metrics_threshold.look_at_array(name, output, tensor)


def tell(kind: str, says: str, facts: dict[str, Any], where: tuple[str, str]) -> None:
    Now.kinds.append(kind)
    report.finding("metrics", f"{kind} {where[0]}", says, {**facts, "metrics.kind": kind}, where)


def _forked() -> None:
    Now.choices = Now.thresholds = 0
    Now.kinds.clear()
    for part in (metrics_threshold, metrics_compare):
        part.forget()


def _end() -> None:
    metrics_threshold.last_words(tell)
    metrics_compare.last_words()
    told = {"metrics.kind": Now.kinds[0] if Now.kinds else "none", "metrics.choices": Now.choices, "metrics.thresholds": Now.thresholds}
    report.fact("metrics", "summary", told)

"""The training loop as the optimizer sees it: what it holds, what reaches it, in which order, at which rate. Arms its parts.

Parts: `members` (which parameters), `moves` (gradients and changes), `accumulation` (order of backward, clearing, step), `scaling`
(clipping, loss scaling), `schedule` (rates), `graph` (what backward runs on, what stays alive). Not seen: optimizers that are not torch's.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")

PARTS = ("accumulation", "scaling", "members", "moves", "schedule", "graph")

FACTS = {
    "optimizer.steps": {
        "says": "steps of the optimizer that made the most",
        "unit": "steps",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "optimizer.order": {
        "says": "in which order gradients are made, cleared and used: clear (as meant), thrown (cleared between the backward calls of one "
        "step), lost (cleared between backward and step), kept (never cleared), unstepped (never used)",
        "unit": "",
        "threshold": "any but clear, three steps in a row",
        "source": "ours: one such step may be a skipped batch",
        "misfires": "an optimizer of one's own that clears or steps without torch's methods",
    },
    "optimizer.backwards_per_step": {
        "says": "backward calls that reached an optimizer between two of its steps, the usual number",
        "unit": "calls",
        "threshold": "",
        "source": "",
        "misfires": "of a GAN, calls for the other network count too",
    },
    "optimizer.backwards": {
        "says": "backward calls that reached an optimizer which never stepped",
        "unit": "calls",
        "threshold": "6",
        "source": "ours",
        "misfires": "a run that only measures gradients, with an optimizer for its zero_grad",
    },
    "optimizer.thrown_per_step": {
        "says": "backward calls of a step whose gradients were cleared before it",
        "unit": "calls",
        "threshold": "1, three steps in a row, no parameter changed between",
        "source": "ours",
        "misfires": "gradient surgery that writes into the old gradients",
    },
    "optimizer.clip": {
        "says": "how gradients were clipped: none, right, scaled gradients (before unscale_), before backward, after step; or what "
        "else was wrong with scaling: loss not scaled, step on scaled gradients",
        "unit": "",
        "threshold": "any but none and right",
        "source": "PyTorch, automatic mixed precision examples",
        "misfires": "gradients that the program unscales by itself",
    },
    "optimizer.clips": {
        "says": "calls of clip_grad_norm_ and clip_grad_value_",
        "unit": "calls",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "optimizer.clip_limit": {"says": "the limit given to the clipping call", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "optimizer.loss_scale": {"says": "the scaler's factor at that moment", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "optimizer.skipped_steps": {
        "says": "steps that the gradient scaler left out",
        "unit": "steps",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "optimizer.unoptimised": {
        "says": "parameters of a trained model that get gradients, never change, and are in no optimizer",
        "unit": "parameters",
        "threshold": "1 that was made after the optimizer, or that nothing has loaded",
        "source": "ours, after TrainCheck's AC-2665",
        "misfires": "a part that is left random on purpose without being frozen",
    },
    "optimizer.unregistered": {
        "says": "trainable tensors below a trained model that its parameters() doesn't know, which get gradients and are in no optimizer",
        "unit": "tensors",
        "threshold": "1",
        "source": "ours",
        "misfires": "a fixed network hidden in a list, neither frozen nor in evaluation mode",
    },
    "optimizer.strangers": {
        "says": "optimizers whose parameters belong to no model that is called and never have a gradient",
        "unit": "optimizers",
        "threshold": "1",
        "source": "ours, after TrainCheck's AC-2665",
        "misfires": "optimizers that step on copies",
    },
    "optimizer.shared_entries": {
        "says": "entries of one container that are one and the same layer",
        "unit": "entries",
        "threshold": "2, put there by the line that made it",
        "source": "ours",
        "misfires": "sharing on purpose written as a list of one layer",
    },
    "optimizer.frozen_share": {
        "says": "share of a trained model's parameters that are frozen",
        "unit": "share",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "optimizer.frozen_layer": {
        "says": "the last layer of a trained model, where it is frozen",
        "unit": "",
        "threshold": "nothing has loaded it, and only vectors train or the rest was loaded",
        "source": "ours",
        "misfires": "a fixed random classifier on purpose",
    },
    "optimizer.frozen_moving": {
        "says": "parameters that do not require gradients and change all the same, held by the optimizer",
        "unit": "parameters",
        "threshold": "1",
        "source": "ours",
        "misfires": "a fixed tensor that the program itself writes to",
    },
    "optimizer.gradient": {
        "says": "what the optimizer's parameters get: some, none, zero (each exactly), or unused (no parameter changes)",
        "unit": "",
        "threshold": "any but some, at each of three looks",
        "source": "ours",
        "misfires": "an optimizer whose part is not used for long",
    },
    "optimizer.still": {
        "says": "parameters of which no sampled value changed at any look",
        "unit": "parameters",
        "threshold": "",
        "source": "",
        "misfires": "rows of an embedding that do not occur",
    },
    "optimizer.update_ratio": {
        "says": "change over size of a weight in one step, the median",
        "unit": "ratio",
        "threshold": "1 (hint)",
        "source": "SageMaker Debugger warns at 10",
        "misfires": "layers that start at zero",
    },
    "optimizer.lr_first": {
        "says": "the first learning rate, the largest of the groups",
        "unit": "",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "optimizer.lr_max": {"says": "the highest learning rate", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "optimizer.lr_max_step": {"says": "the step at which it was reached", "unit": "step", "threshold": "", "source": "", "misfires": ""},
    "optimizer.lr_last": {"says": "the last learning rate", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "optimizer.lr_over_base": {
        "says": "the highest rate over the rate the optimizer was made with",
        "unit": "ratio",
        "threshold": "3, and the loss diverged",
        "source": "ours: a warm-up ends at the base rate",
        "misfires": "linear scaling over workers, which multiplies the rate on purpose",
    },
    "optimizer.lr_low_share": {
        "says": "share of steps with a rate below a thousandth of the highest",
        "unit": "share",
        "threshold": "0.3",
        "source": "ours: a cosine to zero is there for 2 % of its steps",
        "misfires": "a long tail on purpose",
    },
    "optimizer.schedule": {
        "says": "what is wrong with the schedule: none, decayed, too_often, too_seldom, never, overshoot",
        "unit": "",
        "threshold": "any but none",
        "source": "ours",
        "misfires": "a cosine run through many times on purpose",
    },
    "optimizer.scheduler": {"says": "the kind of scheduler", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "optimizer.scheduler_steps": {"says": "how often it was stepped", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "optimizer.schedule_length": {
        "says": "for how many of its steps it was made",
        "unit": "steps",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "optimizer.epochs": {
        "says": "how often the loader that was used most was run through",
        "unit": "epochs",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "optimizer.loss_history": {
        "says": "whether the loss that backward runs on has a history: whole, none, or none of a term",
        "unit": "",
        "threshold": "none, at the first three calls",
        "source": "ours",
        "misfires": "a trained scalar that is its own loss",
    },
    "optimizer.kept_graphs": {
        "says": "steps, each over five steps old, whose graph is still alive",
        "unit": "steps",
        "threshold": "16 from the first on",
        "source": "ours",
        "misfires": "a window of losses with their history, kept on purpose",
    },
    "optimizer.memory_per_step": {
        "says": "growth of resident memory between the last two doublings of the step number",
        "unit": "bytes",
        "threshold": "100000 and a tenth of all (hint)",
        "source": "SageMaker Debugger: 10 %",
        "misfires": "caches that fill",
    },
}


def install() -> None:
    for name in PARTS:
        hook.load("_bitten_probes." + name).install()
    bus.listen("optimizer", end=_end)


def _end() -> None:
    """Each part's facts in one; `graph` knows whether the loss diverged."""
    part = {name: hook.load("_bitten_probes." + name) for name in PARTS}
    told: dict[str, Any] = {}
    for name in PARTS:
        told.update(part[name].facts(part["graph"].has_diverged()) if name == "schedule" else part[name].facts())
    if "optimizer.steps" in told or told.get("optimizer.backwards_per_step"):
        report.fact("optimizer", "summary", told)

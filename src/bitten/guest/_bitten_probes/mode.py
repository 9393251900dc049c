"""Whether dropout and batch normalisation were switched as training and evaluation want it, with the line of each switch.

Judged is what an outermost module does: trained in eval mode after an evaluation left it so, or evaluated in train mode though nobody asked
for that. Frozen normalisation, dropout kept alive on purpose, pseudo-labels and samples of a generator are left alone: an evaluation must
show as one, by its function's name or by what is done with the outputs. Modes set by hand (`module.training = …`) have no line.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
root_uses: Any = hook.load("_bitten_probes.root_uses")
mode_roots: Any = hook.load("_bitten_probes.mode_roots")
mode_dropout: Any = hook.load("_bitten_probes.mode_dropout")
mode_norm: Any = hook.load("_bitten_probes.mode_norm")
mode_judge: Any = hook.load("_bitten_probes.mode_judge")

FACTS = {
    "mode.kind": {
        "says": "what is wrong: left_in_eval, evaluated_in_train_mode, loaded_without_eval, dropout_without_flag, batch_of_one; none in "
                "the summary when nothing is",
        "unit": "",
        "threshold": "left_in_eval: 2 steps in eval mode after an evaluation, of a model that was trained in train mode; others: 1 call",
        "source": "ours; TheDeepChecker compares outputs in both modes",
        "misfires": "training in eval mode on purpose that begins right after an evaluation; Monte Carlo dropout by leaving eval() out"},
    "mode.switch": {
        "says": "train or eval: what was called on this line, outside of a module's own train()", "unit": "", "threshold": "", "source": "",
        "misfires": ""},
    "mode.switch_calls": {"says": "how often it was", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "mode.switch_lines": {"says": "lines that called train() or eval()", "unit": "lines", "threshold": "", "source": "", "misfires": ""},
    "mode.channels_off": {
        "says": "share of the channels of a batch normalisation whose running mean is far from the batches of an evaluation",
        "unit": "share", "threshold": "0.5 (a hint)", "source": "ours: 3 standard deviations", "misfires": "other data on purpose"},
    "mode.root": {"says": "class of the outermost module", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "mode.depends": {
        "says": "layers of it whose work depends on the mode: dropout, normalisation", "unit": "", "threshold": "", "source": "",
        "misfires": ""},
    "mode.steps_in_train": {"says": "optimizer steps on it in train mode", "unit": "steps", "threshold": "", "source": "", "misfires": ""},
    "mode.steps_in_eval": {"says": "optimizer steps on it in eval mode", "unit": "steps", "threshold": "", "source": "", "misfires": ""},
    "mode.steps_left_in_eval": {
        "says": "of these, steps after an evaluation that left it in eval mode", "unit": "steps", "threshold": "2", "source": "ours",
        "misfires": "training in eval mode on purpose that begins right after an evaluation"},
    "mode.evaluated_in_train": {
        "says": "calls without gradient in train mode", "unit": "calls", "threshold": "", "source": "",
        "misfires": "samples of a generator"},
    "mode.evaluated_in_eval": {
        "says": "calls without gradient in eval mode", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "mode.batch_of_one": {
        "says": "calls in train mode of a model with batch normalisation whose batch held one sample", "unit": "calls",
        "threshold": "1 that failed; else 1 (a hint)", "source": "torch refuses it; AUTOTRAINER and torch-audit warn below 8",
        "misfires": "samples of many pixels"},
    "mode.dropout": {"says": "probability of the dropout", "unit": "share", "threshold": "", "source": "", "misfires": ""},
    "mode.suspicion": {
        "says": "a kind of low precision: batch_of_one, dropout_in_eval, running_statistics", "unit": "", "threshold": "", "source": "",
        "misfires": "often meant"},
}  # fmt: skip

MOST_SWITCHES = 60
_switches: dict[tuple[tuple[str, str], bool], int] = {}
kinds: list[str] = []


def install() -> None:
    mode_roots.install(_tell)
    mode_dropout.install(_tell)
    mode_norm.install(_tell)
    root_uses.install()
    root_uses.listen("mode", _used)
    bus.listen("mode", mode=_switched, forked=_forked, end=_end)


def _switched(module: Any, training: bool) -> None:
    where = _line_of_call(module)
    mode_roots.switched(module, training, where)
    key = (where, training)
    if where[0] and (key in _switches or len(_switches) < MOST_SWITCHES):
        _switches[key] = _switches.get(key, 0) + 1


def _line_of_call(module: Any) -> tuple[str, str]:
    """Outside of a `train` that the module's class defines itself."""
    frame = report.user_frame(sys._getframe(1))
    own = [getattr(getattr(type(module), name, None), "__code__", None) for name in ("train", "eval")]
    while frame is not None and frame.f_code in own:
        frame = report.user_frame(frame.f_back)
    where: tuple[str, str] = report.line(frame)
    return where


def _used(name: str, output: Any, *_: Any) -> None:
    """A choice or a threshold is an evaluation's; a loss is only where no gradient is asked for."""
    has_gradient = sys.modules["torch"].is_grad_enabled()
    if not has_gradient or name not in root_uses.LOSSES:
        mode_roots.judged(output.root.module(), has_gradient)


def _tell(kind: str, says: str, facts: dict[str, Any], where: tuple[str, str], is_hint: bool = False) -> None:
    key = f"{kind} {where[0]}"
    if is_hint:
        report.hint("mode", key, says, {**facts, "mode.suspicion": kind}, where)
    else:
        kinds.append(kind)
        report.finding("mode", key, says, {**facts, "mode.kind": kind}, where)


def _forked() -> None:
    _switches.clear()
    kinds.clear()
    mode_roots.forget()
    mode_norm.forget()


def _end() -> None:
    mode_judge.last_words(_tell)
    mode_norm.last_words()
    for (where, training), count in _switches.items():
        name = "train" if training else "eval"
        report.fact("mode", f"{name} {where[0]}", {"mode.switch": name, "mode.switch_calls": count}, where)
    report.fact("mode", "summary", {"mode.kind": kinds[0] if kinds else "none", "mode.switch_lines": len(_switches)})

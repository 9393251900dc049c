"""What came into each loss call, and on which line: looked at on its first call and at each doubling, and told when it can't be meant.

The losses of torch.nn.functional are watched, through torch.nn too; a loss written out by hand is seen only by its graph. Where a call is
suspected, a close look at the next step finds the line that is the cause. What is compiled is not seen.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")
frames: Any = hook.load("_bitten_frames")
outputs: Any = hook.load("_bitten_probes.root_outputs")
loss_look: Any = hook.load("_bitten_probes.loss_look")
loss_rules: Any = hook.load("_bitten_probes.loss_rules")
loss_shift: Any = hook.load("_bitten_probes.loss_shift")
loss_graph: Any = hook.load("_bitten_probes.loss_graph")
loss_cause: Any = hook.load("_bitten_probes.loss_cause")

FACTS = {
    "loss.kind": {
        "says": "what is wrong with a loss call: double_softmax, double_sigmoid, sigmoid_then_softmax, clamped_logits, "
                "not_log_probabilities, "
                "normalised_over_another_dimension, target_not_probability, out_of_reach, broadcast, one_class, target_outside, unshifted, "
                "shifted_twice; none in the summary when nothing is",
        "unit": "",
        "threshold": "the operation that made the input, and its values: rows that sum to 1 within 0.01, all in [0, 1]; 5 % of the "
                     "targets out "
                     "of reach; targets outside [0, 1] by 0.5",
        "source": "UMLAUT, NeuraLint, AUTOTRAINER and TheDeepChecker name the kinds; thresholds ours: far from noise and label smoothing",
        "misfires": "a softmax or sigmoid that is meant as a bounded score"},
    "loss.suspicion": {
        "says": "a kind of low precision: clamped_scores, target_rows, ignored, sum_grows, first_class_unused",
        "unit": "", "threshold": "", "source": "", "misfires": "often meant"},
    "loss.calls": {"says": "calls of watched losses", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "loss.sites": {"says": "lines that call a watched loss", "unit": "lines", "threshold": "", "source": "", "misfires": ""},
    "loss.function": {"says": "the loss called on this line", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.made_by": {
        "says": "the operation that made the input's values, as autograd names it; empty without a graph",
        "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.input_shape": {"says": "shape of the input", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.target_shape": {"says": "shape of the target", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.input_dtype": {"says": "dtype of the input", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.target_dtype": {"says": "dtype of the target", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.input_low": {"says": "lowest value of the input in all looks", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.input_high": {"says": "highest value of the input in all looks", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.target_low": {
        "says": "lowest target in all looks, ignored ones left out", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.target_high": {
        "says": "highest target in all looks, ignored ones left out", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.classes": {"says": "size of the class dimension", "unit": "classes", "threshold": "", "source": "", "misfires": ""},
    "loss.reduction": {"says": "how the loss is reduced", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "loss.ignored_share": {
        "says": "share of ignored targets at the last look", "unit": "share", "threshold": "0.99 (a hint)", "source": "ours",
        "misfires": "masked language models with a low mask rate"},
    "loss.beyond_share": {
        "says": "share of the targets that the operation which made the output can't reach", "unit": "share", "threshold": "0.05",
        "source": "ours; TheDeepChecker and DeepDiagnosis compare ranges",
        "misfires": "noise on targets at the edge: a tenth of their span is allowed"},
    "loss.shift": {
        "says": "positions by which the targets of a language model are later than the ids it was given: 1 is right", "unit": "positions",
        "threshold": "0 or 2, of a model that sees no later position", "source": "ours: exact equality, and autograd",
        "misfires": "a causal model that is meant to copy, or to look two ahead"},
}  # fmt: skip

MOST_SITES = 100
LAST_WORDS = 40
NAMES = ("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss",
         "huber_loss", "kl_div", "log_softmax", "ctc_loss", "soft_margin_loss", "hinge_embedding_loss", "multi_margin_loss",
         "multilabel_margin_loss", "multilabel_soft_margin_loss", "poisson_nll_loss", "gaussian_nll_loss")  # fmt: skip
WEIGHTED = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
"""Of these the third argument weighs each target."""
UNSHIFTED = ("Each target of this language model is the very id that stands at its position, and the model sees no later one: it learns "
             "to copy "
             "what it is given, not to predict the next id.")  # fmt: skip
TWICE = "Each target of this language model is the id two positions later, not the next one: they were shifted twice."


class Site:
    """One line that calls a loss, and what the looks at it have seen."""

    def __init__(self, name: str, where: tuple[str, str]) -> None:
        self.name, self.where, self.calls = name, where, 0
        self.look: Any = None
        self.low: dict[str, float] = {}
        self.high: dict[str, float] = {}
        self.batches: set[int] = set()
        self.shifts: list[int | None] = []
        self.is_text = False
        self.counts: dict[str, int] = {}


class Suspect:
    """What is wrong on a line (none, where only backward knows), until a close look has found its cause or there is no time for one."""

    def __init__(self, site: Site | None, wrong: Any, facts: dict[str, Any], where: tuple[str, str]) -> None:
        self.site, self.wrong, self.facts, self.where = site, wrong, facts, where


class Now:
    """A close look is asked for while suspects wait, and ends when their lines were reached again, or with the step."""

    calls = 0
    backwards = 0
    is_looking = False


_sites: dict[tuple[Any, int, str], Site] = {}
_by_hand: dict[tuple[str, str], Site] = {}
_waiting: list[Suspect] = []
_suspected: set[tuple[str, str]] = set()
_kinds: list[str] = []


def install() -> None:
    outputs.install()
    loss_graph.install()
    patches.on_import("torch", _torch)
    bus.listen("loss", step_post=_step_post, backward=_backward, batch=_batch, forked=_forked, end=_end)


def _torch(torch: Any) -> None:
    for name in NAMES:
        bus.wrap("loss", torch.nn.functional, name, None, _watch(name))


def _watch(name: str) -> Any:
    first, second = ("log_probs", "targets") if name == "ctc_loss" else ("input", "target")

    def called(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
        site = _site(name, bus.caller(sys._getframe(2)))
        if site is None:
            return
        Now.calls += 1
        site.calls += 1
        is_due = site.calls & (site.calls - 1) == 0
        if is_due or Now.is_looking:
            given = args[0] if args else kwargs.get(first)
            target = args[1] if len(args) > 1 else kwargs.get(second)
            if Now.is_looking:
                _resolve(site, target)
            if is_due:
                with bus.quiet():  # what a look computes is no use of the tensors
                    _look_at(site, given, target, _options(name, args, kwargs))

    return called


def _options(name: str, args: Any, kwargs: Any) -> dict[str, Any]:
    """By name; of those given by place only what a rule asks for."""
    third = {"weight": args[2]} if len(args) > 2 and name in WEIGHTED else {}
    second = {"dim": args[1]} if len(args) > 1 and name == "log_softmax" else {}
    return {**second, **third, **kwargs}


def _site(name: str, frame: FrameType | None) -> Site | None:
    """The line of the innermost caller outside torch; None of a call that a mode, such as a default device, makes once more of itself."""
    while frame is not None and _is_between(frame):
        if frame.f_code.co_name == name:
            return None
        frame = frame.f_back
    if frame is None:
        return None
    key = (frame.f_code, frame.f_lasti, name)
    site = _sites.get(key)
    if site is None and len(_sites) < MOST_SITES:
        site = _sites[key] = Site(name, report.line(frame))
    return site


def _is_between(frame: FrameType) -> bool:
    is_torch = str(frame.f_globals.get("__name__", "")).startswith("torch.")
    return is_torch or frame.f_code.co_name == "__torch_function__" or frames.is_ours(frame.f_code)


def _look_at(site: Site, given: Any, target: Any, options: dict[str, Any]) -> None:
    if not outputs.is_plain(given) or given.is_complex():
        return
    look = loss_look.Look(site.name, given, target, options)
    if site.look is None or look.made.name:  # of an evaluation less is known
        site.look = look
    site.batches.add(look.batch)
    if site.name in ("cross_entropy", "nll_loss") and look.has_target and len(site.shifts) < 2:
        site.is_text = site.is_text or loss_shift.has_ids(given)
        _shift(site, loss_shift.shift_of(given, target, options) if site.is_text else None)

    def read(numbers: list[float]) -> None:
        look.read(numbers)
        for name, value in look.numbers.items():
            site.low[name], site.high[name] = min(value, site.low.get(name, value)), max(value, site.high.get(name, value))
        for wrong in loss_rules.judge(look):
            _suspect(site, wrong, _facts(site))

    bus.defer(loss_look.vector(look, given, target), read)


def _shift(site: Site, shift: int | None) -> None:
    site.shifts.append(shift)
    if shift == 0:
        _suspect(site, loss_rules.Wrong("unshifted", UNSHIFTED, looks=2, of_target=True), {"loss.shift": 0, **_facts(site)})
    elif shift == 2 and not any(1 in each.shifts for each in _sites.values()):
        _suspect(site, loss_rules.Wrong("shifted_twice", TWICE, looks=2, of_target=True), {"loss.shift": 2, **_facts(site)})


# ---------------------------------------------------------------------------------------------- from a suspicion to its cause


def _suspect(site: Site, wrong: Any, facts: dict[str, Any]) -> None:
    site.counts[wrong.kind] = site.counts.get(wrong.kind, 0) + 1
    if site.counts[wrong.kind] < wrong.looks or (wrong.kind, site.where[0]) in _suspected:
        return
    _suspected.add((wrong.kind, site.where[0]))
    suspect = Suspect(site, wrong, facts, site.where)
    if wrong.is_hint or not (wrong.calls or wrong.of_target):
        _tell(suspect)
    else:
        _waiting.append(suspect)


def _step_post(optimizer: Any, number: int) -> None:
    if Now.is_looking:
        _stop_looking()
    elif _waiting:
        Now.is_looking = loss_cause.begin()
        if not Now.is_looking:
            _tell_waiting()


def _resolve(site: Site | None, target: Any) -> None:
    """The suspected line is reached again, and what led to it was seen."""
    for suspect in [each for each in _waiting if each.site is site]:
        wrong = suspect.wrong
        _waiting.remove(suspect)
        if site is None:
            _tell(suspect, loss_graph.place())
        else:
            _tell(suspect, loss_cause.place_of(target) if wrong.of_target else loss_cause.place_of_call(*wrong.calls))
    if not _waiting:
        _stop_looking()


def _stop_looking() -> None:
    loss_cause.end()
    Now.is_looking = False
    _tell_waiting()


def _tell_waiting() -> None:
    for suspect in _waiting:
        _tell(suspect)
    _waiting.clear()


def _tell(suspect: Suspect, cause: tuple[str, str] = ("", "")) -> None:
    wrong, where = suspect.wrong, cause if cause[0] else suspect.where
    facts = {**suspect.facts, "step": bus.Now.step}
    if where[0] != suspect.where[0]:
        facts["also"] = [suspect.where[0]]
    key = f"{wrong.kind} {suspect.where[0]}"
    if wrong.is_hint:
        report.hint("loss", key, wrong.says, {**facts, "loss.suspicion": wrong.kind}, where)
    else:
        _kinds.append(wrong.kind)
        report.finding("loss", key, wrong.says, {**facts, "loss.kind": wrong.kind}, where)


def _facts(site: Site) -> dict[str, Any]:
    look = site.look
    told = {
        "loss.function": site.name, "loss.made_by": look.made.name, "loss.input_shape": list(look.shape), "loss.input_dtype": look.dtype,
        "loss.input_low": site.low.get("low"), "loss.input_high": site.high.get("high"), "loss.classes": look.classes,
        "loss.reduction": look.options.get("reduction", "mean"),
    }  # fmt: skip
    if look.has_target:
        told.update({
            "loss.target_shape": list(look.target_shape), "loss.target_dtype": look.target_dtype,
            "loss.target_low": site.low.get("target_low"), "loss.target_high": site.high.get("target_high"),
            "loss.ignored_share": look.numbers.get("ignored"), "loss.beyond_share": look.numbers.get("beyond"),
        })  # fmt: skip
    return {name: value for name, value in told.items() if value is not None and not _is_nan(value)}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value - value != 0


# ---------------------------------------------------------------------------------------------- other moments


def _backward(tensors: tuple[Any, ...]) -> None:
    Now.backwards += 1
    if Now.is_looking:
        for site in (None, *_by_hand.values()):
            _resolve(site, None)
    with bus.quiet():
        _look_by_hand(tensors)
    if ("broadcast", "") not in _suspected:
        wrong = next((each for each in map(loss_graph.outer, tensors) if each is not None), None)
        if wrong is not None:
            _suspected.add(("broadcast", ""))
            _waiting.append(Suspect(None, wrong, {}, report.here()))


def _look_by_hand(tensors: tuple[Any, ...]) -> None:
    """A difference that the program squares itself, as if it were a loss's."""
    found = next((each for each in map(loss_graph.written_out, tensors) if each is not None), None)
    if found is not None:
        where = report.here()
        if where not in _by_hand and len(_by_hand) < MOST_SITES:
            _by_hand[where] = Site(loss_look.BY_HAND, where)
        if where in _by_hand:
            given, target = found
            _look_at(_by_hand[where], given, target, {})


def _batch(iterator: Any, loader: Any, data: Any) -> None:
    if Now.is_looking:
        loss_cause.note_batch(loader, data)


def _forked() -> None:
    loss_cause.end()
    Now.calls, Now.backwards, Now.is_looking = 0, 0, False
    for each in (_sites, _by_hand, _waiting, _suspected, _kinds):
        each.clear()


def _end() -> None:
    loss_cause.end()
    _tell_waiting()
    for site in [each for each in (*_sites.values(), *_by_hand.values()) if each.look is not None][:LAST_WORDS]:
        report.fact("loss", f"{site.name} {site.where[0]}", _facts(site), site.where)
        for wrong in loss_rules.at_end(site):
            _tell(Suspect(site, wrong, _facts(site), site.where))
    told = {"loss.kind": _kinds[0] if _kinds else "none", "loss.calls": Now.calls, "loss.sites": len(_sites)}
    shifts = [shift for site in _sites.values() for shift in site.shifts if shift is not None]
    report.fact("loss", "summary", {**told, **({"loss.shift": shifts[0]} if shifts else {})})

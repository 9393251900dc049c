"""What is wrong with what came into a loss call: each rule takes a look whose numbers were read, and gives what to tell, or None.

A rule wants two proofs, the operation that made the input and its values, so that no batch's accident is taken for a mistake.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
loss_look: Any = hook.load("_bitten_probes.loss_look")

SUM_OFF = 0.01
NORMAL_OFF = 0.1
BEYOND = 0.05
ROOM = 0.5
IGNORED = 0.99
LOGITS = ("binary_cross_entropy_with_logits", "multilabel_soft_margin_loss")
SIGNS = ("soft_margin_loss", "hinge_embedding_loss")


class Wrong:
    """`kind` is the fact's value. The cause is the loss call's line, or that of one of `calls`, or where the target was made.

    `looks` is how many must say so before it is told.
    """

    def __init__(
        self, kind: str, says: str, calls: tuple[str, ...] = (), looks: int = 1, is_hint: bool = False, of_target: bool = False,
    ) -> None:  # fmt: skip
        self.kind, self.says, self.calls, self.looks = kind, says, calls, looks
        self.is_hint, self.of_target = is_hint, of_target


def judge(look: Any) -> list[Wrong]:
    found = [rule(look, look.numbers) for rule in RULES]
    return [each for each in found if each is not None]


def at_end(site: Any) -> list[Wrong]:
    found = [rule(site, site.look) for rule in AT_END]
    return [each for each in found if each is not None]


def _calls(look: Any) -> tuple[str, str]:
    return (look.made.name.lower(), look.made.name.lower() + "_")


def _span(n: dict[str, float], of: str = "") -> str:
    return f"{n[of + 'low']:.4g} to {n[of + 'high']:.4g}"


def _is_share(n: dict[str, float]) -> bool:
    return n["low"] >= 0 and n["high"] <= 1


def _sums_to_one(n: dict[str, float]) -> bool:
    return max(abs(n["exp_low"] - 1), abs(n["exp_high"] - 1)) <= NORMAL_OFF


def softmax_twice(look: Any, n: dict[str, float]) -> Wrong | None:
    if look.name not in ("cross_entropy", "log_softmax") or look.made.name != "Softmax" or not _is_share(n) or look.classes < 2:
        return None
    if n["sum_low"] < 1 - SUM_OFF or n["sum_high"] > 1 + SUM_OFF:
        return None
    says = (
        f"{look.name} takes raw scores and was given the output of a softmax: all of it lies in [0, 1] and each row sums to 1 "
        f"({_span(n, 'sum_')}), so that softmax is applied twice."
    )
    return Wrong("double_softmax", says, _calls(look))


def sigmoid_before(look: Any, n: dict[str, float]) -> Wrong | None:
    if look.made.name not in ("Sigmoid", "Softmax") or not _is_share(n):
        return None
    if look.name in LOGITS:
        says = (
            f"{look.name} takes raw scores and was given the output of a {look.made.name.lower()}, {_span(n)}: its own sigmoid makes of "
            "it values between 0.5 and 0.74."
        )
        return Wrong("double_sigmoid", says, _calls(look))
    if look.name == "cross_entropy" and look.made.name == "Sigmoid" and look.classes > 1 and look.is_index:
        says = (
            f"cross_entropy takes raw scores and was given the output of a sigmoid, {_span(n)}: scores so close together can't make any "
            "class likely."
        )
        return Wrong("sigmoid_then_softmax", says, _calls(look))
    return None


def scores_cut_off(look: Any, n: dict[str, float]) -> Wrong | None:
    if look.made.name not in ("Relu", "Softplus") or n["low"] < 0:
        return None
    if look.name in LOGITS:
        says = (
            f"{look.name} was given the output of a {look.made.name.lower()}, {_span(n)}: never below 0, so that no sample can get a "
            "probability below 0.5."
        )
        return Wrong("clamped_logits", says, _calls(look), 2)
    if look.name == "cross_entropy":
        says = f"cross_entropy was given the output of a {look.made.name.lower()}: no score can be below 0."
        return Wrong("clamped_scores", says, looks=2, is_hint=True)
    return None


def not_log_probabilities(look: Any, n: dict[str, float]) -> Wrong | None:
    if look.name not in ("nll_loss", "ctc_loss", "kl_div") or not look.classes or look.classes < 2:
        return None
    if look.made.name == "Softmax" and _is_share(n):
        says = f"{look.name} takes log-probabilities and was given the output of a softmax, {_span(n)}: its logarithm is missing."
        return Wrong("not_log_probabilities", says, _calls(look))
    if not look.made.is_linear or _sums_to_one(n) or (look.name == "kl_div" and n["high"] <= 0):
        return None
    says = (
        f"{look.name} takes log-probabilities and was given the raw output of a linear layer: over the classes the exponentials sum to "
        f"{_span(n, 'exp_')}, not to 1."
    )
    return Wrong("not_log_probabilities", says, looks=2)


def over_another_dimension(look: Any, n: dict[str, float]) -> Wrong | None:
    made = look.made
    if look.name not in ("nll_loss", "ctc_loss") or made.name != "LogSoftmax" or made.rank != len(look.shape) or made.dim == look.class_dim:
        return None
    if _sums_to_one(n):
        return None
    says = (
        f"{look.name} was given a log_softmax over dimension {made.dim}; over dimension {look.class_dim}, the classes, its "
        f"probabilities sum to {_span(n, 'exp_')}, not to 1."
    )
    return Wrong("normalised_over_another_dimension", says, ("log_softmax",), 2)


def target_of_divergence(look: Any, n: dict[str, float]) -> Wrong | None:
    if look.name != "kl_div" or look.options.get("log_target", False) or not n["target_low"] < 0:
        return None
    says = f"kl_div takes probabilities as its target and was given {_span(n, 'target_')}: log-probabilities need log_target=True."
    return Wrong("target_not_probability", says, of_target=True)


def out_of_reach(look: Any, n: dict[str, float]) -> Wrong | None:
    """The operation that made the output can't give values where targets lie."""
    low, high = look.made.low, look.made.high
    if look.name not in loss_look.REGRESSION or not n["beyond"] >= BEYOND or look.is_masked:
        return None
    if (low is not None and n["low"] < low) or (high is not None and n["high"] > high):
        return None
    reach = f"{'-inf' if low is None else f'{low:g}'} to {'inf' if high is None else f'{high:g}'}"
    says = (
        f"The output comes from a {look.made.name.lower()}, which reaches {reach} ({_span(n)} here), and the targets of {look.name} are "
        f"{_span(n, 'target_')}: {n['beyond']:.0%} of them can't be reached."
    )
    return Wrong("out_of_reach", says, _calls(look), 2)


def broadcast(look: Any, n: dict[str, float]) -> Wrong | None:
    shape, target = look.shape, look.target_shape
    if look.name not in loss_look.REGRESSION or not look.has_target or len(shape) == len(target):
        return None
    whole = _broadcast(shape, target)
    if count(shape) != count(target) or count(whole) <= count(shape):
        return None
    says = (
        f"{look.name} of {text(shape)} against {text(target)} is broadcast to {text(whole)}: every prediction is compared with every "
        "target, not with its own."
    )
    return Wrong("broadcast", says)


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(one), len(other))
    padded = [(1,) * (rank - len(each)) + each for each in (one, other)]
    return tuple(max(sizes) for sizes in zip(*padded))


def count(shape: tuple[int, ...]) -> int:
    number = 1
    for size in shape:
        number *= size
    return number


def text(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def one_class(look: Any, n: dict[str, float]) -> Wrong | None:
    if look.name != "cross_entropy" or look.classes != 1 or not look.is_index or count(look.shape) < 2:
        return None
    says = f"cross_entropy of {text(look.shape)} has one class only: its softmax is 1, and the loss 0, whatever the model does."
    return Wrong("one_class", says, looks=2)


def target_outside(look: Any, n: dict[str, float]) -> Wrong | None:
    """Classes, bytes or signs where a share between 0 and 1 belongs, or the other way round."""
    is_outside = n["target_low"] < -ROOM or n["target_high"] > 1 + ROOM
    if look.name in (*LOGITS, "binary_cross_entropy") and is_outside and not look.is_masked:
        says = f"{look.name} takes targets between 0 and 1 and was given {_span(n, 'target_')}: beyond, the loss has no lowest value."
        return Wrong("target_outside", says, looks=2, of_target=True)
    if look.name in SIGNS and (n["target_low"], n["target_high"]) == (0, 1):
        says = f"{look.name} takes targets of -1 and 1 and was given 0 and 1."
        return Wrong("target_outside", says, looks=2, of_target=True)
    return None


def several_classes(look: Any, n: dict[str, float]) -> Wrong | None:
    if look.name != "cross_entropy" or look.is_index or not n["target_sum_high"] > 1 + ROOM:
        return None
    says = (
        f"cross_entropy takes rows of probabilities as its target and was given rows that sum to {_span(n, 'target_sum_')}: several "
        "classes at once need a sigmoid each."
    )
    return Wrong("target_rows", says, looks=2, is_hint=True)


def ignored(look: Any, n: dict[str, float]) -> Wrong | None:
    if not n["ignored"] >= IGNORED:
        return None
    says = f"{n['ignored']:.1%} of the targets of {look.name} are ignored (ignore_index {look.options.get('ignore_index', -100)})."
    return Wrong("ignored", says, looks=2, is_hint=True)


RULES = (softmax_twice, sigmoid_before, scores_cut_off, not_log_probabilities, over_another_dimension, target_of_divergence, out_of_reach,
         broadcast, one_class, target_outside, several_classes, ignored)  # fmt: skip


def sum_grows(site: Any, look: Any) -> Wrong | None:
    if look.options.get("reduction") != "sum" or len(site.batches) < 2 or site.name not in ("cross_entropy", *loss_look.REGRESSION):
        return None
    says = f"{site.name} is summed over batches of {len(site.batches)} sizes: the loss, and each step, grows with the batch."
    return Wrong("sum_grows", says, is_hint=True)


def first_class_unused(site: Any, look: Any) -> Wrong | None:
    is_skipped = site.low.get("target_low") == 1 and site.high.get("target_high") == (look.classes or 0) - 1 and site.calls >= 8
    if site.name != "cross_entropy" or site.is_text or not look.is_index or not is_skipped or look.options.get("ignore_index", -100) == 0:
        return None
    says = f"Of {look.classes} classes the targets are 1 to {look.classes - 1}: class 0 never came."
    return Wrong("first_class_unused", says, is_hint=True)


AT_END = (sum_grows, first_class_unused)

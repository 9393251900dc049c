"""One look at what came into a loss call: shapes and the operation that made the input now, its numbers when the step is read.

Of a large input the first rows alone are measured. Knows no rule.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
loss_made: Any = hook.load("_bitten_probes.loss_made")
outputs: Any = hook.load("_bitten_probes.root_outputs")

OVER_CLASSES = ("cross_entropy", "nll_loss", "log_softmax", "ctc_loss", "kl_div", "multi_margin_loss", "multilabel_margin_loss")
BY_HAND = "hand-written loss"
REGRESSION = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", BY_HAND)
MOST_NUMBERS = 1 << 18
NUMBERS = ("low", "high", "sum_low", "sum_high", "exp_low", "exp_high", "target_low", "target_high", "beyond", "ignored",
           "target_sum_low", "target_sum_high")  # fmt: skip
MARGIN = 0.1
"""A target lies beyond what an output can reach when it does so by this share of the targets' own span: ours, so that noise is none."""


class Look:
    """What is known of one call at once; `numbers` are filled in when they were read.

    `is_masked`: some of its targets may be marks for those that the program leaves out.
    """

    def __init__(self, name: str, given: Any, target: Any, options: dict[str, Any]) -> None:
        self.name = name
        self.options = {key: value for key, value in options.items() if type(value) in (int, float, bool, str)}  # no tensor is kept
        self.is_masked = options.get("reduction") == "none" or options.get("weight") is not None
        self.shape, self.dtype = tuple(given.shape), str(given.dtype)[6:]
        self.made = loss_made.made(given)
        self.class_dim = _class_dim(name, given, options)
        self.classes = self.shape[self.class_dim] if self.class_dim is not None else None
        self.has_target = outputs.is_plain(target)
        self.target_shape = tuple(target.shape) if self.has_target else ()
        self.target_dtype = str(target.dtype)[6:] if self.has_target else ""
        self.is_index = self.has_target and not target.is_floating_point() and not target.is_complex()
        self.numbers: dict[str, float] = {}

    @property
    def batch(self) -> int:
        return self.shape[0] if self.shape else 1

    def read(self, numbers: list[float]) -> None:
        self.numbers = dict(zip(NUMBERS, numbers))


def _class_dim(name: str, given: Any, options: dict[str, Any]) -> int | None:
    if name not in OVER_CLASSES or given.dim() == 0:
        return None
    if name == "log_softmax":
        dim = options.get("dim")
        return int(dim) % int(given.dim()) if type(dim) is int else None
    return int(given.dim()) - 1 if name in ("ctc_loss", "kl_div") else min(1, int(given.dim()) - 1)


def vector(look: Look, given: Any, target: Any) -> Any:
    """The numbers, not yet read off the device. Where one has no meaning it is not-a-number."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        none = torch.full((), float("nan"), device=given.device)
        inputs = [none] * 6 if given.numel() == 0 else _of_input(look, given)
        targets = [none] * 6 if not look.has_target or target.numel() == 0 else _of_target(look, target, none)
        return torch.stack([each.to(device=given.device, dtype=torch.float32) for each in (*inputs, *targets)])


def _of_input(look: Look, given: Any) -> list[Any]:
    rows = _some(given.detach(), look.class_dim).float()
    if look.class_dim is None:
        low, high = rows.min(), rows.max()
        return [low, high, low, high, low, high]
    rows = rows.movedim(look.class_dim, -1)
    sums, exps = rows.sum(-1), rows.exp().sum(-1)
    return [rows.min(), rows.max(), sums.min(), sums.max(), exps.min(), exps.max()]


def _some(values: Any, class_dim: int | None) -> Any:
    """Of a large tensor the first rows."""
    dim = 0 if class_dim != 0 else min(1, values.dim() - 1)
    if values.numel() <= MOST_NUMBERS or values.dim() == 0 or dim == class_dim:
        return values
    return values.narrow(dim, 0, max(1, values.shape[dim] * MOST_NUMBERS // values.numel()))


def _of_target(look: Look, target: Any, none: Any) -> list[Any]:
    ignore = look.options.get("ignore_index", -100) if look.name in ("cross_entropy", "nll_loss") and look.is_index else None
    whole = _some(target.detach(), None)
    kept = whole if ignore is None else whole[whole != ignore]
    if kept.numel() == 0:
        return [none, none, none, none + 1 if ignore is None else none.new_ones(()), none, none]
    kept = kept.float()
    low, high = kept.min(), kept.max()
    margin = MARGIN * (high - low)
    beyond = kept.new_zeros(())
    if look.made.low is not None:
        beyond = beyond + (kept < look.made.low - margin).float().mean()
    if look.made.high is not None:
        beyond = beyond + (kept > look.made.high + margin).float().mean()
    ignored = 1 - kept.new_tensor(kept.numel() / whole.numel())
    has_rows = not look.is_index and look.class_dim is not None and whole.dim() == len(look.shape)
    sums = whole.float().sum(look.class_dim) if has_rows else none
    return [low, high, beyond, ignored, sums.min(), sums.max()]

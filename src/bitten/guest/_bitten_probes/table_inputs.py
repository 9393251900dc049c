"""The scale of what a model of torch is fed: training against evaluation, and columns so far apart that training stands still.

Part of the instrument `tables`. Looks at the first batch of training and at each evaluation. What it does not know: images, whose pixels
have one scale; a model whose first layer normalises is let be.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
features: Any = hook.load("_bitten_probes.table_features")

FEWEST = 16
WIDE = 100.0
"""Standard deviation of the widest column, from which on its unit is in doubt."""
ENDS = 10
"""Losses at each end of training that are compared."""
STILL = 0.9


class Inputs:
    """Of one model."""

    def __init__(self, name: str) -> None:
        self.name, self.ratio = name, 1.0
        self.first: Any = None
        self.losses: list[float] = []
        self.last: list[float] = []
        self.where = ("", "")

    def called(self, module: Any, array: Any, found: Any, is_training: bool) -> None:
        if len(array) < FEWEST or array.shape[1] > 64:
            return
        if not is_training:
            if self.first is not None and self.first.width == found.width:
                features.compare_scales(module, self.first, array, found)
        elif self.first is None:
            self.first, self.where = features.Features(array, found), report.here()
            self.ratio = self._ratio(module, self.first.std)

    def _ratio(self, module: Any, std: Any) -> float:
        leaf = next((each for each in module.modules() if not list(each.children())), None)
        wide = std[std > 0]
        if type(leaf).__name__ != "Linear" or len(wide) < 2 or wide.max() < WIDE:
            return 1.0
        return float(wide.max() / wide.min())

    def trained(self, tensors: Any) -> None:
        """A backward has come."""
        if self.ratio > features.RATIO and tensors and tensors[0].numel() == 1:
            bus.defer(tensors[0].detach().float().reshape(1), self._read)

    def _read(self, numbers: list[float]) -> None:
        (self.losses if len(self.losses) < ENDS else self.last).append(numbers[0])
        del self.last[:-ENDS]

    def judge(self) -> None:
        """At the end of the process."""
        if self.ratio <= features.RATIO or len(self.last) < ENDS:
            return
        first, last = sum(self.losses) / ENDS, sum(self.last) / ENDS
        facts = {"tables.scale_ratio": self.ratio, "tables.loss_first": first, "tables.loss_last": last}
        says = (f"{self.name} is fed columns that are not scaled: the widest varies {self.ratio:.3g} times as much as the narrowest; its "
                f"loss went from {first:.4g} to {last:.4g}")  # fmt: skip
        is_still = not last < STILL * first
        (report.finding if is_still else report.hint)("tables", f"scales {self.where[0]}", says, facts, self.where)

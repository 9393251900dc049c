"""A threshold between 0 and 1 on outputs that the model's loss takes for raw scores, where these do go far beyond 0 and 1.

Told at the end, when it is known that the line was given one threshold, not a row of them to choose from. A threshold on an array leaves
no call to see: there the source says that the array's name is compared.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
metrics_arrays: Any = hook.load("_bitten_probes.metrics_arrays")

NAMES = ("gt", "ge", "lt", "le", "round")
SCORES = frozenset(("binary_cross_entropy_with_logits", "cross_entropy", "multilabel_soft_margin_loss", "soft_margin_loss"))
OUTSIDE = 0.1
ROOM = 0.5
SWEEP = 3
"""From so many thresholds on one line on, one is being chosen."""
MOST_SITES = 50


class Site:
    def __init__(self, name: str, where: tuple[str, str]) -> None:
        self.name, self.where, self.calls = name, where, 0
        self.frame: tuple[str, int] = ("", 0)
        self.thresholds: set[float] = set()
        self.losses: set[str] = set()
        self.low, self.high, self.outside = float("inf"), float("-inf"), 0.0

    def read(self, numbers: list[float]) -> None:
        low, high, outside = numbers
        self.low, self.high, self.outside = min(self.low, low), max(self.high, high), max(self.outside, outside)


_sites: dict[tuple[Any, int], Site] = {}


def forget() -> None:
    _sites.clear()


def look(name: str, output: Any, tensor: Any, args: Any, kwargs: Any) -> None:
    if kwargs:  # decimals, as for a log; or where to write to
        return
    threshold = 0.5 if name == "round" and len(args) == 1 else args[1] if len(args) == 2 and name != "round" else None
    if type(threshold) is not float or not 0 < threshold < 1 or output.is_squashed or not tensor.is_floating_point():
        return
    note(name, output, tensor, threshold, report.user_frame(sys._getframe(1)))


def look_at_array(name: str, output: Any, tensor: Any) -> None:
    """Scores become an array: which threshold they meet, if any, is read in the source when they turn out to be wide of [0, 1]."""
    if tensor.is_floating_point() and not output.is_squashed:
        note(name, output, tensor, None, report.user_frame(sys._getframe(1)))


def note(name: str, output: Any, tensor: Any, threshold: float | None, frame: FrameType | None) -> None:
    if frame is None:
        return
    site = _sites.get((frame.f_code, frame.f_lasti))
    if site is None and len(_sites) < MOST_SITES:
        site = _sites[frame.f_code, frame.f_lasti] = Site(name, report.line(frame))
    if site is None:
        return
    site.calls += 1
    site.frame = frame.f_code.co_filename, frame.f_lineno
    site.losses = output.losses
    if threshold is not None and len(site.thresholds) < SWEEP:
        site.thresholds.add(threshold)
    if site.calls & (site.calls - 1) == 0 and tensor.numel():
        bus.defer(_numbers(tensor), site.read)


def _numbers(tensor: Any) -> Any:
    torch = sys.modules["torch"]
    with torch.no_grad():
        values = tensor.detach().float()
        return torch.stack([values.min(), values.max(), ((values < 0) | (values > 1)).float().mean()])


def last_words(tell: Callable[..., None]) -> None:
    for site in _sites.values():
        if len(site.thresholds) < SWEEP and site.outside >= OUTSIDE and (site.low < -ROOM or site.high > 1 + ROOM):
            _judge(site, tell) if site.thresholds else _judge_array(site, tell)


def _judge_array(site: Site, tell: Callable[..., None]) -> None:
    found = metrics_arrays.threshold_in(*site.frame) if site.losses & SCORES else None
    if found is not None:
        line, threshold = found
        site.thresholds.add(threshold)
        file, _, _ = site.where[0].rpartition(":")
        site.where = f"{file}:{line}", site.where[1]
        _judge(site, tell)


def _judge(site: Site, tell: Callable[..., None]) -> None:
    threshold, names = min(site.thresholds), sorted(site.losses)
    facts = {"metrics.function": site.name, "metrics.threshold": threshold, "metrics.low": site.low, "metrics.high": site.high,
             "metrics.outside": site.outside, "metrics.losses": names}  # fmt: skip
    says = f"A threshold of {threshold:g} meets scores from {site.low:.4g} to {site.high:.4g}, {site.outside:.0%} of them outside [0, 1]"
    if site.losses & SCORES:
        says += f": {' and '.join(names)} on the same model takes them for raw scores, whose 0 stands for a probability of 0.5."
        tell("threshold_on_scores", says, facts, site.where)
    elif not site.losses:
        says += "; if they are raw scores, 0 stands for a probability of 0.5."
        report.hint("metrics", f"threshold {site.where[0]}", says, {**facts, "metrics.suspicion": "threshold_on_scores"}, site.where)

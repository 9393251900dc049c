"""Predictions against labels: a doubtful choice, shapes that make every prediction meet every label, and means of unequal batches.

Comparisons are watched from the first prediction on, so that a program that makes none pays nothing.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
outputs: Any = hook.load("_bitten_probes.root_outputs")

MOST_SITES = 50
MOST_SIZES = 50
PARTED = 0.005
_watching: list[bool] = []
_told: set[str] = set()
_sites: dict[tuple[Any, int], Site] = {}


class Site:
    """One line that compares predictions with labels, where no gradient is asked for: an evaluation."""

    def __init__(self, where: tuple[str, str]) -> None:
        self.where = where
        self.sizes: set[int] = set()
        self.hits = self.samples = self.means = 0.0
        self.batches = 0

    def read(self, size: int, hits: float) -> None:
        self.hits, self.samples = self.hits + hits, self.samples + size
        self.means, self.batches = self.means + hits / size, self.batches + 1


def forget() -> None:
    _told.clear()
    _sites.clear()


def watch(tell: Callable[..., None]) -> None:
    if _watching:
        return
    _watching.append(True)
    torch = sys.modules["torch"]

    def compared(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
        one, other = args[0], args[1] if len(args) > 1 else kwargs.get("other")
        if bus.depth() == 0 and outputs.is_plain(one) and outputs.is_plain(other) and outputs.is_plain(out):
            with bus.quiet():
                _compared(one, other, out, tell)

    for name in ("__eq__", "__ne__", "eq", "ne"):
        for owner in (torch.Tensor, torch):
            if name in dir(owner):
                bus.wrap("metrics", owner, name, None, compared)


def _compared(one: Any, other: Any, out: Any, tell: Callable[..., None]) -> None:
    predictions = [known for known in (outputs.of(one), outputs.of(other)) if known is not None and known.is_choice]
    prediction = predictions[0] if len(predictions) == 1 else None  # of two, it is whether they agree
    frame = report.user_frame(sys._getframe(1))
    if prediction is None or frame is None or out.dim() == 0 or out.numel() == 0:
        return
    if prediction.doubt is not None:
        _tell_doubt(prediction.doubt, report.line(frame), tell)
    if one.dim() != other.dim() and one.numel() == other.numel() < out.numel():
        _tell_broadcast(one, other, out, report.line(frame), tell)
    elif not sys.modules["torch"].is_grad_enabled():
        _count(out, frame)


def _tell_doubt(doubt: Any, compared: tuple[str, str], tell: Callable[..., None]) -> None:
    kind, says, facts, where = doubt
    if where[0] not in _told:
        _told.add(where[0])
        tell(kind, says, {**facts, **({"also": [compared[0]]} if compared[0] not in ("", where[0]) else {})}, where)


def _tell_broadcast(one: Any, other: Any, out: Any, where: tuple[str, str], tell: Callable[..., None]) -> None:
    if where[0] not in _told:
        _told.add(where[0])
        says = (
            f"Predictions and labels of {list(one.shape)} and {list(other.shape)} were compared as {list(out.shape)}: every prediction "
            "with every label, not with its own."
        )
        tell("broadcast", says, {"metrics.shape": list(out.shape)}, where)


def _count(out: Any, frame: Any) -> None:
    site = _sites.get((frame.f_code, frame.f_lasti))
    if site is None:
        if len(_sites) >= MOST_SITES:
            return
        site = _sites[frame.f_code, frame.f_lasti] = Site(report.line(frame))
    size, at = int(out.numel()), site
    if size in site.sizes or len(site.sizes) < MOST_SIZES:
        site.sizes.add(size)
        bus.defer(out.sum().float().reshape(1), lambda numbers: at.read(size, numbers[0]))


def last_words() -> None:
    for site in _sites.values():
        if len(site.sizes) > 1 and site.batches > 1 and site.samples:
            _tell_means(site)


def _tell_means(site: Site) -> None:
    pooled, means = site.hits / site.samples, site.means / site.batches
    facts = {"metrics.pooled": pooled, "metrics.mean_of_means": means}
    if abs(pooled - means) > PARTED:
        says = f"Batches of unequal size: over all samples {pooled:.4f} are equal, as a mean of the batches' own means {means:.4f}."
        report.hint("metrics", f"means {site.where[0]}", says, {**facts, "metrics.suspicion": "unequal_batches"}, site.where)
    else:
        report.fact("metrics", f"means {site.where[0]}", facts, site.where)

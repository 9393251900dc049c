"""Running statistics of batch normalisation that are far from what the batches of an evaluation are like. Only ever a hint.

Looked at on a layer's first calls in eval mode and at each doubling of their number.
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
patches: Any = hook.load("_bitten_patches")
outputs: Any = hook.load("_bitten_probes.root_outputs")

FAR = 3.0
"""Standard deviations between a channel's running mean and its mean in the batch: ours; of one batch of the training data, less than 1."""
MOST_LAYERS = 200
_calls: dict[int, int] = {}
_far: dict[tuple[str, str], list[float]] = {}
_tell: list[Callable[..., None]] = []


def install(tell: Callable[..., None]) -> None:
    _tell.append(tell)
    patches.on_import("torch", lambda torch: bus.wrap("mode", torch.nn.functional, "batch_norm", None, _called))


def forget() -> None:
    _calls.clear()
    _far.clear()


def _called(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    if len(args) < 6 or args[5] or not outputs.is_plain(args[0]) or args[1] is None or args[2] is None:
        return
    key = id(args[1])
    if key not in _calls and len(_calls) >= MOST_LAYERS:
        return
    calls = _calls[key] = _calls.get(key, 0) + 1
    if calls & (calls - 1) == 0 and args[0].shape[0] > 1:
        with bus.quiet():
            _look(args[0], args[1], args[2])


def _look(batch: Any, mean: Any, variance: Any) -> None:
    torch, where = sys.modules["torch"], report.here()
    with torch.no_grad():
        values = batch.detach().float().transpose(0, 1).flatten(1)
        far = ((values.mean(1) - mean).abs() / (variance + 1e-5).sqrt()).gt(FAR).float().mean()
    bus.defer(far.float().reshape(1), lambda numbers: _far.setdefault(where, []).append(numbers[0]) if len(_far) < MOST_LAYERS else None)


def last_words() -> None:
    for where, shares in _far.items():
        if len(shares) > 1 and min(shares) > 0.5:
            says = (
                f"In eval mode the batches were more than {FAR:g} standard deviations off the running mean in {min(shares):.0%} of the "
                "channels of a batch normalisation: its statistics are not of such data."
            )
            _tell[0]("running_statistics", says, {"mode.channels_off": min(shares)}, where, is_hint=True)

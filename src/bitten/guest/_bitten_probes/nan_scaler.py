"""Tells a gradient scaler's planned skips from one that runs away.

A skip whose loss is finite is the search for a scale, which is what a scaler is for; a loss that is not finite itself no scale can help.
The cause of the first such step waits until it is clear which of the two is told. Of fused optimizers, which skip on the device, it
doesn't know which steps were left out.
"""

from __future__ import annotations

import sys
from math import isfinite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
calls: Any = hook.load("_bitten_probes.nan_calls")
nan: Any = sys.modules["_bitten_probes.nan"]

RUNAWAY_BAD, RUNAWAY_LONG = 3, 12


class Scaler:
    steps_before = skips = in_a_row = in_a_row_bad = 0
    scale: float | None = None
    held: Any = None


def install(torch: Any) -> None:
    for name in ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler"):
        kind = getattr(sys.modules.get(name), "GradScaler", None)
        if kind is not None and "step" in vars(kind):
            bus.wrap("nan", kind, "scale", lambda args, _: _scales(*args[:2]) if len(args) > 1 else None)
            bus.wrap("nan", kind, "step", lambda args, _: _before(*args[:2]), lambda kept, args, kwargs, out: _after(*args[:2]))


def _scales(scaler: Any, outputs: Any) -> None:
    if scaler.is_enabled():
        nan.Seen.unscaled += [each.detach() for each in calls.tensors(outputs) if each.numel() == 1]


def _before(scaler: Any, optimizer: Any) -> None:
    if not scaler.is_enabled():
        return
    nan.window.close()
    nan.Seen.optimizers.add(optimizer)
    Scaler.steps_before = nan.Seen.steps
    nan.read_now(optimizer)
    if not isfinite(sum(nan.Seen.numbers)) and Scaler.held is None and nan.Seen.kind == "none":
        Scaler.held = hook.load("_bitten_probes.nan_verdict").diagnose(optimizer, bus.steps_of(optimizer))


def _after(scaler: Any, optimizer: Any) -> None:
    if not scaler.is_enabled():
        return
    is_bad = not isfinite(sum(nan.Seen.numbers))
    nan.Seen.bad_steps += is_bad
    if nan.Seen.steps != Scaler.steps_before:
        Scaler.in_a_row = Scaler.in_a_row_bad = 0
        tell_held()
        return
    Scaler.skips, Scaler.in_a_row, Scaler.in_a_row_bad = Scaler.skips + 1, Scaler.in_a_row + 1, Scaler.in_a_row_bad + is_bad
    Scaler.scale = float(scaler.get_scale())
    if Scaler.in_a_row_bad >= RUNAWAY_BAD or Scaler.in_a_row >= RUNAWAY_LONG or Scaler.scale < 1:
        _runs_away(optimizer)
    nan.forget(optimizer)


def _runs_away(optimizer: Any) -> None:
    if nan.Seen.kind == "none":
        cause = Scaler.held or hook.load("_bitten_probes.nan_verdict").diagnose(optimizer, bus.steps_of(optimizer))
        Scaler.held = None
        nan.tell(cause and cause.of_scaler(Scaler.in_a_row, Scaler.scale))


def tell_held() -> None:
    """What was bad came and went: it is told as what it was."""
    held, Scaler.held = Scaler.held, None
    nan.tell(held)


def facts() -> dict[str, Any]:
    return {} if Scaler.scale is None else {"nan.scaler_skips": Scaler.skips, "nan.scale": Scaler.scale}

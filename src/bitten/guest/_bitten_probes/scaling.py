"""Loss scaling and clipping, by the order of their calls: what is clipped or stepped on must have been unscaled before.

A gradient scaler knows the stage of each optimizer itself (ready, unscaled, stepped); read beside each call of `clip_grad_*`, that says
whether scaled gradients were clipped. Of a loss scaled by hand only this is seen: gradients that shrink between clipping and step.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
held: Any = hook.load("_bitten_probes.held")
patches: Any = hook.load("_bitten_patches")
accumulation: Any = hook.load("_bitten_probes.accumulation")

STREAK = 3
SHRUNK = 16
"""Times smaller at the step than after clipping: noise and averaging change a gradient by less."""
NOWHERE = ("", "")


class Clip:
    """The last clipping that no step has used: whose gradients, where, and how they were."""

    ids: frozenset[int] = frozenset()
    where = NOWHERE
    limit: Any = None
    stages: set[int] = set()  # noqa: RUF012 - of one process: optimizers whose gradients were still scaled
    empty = late = calls = 0


class Scaler:
    """Of all scalers: whether the loss that ran backward was a scaled one, and whether `scaler.step` is what steps."""

    live: Any = held.Weak(16)
    scaled: list[Any] = []  # noqa: RUF012 - of one process
    is_backward_scaled: bool | None = None
    is_stepping = was_asked = False
    plain_steps = plain_losses = skipped = 0


def install() -> None:
    patches.on_import("torch", _torch)
    patches.on_import("torch.amp.grad_scaler", _scaler)
    patches.on_import("torch.cuda.amp.grad_scaler", _old_scaler)
    bus.listen("optimizer", backward=_backward, step_pre=_step_pre, forked=Scaler.live.clear)


def _torch(torch: Any) -> None:
    for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            bus.wrap("optimizer", owner, name, _clip, _clipped)


def _old_scaler(module: Any) -> None:
    """Before 2.3 the class itself was there; since then it inherits what is watched already."""
    if "step" in vars(module.GradScaler):
        _scaler(module)


def _scaler(module: Any) -> None:
    bus.wrap("optimizer", module.GradScaler, "scale", None, _scale)
    bus.wrap("optimizer", module.GradScaler, "step", _scaler_step, _scaler_stepped)


# ---------------------------------------------------------------------------------------------- what a scaler says


def _scale(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    scaler = args[0]
    if Scaler.live.get(scaler) is None:
        Scaler.live.put(scaler, True)
    if scaler.is_enabled():
        Scaler.was_asked = True
        is_one = isinstance(out, sys.modules["torch"].Tensor) and args[1:]
        Scaler.scaled[:] = [weakref.ref(out), weakref.ref(args[1])] if is_one else []


def _backward(tensors: Any) -> None:
    """Of a sum of scaled losses it is not known."""
    known = [ref() for ref in Scaler.scaled]
    places = [at for at, each in enumerate(known) if each is not None and any(each is tensor for tensor in tensors)]
    Scaler.is_backward_scaled = places == [0] if places else None if Scaler.was_asked else False


def _stage(scaler: Any, optimizer: Any) -> str:
    state = vars(scaler).get("_per_optimizer_states", {})
    return str(state[id(optimizer)]["stage"].name) if id(optimizer) in state else "READY"


def _factor(scaler: Any) -> float:
    """A host read: asked for only under suspicion."""
    return float(scaler.get_scale())


# ---------------------------------------------------------------------------------------------- clipping


def _clip(args: Any, kwargs: Any) -> None:
    """Called each step: what costs a frame walk waits for a suspicion. A generator is the call's own to use up."""
    given = args[0] if args else kwargs.get("parameters")
    given = (given,) if isinstance(given, sys.modules["torch"].Tensor) else given
    if not isinstance(given, (list, tuple)):
        given = [each for optimizer, _ in accumulation.orders() for each in held.parameters(optimizer)]
    if given:
        ids = frozenset(map(id, given))
        Clip.ids, Clip.calls = ids, Clip.calls + 1
        Clip.limit = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
        Clip.empty += all(each.grad is None for each in given)
        Clip.late += accumulation.is_used_up(ids)
        _place_clip()


def _place_clip() -> None:
    scalers = [each for each, _ in Scaler.live if each.is_enabled()]
    Clip.stages = {id(optimizer) for each in scalers for optimizer, _ in accumulation.orders() if _stage(each, optimizer) == "READY"}
    is_odd = Clip.calls <= STREAK and Clip.calls in (Clip.empty, Clip.late)
    Clip.where = report.here() if scalers or is_odd else NOWHERE
    if Clip.empty == Clip.calls == STREAK:
        _found("clip_empty", f"Gradients are clipped before there are any: at each of the first {STREAK} calls every one was None",
               {"optimizer.clip": "before backward"}, Clip.where)
    elif Clip.late == Clip.calls == STREAK:
        _found("clip_late", "Gradients are clipped after the optimizer has stepped on them, so that nothing is limited",
               {"optimizer.clip": "after step"}, Clip.where)


class Shrunk:
    """Gradients that were written to between clipping and step. Norms are asked for once that was seen."""

    is_watched = False
    state: Any = None
    norm: Any = None
    where = NOWHERE
    steps = 0


def _clipped(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    probe = _one_clipped()
    if probe is None or Scaler.was_asked or Shrunk.steps < 0:
        return
    Shrunk.state = accumulation._state(probe)
    if Shrunk.is_watched:
        Shrunk.norm, Shrunk.where = probe.grad.detach().norm(), report.here()


def _one_clipped() -> Any:
    return next((probe for _, order in accumulation.orders() for probe in (order.probe(),)
                 if probe is not None and probe.grad is not None and id(probe) in Clip.ids), None)


def _look_whether_shrunk() -> None:
    """Before a step that no scaler makes."""
    state, norm, probe = Shrunk.state, Shrunk.norm, _one_clipped()
    Shrunk.state = Shrunk.norm = None
    if state is None or probe is None or accumulation._state(probe) == state:
        return
    Shrunk.is_watched = True
    if norm is not None:
        bus.defer(sys.modules["torch"].stack([norm, probe.grad.detach().norm()]).float(), _note_shrunk)


def _note_shrunk(numbers: list[float]) -> None:
    Shrunk.steps = Shrunk.steps + 1 if 0 < numbers[1] * SHRUNK < numbers[0] else -1
    if Shrunk.steps == STREAK:
        factor, Shrunk.steps = numbers[0] / numbers[1], -1
        _found("clip_scaled", f"Gradients are clipped to {Clip.limit} and then divided by {factor:.4g}: they were still scaled when they "
               "were clipped", {"optimizer.clip": "scaled gradients", "optimizer.loss_scale": factor,
               "optimizer.clip_limit": _number(Clip.limit)}, Shrunk.where)


def _scaler_step(args: Any, kwargs: Any) -> Any:
    scaler, optimizer = args[0], args[1] if len(args) > 1 else kwargs["optimizer"]
    accumulation.Skips.any = True
    before = bus.steps_of(optimizer)
    if scaler.is_enabled():
        Scaler.is_stepping = True
        _judge(scaler, optimizer)
    return optimizer, before


def _judge(scaler: Any, optimizer: Any) -> None:
    mine = Clip.ids.intersection(map(id, held.parameters(optimizer)))
    if mine and Clip.where[0] and id(optimizer) in Clip.stages:
        factor = _factor(scaler)
        if factor > 1:
            _found("clip_scaled", f"Gradients are clipped to {Clip.limit} before `scaler.unscale_`: they are still {factor:g} times too "
                   f"large, so that the clipped ones are {factor:g} times too small", {"optimizer.clip": "scaled gradients",
                   "optimizer.loss_scale": factor, "optimizer.clip_limit": _number(Clip.limit)}, Clip.where)
    Clip.ids, Clip.where = frozenset(), NOWHERE
    if Scaler.is_backward_scaled is False:
        Scaler.plain_losses += 1
        if Scaler.plain_losses == STREAK and _factor(scaler) > 1:
            _found("unscaled_loss", f"`scaler.step` divides gradients by {_factor(scaler):g}, and the loss that ran backward was "
                   "not scaled", {"optimizer.clip": "loss not scaled", "optimizer.loss_scale": _factor(scaler)}, report.here())


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _scaler_stepped(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    Scaler.is_stepping, Scaler.is_backward_scaled, Scaler.was_asked = False, None, False
    Scaler.skipped += kept is not None and args[0].is_enabled() and bus.steps_of(kept[0]) == kept[1]


def _step_pre(optimizer: Any, number: int) -> None:
    """A step by the optimizer itself, on gradients of a scaled loss."""
    if not Scaler.is_stepping and Shrunk.state is not None:
        _look_whether_shrunk()
    if Scaler.is_backward_scaled and not Scaler.is_stepping:
        scaler = next((each for each, _ in Scaler.live if each.is_enabled()), None)
        if scaler is not None and _stage(scaler, optimizer) == "READY":
            Scaler.plain_steps += 1
            if Scaler.plain_steps == STREAK and _factor(scaler) > 1:
                _found("scaled_step", f"The optimizer steps on gradients that are still {_factor(scaler):g} times too large: the loss "
                       "was scaled, and they were neither unscaled nor stepped on by `scaler.step`",
                       {"optimizer.clip": "step on scaled gradients", "optimizer.loss_scale": _factor(scaler)}, report.here())
    Scaler.is_backward_scaled = None


class Told:
    kind = "none"


def _found(key: str, says: str, facts: dict[str, Any], where: tuple[str, str]) -> None:
    Told.kind = facts["optimizer.clip"]
    report.finding("optimizer", key, says, facts, where)


def facts() -> dict[str, Any]:
    kind = Told.kind if Told.kind != "none" or not Clip.calls else "right"
    return {"optimizer.clip": kind, "optimizer.clips": Clip.calls, "optimizer.skipped_steps": Scaler.skipped}

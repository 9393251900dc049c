"""Learning rates over the run, and schedulers: how often they step, against what they were made for.

Rates are read at each step of an optimizer (the largest of its groups). Epochs are counted by loader iterators, where there are loaders.
What the schedule was made for is read from the scheduler's own arguments; of a function (LambdaLR) nothing is known but its rates.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
held: Any = hook.load("_bitten_probes.held")
patches: Any = hook.load("_bitten_patches")

NOWHERE = ("", "")
MOST = 32
FEW_STEPS = 20
DECAYED, LONG = 1e-3, 0.3
"""A rate below a thousandth of its largest, for more than so much of the run, trains nothing. A cosine to zero is there for 2 % of it."""
OVERSHOOT = 3.0
"""Times the base rate. Linear scaling over workers multiplies too, and does not diverge: only with a diverged loss is it a finding."""
EARLY = 0.1
"""The last milestone, or the end of a slope, in so small a part of the run."""


class Rate:
    """The learning rate of one optimizer, run through once."""

    def __init__(self, where: tuple[str, str]) -> None:
        self.made = where
        self.first = self.last = self.highest = 0.0
        self.at_highest = self.steps = self.low = 0
        self.base = 0.0
        self.loss_first = self.loss_last = None

    def add(self, rate: float) -> None:
        if not self.steps:
            self.first = rate
        if rate > self.highest:
            self.highest, self.at_highest, self.low = rate, self.steps, 0
        self.low += rate < DECAYED * self.highest
        self.last, self.steps = rate, self.steps + 1


class Plan:
    """A scheduler: its kind, its length in its own steps, the line that steps it, and how often that was."""

    def __init__(self, scheduler: Any, rate: Rate | None, where: tuple[str, str]) -> None:
        self.kind, self.made, self.where, self.rate = type(scheduler).__name__, where, NOWHERE, rate
        self.calls = self.steps_first = self.epochs_first = 0
        self.length = _length(scheduler)
        self.optimizer_steps = rate.steps if rate is not None else 0


_rates: Any = held.Weak(MOST)
_plans: Any = held.Weak(MOST)
_all_rates: list[Rate] = []
_all_plans: list[Plan] = []
_epochs: dict[Any, int] = {}
_inside = [0]


def install() -> None:
    patches.on_import("torch.optim.lr_scheduler", _schedulers)
    patches.on_import("torch.utils.data.dataloader", lambda module: bus.wrap("optimizer", module.DataLoader, "__iter__", _iterated))
    bus.listen("optimizer", born=_born, step_post=_step_post, forked=_forked)


def _forked() -> None:
    for each in (_rates, _plans, _all_rates, _all_plans, _epochs):
        each.clear()


def _schedulers(module: Any) -> None:
    for kind in list(vars(module).values()):
        if isinstance(kind, type) and "step" in vars(kind) and kind.__module__ == module.__name__:
            bus.wrap("optimizer", kind, "step", _stepping, _stepped)


def _iterated(args: Any, kwargs: Any) -> None:
    """Each loader by itself, and all that one line made: it may be made anew each epoch."""
    for key in (id(args[0]), bus.birthplace(args[0])[0]):
        if len(_epochs) < 2 * MOST or key in _epochs:
            _epochs[key] = _epochs.get(key, 0) + 1


def _length(scheduler: Any) -> int | None:
    """After how many of its steps the schedule is through, by its own arguments."""
    kept = vars(scheduler)
    for name in ("T_max", "total_steps", "step_size", "total_iters"):
        if isinstance(kept.get(name), int):
            return int(kept[name])
    milestones = kept.get("milestones")
    return max(milestones) if milestones and type(scheduler).__name__ == "MultiStepLR" else None


# ---------------------------------------------------------------------------------------------- moments


def _born(thing: Any, where: tuple[str, str]) -> None:
    torch = sys.modules["torch"]
    if isinstance(thing, torch.nn.Module):  # whose attributes may be properties of the program's
        return
    if isinstance(thing, torch.optim.Optimizer):
        if len(_all_rates) < MOST:
            _all_rates.append(Rate(where))
            _rates.put(thing, _all_rates[-1])
    elif hasattr(thing, "optimizer") and hasattr(thing, "last_epoch") and _plans.get(thing) is None and len(_all_plans) < MOST:
        _all_plans.append(Plan(thing, _rates.get(thing.optimizer), where))
        _plans.put(thing, _all_plans[-1])


def _rate_of(optimizer: Any) -> float:
    """A rate that is a tensor (capturable, compiled) is left out: reading it would wait for its device."""
    return max((float(each["lr"]) for each in optimizer.param_groups if isinstance(each.get("lr"), (int, float))), default=0.0)


def _step_post(optimizer: Any, number: int) -> None:
    rate = _rates.get(optimizer)
    if rate is None:
        return
    rate.add(_rate_of(optimizer))
    if held.is_check(number):
        rate.base = max((float(each.get("initial_lr", 0.0)) for each in optimizer.param_groups
                         if isinstance(each.get("initial_lr"), (int, float))), default=0.0)


def _stepping(args: Any, kwargs: Any) -> None:
    _inside[0] += 1


def _stepped(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """A scheduler may step others, and steps itself as it is made."""
    _inside[0] = max(0, _inside[0] - 1)
    plan = _plans.get(args[0])
    if _inside[0] or plan is None:
        return
    plan.calls += 1
    if plan.calls == 1:
        plan.where = report.here()
        plan.steps_first = plan.rate.steps if plan.rate is not None else 0


# ---------------------------------------------------------------------------------------------- at the end


def facts(diverged: bool) -> dict[str, Any]:
    """Of the optimizer that has made the most steps; whether the loss has diverged is the caller's to know."""
    for plan in _all_plans:
        if plan.rate is not None:
            _judge(plan, plan.rate, diverged)
    if not _all_rates or not max(_all_rates, key=lambda each: each.steps).steps:
        return {}
    rate = max(_all_rates, key=lambda each: each.steps)
    return {"optimizer.lr_first": rate.first, "optimizer.lr_max": rate.highest, "optimizer.lr_max_step": rate.at_highest,
            "optimizer.lr_last": rate.last, "optimizer.steps": rate.steps, **_scheduled(rate), "optimizer.schedule": Told.kind}


def _scheduled(rate: Rate) -> dict[str, Any]:
    calls = [plan.calls for plan in _all_plans if plan.rate is rate]
    over = {"optimizer.lr_over_base": rate.highest / rate.base} if rate.base > 0 else {}
    return {"optimizer.scheduler_steps": max(calls), **over} if calls else {}


class Told:
    kind = "none"


def _judge(plan: Plan, rate: Rate, diverged: bool) -> None:
    if rate.steps < FEW_STEPS:
        return
    steps, calls, length = rate.steps - plan.optimizer_steps, plan.calls, plan.length
    told = {"optimizer.scheduler": plan.kind, "optimizer.scheduler_steps": calls, "optimizer.steps": rate.steps,
            **({"optimizer.schedule_length": length} if length is not None else {})}
    if not calls:
        _never(plan, told)
    elif plan.kind in ("OneCycleLR", "CosineAnnealingLR") and length and calls * 4 <= length and steps >= 0.9 * length:
        _found("too_seldom", f"{plan.kind} was made for {length} steps and stepped {calls} times while the optimizer stepped {steps} "
               "times: the rate never gets through its schedule", told, plan.where)
    elif _is_too_often(plan, rate, steps):
        _found("too_often", f"{plan.kind} was made for {length} steps and was stepped {calls} times, once a batch: its unit is the epoch",
               {**told, **({"optimizer.epochs": _most_epochs()} if _epochs else {})}, plan.where)
    elif rate.low > LONG * rate.steps and plan.kind != "ReduceLROnPlateau":
        _found("decayed", f"The learning rate was below a thousandth of its largest for {100 * rate.low / rate.steps:.0f} % of the steps "
               f"({plan.kind}, stepped {calls} times over {steps} steps of the optimizer): nothing is learnt there",
               {**told, "optimizer.lr_low_share": rate.low / rate.steps}, plan.where)
    elif rate.highest > OVERSHOOT * rate.base > 0 and plan.kind in ("LambdaLR", "MultiplicativeLR", "SequentialLR"):
        _overshoot(plan, rate, diverged, told)
    if calls and not plan.steps_first:
        report.hint("optimizer", "first", "The scheduler steps before the optimizer does: the first rate is left out", told, plan.where)


def _is_too_often(plan: Plan, rate: Rate, steps: int) -> bool:
    """Stepped with each batch, and made for as many steps as there were epochs. Where no loader was seen: many times as many."""
    if not plan.length or plan.calls < 2 * plan.length or plan.calls < 0.9 * steps:
        return False
    if plan.kind == "StepLR" and _most_epochs() > 1:  # several times within an epoch
        return plan.length * _most_epochs() < plan.calls and rate.last <= 0.05 * rate.highest
    if plan.kind in ("MultiStepLR", "LinearLR"):
        return plan.length <= EARLY * plan.calls and rate.last <= 0.2 * rate.highest
    if plan.kind != "CosineAnnealingLR":
        return False
    return plan.length in _epochs.values() if _most_epochs() > 1 else plan.calls % plan.length == 0 and plan.calls >= 4 * plan.length


def _most_epochs() -> int:
    return max(_epochs.values(), default=0)


def _never(plan: Plan, told: dict[str, Any]) -> None:
    """A run that ended early would have stepped it later: it must have gone through two epochs, and not have failed."""
    if any(each.calls for each in _all_plans) or hasattr(sys, "last_value") or bus.Now.bad is not None or _most_epochs() < 2:
        report.hint("optimizer", "never", f"{plan.kind} was made and has never stepped", told, plan.made)
    else:
        _found("never", f"{plan.kind} was made and has never stepped, over {_most_epochs()} epochs", told, plan.made)


def _overshoot(plan: Plan, rate: Rate, diverged: bool, told: dict[str, Any]) -> None:
    times = rate.highest / rate.base
    says = (f"The schedule raised the learning rate to {times:.3g} times its base ({rate.highest:.3g}, at step {rate.at_highest} of "
            f"{rate.steps})" + (", and the loss diverged" if diverged else ""))
    told = {**told, "optimizer.lr_over_base": times, "optimizer.lr_max": rate.highest, "optimizer.lr_max_step": rate.at_highest}
    if diverged:
        _found("overshoot", says, told, plan.made)
    else:
        report.hint("optimizer", "overshoot", says, told, plan.made)


def _found(key: str, says: str, facts: dict[str, Any], where: tuple[str, str]) -> None:
    Told.kind = key
    report.finding("optimizer", key, says, {**facts, "optimizer.schedule": key}, where)

"""Whether the parameters of an optimizer have gradients, and whether they move: a sample of each, before and after some of its steps.

At the first steps, and then at each doubling, up to 64 values of each parameter are compared over one step, and norms of gradients and
changes are read with the step's other numbers. A parameter of which only other values change counts as still; so only what holds for
all parameters of an optimizer is a finding.
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

CHECKS = 3
STILL = 4
PARAMETERS = 2000
SAMPLE = 64
NOWHERE = ("", "")
LARGE = 1.0
"""The change of a weight, relative to it, in one step. Published alarms lie at 10 and at 0.1; small models pass 0.1 at first steps."""


class Moves:
    """Of one optimizer, over all checks."""

    def __init__(self, where: tuple[str, str]) -> None:
        self.made = where
        self.checks = self.without = self.zero = self.still = self.rated = self.large = 0
        self.is_reached = False
        self.backward = NOWHERE
        self.ratios: list[float] = []
        self.never: list[bool] = []
        self.before: Any = None


_moves: Any = held.Weak(64)
_all: list[Moves] = []
_backward = [NOWHERE]


def install() -> None:
    bus.listen("optimizer", born=_born, backward=_note_backward, step_pre=_step_pre, step_post=_step_post, forked=_forked)


def _forked() -> None:
    _moves.clear()
    _all.clear()


def _born(thing: Any, where: tuple[str, str]) -> None:
    if isinstance(thing, sys.modules["torch"].optim.Optimizer) and len(_all) < 64:
        _all.append(Moves(where))
        _moves.put(thing, _all[-1])


def _note_backward(tensors: Any) -> None:
    """A frame walk only at the first steps."""
    if bus.Now.step < 4:
        _backward[0] = report.here()


def _mine(optimizer: Any) -> list[Any]:
    every = held.parameters(optimizer)[:PARAMETERS]
    return [each for each in every if each.is_floating_point() and each.numel() and held.is_plain(each)]


def _sampled(each: Any) -> Any:
    flat = each.detach().reshape(-1)
    return flat[:: max(1, flat.shape[0] // SAMPLE)][:SAMPLE].float()


def _step_pre(optimizer: Any, number: int) -> None:
    moves = _moves.get(optimizer)
    if moves is not None and held.is_check(number):
        with sys.modules["torch"].no_grad():
            moves.before = [_sampled(each).clone() for each in _mine(optimizer)]


def _step_post(optimizer: Any, number: int) -> None:
    moves = _moves.get(optimizer)
    if moves is None or moves.before is None:
        return
    before, moves.before = moves.before, None
    mine = _mine(optimizer)
    if len(mine) != len(before) or len({each.device for each in mine}) != 1:
        return
    moves.checks += 1
    moves.backward = _backward[0] if _backward[0][0] else moves.backward
    with sys.modules["torch"].no_grad():
        _ask(optimizer, moves, mine, before)
    if held.is_judged(number):
        _judge(moves)


def _ask(optimizer: Any, moves: Moves, mine: list[Any], before: list[Any]) -> None:
    torch = sys.modules["torch"]
    gradients = [each.grad for each in mine if each.grad is not None and held.is_plain(each.grad)]
    moves.without += not any(each.grad is not None for each in mine)
    moves.is_reached = moves.is_reached or bool(gradients)
    moves.rated += _has_rate(optimizer)
    changes = torch._foreach_norm(torch._foreach_sub([_sampled(each) for each in mine], before))
    sizes = torch._foreach_norm(before)
    norms = [each.float() for each in torch._foreach_norm(gradients)] if gradients else []
    at = len(mine)
    bus.defer(torch.stack([*changes, *sizes, *norms]), lambda numbers: _note(moves, numbers[:at], numbers[at : 2 * at], numbers[2 * at :]))


def _has_rate(optimizer: Any) -> bool:
    """A rate that is a tensor counts as one."""
    return any(not isinstance(each.get("lr"), (int, float)) or each["lr"] > 0 for each in optimizer.param_groups)


def _note(moves: Moves, changes: list[float], sizes: list[float], gradients: list[float]) -> None:
    """What is not a number has moved."""
    moves.zero += bool(gradients) and all(each == 0 for each in gradients)
    moves.still += all(each == 0 for each in changes)
    if len(moves.never) != len(changes):
        moves.never = [True] * len(changes)
    moves.never = [was and each == 0 for was, each in zip(moves.never, changes)]
    ratios = sorted(change / size for change, size in zip(changes, sizes) if size > 0 and change < float("inf"))
    if ratios:
        moves.ratios.append(ratios[len(ratios) // 2])
        moves.large += ratios[0] > LARGE


def _cut(moves: Moves) -> tuple[str, str]:
    """Where the history may have been lost: the one line that makes a tensor anew, else that of backward."""
    line = hook.load("_bitten_probes.sources").only(hook.load("_bitten_probes.graph").ANEW)
    return line if line[0] else moves.backward if moves.backward[0] else moves.made


def _is_explained(moves: Moves) -> bool:
    """Whether another part has told why there is no gradient."""
    parts = [hook.load("_bitten_probes." + name) for name in ("accumulation", "graph", "members")]
    return parts[0].Told.order == "lost" or 0 < parts[1].Now.anew == parts[1].Now.backwards or moves.made in parts[2].strangers()


def _judge(moves: Moves) -> None:
    if moves.checks >= CHECKS and moves.without == moves.checks:
        if _is_explained(moves):
            Told.gradient = "none"
            return
        _found("no_gradient", f"None of the optimizer's parameters has a gradient, at each of {moves.checks} steps looked at: "
               "nothing is learnt", {"optimizer.gradient": "none"}, _cut(moves))
    elif moves.checks >= CHECKS and moves.zero == moves.checks:
        _found("zero_gradient", f"Every gradient of the optimizer's parameters is exactly zero, at each of {moves.checks} steps looked at: "
               "its steps learn nothing", {"optimizer.gradient": "zero"}, moves.backward if moves.backward[0] else moves.made)
    elif moves.checks >= STILL and moves.still == moves.checks and moves.is_reached:
        why = "though its rate is above zero" if moves.rated else "as its learning rate is zero"
        _found("still", f"None of the optimizer's parameters changes, at each of {moves.checks} steps looked at, {why}",
               {"optimizer.gradient": "unused"}, moves.made)
    elif moves.checks >= STILL and moves.large * 2 > moves.checks:
        report.hint("optimizer", "large", f"In most of the {moves.checks} steps looked at, every weight changed by more than its own size",
                    {"optimizer.update_ratio": _median(moves)}, moves.made)


class Told:
    gradient = "some"


def _found(key: str, says: str, facts: dict[str, Any], where: tuple[str, str]) -> None:
    Told.gradient = facts["optimizer.gradient"]
    report.finding("optimizer", key, says, facts, where)


def _median(moves: Moves) -> float:
    return sorted(moves.ratios)[len(moves.ratios) // 2]


def facts() -> dict[str, Any]:
    for moves in _all:
        _judge(moves)
    longest = max(_all, key=lambda each: each.checks, default=None)
    if longest is None or not longest.checks:
        return {}
    ratio = {"optimizer.update_ratio": _median(longest)} if longest.ratios else {}
    still = {"optimizer.still": sum(longest.never)} if longest.checks >= STILL else {}
    return {"optimizer.gradient": Told.gradient, **ratio, **still}

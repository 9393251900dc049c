"""The order of backward, clearing and step, by optimizer: gradients never cleared, cleared too often, cleared before they were used.

One parameter with a gradient stands for its optimizer: whether a backward call reached it is read from the gradient's identity and
version, with no number read. A clearing through `grad.data` is known only by value, and asked for only under suspicion. What a closure
does inside `step` is taken as meant. Knows no loss's meaning.
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

STREAK = 3
"""Steps in a row that must show the same order."""
SAMPLE = 16
NOWHERE = ("", "")


class Order:
    """What happened to one optimizer's gradients since its last step, and for how many steps it was so."""

    def __init__(self, optimizer: Any, where: tuple[str, str]) -> None:
        self.made, self.ids = where, frozenset(map(id, held.parameters(optimizer)))
        self.clears = self.steps = self.carried = self.in_all = 0
        self.streaks = {"thrown": 0, "lost": 0, "kept": 0}
        self.is_watched = self.is_judged = self.is_sum = False
        self.probe: Any = lambda: None
        self.before: Any = None
        self.after: Any = None
        self.after_backward = 0
        self.steps_by_backwards: dict[int, int] = {}
        self.begin()

    def begin(self) -> None:
        self.backwards = self.since_clear = self.thrown = 0
        self.is_inside = self.is_cleared = self.others_stepped = self.is_moved = self.is_carried = self.is_asked = self.is_shared = False
        self.where = self.backward_where = NOWHERE
        self.places: set[Any] = set()
        self.sample: Any = None


MOST = 64
_orders: Any = held.Weak(MOST)
_modules: Any = held.Weak(MOST)
_all: list[Order] = []
"""Also of optimizers that are gone: the program's main function may have returned before its process ends."""


def install() -> None:
    bus.listen("optimizer", born=_born, backward=_backward, backward_done=_backward_done, zero_grad=_zero_grad,
               step_pre=_step_pre, step_post=_step_post, forked=_forked)


def _forked() -> None:
    _orders.clear()
    _all.clear()


def _born(thing: Any, where: tuple[str, str]) -> None:
    if isinstance(thing, sys.modules["torch"].optim.Optimizer) and len(_all) < MOST:
        order = Order(thing, where)
        _all.append(order)
        _orders.put(thing, order)


def orders() -> list[tuple[Any, Order]]:
    """Each live optimizer with what is known of it."""
    return list(_orders)


def is_used_up(ids: frozenset[int]) -> bool:
    """Whether the gradients of these parameters have been stepped on, and none have come since."""
    mine = [order for _, order in _orders if order.ids & ids]
    return bool(mine) and all(order.in_all and order.steps and not order.backwards and not order.is_inside for order in mine)


# ---------------------------------------------------------------------------------------------- one parameter for all


def _probe(optimizer: Any, order: Order) -> Any:
    """A parameter of it that has a gradient."""
    known = order.probe()
    if known is not None and known.grad is not None:
        return known
    for each in held.parameters(optimizer)[:64]:
        if each.grad is not None and held.is_plain(each.grad):
            order.probe = weakref.ref(each)
            return each
    return known


def _state(probe: Any) -> Any:
    """Which gradient it has, and how often that was written to."""
    grad = None if probe is None else probe.grad
    return None if grad is None else (id(grad), grad._version)


# ---------------------------------------------------------------------------------------------- moments


def _backward(tensors: Any) -> None:
    for optimizer, order in _orders:
        probe = _probe(optimizer, order)
        order.before = _state(probe)
        if order.before is None and order.since_clear:
            _cleared(order, probe, NOWHERE)  # by hand
        if order.sample is not None and probe is not None:
            order.is_moved = order.is_moved or not _is_same(order.sample, _sampled(probe))
            order.sample = None
        if not order.is_asked:
            order.is_asked = True
            _ask_whether_carried(order, probe)


def _ask_whether_carried(order: Order, probe: Any) -> None:
    """The first backward call after a step: is the old gradient still there, and is it more than zeros?"""
    if order.steps and order.before is not None and order.before == order.after and not order.is_cleared and not order.is_judged:
        order.is_carried = True
        bus.defer(probe.grad.detach().norm().float().reshape(1), lambda numbers: _carried(order, numbers[0]))


def _carried(order: Order, norm: float) -> None:
    order.carried += norm > 0


def _backward_done(tensors: Any) -> None:
    reached = [(order, probe) for order, probe in ((order, _probe(each, order)) for each, order in _orders)
               if not order.is_inside and _state(probe) not in (None, order.before)]
    for order, probe in reached:
        order.backwards += 1
        order.in_all += 1
        order.since_clear += 1
        order.others_stepped, order.is_shared = False, len(reached) > 1
        if order.is_watched and not order.is_judged:
            order.sample, order.after_backward = _sampled(probe), id(probe.grad)
            order.places.add(("backward", report.here()[0]))
        if order.backwards > 1 and not order.is_judged and order.backward_where == NOWHERE:
            order.backward_where, order.is_sum = report.here(), not _is_divided(tensors)


def _is_divided(tensors: Any) -> bool:
    names = [type(getattr(each, "grad_fn", None)).__name__ for each in tensors]
    return any(name.startswith(("Div", "Mul")) for name in names)


def _zero_grad(owner: Any) -> None:
    for optimizer, order in _orders:
        probe = order.probe()
        if owner is optimizer or (probe is not None and owner is not optimizer and id(probe) in _ids(owner)):
            order.clears += 1
            if order.since_clear and not order.is_inside and not order.is_judged:
                _cleared(order, probe, report.here())
            order.is_cleared, order.since_clear = True, 0


def _ids(owner: Any) -> Any:
    """Of a module's parameters; of another optimizer none."""
    if not isinstance(owner, sys.modules["torch"].nn.Module):
        return ()
    known = _modules.get(owner)
    if known is None:
        known = {id(each) for each in owner.parameters()}
        _modules.put(owner, known)
    return known


def _cleared(order: Order, probe: Any, where: tuple[str, str]) -> None:
    """Gradients are cleared that no step has used. Those that another optimizer's step or parameters shared were meant for that one."""
    order.is_cleared = True
    if order.since_clear and not (order.others_stepped or order.is_shared):
        order.thrown += 1
        order.where = where if where[0] else order.where
        order.places.add(("clear", where[0]))
        if order.sample is not None and probe is not None:
            order.is_moved = order.is_moved or not _is_same(order.sample, _sampled(probe))
    order.since_clear = 0


def _sampled(probe: Any) -> Any:
    return probe.detach().reshape(-1)[:SAMPLE].clone()


def _is_same(one: Any, other: Any) -> bool:
    """A host read: only where gradients were seen to be thrown away."""
    return bool(sys.modules["torch"].equal(one, other))


# ---------------------------------------------------------------------------------------------- steps


def _step_pre(optimizer: Any, number: int) -> None:
    order = _orders.get(optimizer)
    if order is None:
        return
    for _, other in _orders:
        other.others_stepped = True
    if order.backwards:
        order.steps_by_backwards[min(order.backwards, 64)] = order.steps_by_backwards.get(min(order.backwards, 64), 0) + 1
    if not order.is_judged:
        _judge(optimizer, order)
    order.begin()
    order.is_inside = True


def _step_post(optimizer: Any, number: int) -> None:
    order = _orders.get(optimizer)
    if order is not None:
        order.is_inside, order.steps = False, order.steps + 1
        order.after = _state(_probe(optimizer, order))
        order.is_judged = order.is_judged or order.steps > 16


def _judge(optimizer: Any, order: Order) -> None:
    """At a step: whether its order of calls is one of those that lose or keep gradients by mistake."""
    probe = order.probe()
    is_thrown = order.backwards == order.thrown + 1 > 1 and order.since_clear > 0 and not order.is_moved
    is_one_loop = len(order.places) == 2  # an attack on the inputs, or a saliency map, has lines of its own
    if is_thrown and order.is_watched and probe is not None and probe.grad is not None and id(probe.grad) != order.after_backward:
        is_thrown = False  # it was set by hand from the parts
    is_lost = order.backwards > 0 and order.since_clear == 0 and probe is not None and probe.grad is None
    _count(order, "thrown", is_thrown and is_one_loop and order.is_watched)
    _count(order, "lost", is_lost)
    _count(order, "kept", order.is_carried and not order.is_cleared and order.carried >= order.streaks["kept"])
    order.is_watched = order.is_watched or is_thrown
    _tell(order, report.here() if order.streaks["kept"] == order.steps == STREAK else NOWHERE)


def _count(order: Order, name: str, is_so: bool) -> None:
    order.streaks[name] = order.streaks[name] + 1 if is_so else 0


def _tell(order: Order, step_line: tuple[str, str]) -> None:
    facts: dict[str, Any] = {"optimizer.backwards_per_step": order.backwards}
    if order.streaks["thrown"] == STREAK:
        _found("thrown", f"Gradients are cleared between the {order.backwards} backward calls of each step, so {order.thrown} of "
               f"{order.backwards} are thrown away and only the last counts", {**facts, "optimizer.order": "thrown",
               "optimizer.thrown_per_step": order.thrown}, order.where if order.where[0] else order.backward_where)
        order.is_judged = True
    if order.streaks["lost"] == STREAK:
        _found("lost", "Gradients are cleared between backward and step, so each step has none to use",
               {**facts, "optimizer.order": "lost"}, order.where)
    if order.streaks["kept"] == order.steps == STREAK:
        _found("kept", f"Gradients were not cleared for {STREAK} steps in a row, from the first on: each step uses the sum of all so far",
               {**facts, "optimizer.order": "kept"}, step_line)
    if order.is_sum and order.steps == STREAK and order.backwards > 1 and not order.thrown:
        report.hint("optimizer", "sum", f"{order.backwards} backward calls add up in each step, and the loss is not divided before them",
                    facts, order.backward_where)


def _found(key: str, says: str, facts: dict[str, Any], where: tuple[str, str]) -> None:
    Told.order = key
    report.finding("optimizer", key, says, facts, where)


class Told:
    order = "clear"


def facts() -> dict[str, Any]:
    """What is known at the end."""
    counts: dict[int, int] = {}
    for order in _all:
        _never_stepped(order)
        for number, times in order.steps_by_backwards.items():
            counts[number] = counts.get(number, 0) + times
    usual = {"optimizer.backwards_per_step": max(counts, key=lambda each: counts[each])} if counts else {}
    return {"optimizer.order": Told.order, **usual}


def _never_stepped(order: Order) -> None:
    """A wrapping optimizer's parameters may be another's, which steps."""
    others = any(each.steps and each.ids & order.ids for each in _all)
    if not others and order.clears >= 2 * STREAK and order.in_all >= 2 * STREAK and not Skips.any:
        _found("unstepped", f"The optimizer has never stepped, though its gradients were computed {order.in_all} times and cleared "
               f"{order.clears} times", {"optimizer.order": "unstepped", "optimizer.backwards": order.in_all}, order.made)


class Skips:
    """A gradient scaler may leave steps out: then that an optimizer has not stepped is no fault of the loop."""

    any = False

"""The loss from what the window kept of it: which call made it bad, and, played again with a graph, which node made its gradient bad.

Knows calls of torch's functions, not the operations inside one; of calls that were too large to keep it knows nothing.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
calls: Any = hook.load("_bitten_probes.nan_calls")
window: Any = hook.load("_bitten_probes.nan_window")
op_modes: Any = hook.load("_bitten_probes.op_modes")
replay: Any = hook.load("_bitten_probes.replay")
torch: Any = sys.modules["torch"]


def forward_event(loss: Any) -> Any:
    """Why this loss is bad; None where no call that was kept made it."""
    taints: dict[tuple[int, int], Any] = {}
    for at, record in enumerate(window.Window.records):
        for slot, out in enumerate(record.outs):
            state = op_modes._state(out) if calls.is_float(out) else ""
            if state:
                taints[at, slot] = _event(record, out, state, taints)
    return taints.get(loss.made_by)


def _event(record: Any, out: Any, state: str, taints: dict[tuple[int, int], Any]) -> Any:
    refs = [(each, op_modes._state(each.value)) for each in record.refs() if calls.is_float(each.value)]
    like = [each for each, its in refs if its == state]
    if like:
        return _inherited(record, like, state, taints)
    made = op_modes.Event(state, record.name, record.lines, None, out.dtype)
    made.is_fill = record.name in op_modes.FILLS or op_modes._has_endless(record.args)
    endless = [each for each, its in refs if its == "inf"]
    if state == "nan" and endless and not made.is_fill:
        made.earlier = _inherited(record, endless, "inf", taints)
    return made


def _inherited(record: Any, refs: list[Any], state: str, taints: dict[tuple[int, int], Any]) -> Any:
    for each in refs:
        if (each.record, each.slot) in taints:
            return taints[each.record, each.slot]
    ref = refs[0]
    found = op_modes.Event(state, record.name, record.lines, None, ref.value.dtype, ("input", _argument(record, ref), ref.value))
    found.is_fill = state == "inf" and not bool((ref.value == float("inf")).any())
    return found


def _argument(record: Any, ref: Any) -> str:
    """The name of an argument of the call: the function's own where it can be read."""
    import inspect  # noqa: PLC0415 - after a trip

    for name, each in record.kwargs.items():
        if any(one is ref for one in window._refs(each)):
            return str(name)
    at = next((number for number, each in enumerate(record.args) if any(one is ref for one in window._refs(each))), 0)
    try:
        names = list(inspect.signature(record.func).parameters)
    except (TypeError, ValueError):
        names = []
    return names[at] if at < len(names) else str(at)


# ---------------------------------------------------------------------------------------------- backward


def backward(losses: list[Any]) -> tuple[Any, dict[int, Any]]:
    """The first node of the loss's own backward that makes bad gradients of good ones; and what it gives, by what it was given to."""
    if not any(each.made_by[0] is not None for each in losses):
        return None, {}
    state, grad = replay._random_states(), torch.is_grad_enabled()
    try:
        torch._C._set_grad_enabled(True)
        with bus.quiet():
            return _played_backward(losses)
    except Exception:  # a call that can't be made again: whoever asked goes on to the calls of modules
        return None, {}
    finally:
        torch._C._set_grad_enabled(grad)
        for write, value in state:
            write(value)


def _played_backward(losses: list[Any]) -> tuple[Any, dict[int, Any]]:
    nodes = op_modes.Nodes()
    made: list[list[Any]] = []
    leaves: dict[int, Any] = {}
    for record in window.Window.records:
        out = _again(record, made, leaves)
        nodes.tag(out, record)
        made.append(list(calls.tensors(out, 2)))
    hooks = nodes.watch()
    grads: dict[int, Any] = {}
    try:
        for each in losses:
            record, slot = each.made_by
            out = made[record][slot] if record is not None else None
            if out is not None and out.requires_grad and leaves:
                _add(grads, leaves, torch.autograd.grad(out, list(leaves.values()), retain_graph=True, allow_unused=True))
    finally:
        for each in hooks:
            each.remove()
    return _with_lines(nodes.bad), grads


def _add(grads: dict[int, Any], leaves: dict[int, Any], new: Any) -> None:
    for key, grad in zip(leaves, new):
        if grad is not None:
            grads[key] = grads[key] + grad if key in grads else grad


def _with_lines(event: Any) -> Any:
    """A node's line is its record's."""
    one = event
    while one is not None:
        one.lines, one.module = one.module.lines, None
        one = one.earlier
    return event


def _again(record: Any, made: list[list[Any]], leaves: dict[int, Any]) -> Any:
    def given(ref: Any) -> Any:
        if ref.record is not None:
            return made[ref.record][ref.slot]
        value = ref.value.clone()  # a call may write into it, as `relu(x, inplace=True)` does
        if ref.has_grad and ref.key not in leaves:
            leaves[ref.key] = value.detach().requires_grad_()
        return leaves[ref.key] if ref.has_grad else value

    args, kwargs = (_filled(each, given) for each in (record.args, record.kwargs))
    return record.func(*args, **kwargs)


def _filled(nest: Any, given: Any) -> Any:
    if isinstance(nest, window.Ref):
        return given(nest)
    if isinstance(nest, dict):
        return {name: _filled(each, given) for name, each in nest.items()}
    if type(nest) in (list, tuple):
        return type(nest)(_filled(each, given) for each in nest)
    return nest

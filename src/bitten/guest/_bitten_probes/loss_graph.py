"""A loss written out by hand: the difference of an output and its target, and one in which every prediction met every target.

Only the nodes between the loss and the output tell of it. Of a difference that is [N, N] the line is found by watching from then on.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
loss_made: Any = hook.load("_bitten_probes.loss_made")
loss_rules: Any = hook.load("_bitten_probes.loss_rules")

NEAR = 60
"""Nodes between a loss and the model's output, at most."""
_output: list[tuple[int, tuple[int, ...]]] = []
_calls: Any = weakly.Keys()
_differences: list[tuple[str, str]] = []
_armed: list[bool] = []


def install() -> None:
    bus.listen("loss", root_post=_root_post)


def _root_post(module: Any, args: Any, kwargs: Any, out: Any) -> None:
    """Of a module's first output and at each doubling: the node that made it, by number, and its shape; nothing is kept alive."""
    _output.clear()
    calls = _calls[module] = _calls.get(module, 0) + 1
    node = getattr(out, "grad_fn", None) if calls & (calls - 1) == 0 else None
    if node is not None:
        _output.append((id(node), tuple(out.shape)))


def outer(loss: Any) -> Any:
    """What is wrong, or None."""
    if not _output or getattr(loss, "grad_fn", None) is None:
        return None
    number, shape = _output[0]
    if len(shape) not in (1, 2) or shape[0] < 2 or shape[1:] not in ((), (1,)):
        return None
    whole = (shape[0], shape[0])
    if not any(_is_difference(node, number) and loss_made.shape_of(node) == whole for node in loss_made.nodes(loss, NEAR)):
        return None
    _watch_differences()
    says = (f"The output {loss_rules.text(shape)} minus a target of another number of dimensions is broadcast to {loss_rules.text(whole)}: "
            "every prediction is compared with every target, not with its own.")  # fmt: skip
    return loss_rules.Wrong("broadcast", says)


def written_out(loss: Any) -> tuple[Any, Any] | None:
    """The output and the target of a square or absolute difference, where the graph has kept both, and nothing masks it."""
    if not _output or getattr(loss, "grad_fn", None) is None:
        return None
    for node in loss_made.nodes(loss, NEAR):
        inner = node.next_functions[0][0] if node.next_functions else None
        if _is_mask(node):
            return None
        if str(node.name()).startswith(("Pow", "Abs", "Mul")) and inner is not None and str(inner.name()).startswith("Sub"):
            try:
                found = _sides(node, inner)
            except RuntimeError:  # an earlier backward has let go of what this node had kept
                found = None
            if found is not None:
                return found
    return None


def _is_mask(node: Any) -> bool:
    """Whether some differences are left out, or weighed: their targets may be marks for those that nobody knows."""
    name, sides = str(node.name()), [each for each, _ in node.next_functions]
    if name.startswith("Mul") and sides.count(None) == 1:
        try:
            other = node._saved_other if sides[1] is None else node._saved_self
        except RuntimeError:  # as above
            return True
        return other is not None and other.dim() > 0
    return name.startswith(("Where", "Index", "MaskedSelect", "MaskedFill"))


def _sides(node: Any, minus: Any) -> tuple[Any, Any] | None:
    sides = [each for each, _ in minus.next_functions]
    if len(sides) != 2 or sides.count(None) != 1:
        return None
    maker = loss_made.maker(next(each for each in sides if each is not None))
    output, difference = getattr(maker, "_saved_result", None), getattr(node, "_saved_self", None)
    if output is None or difference is None or output.numel() != difference.numel():
        return None
    with sys.modules["torch"].no_grad():
        shaped = output.detach().reshape(difference.shape)
        return output, (shaped - difference if sides[1] is None else shaped + difference).reshape(output.shape)


def _is_difference(node: Any, output: int) -> bool:
    """Of the very output and of something without a gradient."""
    sides = [each for each, _ in node.next_functions]
    is_minus = str(node.name()).startswith(("Sub", "Rsub"))
    return is_minus and any(id(each) == output for each in sides) and sides.count(None) == len(sides) - 1


def _watch_differences() -> None:
    if not _armed:
        _armed.append(True)
        for name in ("__sub__", "__rsub__", "sub"):
            bus.wrap("loss", sys.modules["torch"].Tensor, name, None, _subtracted)


def _subtracted(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    if not _differences and getattr(out, "ndim", 0) == 2 and out.shape[0] == out.shape[1] > 1 and out.requires_grad:
        _differences.append(report.line(sys._getframe(2)))


def place() -> tuple[str, str]:
    """The line of the difference; empty texts until it was computed once more."""
    return _differences[0] if _differences else ("", "")

"""A loss written out by hand in which every prediction met every target: a difference of the model's very output that is [N, N].

Only the nodes between the loss and the output tell of it; the line is found by watching differences from then on.
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
loss_made: Any = hook.load("_bitten_probes.loss_made")
loss_rules: Any = hook.load("_bitten_probes.loss_rules")

NEAR = 60
"""Nodes between a loss and the model's output, at most."""
_output: list[tuple[int, tuple[int, ...]]] = []
_calls: Any = weakref.WeakKeyDictionary()
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

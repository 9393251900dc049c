"""Functional dropout that is on in eval mode, because its call was not told the mode."""

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

NAMES = ("dropout", "dropout1d", "dropout2d", "dropout3d")


class Now:
    """Whether the outermost module that is being called is in eval mode."""

    is_eval = False
    kind = ""


_told: set[str] = set()
_tell: list[Callable[..., None]] = []


def install(tell: Callable[..., None]) -> None:
    _tell.append(tell)
    patches.on_import("torch", _torch)
    bus.listen("mode", root_pre=_root_pre, root_post=_root_left, root_failed=_root_left)


def _torch(torch: Any) -> None:
    functional = torch.nn.functional
    for name in NAMES:
        bus.wrap("mode", functional, name, None, _called(name))
    bus.wrap("mode", functional, "scaled_dot_product_attention", None, _attended)


def _root_pre(module: Any, args: Any) -> None:
    module = outputs.unwrapped(module)
    Now.is_eval, Now.kind = not module.training, type(module).__name__


def _root_left(*_: Any) -> None:
    Now.is_eval = False


def _called(name: str) -> Any:
    def after(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
        if Now.is_eval:
            p = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
            training = args[2] if len(args) > 2 else kwargs.get("training")
            if p and training is not False:
                _note(name, float(p), training is None)

    return after


def _attended(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    p = args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)
    if Now.is_eval and p:
        _note("scaled_dot_product_attention", float(p), True)


def _note(name: str, p: float, is_unsaid: bool) -> None:
    """Told `training=True` it may be meant, as Monte Carlo dropout is."""
    where = report.here()
    if where[0] in _told or len(_told) > 50:
        return
    _told.add(where[0])
    if is_unsaid:
        says = f"{name} (p={p:g}) is not told the mode and drops in eval mode too: {Now.kind} was called in eval mode."
        _tell[0]("dropout_without_flag", says, {"mode.dropout": p, "mode.root": Now.kind}, where)
    else:
        says = f"{name} (p={p:g}) was on while {Now.kind} was called in eval mode."
        _tell[0]("dropout_in_eval", says, {"mode.dropout": p, "mode.root": Now.kind}, where, is_hint=True)

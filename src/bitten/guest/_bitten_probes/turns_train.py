"""Turns of the training itself: learning rate, precision, loss scale, compilation. Knows no data and no process.

The program reads its own learning rate at all times: the changed one stands in an optimizer only while it steps.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
patches: Any = hook.load("_bitten_patches")
turns: Any = hook.load("_bitten_probes.turns")


def _need(turn: Any, word: str) -> None:
    if turn.value != word:
        raise ValueError(f"it is {turn.name}={word}")


# ---------------------------------------------------------------------------------------------- learning rate


def lr(turn: Any) -> None:
    """Whatever sets the rates, a scheduler too, goes on from its own. An optimizer inside another's step gets the other's changed rates."""
    factor = float(turn.value)
    if factor == 1.0:
        raise ValueError("times 1 is no change")
    held: Any = weakly.Keys()

    def before(optimizer: Any, number: int) -> None:
        _put_back(held.pop(optimizer, ()))  # its last step raised
        if held:
            return
        groups = [group for group in optimizer.param_groups if group.get("lr") is not None]
        held[optimizer] = [(group, group["lr"], group["lr"] * factor) for group in groups]
        for group, _, changed in held[optimizer]:
            group["lr"] = changed
        if groups:
            turn.met()
        else:
            turn.not_for("refused: this optimizer makes its own learning rate")

    turns.listen(turn, step_pre=before, step_post=lambda optimizer, number: _put_back(held.pop(optimizer, ())))


def _put_back(held: Any) -> None:
    for group, plain, changed in held:
        if group["lr"] is changed:
            group["lr"] = plain


# ---------------------------------------------------------------------------------------------- precision


def autocast(turn: Any) -> None:
    _need(turn, "off")

    def made(out: Any, args: Any) -> None:
        region = args[0]
        if region._enabled:
            region._enabled = False
            turn.met()

    patches.on_import("torch", lambda torch: turns.answers(turn, torch.amp.autocast_mode.autocast, "__init__", made))


def scaler(turn: Any) -> None:
    """As GradScaler does, but gradients are scaled back at once, so that clipping and accumulation see true ones."""
    _need(turn, "on")
    hook.load("_bitten_probes.turns_scaler").put_in_place(turn)


# ---------------------------------------------------------------------------------------------- compilation


def compile(turn: Any) -> None:
    _need(turn, "off")
    os.environ["TORCHDYNAMO_DISABLE"] = "1"

    def plain(call: Any, args: Any, kwargs: Any) -> Any:
        turn.met()
        model = args[0] if args else kwargs.get("model")
        return (lambda each: each) if model is None else model

    patches.on_import("torch", lambda torch: turns.around(torch, "compile", plain) if hasattr(torch, "compile") else None)

"""By how many positions the targets of a language model are shifted against the ids that it was given: 1 is right, 0 asks for what it sees.

The ids are those of a trained embedding in the graph behind the scores, so it works inside any model's forward too; a frozen embedding, or
a compiled model, is not known. That a model can't see later positions is proven by autograd, not by its name: an autoencoder is left alone.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
loss_made: Any = hook.load("_bitten_probes.loss_made")

FEWEST = 16
"""Targets that must agree, all of them; by chance, 16 of even two ids do so once in 65,536 times."""
SHORTEST = 4


def shift_of(given: Any, target: Any, options: dict[str, Any]) -> int | None:
    """0, 1 or 2; None where the targets are no such sequence, or the model sees later positions."""
    if given.grad_fn is None or target.is_floating_point() or target.numel() < FEWEST or given.dim() < 2:
        return None
    ignore = options.get("ignore_index", -100)
    scores = given.movedim(1, -1) if given.dim() > 2 else given
    for node, ids in loss_made.embedded(given):
        shift = _shift(ids, target, ignore)
        if shift == 1:
            return 1
        if shift is not None:
            return shift if _is_causal(scores, node, ids, target.numel()) else None
    return None


def has_ids(given: Any) -> bool:
    return given.grad_fn is not None and bool(loss_made.embedded(given))


def _shift(ids: Any, target: Any, ignore: int) -> int | None:
    """The only shift at which every target is the id so many positions later."""
    if ids.dim() != 2 or min(ids.shape) < 1 or max(ids.shape) < SHORTEST:
        return None
    found = {at for time_first in (False, True) for at in (0, 1, 2) if _agrees(ids, target, ignore, at, time_first)}
    return found.pop() if len(found) == 1 else None


def _agrees(ids: Any, target: Any, ignore: int, shift: int, time_first: bool) -> bool:
    ids = ids.t() if time_first else ids
    count = ids.shape[0]
    if target.numel() % count or target.device != ids.device:
        return False
    length = target.numel() // count
    kept = min(length, ids.shape[1] - shift)
    if not ids.shape[1] - 2 <= length <= ids.shape[1] or kept < SHORTEST - 2:
        return False
    rows = target.reshape(length, count).t() if time_first else target.reshape(count, length)
    wanted, seen = rows[:, :kept], ids[:, shift : shift + kept]
    valid = wanted != ignore
    return bool(int(valid.sum()) >= FEWEST and bool((wanted == seen)[valid].all()) and int(wanted[valid].unique().numel()) > 2)


def _is_causal(scores: Any, node: Any, ids: Any, count: int) -> bool:
    if count != ids.numel():
        return False  # of scores that were cut it isn't known which positions they are
    try:
        return loss_made.sees_no_later(scores, node, ids) is True
    except Exception:  # a part of the graph that can't be asked twice
        return False

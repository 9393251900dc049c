"""Prompts padded on the right and then continued: the model goes on from padding. Seen in how inputs grow, whoever wrote the loop.

A generation is a call of an outermost module without gradients whose ids are those of its call just before with one more column, or one
column that follows a longer one. That an id is padding is known from an embedding's padding_idx, from the labels of training, or from a
variable beside the call whose name says so.
"""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
frames: Any = hook.load("_bitten_frames")
texts: Any = hook.load("_bitten_probes.token_batches")
trees: Any = hook.load("_bitten_probes.source_trees")

LARGEST = 1 << 16
MOST = 64
"""Generations that are looked at."""
PADDING = re.compile(r"(?i)^_?pad(ding)?(_?(token_?)?(id|idx|index))?$")


class Last:
    """The ids of the call before, and whether they were in the midst of a generation already."""

    ids: Any = None
    module = 0
    is_inner = False
    looked = found = 0


def forked() -> None:
    Last.ids, Last.is_inner, Last.looked, Last.found = None, False, 0, 0


def look(module: Any, args: Any, kwargs: Any, out: Any) -> None:
    torch = sys.modules["torch"]
    before, was_inner = Last.ids if Last.module == id(module) else None, Last.is_inner
    Last.ids, Last.is_inner, Last.module = None, False, id(module)
    if Last.looked >= MOST or torch.is_grad_enabled():
        return
    ids = kwargs.get("input_ids", args[0] if args else None)
    if type(ids) is not torch.Tensor or ids.dim() != 2 or ids.dtype is not torch.int64 or not 0 < ids.numel() <= LARGEST:
        return
    Last.ids, Last.is_inner = ids.detach().clone(), before is not None and _continues(before, ids)
    if Last.is_inner and not was_inner:
        Last.looked += 1
        judge(before, ids[:, -1].tolist(), Last.found)


def _continues(before: Any, ids: Any) -> bool:
    if before.shape[0] != ids.shape[0] or before.device != ids.device:
        return False
    if ids.shape[1] == 1 < before.shape[1]:
        return True
    return bool(ids.shape[1] == before.shape[1] + 1 and (ids[:, :-1] == before).all())


def judge(prompt: Any, added: list[int], is_known: int = 0) -> None:
    """`prompt` was continued by `added`: were some of its rows, and not all, padded at their end?"""
    ends = prompt[:, -1].tolist()
    if is_known or len(set(ends)) < 2:
        return
    known = _named(sys._getframe(1)).union(texts.Known.pads, *(each.pads for each in texts.texts_seen()))
    for pad in known.intersection(ends):
        rows = [row for row, end in enumerate(ends) if end == pad and added[row] != pad and not (prompt[row] == pad).all()]
        if rows:
            Last.found += 1
            tell(pad, len(rows), len(ends), _asked(sys._getframe(1)))
            return


def tell(pad: int, padded: int, count: int, asked: tuple[str, str]) -> None:
    lines = list(_padding_lines())
    where = lines[0] if len(lines) == 1 else asked
    says = (f"{padded} of {count} prompts end in the padding id {pad} and were continued after it: a decoder must be padded on the left, "
            "or it goes on from padding.")  # fmt: skip
    also = [at for at, _ in (asked, *lines[:5]) if at and at != where[0]]
    report.finding("tokens", "right padding", says, {"tokens.padding_id": pad, "tokens.prompts_padded_right": padded, "also": also}, where)


def _named(frame: FrameType | None) -> set[int]:
    """Whole numbers that the program itself calls padding, in variables, attributes and globals beside the call."""
    found: set[int] = set()
    for _ in range(40):
        if frame is None:
            return found
        if not frames.is_ours(frame.f_code) and not frames.is_library(frame.f_code.co_filename):
            variables = frames.variables_of(frame)
            things = dict(list(frame.f_globals.items())[:300])
            things.update(list(variables.items())[:100])
            frames.forget(frame, variables)
            found.update(_paddings(things, 2))
        frame = frame.f_back
    return found


def _paddings(things: dict[str, Any], depth: int) -> Iterator[int]:
    for name, value in things.items():
        if type(value) is int and type(name) is str and PADDING.match(name):
            yield value
        elif depth and type(value).__module__ != "builtins" and hasattr(value, "__dict__") and not isinstance(value, (type, type(sys))):
            yield from _paddings(dict(list(vars(value).items())[:100]), depth - 1)


def _asked(frame: FrameType | None) -> tuple[str, str]:
    """Who asked for the generation: the caller of the person's own function that calls the module."""
    inner = report.user_frame(frame)
    asking = report.user_frame(inner.f_back) if inner is not None else None
    found: tuple[str, str] = report.line(asking if asking is not None else inner)
    return found


def _padding_lines() -> Iterator[tuple[str, str]]:
    """Lines of the program's own that pad on the right: `row + [pad] * n`, `F.pad(row, (0, n))`, `padding_side="right"`."""
    for file in trees.files():
        for name, nodes in trees.scopes(file):
            yield from (trees.place(file, int(getattr(node, "lineno", 0)), name) for node in nodes if _pads_right(node))


def _pads_right(node: Any) -> bool:
    import ast  # noqa: PLC0415 - only where something is to be said

    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _repeats_padding(node.right)
    if isinstance(node, ast.Assign):
        sides = [each for each in node.targets if getattr(each, "attr", getattr(each, "id", "")) == "padding_side"]
        return bool(sides) and getattr(node.value, "value", "") == "right"
    if not isinstance(node, ast.Call):
        return False
    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if called == "pad_sequence":
        return all(each.arg != "padding_side" or getattr(each.value, "value", "") == "right" for each in node.keywords)
    if called == "pad" and len(node.args) > 1 and isinstance(node.args[1], ast.Tuple):
        return getattr(node.args[1].elts[0], "value", None) == 0
    return any(each.arg == "padding_side" and getattr(each.value, "value", "") == "right" for each in node.keywords)


def _repeats_padding(node: Any) -> bool:
    """`[pad] * n`, or `[anything named] * (n - m)`; `[0] * (n - m)` makes a mask."""
    import ast  # noqa: PLC0415 - as above

    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and node.left.elts):
        return False
    name = getattr(node.left.elts[0], "attr", getattr(node.left.elts[0], "id", ""))
    return "pad" in name.lower() or bool(name and isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Sub))

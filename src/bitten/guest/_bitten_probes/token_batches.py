"""Batches of token ids beside their labels: which id pads, and whether the end of a text is ever learned. Knows no tokenizer.

The id that pads is the end mark too if every row of every batch ends in it, the longest rows in one of them exactly, or if the attention
mask still counts one of them. If it is then ignored in all labels, the model never learns to stop. Fixed-length batches without a mask
say nothing.
"""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
rows: Any = hook.load("_bitten_probes.rows")
served: Any = hook.load("_bitten_probes.served")
trees: Any = hook.load("_bitten_probes.source_trees")

FIRST = 32
MOST_LOADERS = 16
LARGEST = 1 << 18
FEW_BATCHES, FEW_ROWS = 4, 32
IGNORED = -100


class Texts:
    """What the batches of one loader showed."""

    def __init__(self, loader: Any) -> None:
        self.where = bus.birthplace(loader)
        self.collate = _place_of(getattr(loader, "collate_fn", None))
        self.batches = self.looked = self.rows = self.learned = self.single = self.longer = self.open = self.attended = 0
        self.moved = 0
        self.pads: dict[int, int] = {}
        self.ignored = self.labels = 0
        self.trained = False

    def pad(self) -> int | None:
        return max(self.pads, key=lambda each: self.pads[each]) if self.pads else None


class Known:
    last: Texts | None = None
    ignore_index: int = IGNORED
    pads: set[int] = set()  # noqa: RUF012 - one a process


_texts: dict[int, Texts] = {}


def texts_seen() -> list[Texts]:
    return list(_texts.values())


def forked() -> None:
    _texts.clear()
    Known.last, Known.pads = None, set()


def _place_of(collate: Any) -> tuple[str, str]:
    code = getattr(getattr(collate, "func", collate), "__code__", None)
    found: tuple[str, str] = trees.of_code(code) if code is not None else trees.of_method(collate, "__call__")
    return found


# ---------------------------------------------------------------------------------------------- looking


def batch(iterator: Any, loader: Any, data: Any) -> None:
    Known.last = None
    if loader is None:
        return
    key = served.identity(loader)
    found = _texts.get(key)
    if found is None:
        if len(_texts) >= MOST_LOADERS:
            return
        found = _texts[key] = Texts(loader)
    found.batches += 1
    Known.last = found
    if found.batches <= FIRST or found.batches & (found.batches - 1) == 0:
        parts = _parts(data)
        if parts is not None:
            _look(found, *parts)


def stepped(optimizer: Any, number: int) -> None:
    if Known.last is not None:
        Known.last.trained = True


def ignoring(args: Any, kwargs: Any) -> None:
    """A cross entropy says which label it ignores."""
    given = kwargs.get("ignore_index", args[4] if len(args) > 4 else IGNORED)
    if type(given) is int:
        Known.ignore_index = given


def _parts(data: Any) -> tuple[Any, Any, Any] | None:
    """(ids, labels, attention mask or None) of one shape, if that is what a batch is."""
    torch = sys.modules["torch"]
    grids = [(path, leaf.detach()) for path, leaf in rows.leaves(data)[1]
             if leaf.dim() == 2 and leaf.dtype in (torch.int64, torch.int32, torch.bool) and leaf.device.type == "cpu"]
    if len(grids) < 2 or not 1 < grids[0][1].numel() <= LARGEST or grids[0][1].shape[1] < 2:
        return None
    mask = next((leaf for path, leaf in grids if "mask" in path or leaf.dtype is torch.bool), None)
    rest = [(path, leaf) for path, leaf in grids if leaf is not mask and leaf.dtype is not torch.bool]
    labels = next((leaf for path, leaf in rest if re.search("label|target", path)), rest[1][1] if len(rest) > 1 else None)
    ids = next((leaf for path, leaf in rest if leaf is not labels), None)
    if ids is None or labels is None or ids.shape != labels.shape or (mask is not None and mask.shape != ids.shape):
        return None
    return ids, labels, mask


def _look(found: Texts, ids: Any, labels: Any, mask: Any) -> None:
    ignored = (labels == IGNORED) | (labels == Known.ignore_index)
    found.ignored += int(ignored.sum())
    found.labels += labels.numel()
    kept = ~ignored
    is_moved = _agree(labels[:, :-1], ids[:, 1:], kept[:, :-1])
    if not ignored.any() or not (is_moved or _agree(labels, ids, kept)):
        return
    found.looked += 1
    found.rows += len(ids)
    pad = int(ids[:, -1].mode()[0])
    shortest, longest = _tails((ids == pad) & ignored)
    if is_moved:  # the last label of a row stands where the ids have ended
        found.moved += 1
        shortest, longest = _tails(ignored)
    if longest > 1 or shortest:
        found.pads[pad] = found.pads.get(pad, 0) + 1
    found.open += shortest == 0
    found.single += shortest == 1
    found.longer += longest > 1
    found.learned += int(((ids == pad) & (labels == pad)).sum()) if Known.ignore_index == IGNORED or pad != Known.ignore_index else 0
    if mask is not None and ((mask == 0) & (ids == pad)).any():
        ends = mask.long().cumsum(1).argmax(1, keepdim=True)
        found.attended += int(((ids.gather(1, ends) == pad) & ignored.gather(1, ends)).sum())


def _agree(labels: Any, ids: Any, kept: Any) -> bool:
    """Whether the labels that count are the ids."""
    same = (labels == ids)[kept]
    return bool(same.numel() and same.float().mean() > 0.99)


def _tails(marked: Any) -> tuple[int, int]:
    """Of the runs of marked places at the rows' ends the shortest and the longest."""
    runs = marked.flip(1).long().cumprod(1).sum(1)
    return int(runs.min()), int(runs.max())


# ---------------------------------------------------------------------------------------------- judging


def conclude() -> dict[str, Any]:
    """Say at the end whose end mark is never learned. Returns the facts for the summary."""
    seen = [each for each in _texts.values() if each.looked]
    if not seen:
        return {}
    found = [each for each in seen if each.trained and _never_ends(each)]
    for each in found:
        _tell(each)
    pads = sorted({pad for each in seen for pad in each.pads})
    return {"tokens.unlearned_ends": len(found), "tokens.padding_ids": pads[:8],
            "tokens.ignored_share": sum(each.ignored for each in seen) / max(1, sum(each.labels for each in seen))}


def _never_ends(found: Texts) -> bool:
    if found.learned or len(found.pads) != 1 or found.looked < FEW_BATCHES or found.rows < FEW_ROWS:
        return False
    by_length = found.longer and not found.open and found.single >= 0.9 * found.looked
    if found.moved:  # a pad that the shift left at each row's end looks the same
        by_length = by_length and any(_equated(int(found.pad() or 0)))
    return bool(by_length) or found.attended >= 0.9 * found.rows


def _tell(found: Texts) -> None:
    pad = found.pad()
    made = list(_equated(int(pad or 0)))
    says = (f"The id {pad} pads, and ends every one of {found.rows} texts too; each label at it is ignored, so the end of a text "
            "is never learned: what is generated does not stop.")  # fmt: skip
    facts = {"tokens.padding_id": pad, "tokens.texts": found.rows, "tokens.end_labels": found.learned,
             "also": [each[0] for each in (*made[1:4], found.collate, found.where) if each[0]]}
    where = next((each for each in (*made, found.collate, found.where) if each[0]), ("", ""))
    report.finding("tokens", f"end {found.where[0]}", says, facts, where)


def _equated(pad: int) -> Iterator[tuple[str, str]]:
    """Lines of the program's own that make the padding the end mark."""
    import ast  # noqa: PLC0415 - only where something is to be said

    for file in trees.files():
        for name, nodes in trees.scopes(file):
            for node in nodes:
                if isinstance(node, ast.Assign) and _is_equating([_last(each) for each in node.targets], node.value, pad):
                    yield trees.place(file, node.lineno, name)
                elif isinstance(node, ast.Dict):
                    pairs = [(key, value) for key, value in zip(node.keys, node.values) if isinstance(key, ast.Constant)]
                    if any(_is_equating([str(key.value)], value, pad) for key, value in pairs):
                        yield trees.place(file, node.lineno, name)


def _is_equating(targets: list[str], value: Any, pad: int) -> bool:
    words = [each.lower() for each in targets]
    if not any("pad" in each for each in words):
        return False
    given = _last(value).lower()
    return getattr(value, "value", None) == pad or any(re.search("eos|end|stop", each) for each in (given, *words))


def _last(node: Any) -> str:
    """`pad_token` of `self.tok.pad_token`; a name's own; of a constant its text."""
    return str(getattr(node, "attr", "") or getattr(node, "id", "") or getattr(node, "value", ""))

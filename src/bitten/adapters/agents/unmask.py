"""An agent's change to a masked text, brought back to the real one: what was masked and left alone is real again. Knows no file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from bitten.adapters.redact import holds_placeholder
from bitten.core.trouble import Refused

MOST_LINES = 20_000
"""Of what differs between two texts: to align more takes minutes."""


@dataclass(frozen=True)
class Masked:
    """A piece of the given text, as first and last line, that stands for these real lines."""

    first: int
    last: int
    real: tuple[str, ...]


def restored(path: str, real: str, given: str, new: str) -> str:
    """The real text with the change from `given` to `new` in it. Raises: Refused `fix-touches-a-secret`."""
    was, given_lines = real.splitlines(keepends=True), given.splitlines(keepends=True)
    new_lines = _spelled_as(given, new).splitlines(keepends=True)
    masks = {mask.first: mask for mask in _masks(path, was, given_lines)}
    hidden = {line for mask in masks.values() for line in range(mask.first, mask.last)}
    found: list[str] = []
    for tag, g1, g2, n1, n2 in _steps(path, given_lines, new_lines):
        if tag == "equal":
            found += _kept(path, masks, hidden, given_lines, g1, g2)
            continue
        if hidden & set(range(g1, g2)):
            raise _touches(path)
        added = new_lines[n1:n2]
        if any(holds_placeholder(line) and line not in was for line in added):
            raise _touches(path)
        found += added
    return "".join(found)


def _kept(path: str, masks: dict[int, Masked], hidden: set[int], given: Sequence[str], start: int, end: int) -> Iterator[str]:
    """The real lines of a stretch that the agent left alone. A mask that is not whole in it was cut."""
    line = start
    while line < end:
        if line not in hidden:
            yield given[line]
            line += 1
            continue
        mask = masks.get(line)
        if mask is None or mask.last > end:
            raise _touches(path)
        yield from mask.real
        line = mask.last


def _masks(path: str, real: Sequence[str], given: Sequence[str]) -> Iterator[Masked]:
    if len(real) == len(given):
        yield from (Masked(n, n + 1, (was,)) for n, (was, now) in enumerate(zip(real, given, strict=True)) if was != now)
        return
    for tag, r1, r2, g1, g2 in _steps(path, real, given):
        if tag == "delete":  # a mask never leaves nothing behind, so these belong to lines beside them that we can't tell
            raise _touches(path)
        if tag != "equal":
            yield Masked(g1, g2, tuple(real[r1:r2]))


def _steps(path: str, old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """As difflib tells them; what both begin and end with is not compared again."""
    head = _alike(old, new)
    tail = min(_alike(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    middle = old[head:len(old) - tail], new[head:len(new) - tail]
    if max(map(len, middle)) > MOST_LINES:
        raise Refused("fix-touches-a-secret", f"The change of {path} is too large to be brought back into the real file.",
                      f"More than {MOST_LINES} lines differ.", "make the change by hand")
    if head:
        yield "equal", 0, head, 0, head
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, *middle, autojunk=False).get_opcodes():
        yield tag, a1 + head, a2 + head, b1 + head, b2 + head
    if tail:
        yield "equal", len(old) - tail, len(old), len(new) - tail, len(new)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _spelled_as(given: str, new: str) -> str:
    """Some tools write another line ending than they read, or lose the mark at the beginning: that is no change of anybody's."""
    if "\r\n" in given and "\n" not in given.replace("\r\n", "") and "\r" not in new:
        new = new.replace("\n", "\r\n")
    return f"\ufeff{new}" if given.startswith("\ufeff") and not new.startswith("\ufeff") else new


def _touches(path: str) -> Refused:
    return Refused("fix-touches-a-secret", f"The agent changed a line of {path} that holds a secret, or copied its mask.",
                   "It saw that line masked, and what it wrote there would take the secret's place.", "make that change by hand")

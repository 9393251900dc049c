"""A prompt's pieces, cut by their worth until they fit: the least worth first, and what is cut is said. Knows no case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from bitten.core.trouble import BadInput
from bitten.interfaces.quoting import PREFIX, bounded, inline, listed, quoted
from bitten.interfaces.wiring import redact

GAP = 60
"""Characters that the line about a gap takes."""


@dataclass(frozen=True)
class Piece:
    """Data under a heading. `texts` says the same at length and more briefly; `whole` names where all of it stands.

    The greater its `worth`, the later it is cut. Neighbours of one `block` stand in one fence, below `said`, which is ours. Words that
    are `ours` too, as what a playbook advises, stand in a list.
    """

    block: str
    texts: tuple[str, ...]
    worth: int
    whole: str
    said: str = ""
    name: str = ""
    ours: bool = False

    @property
    def title(self) -> str:
        return self.name or self.block


@dataclass(frozen=True)
class _Cut:
    """A piece as it shall stand: its lines, quoted. `versions` are the longer and the briefer one, the one that stands first."""

    piece: Piece
    versions: tuple[tuple[str, ...], ...]
    is_cut: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        return self.versions[0]

    @property
    def size(self) -> int:
        return _size(self.lines)


def fit(before: str, pieces: Sequence[Piece], after: str, budget: int) -> tuple[str, tuple[str, ...]]:
    """The whole text within the budget, redacted, and the titles of what was cut. `before` and `after` are ours, and stand whole.

    Raises: BadInput `budget-too-small`, where not even those fit.
    """
    cuts = [_Cut(piece, _versions(piece)) for piece in pieces if any(text.strip() for text in piece.texts)]
    room, is_any_left = budget, True
    while is_any_left:
        held = _shrunk(_fair(cuts, room), room - len(_drawn(before, [], after)))
        text = redact(_drawn(before, held, after))
        if len(text) <= budget:
            return text, tuple(cut.piece.title for cut in held if cut.is_cut)
        room, is_any_left = room - (len(text) - budget), any(cut.lines for cut in held)
    least = len(_drawn(before, _shrunk(cuts, 0), after))
    raise BadInput("budget-too-small", f"The prompt can't be told in {budget:,} characters.", "The demands alone take most of them.",
                   f"bitten prompt --budget {least + 500}")


def _fair(cuts: Sequence[_Cut], room: int) -> list[_Cut]:
    """None takes more than half, where all of them together take too much: what is worth most must not push out all else."""
    is_too_much = sum(cut.size for cut in cuts) > room
    return [_within(cut, room // 2) if is_too_much and cut.size > room // 2 else cut for cut in cuts]


def _versions(piece: Piece) -> tuple[tuple[str, ...], ...]:
    """Redacted before it is quoted: a secret of several lines would not be known again behind the prefix."""
    form = listed if piece.ours else quoted
    return tuple(tuple(form(bounded(text))) for text in piece.texts)


def _shrunk(cuts: Sequence[_Cut], room: int) -> list[_Cut]:
    """All of them, each as long as may be."""
    held = list(cuts)
    for at in sorted(range(len(held)), key=lambda each: held[each].piece.worth):
        excess = len(_drawn("", held, "")) - room
        if excess <= 0:
            break
        held[at] = _within(held[at], held[at].size - excess - _added(held))
    return held


def _added(held: Sequence[_Cut]) -> int:
    """Characters that telling of one more cut may take."""
    return GAP + 80 + max((len(cut.piece.title) + len(cut.piece.whole) for cut in held), default=0)


def _within(cut: _Cut, room: int) -> _Cut:
    """Told more briefly, where that fits; else the ends of its briefest version; else nothing of it."""
    for at, lines in enumerate(cut.versions):
        if _size(lines) <= room:
            return replace(cut, versions=cut.versions[at:], is_cut=True)
    return replace(cut, versions=(_ends(cut.versions[-1], room),), is_cut=True)


def _ends(lines: tuple[str, ...], room: int) -> tuple[str, ...]:
    """The first third, as far as it fits, and what fits of the end; the beginning says what it is, the end what came of it."""
    head = _taken(lines, (room - GAP) // 3)
    tail = _taken(lines[len(head):][::-1], room - GAP - _size(head))[::-1]
    left = len(lines) - len(head) - len(tail)
    return (*head, f"{PREFIX}… {left} lines are left out here …", *tail) if len(head) + len(tail) > 1 else ()


def _taken(lines: Sequence[str], room: int) -> tuple[str, ...]:
    size = 0
    for at, line in enumerate(lines):
        size += len(line) + 1
        if size > room:
            return tuple(lines[:at])
    return tuple(lines)


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _drawn(before: str, held: Sequence[_Cut], after: str) -> str:
    """Blocks in their order between what is ours; at its end the line about what was cut."""
    parts = [before]
    for block, members in groupby((cut for cut in held if cut.lines), key=lambda cut: cut.piece.block):
        cuts = list(members)
        said = next((cut.piece.said for cut in cuts if cut.piece.said), "")
        body = f"\n{PREFIX.strip()}\n".join("\n".join(cut.lines) for cut in cuts)
        parts.append("\n\n".join(filter(None, (f"## {block}", said, body if cuts[0].piece.ours else f"```\n{body}\n```"))))
    return "\n\n".join(part for part in (*parts, after, _told(held)) if part) + "\n"


def _told(held: Sequence[_Cut]) -> str:
    """One line."""
    places: dict[str, list[str]] = {}
    for cut in held:
        if cut.is_cut:
            places.setdefault(cut.piece.whole, []).append(cut.piece.title)
    told = (f"{', '.join(map(inline, titles))} (whole: {inline(where)})" for where, titles in places.items())
    return f"Cut to fit: {'; '.join(told)}." if places else ""

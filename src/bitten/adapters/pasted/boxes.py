"""Tracebacks in the boxes that rich draws, which typer, textual and others take over. Knows no other form, and reads no box of locals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bitten.core.failure import Crash, Frame

from .lines import HEAD, Line
from .plain import Told, typed

_PLACE = re.compile(r"(.+):(\d+) in (\S+)$")
_ARROW = re.compile(r"❱ *\d+ (.*)$")
_LINES = 800
"""Lines of one box, with its code and its locals."""


def boxed(lines: Sequence[Line]) -> Iterator[Told]:
    for at, line in enumerate(lines):
        if HEAD in line.text and line.text.lstrip().startswith(("╭", "+-")):
            yield from _one(lines[at:at + _LINES])


def _one(lines: Sequence[Line]) -> Iterator[Told]:
    """The type stands below the box."""
    end = next((at for at, line in enumerate(lines) if line.text.startswith(("╰", "+-")) and at), None)
    found = typed([line.text for line in lines], end + 1) if end is not None else None
    if found is not None and end is not None:
        kind, message, count = found
        crash = Crash(kind, message, tuple(_frames(lines[1:end])))
        yield Told(crash, lines[0].at, lines[0].source, last=lines[min(end + count, len(lines) - 1)].at, kind="box")


def _frames(lines: Sequence[Line]) -> list[Frame]:
    """A long path is broken into several lines."""
    frames: list[Frame] = []
    begun = ""
    for line in lines:
        place = None
        text = line.text.strip("│| ").replace("│", " ").strip()
        arrow = _ARROW.match(text)
        if arrow and frames:
            frames[-1] = replace(frames[-1], text=arrow[1].strip())
        elif (place := _PLACE.match(begun + text)) and place[1].startswith(("/", "<", "~", ".")):
            frames.append(Frame(place[1], int(place[2]), place[3]))
        begun = text if text.startswith("/") and not place else ""
    return frames

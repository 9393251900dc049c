"""Tracebacks as IPython and Jupyter draw them: cells, files and arrows, the type above and the message below. Knows no other form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bitten.core.failure import Crash, Frame

from .lines import HEAD, Line
from .plain import Told

_HEAD = re.compile(r"([A-Za-z_][\w.]*)\s{2,}" + re.escape(HEAD) + "$")
_FRAMES = (
    re.compile(r"(?P<file>Cell In ?\[\d+\]), line (?P<line>\d+)(?:, in (?P<name>.+))?$"),
    re.compile(r"File (?P<file>.+?):(?P<line>\d+)(?:, in (?P<name>.+))?$"),
    re.compile(r"(?P<file>Input In \[\d+\]|<ipython-input-[^>]+>|File [/~]\S+|[/~]\S+\.py)(?:,)? in (?P<name>.+)$"),
)
_ARROW = re.compile(r"-+>\s*(\d+) ?(.*)$")
_LINES = 600
"""Lines of one traceback, with its code around each place."""


def drawn(lines: Sequence[Line]) -> Iterator[Told]:
    for at, line in enumerate(lines):
        head = _HEAD.match(line.text) if HEAD in line.text else None
        if head:
            yield from _one(lines[at:at + _LINES], head[1])


def _one(lines: Sequence[Line], kind: str) -> Iterator[Told]:
    frames: list[Frame] = []
    for at, line in enumerate(lines[1:], 1):
        if found := next((found for form in _FRAMES if (found := form.match(line.text))), None):
            frames.append(_frame(found.groupdict()))
        elif (arrow := _ARROW.match(line.text)) and frames:
            number = frames[-1].line or int(arrow[1])
            frames[-1] = replace(frames[-1], line=number, text=arrow[2].strip())
        elif _names(line.text, kind):
            message = [line.text.partition(":")[2].strip(), *_rest(lines[at + 1:])]
            crash = Crash(line.text.partition(":")[0], "\n".join(message).rstrip(), tuple(frames))
            yield Told(crash, lines[0].at, line.source, last=lines[at + len(message) - 1].at, kind="cell")
            return


def _names(text: str, kind: str) -> bool:
    name, _, _ = text.partition(":")
    return name.rpartition(".")[2] == kind.rpartition(".")[2]


def _rest(lines: Sequence[Line]) -> Iterator[str]:
    for line in lines[:20]:
        if not line.text.strip() or line.text.startswith("---"):
            return
        yield line.text


def _frame(found: dict[str, str | None]) -> Frame:
    name = (found.get("name") or "<module>").partition("(")[0]
    file = (found["file"] or "").removeprefix("File ")
    return Frame(file, int(found.get("line") or 0), "<module>" if name.startswith("<cell line") else name)

"""A picture of all processes, drawn: the odd one out in a sentence, then a row each. Decides nothing, prints nothing."""

from __future__ import annotations

from collections.abc import Iterator

from bitten.core.failure import Frame, Picture, Process

MIB = 1 << 20
ROWS = 64
"""Processes drawn; `--json` has all."""
FRAMES = 6
"""Of one stack in a row, innermost first."""


def lines(picture: Picture) -> Iterator[str]:
    """For a terminal, and for debug.md in a block."""
    if picture.odd:
        yield from (picture.odd, "")
    for each in picture.processes[:ROWS]:
        yield from _row(each)
    if len(picture.processes) > ROWS:
        yield f"… {len(picture.processes) - ROWS} more"
    if picture.notes:
        yield from ("", *picture.notes)


def _row(process: Process) -> Iterator[str]:
    waiting = f"waits: {process.waits}" if process.waits else ""
    collective = f"last collective: {process.collective}" if process.collective else ""
    memory = f"{process.rss / MIB:,.0f} MiB" if process.rss >= 0 else ""
    numbers = " ".join(filter(None, [f"pid {process.pid}", process.state, f"{process.cpu:.1f} s CPU", memory]))
    yield " · ".join(filter(None, [process.name, numbers, waiting, collective]))
    if stack := _stack(process):
        yield f"    {stack}"


def _stack(process: Process) -> str:
    """The person's own frames, innermost first; without any, the innermost of all."""
    frames = list(reversed(process.stack))
    mine = [frame for frame in frames if frame.mine] or frames[:1]
    told = " < ".join(map(_frame, mine[:FRAMES]))
    return f"{told} < …" if len(mine) > FRAMES else told


def _frame(frame: Frame) -> str:
    return f"{frame.function} ({frame.file if frame.mine else '/'.join(frame.file.split('/')[-2:])}:{frame.line})"


def plain(picture: Picture) -> dict[str, object]:
    """As a script would read it."""
    return {"odd": picture.odd, "at": picture.at, "notes": list(picture.notes), "processes": [_plain(each) for each in picture.processes]}


def _plain(process: Process) -> dict[str, object]:
    names = ("pid", "name", "state", "rank", "worker", "parent", "cpu", "rss", "waits", "collective")
    told = {name: getattr(process, name) for name in names}
    stack = [{"file": frame.file, "line": frame.line, "function": frame.function, "text": frame.text, "mine": frame.mine}
             for frame in process.stack]
    return {**told, "stack": stack}

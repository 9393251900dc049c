"""The guest's record of a failing call, read as frames with their values. Knows no program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bitten.adapters.folder import scrubbed
from bitten.adapters.guest_told.guest_log import load
from bitten.adapters.redact import redact
from bitten.core.failure import Crash

Spec = Sequence[Any]


@dataclass(frozen=True)
class Frame:
    """`function` is its bare name, `name` the full one; `position` that of the failing expression, from Python 3.11 on."""

    file: str
    line: int
    name: str
    function: str
    is_library: bool
    module: str
    first: int
    arguments: tuple[str, ...]
    positional: int
    star: str
    stars: str
    at_top: bool
    position: tuple[int, int, int, int] | None
    values: Mapping[str, Spec] = field(default_factory=dict)
    shared: Mapping[str, Spec] = field(default_factory=dict)

    def named(self, name: str) -> Spec | None:
        return self.values.get(name) or self.shared.get(name)


@dataclass(frozen=True)
class Boundary:
    """What failed: its type and message, and the frames outermost first."""

    type: str
    message: str
    frames: tuple[Frame, ...]
    syntax: tuple[str, int] | None = None

    @property
    def border(self) -> int:
        """The person's innermost frame; -1 when there is none."""
        return max((at for at, frame in enumerate(self.frames) if not frame.is_library), default=-1)

    @property
    def own(self) -> tuple[Frame, ...]:
        """The person's frames, innermost first."""
        return tuple(frame for frame in reversed(self.frames) if not frame.is_library)

    @property
    def below(self) -> tuple[Frame, ...]:
        """The library's frames that the person's innermost line called, outermost first."""
        return self.frames[self.border + 1:]

    @property
    def last(self) -> str:
        """The library function that it ended in; empty when that is the person's own."""
        return self.frames[-1].function if self.frames and self.frames[-1].is_library else ""


def recorded(spool: Path, root: Crash) -> Boundary | None:
    """What the guest told of the root exception's call; None when it told nothing of it."""
    found = [each for each in load(spool).of("boundary") if each["type"] == root.type and redact(each["msg"]) == root.message]
    told = {name: scrubbed(value, redact) for name, value in found[0].items()} if found else None
    return boundary(told) if told else None


def boundary(record: Mapping[str, Any]) -> Boundary:
    syntax = record.get("syntax")
    return Boundary(str(record["type"]), str(record["msg"]), tuple(map(_frame, record["frames"])), tuple(syntax) if syntax else None)


def _frame(told: Mapping[str, Any]) -> Frame:
    position = told.get("pos")
    whole = position if position and None not in position else None
    return Frame(told["f"], told["l"], told["n"], told["fn"], bool(told["lib"]), told["mod"], told["first"], tuple(told["args"]),
                 told["argc"][0], told["var"], told["kw"], bool(told["top"]), tuple(whole) if whole else None, told.get("vars", {}),
                 told.get("glob", {}))

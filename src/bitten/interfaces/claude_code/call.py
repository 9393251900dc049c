"""One event of a session, with the case that is open where it happened and what is remembered of the session. Decides nothing."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bitten.core.case import Guard
from bitten.core.ports import Person
from bitten.interfaces.claude_code.acting import acted_since
from bitten.interfaces.wiring import House, OpenCase
from bitten.interfaces.wiring.claude_code import Memory, house_at

BY = "claude-code plugin"
HOOK = "claude-code hook"
PROMPT = "claude-code prompt"


@dataclass
class Scribe:
    """ports.Person for what passes through a hook: it says what was typed, in order, and shows nothing."""

    channel: str = HOOK
    typed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._left = list(self.typed)

    @property
    def name(self) -> str:
        try:
            return getpass.getuser()
        except (KeyError, OSError):
            return "somebody"

    def ask(self, question: str, default: str = "") -> str:
        return (self._left.pop(0) if self._left else "") or default

    def show(self, text: str) -> None:
        """The answer of the hook shows it."""

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        yield


class Call:
    """An event as it came."""

    def __init__(self, told: Mapping[str, Any], here: Path) -> None:
        self.told, self._here = told, here
        self.memory = Memory(str(told.get("session_id") or ""))

    @property
    def event(self) -> str:
        return str(self.told.get("hook_event_name") or "")

    def house(self, person: Person | None = None) -> House:
        return house_at(self._here, person or Scribe())

    @cached_property
    def opened(self) -> OpenCase | None:
        """The current case while it is open."""
        house = self.house()
        if house.cases.current() is None:
            return None
        opened = house.case()
        return opened if opened.case.is_open else None

    def guard(self, opened: OpenCase) -> None:
        """Take down that this session is at work on the case, and whether its gate was seen alive, once each.

        One that made no tool call has changed nothing: its gate had nothing to answer, and is not called advisory yet.
        """
        session, alive = self.memory.session, bool(self.memory.get("alive"))
        latest = next((each for each in reversed(opened.case.guards) if each.session == session), None)
        if session and (latest is None or latest.alive != alive) and (alive or self._has_acted):
            opened.add([Guard(BY, session, alive)])
            opened.redraw()

    @property
    def _has_acted(self) -> bool:
        """Whether it called a tool since it was begun, or resumed: looked at when a turn ends."""
        return self.event in ("Stop", "SubagentStop") and acted_since(
            str(self.told.get("transcript_path")), float(self.memory.get("began") or 0.0))

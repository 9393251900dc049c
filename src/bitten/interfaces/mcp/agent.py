"""An agent at work on a project through MCP: who it is in the journal, and what may be told to it. It is no person, and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bitten.core.case import Guard
from bitten.interfaces.wiring import House, OpenCase, redact
from bitten.interfaces.wiring.mcp import seen_alive

CHANNEL = "mcp"


@dataclass(frozen=True)
class Agent:
    """ports.Person, as far as an agent is one: it is asked nothing. `session` is its own name for what it is in, where that is known."""

    client: str
    session: str
    waits_for: Callable[[str], None]

    channel = CHANNEL

    @property
    def name(self) -> str:
        return f"agent:{self.client}"

    def ask(self, question: str, default: str = "") -> str:
        return default

    def show(self, text: str) -> None:
        """The answer of the tool shows it."""

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        self.waits_for(redact(text))
        yield


class Place(House):
    """The project that the server serves; what a person should know of it is kept for the answer."""

    remarks: Sequence[str] = ()

    @contextmanager
    def visited(self, opened: OpenCase, verb: str, agent: Agent) -> Iterator[None]:
        """What a person wrote into debug.md meanwhile is theirs; all that follows is the agent's."""
        person = self.person
        try:
            with opened.visited(verb):
                self.person = agent
                yield
        finally:
            self.person = person

    def say(self, line: str) -> None:
        self.remarks = (*self.remarks, line)


def guard(opened: OpenCase, agent: Agent) -> None:
    """Take down, once, that this agent changes the case, and no gate of ours was seen to hold it. The visit takes down one that was."""
    known = any(each.session == agent.session for each in opened.case.guards)
    if not known and not seen_alive(agent.session, opened.house.root):
        opened.add([Guard(f"mcp {agent.client}", agent.session)])

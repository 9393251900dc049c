"""One session of an agent on a case: its prompt, its budget, what the case keeps of it. Does not know what it is asked for.

What it proposes or changes is the business of `proposing` and `mending`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bitten.core.case import Guard
from bitten.core.ports import Answer, Brief, Limits
from bitten.interfaces import prompts, text
from bitten.interfaces.live import Live, plain
from bitten.interfaces.wiring import OpenCase, agents
from bitten.interfaces.wiring.material import material
from bitten.steps import gates

if TYPE_CHECKING:
    from bitten.interfaces.commands.driven import Driving

SHOWN = 12
"""Names in one line."""


def may_ask(opened: OpenCase) -> None:
    gates.said_what_was_expected(opened.case)
    gates.within_the_hour(opened.case, opened.budget)


def model_of(opened: OpenCase, driving: Driving) -> str:
    return driving.model or opened.house.settings.agent_model


def limits_of(opened: OpenCase, driving: Driving) -> Limits:
    known = opened.house.settings
    return driving.limits(known.agent_seconds, known.agent_turns, known.agent_dollars)


def prompt_of(opened: OpenCase, phase: str) -> str:
    make: Callable[..., str] = {"diagnose": prompts.diagnose, "fix": prompts.fix}[phase]
    return make(opened.case, opened.number, opened.began, material(opened.house, opened))


def author(name: str) -> tuple[str, str]:
    return f"agent:{name}", "driver"


class Mark:
    """A session as the case knows it: from the first that it leaves there, and not as gated before it has ended well."""

    def __init__(self, opened: OpenCase, name: str) -> None:
        self.opened, self.name = opened, name
        self._session = f"{name}-{secrets.token_hex(4)}"
        self._has_begun = False

    def begun(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self.ended(alive=False)

    def ended(self, alive: bool) -> None:
        self.opened.add([Guard(f"{self.name} driver", self._session, alive)], by=author(self.name))


def session(opened: OpenCase, driving: Driving, mark: Mark, phase: str, folder: str, may_write: tuple[str, ...],
             ask: Callable[[Brief, Live], Answer]) -> Answer:
    """One session, watched, with its minutes kept."""
    words, limits = prompt_of(opened, phase), limits_of(opened, driving)
    minutes = agents.Minutes(opened, phase)
    minutes.keep("prompt.md", words)
    with Live(mark.name, limits) as live:
        try:
            answer = ask(Brief(phase, words, folder, may_write, limits), live)
        finally:
            minutes.keep("said.md", "\n".join(live.words) + "\n")
    mark.ended(answer.gated)
    minutes.keep_json("end.json", {"agent": mark.name, "session": answer.session, "ended": answer.ended, "turns": answer.spent.turns,
                                   "dollars": answer.spent.dollars, "denied": list(answer.denied), "gated": answer.gated})
    if answer.denied:
        opened.house.say(f"refused on the way: {plain(some(tuple(dict.fromkeys(answer.denied))))}")
    if answer.ended != "done":
        opened.house.say(ending(answer, mark.name))
    return answer


def ending(answer: Answer, name: str) -> str:
    if answer.ended == "done":
        return f"Its last words: {text.short(plain(answer.said)) or 'none'}"
    return f"{name} met its limit of {answer.ended}: --{answer.ended} gives it more."


def some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")

"""Step 2 by an agent: one session that proposes, then the checks that may start without asking. It proposes; bitten runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bitten.core import rank
from bitten.core.case import Check
from bitten.core.ladder import Event
from bitten.core.next import undecided
from bitten.core.ports import Agent, Answer, Brief
from bitten.core.trouble import Unable
from bitten.interfaces import trials
from bitten.interfaces.contents import look
from bitten.interfaces.live import Live, visible
from bitten.interfaces.sessions import Mark, author, ending, session
from bitten.interfaces.wiring import OpenCase, agents, redact
from bitten.steps.propose import propose

if TYPE_CHECKING:
    from bitten.interfaces.commands.driven import Driving


def diagnosed(opened: OpenCase, driving: Driving, agent: Agent) -> None:
    """One session that proposes; then the checks that may start without asking."""
    known, mark = len(opened.case.hypotheses), Mark(opened, agent.name)

    def asked(brief: Brief, live: Live) -> Answer:
        return propose(opened.looked_at_anew, agent, brief, live, put, agents.probes(opened), redact)

    def put(events: Iterable[Event]) -> None:
        mark.begun()
        opened.add(events, by=author(agent.name))

    with agents.workplace(opened) as place:
        answer = session(opened, driving, mark, "diagnose", str(place.folder), (), asked)
    waiting = [each for each in undecided(opened.case) if each.source == f"agent:{agent.name}"]  # since a session that was killed
    if not opened.case.hypotheses[known:] and not waiting:
        raise Unable("agent-proposed-nothing", f"{agent.name} ended without a proposal that can be used.", ending(answer, agent.name),
                     f"bitten diagnose --with {driving.name}, or your own:  bitten suspect \"CLAIM\" …")
    _run_what_may_start(opened)


def _run_what_may_start(opened: OpenCase) -> None:
    """As after `bitten diagnose`; but no command that an agent wrote runs by itself where the copy's walls are weak."""
    if trials.costs(opened, undecided(opened.case)):
        return
    wanted = [each for each in rank.to_run(opened.case) if not each.generic]
    theirs = [each for each in wanted if each.source.startswith("agent:") and _may_command(each.check)]
    if theirs and _is_weak(opened):
        for each in theirs:
            opened.house.say(f"{each.id} did not start by itself, as an agent wrote it, and copies have weak walls here. It would run:")
            opened.house.say(f"{_what_runs(each.check)}\n  read that, then:  bitten check {each.id}")
        wanted = [each for each in wanted if each not in theirs]
    trials.run(opened, wanted)


def _may_command(check: Check) -> bool:
    """By a program of its own, a patch, or a variable: many programs take commands from one, as make does from MAKEFLAGS."""
    return check.script is not None or bool(check.change and check.change.env)


def _what_runs(check: Check) -> str:
    return visible(redact(check.script.patch if check.script and check.script.patch else look(check))).replace("\n", "\n  ")


def _is_weak(opened: OpenCase) -> bool:
    """Whether a copy made here can't promise that nothing of the person's is reached."""
    sandbox = opened.bench().sandbox
    with sandbox.copy():
        return bool(sandbox.limits)

"""An agent's work on a case, from its prompt to a proven fix: it proposes, bitten runs, a person looks. Loaded when one is asked for.

Each step is in the case before the next begins: killed at any instant, the same command goes on from there.
"""

from __future__ import annotations

import secrets
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from bitten.core import rank
from bitten.core.case import Guard, Hypothesis
from bitten.core.ladder import Event, Step
from bitten.core.next import undecided
from bitten.core.ports import Agent, Answer, Brief, Limits
from bitten.core.proof import Verification
from bitten.core.trouble import BadInput, Refused, Trouble, Unable, gate
from bitten.interfaces import prompts, text, trials
from bitten.interfaces.live import Live, plain
from bitten.interfaces.wiring import House, OpenCase, agents, redact
from bitten.interfaces.wiring.material import material
from bitten.steps import fix as fixing
from bitten.steps import gates, mend
from bitten.steps.diagnose import diagnose as diagnosing
from bitten.steps.propose import propose

SHOWN = 12
"""Names in one line."""

if TYPE_CHECKING:
    from bitten.interfaces.commands.driven import Driving


def diagnose(number: int | None, everything: bool, driving: Driving) -> None:
    opened = House.here().case(number)
    with opened.visited("diagnose"):
        _may_ask(opened)
        gate(not opened.case.links, "cause-is-confirmed", "A cause is confirmed already.", "A hypothesis more would not be looked at.",
             f"bitten fix --with {driving.name}")
        opened.add(diagnosing(opened.case, opened.house.knowledge))
        if driving.dry_run:
            return _show_prompt(opened, driving, "diagnose")
        _diagnosed(opened, driving, agents.agent_named(driving.name, _model(opened, driving)))
    return click.echo(opened.shown(everything))


def fix(number: int | None, scope: Sequence[str], test: str, yes: bool, driving: Driving) -> None:
    opened = House.here().case(number)
    with opened.visited("fix"):
        _may_ask(opened)
        rescope = fixing.fix(opened.case, scope, test, opened.budget)
        gate(opened.case.step < Step.VERIFIED, "nothing-to-ask", "There is nothing left to ask an agent.", "The fix is proven.", "bitten")
        opened.add([rescope] if rescope else [])
        if driving.dry_run:
            return _show_prompt(opened, driving, "fix")
        if not yes and opened.house.person.channel != "terminal":
            raise BadInput("fix-needs-a-look", "A person looks at an agent's fix before it comes into the tree.", "Nobody can answer here.",
                           f"in a terminal:  bitten fix --with {driving.name};  or without a question, at your own risk:  --yes")
        verification = Mending(opened, driving, yes).proven()
    click.echo(text.proof(verification))
    return click.echo(opened.following())


def taken_back_if_refuted(opened: OpenCase) -> None:
    """What an agent's fix left in the tree when bitten was killed after its proof had failed, and before it was taken back."""
    left = agents.left_by_a_kill(opened)
    is_unproven = opened.case.is_open and opened.case.step < Step.VERIFIED
    if left and is_unproven and mend.speaks_against(opened.case, left[1].withdrawals):
        _say_taken_back(opened, *left)


def _may_ask(opened: OpenCase) -> None:
    gates.said_what_was_expected(opened.case)
    gates.within_the_hour(opened.case, opened.budget)


def _model(opened: OpenCase, driving: Driving) -> str:
    return driving.model or opened.house.settings.agent_model


def _limits(opened: OpenCase, driving: Driving) -> Limits:
    known = opened.house.settings
    return driving.limits(known.agent_seconds, known.agent_turns, known.agent_dollars)


def _prompt(opened: OpenCase, phase: str) -> str:
    make: Callable[..., str] = {"diagnose": prompts.diagnose, "fix": prompts.fix}[phase]
    return make(opened.case, opened.number, opened.began, material(opened.house, opened))


def _show_prompt(opened: OpenCase, driving: Driving, phase: str) -> None:
    words, limits = _prompt(opened, phase), _limits(opened, driving)
    click.echo(words)
    opened.house.say(f"{len(words):,} characters for {driving.name}; at most {limits.turns} turns, {limits.seconds:.0f} s, "
                     f"${limits.dollars:.2f}. Nothing was sent.")


def _diagnosed(opened: OpenCase, driving: Driving, agent: Agent) -> None:
    """One session that proposes; then the checks that may start without asking."""
    known = len(opened.case.hypotheses)

    def asked(brief: Brief, live: Live) -> Answer:
        return propose(opened.looked_at_anew, agent, brief, live, put, agents.probes(opened), redact)

    def put(events: Iterable[Event]) -> None:
        opened.add(events, by=_author(agent.name))

    with agents.workplace(opened) as place:
        answer = _session(opened, driving, agent.name, "diagnose", str(place.folder), (), asked)
    waiting = [each for each in undecided(opened.case) if each.source == f"agent:{agent.name}"]  # since a session that was killed
    if not opened.case.hypotheses[known:] and not waiting:
        raise Unable("agent-proposed-nothing", f"{agent.name} ended without a proposal that can be used.", _ending(answer, agent.name),
                     f"bitten diagnose --with {driving.name}, or your own:  bitten suspect \"CLAIM\" …")
    _run_what_may_start(opened)


def _author(name: str) -> tuple[str, str]:
    return f"agent:{name}", "driver"


def _run_what_may_start(opened: OpenCase) -> None:
    """As after `bitten diagnose`; but no command that an agent wrote runs by itself where the copy's walls are weak."""
    if trials.costs(opened, undecided(opened.case)):
        return
    wanted = [each for each in rank.to_run(opened.case) if not each.generic]
    theirs = [each for each in wanted if each.source.startswith("agent:") and each.check.script is not None]
    if theirs and _is_weak(opened):
        for each in theirs:
            opened.house.say(f"{each.id} did not start by itself, as an agent wrote it, and copies have weak walls here. It would run:")
            opened.house.say(f"{_what_runs(each)}\n  read that, then:  bitten check {each.id}")
        wanted = [each for each in wanted if each not in theirs]
    trials.run(opened, wanted)


def _what_runs(each: Hypothesis) -> str:
    script = each.check.script
    return plain((script.patch if script.patch else shlex.join(script.argv)) if script else "").replace("\n", "\n  ")


def _is_weak(opened: OpenCase) -> bool:
    """Whether a copy made here can't promise that nothing of the person's is reached."""
    sandbox = opened.bench().sandbox
    with sandbox.copy():
        return bool(sandbox.limits)


def _session(opened: OpenCase, driving: Driving, name: str, phase: str, folder: str, may_write: tuple[str, ...],
             ask: Callable[[Brief, Live], Answer]) -> Answer:
    """One session, watched, with its minutes kept. Its gate counts as proven only once it has ended well."""
    words, limits = _prompt(opened, phase), _limits(opened, driving)
    minutes = agents.Minutes(opened, phase)
    minutes.keep("prompt.md", words)
    by, session = f"{name} driver", f"{name}-{secrets.token_hex(4)}"
    def note(alive: bool) -> None:
        opened.add([Guard(by, session, alive)], by=_author(name))

    with Live(name, limits, lambda: note(False)) as live:
        try:
            answer = ask(Brief(phase, words, folder, may_write, limits), live)
        finally:
            minutes.keep("said.md", "\n".join(live.words) + "\n")
    note(answer.gated)
    minutes.keep_json("end.json", {"agent": name, "session": answer.session, "ended": answer.ended, "turns": answer.spent.turns,
                                   "dollars": answer.spent.dollars, "denied": list(answer.denied), "gated": answer.gated})
    if answer.denied:
        opened.house.say(f"refused on the way: {plain(_some(tuple(dict.fromkeys(answer.denied))))}")
    if answer.ended != "done":
        opened.house.say(_ending(answer, name))
    return answer


def _ending(answer: Answer, name: str) -> str:
    if answer.ended == "done":
        return f"Its last words: {text.short(plain(answer.said)) or 'none'}"
    return f"{name} met its limit of {answer.ended}: --{answer.ended} gives it more."


class Mending:
    """Sessions until a fix is proven, two at most; each one's change is looked at before it is put into the tree."""

    def __init__(self, opened: OpenCase, driving: Driving, yes: bool) -> None:
        self.opened, self.driving, self.yes = opened, driving, yes
        self.desk = agents.handover(opened)
        self._agent: Agent | None = None

    @property
    def agent(self) -> Agent:
        """Loaded when the first session begins: to go on after a kill none may be needed."""
        self._agent = self._agent or agents.agent_named(self.driving.name, _model(self.opened, self.driving))
        return self._agent

    def proven(self) -> Verification:
        rounds, is_there = 0, self._is_there_already()
        while True:
            try:
                if not is_there:
                    rounds += 1
                    self._round()
                verification = trials.proven(self.opened)
                self.desk.forget()
                return verification
            except Refused as why:
                is_there = False
                self._after(why, rounds)

    def _after(self, why: Refused, rounds: int) -> None:
        """What follows a round that failed. Raises: what the round did, where another would not help, or was had."""
        if not mend.is_the_agents(why):
            raise why
        put = self.desk.known()
        if put:
            _say_taken_back(self.opened, self.desk, put)
        if not self.opened.case.links:
            self._back_to_step_two(why)
        if not self.opened.case.links or rounds >= mend.ROUNDS:
            raise why
        self.opened.house.say(f"it did not hold: {why}")
        self.opened.house.say(f"a fresh session of {self.agent.name} is told so (round {rounds + 1} of {mend.ROUNDS})")

    def _back_to_step_two(self, why: Refused) -> None:
        """A fresh session looks for another cause; it waits for the person to confirm one."""
        self.opened.house.say(f"back to step 2: {why}")
        try:
            _may_ask(self.opened)
            _diagnosed(self.opened, self.driving, self.agent)
        except Trouble as trouble:
            self.opened.house.say(f"no other cause was asked for: {trouble}")
        click.echo(self.opened.shown())

    def _is_there_already(self) -> bool:
        """Whether a fix of an agent stands in the tree since a kill; half of one is completed first."""
        put = self.desk.known()
        if put is None:
            return False
        if mend.speaks_against(self.opened.case, put.withdrawals):
            _say_taken_back(self.opened, self.desk, put)
            return False
        try:
            self.desk.go_on(put)
        except Refused:  # the person has gone on with it since: it is theirs
            self.desk.forget()
            return False
        self.opened.house.say(f"the fix of {put.by} stands in the tree; it is proven now")
        return True

    def _round(self) -> None:
        """One session, and its change put into the tree. What fails by its own fault is in the case before it is raised."""
        scope = self.opened.case.scope
        assert scope is not None
        agents.refuse_links(self.opened, scope)
        mend.may_begin(self.opened.case, self.opened.house.repo)
        agents.refuse_unkept(self.desk, scope)
        try:
            self._asked()
        except Refused as why:
            if mend.is_the_agents(why):
                self.opened.add([mend.withdrawal(why)], by=_author(self.agent.name))
            raise

    def _asked(self) -> None:
        case, repo = self.opened.case, self.opened.house.repo
        scope = case.scope
        assert scope is not None
        with agents.workplace(self.opened) as place:
            agents.refuse_unseen(place, scope.files)
            _session(self.opened, self.driving, self.agent.name, "fix", str(place.folder), scope.files, self.agent.ask)
            inside, beside = mend.sorted_out(place.changes(), scope)
            edits = {each.path: place.brought(each) for each in inside}
        put, difference = self.desk.planned(edits, len(case.withdrawals), self.agent.name)
        edits, stray = mend.within(difference.touches, edits, scope)
        if stray:
            put, difference = self.desk.planned(edits, len(case.withdrawals), self.agent.name)
        outside = (*beside, *stray)
        if outside:
            self.opened.house.say(f"outside the agreed scope, and left out: {plain(_some(outside))}")
        mend.judged(case, repo, put.after, difference.files, outside)
        self._looked_at(difference.patch)
        self.desk.put(put)

    def _looked_at(self, patch: str) -> None:
        shown = redact(patch)
        _show_patch(shown)
        agents.Minutes(self.opened, "patch").keep("fix.patch", shown)
        if not self.yes and not self.opened.house.person.ask("Enter puts it into the tree, n leaves it", "y").lower().startswith("y"):
            raise Refused("fix-declined", "The fix was not put into the tree.", "It is kept with the case, in agent/.",
                          f"bitten fix --with {self.driving.name}, or mend it by hand")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _say_taken_back(opened: OpenCase, desk: agents.Handover, put: agents.Put) -> None:
    stay = desk.take_back(put)
    opened.house.say(f"the fix of {put.by} was taken back" + (f", but for what was changed since: {', '.join(stay)}" if stay else ""))


def _show_patch(patch: str) -> None:
    """As git shows it, but for the lines that only git reads."""
    patch = "".join(line for line in patch.splitlines(keepends=True) if not line.startswith("index "))
    if not sys.stdout.isatty():
        click.echo(patch, nl=False)
        return
    from rich.console import Console  # noqa: PLC0415 - only where a person looks
    from rich.syntax import Syntax  # noqa: PLC0415 - as above

    Console().print(Syntax(patch, "diff", theme="ansi_dark", background_color="default", word_wrap=True))

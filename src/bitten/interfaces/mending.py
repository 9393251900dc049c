"""Step 4 by an agent: its change is shown, put into the tree, proven, and taken back where the proof fails. A person looks first.

Each step is in the case before the next begins: killed at any instant, the same command goes on from there.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from bitten.core.ladder import Step
from bitten.core.ports import Agent
from bitten.core.proof import Verification
from bitten.core.trouble import Refused, Trouble
from bitten.interfaces import trials
from bitten.interfaces.live import plain, visible
from bitten.interfaces.proposing import diagnosed
from bitten.interfaces.sessions import Mark, author, may_ask, model_of, session, some
from bitten.interfaces.wiring import OpenCase, agents, redact
from bitten.steps import mend

if TYPE_CHECKING:
    from bitten.interfaces.commands.driven import Driving


class Mending:
    """Sessions until a fix is proven, two at most; each one's change is looked at before it is put into the tree."""

    def __init__(self, opened: OpenCase, driving: Driving, yes: bool) -> None:
        self.opened, self.driving, self.yes = opened, driving, yes
        self.desk = agents.handover(opened)
        self._agent: Agent | None = None

    @property
    def agent(self) -> Agent:
        """Loaded when the first session begins: to go on after a kill none may be needed."""
        self._agent = self._agent or agents.agent_named(self.driving.name, model_of(self.opened, self.driving))
        return self._agent

    def proven(self) -> Verification:
        rounds, is_there = 0, self._is_there_already()
        while True:
            if not is_there:
                self._may_begin()
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
            may_ask(self.opened)
            diagnosed(self.opened, self.driving, self.agent)
        except Trouble as trouble:
            self.opened.house.say(f"no other cause came of it: {trouble}")
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

    def _may_begin(self) -> None:
        """Raises: Refused, for what stands in the way of any session."""
        scope = self.opened.case.scope
        assert scope is not None
        agents.refuse_links(self.opened, scope)
        mend.may_begin(self.opened.case, self.opened.house.repo)
        agents.refuse_unkept(self.desk, scope)

    def _round(self) -> None:
        """One session, and its change put into the tree. What fails by its own fault is in the case before it is raised."""
        try:
            self._asked()
        except Refused as why:
            if mend.is_the_agents(why):
                self.opened.add([mend.withdrawal(why)], by=author(self.agent.name))
            raise

    def _asked(self) -> None:
        case, repo = self.opened.case, self.opened.house.repo
        scope = case.scope
        assert scope is not None
        with agents.workplace(self.opened) as place:
            agents.refuse_unseen(place, scope.files)
            mark = Mark(self.opened, self.agent.name)
            session(self.opened, self.driving, mark, "fix", str(place.folder), scope.files, self.agent.ask)
            inside, beside = mend.sorted_out(place.changes(), scope)
            edits = {each.path: place.brought(each) for each in inside}
        put, difference = self.desk.planned(edits, len(case.withdrawals), self.agent.name)
        edits, stray = mend.within(difference.touches, edits, scope)
        if stray:
            put, difference = self.desk.planned(edits, len(case.withdrawals), self.agent.name)
        outside = (*beside, *stray)
        if outside:
            self.opened.house.say(f"outside the agreed scope, and left out: {plain(some(outside))}")
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


def taken_back_if_refuted(opened: OpenCase) -> None:
    """What an agent's fix left in the tree when bitten was killed after its proof had failed, and before it was taken back."""
    left = agents.left_by_a_kill(opened)
    is_unproven = opened.case.is_open and opened.case.step < Step.VERIFIED
    if left and is_unproven and mend.speaks_against(opened.case, left[1].withdrawals):
        _say_taken_back(opened, *left)


def _say_taken_back(opened: OpenCase, desk: agents.Handover, put: agents.Put) -> None:
    stay = desk.take_back(put)
    opened.house.say(f"the fix of {put.by} was taken back" + (f", but for what was changed since: {', '.join(stay)}" if stay else ""))


def _show_patch(patch: str) -> None:
    """As git shows it, but for the lines that only git reads."""
    patch = visible("\n".join(line for line in patch.split("\n") if not line.startswith("index ")))
    if not sys.stdout.isatty():
        click.echo(patch, nl=False)
        return
    from rich.console import Console  # noqa: PLC0415 - only where a person looks
    from rich.syntax import Syntax  # noqa: PLC0415 - as above

    Console().print(Syntax(patch, "diff", theme="ansi_dark", background_color="default", word_wrap=True))

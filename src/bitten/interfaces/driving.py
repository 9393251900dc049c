"""`diagnose --with` and `fix --with`: an agent's work on a case, from its prompt to a proven fix. Loaded when one is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bitten.core.ladder import Step
from bitten.core.trouble import BadInput, gate
from bitten.interfaces import text
from bitten.interfaces.mending import Mending
from bitten.interfaces.proposing import diagnosed
from bitten.interfaces.sessions import limits_of, may_ask, model_of, prompt_of
from bitten.interfaces.wiring import House, OpenCase, agents
from bitten.steps import fix as fixing
from bitten.steps.diagnose import diagnose as diagnosing

if TYPE_CHECKING:
    from bitten.interfaces.commands.driven import Driving


def diagnose(number: int | None, everything: bool, driving: Driving) -> None:
    opened = House.here().case(number)
    with opened.visited("diagnose"):
        may_ask(opened)
        gate(not opened.case.links, "cause-is-confirmed", "A cause is confirmed already.", "A hypothesis more would not be looked at.",
             f"bitten fix --with {driving.name}")
        opened.add(diagnosing(opened.case, opened.house.knowledge))
        if driving.dry_run:
            return _show_prompt(opened, driving, "diagnose")
        diagnosed(opened, driving, agents.agent_named(driving.name, model_of(opened, driving)))
    return click.echo(opened.shown(everything))


def fix(number: int | None, scope: Sequence[str], test: str, yes: bool, driving: Driving) -> None:
    opened = House.here().case(number)
    with opened.visited("fix"):
        may_ask(opened)
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


def _show_prompt(opened: OpenCase, driving: Driving, phase: str) -> None:
    words, limits = prompt_of(opened, phase), limits_of(opened, driving)
    click.echo(words)
    opened.house.say(f"{len(words):,} characters for {driving.name}; at most {limits.turns} turns, {limits.seconds:.0f} s, "
                     f"${limits.dollars:.2f}. Nothing was sent.")

"""`bitten prompt`: the recipe's prompt for the step that a case is at, for any agent or a paste. Sends nothing anywhere."""

from __future__ import annotations

import json

import click

from bitten.interfaces import prompts
from bitten.interfaces.commands import options
from bitten.interfaces.wiring import House
from bitten.interfaces.wiring.material import material
from bitten.steps import gates


@click.command()
@click.argument("step", required=False, metavar="[diagnose|check|fix]", type=click.Choice(prompts.STEPS))
@click.option("--budget", default=prompts.BUDGET, metavar="CHARACTERS", type=click.IntRange(min=1), show_default=True,
              help="As many at most; what is worth least goes first, and what is cut is said.")
@click.option("--json", "as_json", is_flag=True, help="Print step, characters, what was cut, and the prompt, as JSON.")
@options.case
def prompt(step: str | None, budget: int, as_json: bool, number: int | None) -> None:
    """Print the prompt for an agent, and nothing else; without a word, for the step that the case is at.

    It is redacted, and all that it quotes is marked as data, so that it can be piped or pasted as it is.

    \b
    bitten prompt
    bitten prompt diagnose | claude -p
    bitten prompt fix --budget 8000
    """
    opened = House.here().case(number)
    with opened.visited("prompt"):
        here = prompts.step_of(opened.case)
        gates.said_what_was_expected(opened.case)
        gates.within_the_hour(opened.case, opened.budget)
        made = prompts.made(step or here, opened.case, opened.number, opened.began,
                            material(opened.house, opened), budget)
    if as_json:
        told = {"step": made.step, "characters": len(made.text), "cut": list(made.cut), "prompt": made.text}
        click.echo(json.dumps(told, ensure_ascii=False, indent=1))
    else:
        click.echo(made.text, nl=False)

"""`playbooks` and `prove`: what is known, and that it proves itself."""

from __future__ import annotations

import click

from bitten.core.trouble import BadInput
from bitten.interfaces import text
from bitten.interfaces.wiring import House, proofs


@click.command()
def playbooks() -> None:
    """List the playbooks, and those that could not be used."""
    knowledge = House.here().knowledge
    click.echo(text.table((each.name, each.wakes_on.pattern) for each in knowledge.playbooks))
    for trouble in knowledge.troubles():
        click.echo(f"  {trouble}", err=True)


@click.command()
@click.argument("name", metavar="NAME|FOLDER")
def prove(name: str) -> int:
    """Run a playbook's bites, look-alike and cured program, and say whether it tells them apart.

    \b
    bitten prove unequal-items
    """
    told = proofs(name)
    if not told:
        raise BadInput("no-such-playbook", f"There is no playbook {name!r}.", way="bitten playbooks")
    for proof in told:
        click.echo(str(proof))
    return 0 if all(proof.holds for proof in told) else 1

"""`bitten picture`: where each process of a running command stands, or stood when it hung. Harms none of them."""

from __future__ import annotations

import json

import click

from bitten.core.failure import Picture
from bitten.core.trouble import BadInput
from bitten.interfaces import standing
from bitten.interfaces.wiring import House, picture_of


@click.command()
@click.argument("which", required=False, metavar="[CASE|PID]", type=click.IntRange(min=1))
@click.option("--json", "as_json", is_flag=True, help="As JSON, with every frame.")
def picture(which: int | None, as_json: bool) -> None:
    """Show where each rank, worker and helper process stands, and the one that is elsewhere.

    Without a number: the command that `bitten run` has running in this project. A number is a process, or a case that
    kept its picture. All processes stay alive.

    \b
    bitten picture
    bitten picture 4121
    bitten picture --json
    """
    taken = _kept(which) if which else None
    taken = taken or picture_of(House.here().root, which)
    if as_json:
        click.echo(json.dumps(standing.plain(taken), ensure_ascii=False, indent=1))
    else:
        click.echo("\n".join(standing.lines(taken)))


def _kept(number: int) -> Picture | None:
    """A case's own picture; None where no case has that number, so that it is a process's."""
    house = House.here()
    if number not in [folder.number for folder in house.cases.all()]:
        return None
    kept = house.case(number).case.failure.surroundings.picture
    if kept is None:
        raise BadInput("no-picture", f"Case {number} has no picture: its command did not hang.",
                       way="bitten run --hang-after 5m -- CMD, or  bitten picture PID")
    return kept

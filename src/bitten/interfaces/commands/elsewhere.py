"""`bitten capture`: step 1 for a failure that happened without us: in CI, on another machine, in a terminal of yesterday."""

from __future__ import annotations

import json
from pathlib import Path

import click

from bitten.core.prediction import parse
from bitten.interfaces.arriving import arrived
from bitten.interfaces.commands.cases import plain
from bitten.interfaces.wiring import House, OpenCase


@click.command()
@click.option("--log", "log", metavar="FILE", required=True, help="What it printed; - reads standard input.")
@click.option("--command", "typed", default="", metavar="CMD", help="What failed; else taken from a line of the log that shows it.")
@click.option("--exit", "exit_code", type=int, metavar="N", help="How it ended; else as the log says.")
@click.option("--cwd", default=".", metavar="DIR", help="Where it is to be run again; here by default.")
@click.option("--expect", "expectations", multiple=True, metavar="EXPR", help="What should have held; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def capture(log: str, typed: str, exit_code: int | None, cwd: str, expectations: tuple[str, ...], as_json: bool) -> None:
    """Open a case from a log, pasted or of CI.

    It has the exceptions as they were printed, and no variables. The tree is kept as it is now; where the code is another one than
    the log shows, the case says so.

    \b
    bitten capture --log ci.log --command "python -m src.train"
    gh run view --log-failed | bitten capture --log -
    """
    expected = tuple(parse(each) for each in expectations)
    house = House.here()
    observed = house.from_log(log, typed, exit_code, Path(cwd).resolve())
    came = "captured from standard input" if log == "-" else f"captured from {Path(log).name}"
    _show(arrived(house, observed, "capture", came, expected), as_json)


def _show(case: OpenCase, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(plain(case), ensure_ascii=False, indent=1))
        return
    click.echo(case.shown())
    for note in case.case.failure.surroundings.notes:
        click.echo(click.style(f"  {note}", dim=True), err=True)

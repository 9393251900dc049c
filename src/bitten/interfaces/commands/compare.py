"""`bitten compare`: the first difference between two runs, by a person's own hand. Opens no case."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitten.core.comparing import compare as compared
from bitten.core.failure import Command
from bitten.core.ports import Allowed
from bitten.core.trouble import BadInput, Refused, Unable
from bitten.interfaces import comparing, text
from bitten.interfaces.commands import options
from bitten.interfaces.wiring import House, functions_called
from bitten.steps.calling import KINDS, calling
from bitten.steps.compare import Side, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bitten.core.ports import Observed
    from bitten.core.recording import Recording

SAME, DIFFERENT = 0, 1
"""Exit codes as of cmp and diff; above 1 there was no comparison."""
BETWEEN = ":::"
NOW = "the tree as it is"


@click.command(cls=options.WithCommand)
@click.argument("operands", nargs=-1, metavar="[A B]")
@click.option("--rev", "revisions", multiple=True, metavar="REV", help="A revision to run it in; twice, or once against the tree as it is.")
@click.option("--twice", is_flag=True, help="The same tree twice: names the first value that differs from run to run.")
@click.option("--call", "target", metavar="FUNCTION", help="Compare one function of two revisions: package.module:name, or its name.")
@click.option("--on", "file", metavar="FILE", help="What --call calls it on: .npy, .npz, .pt, .json or .csv.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--yes", is_flag=True, help="Start a second long run without asking.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="End each run after so long.")
@options.allow
def compare(
    operands: tuple[str, ...], revisions: tuple[str, ...], twice: bool, target: str | None, file: str | None, as_json: bool, yes: bool,
    timeout: float | None, allowed: Allowed, command: tuple[str, ...],
) -> int:
    """Name the first place where two runs part: both values, and the lines of your own that they came from.

    A and B are recordings, by file or folder, cases by number, or exported cases. Runs happen in throw-away copies. Exit code 0: they
    are the same, bit for bit or within the tolerance of their dtypes; 1: a difference was named.

    \b
    bitten compare --rev main -- python train.py
    bitten compare --rev v1.2 --rev HEAD -- make train
    bitten compare --twice -- python train.py
    bitten compare -- python train.py --workers 0 ::: python train.py --workers 2
    bitten compare 7 ci-case.bitten.tgz
    bitten compare --call src.metrics:f1 --on tiny.json --rev main
    """
    house = House.here()
    if not command and target is None:
        return _tell([house.recording(each) for each in _two(operands)], "", as_json)
    sides = list(_sides(house, revisions, twice, command or (_python(),)))
    if target is not None:
        found, on = _function(house, target, operands), _file(file)
        sides = [calling(each, found, on) for each in sides]
    seen = list(_recorded(house, sides, allowed, timeout, yes))
    kept = ", ".join(str(house.keep_probe("compare", each)) for each in seen)
    return _tell([each.recording for each in seen if each.recording is not None], kept, as_json)


def _two(operands: tuple[str, ...]) -> tuple[str, ...]:
    if len(operands) != 2:
        raise BadInput("compare-needs-two", f"{len(operands)} recordings were named; a comparison needs two.",
                       "Or a command after --, with --rev, --twice, or a second command after :::.", "bitten compare --help")
    return operands


def _sides(house: House, revisions: tuple[str, ...], twice: bool, command: tuple[str, ...]) -> Iterator[Side]:
    """Raises: BadInput `compare-needs-two`, `no-such-tree`; Unable `not-a-repository`."""
    here = str(Path.cwd())
    if BETWEEN in command:
        at = command.index(BETWEEN)
        for part in (command[:at], command[at + 1:]):
            yield Side(text.short(" ".join(part), 50), Command(part, here))
    elif twice:
        yield from (Side(name, Command(command, here)) for name in ("run 1", "run 2"))
    elif 1 <= len(revisions) <= 2:
        for each in revisions:
            yield Side(each, Command(command, here), house.files_of(each))
        if len(revisions) == 1:
            yield Side(NOW, Command(command, here))
    else:
        raise BadInput("compare-needs-two", "Nothing says what is to be compared with what.",
                       "--rev REV names a revision, once or twice; --twice runs the same tree twice; ::: stands between two commands.",
                       f"bitten compare --rev HEAD -- {' '.join(command[:6])}")


def _python() -> str:
    return shutil.which("python") or sys.executable


def _recorded(house: House, sides: list[Side], allowed: Allowed, timeout: float | None, yes: bool) -> Iterator[Observed]:
    """The first run shows what the second one will cost. Raises: Refused `compare-costs`."""
    sandbox = house.copies
    for number, side in enumerate(sides):
        with house.person.progress(f"{text.short(' '.join(side.command.argv), 50)} · {side.name} · in a throw-away copy"):
            seen = record(side, sandbox, allowed, timeout)
        for each in seen.refused:
            house.say(f"{side.name}: {each}")
        if not seen.run.ended_well:
            house.say(f"{side.name} did not end well (exit {seen.run.exit}): what it told until then is compared.")
        yield seen
        if number == 0 and not yes:
            _agreed(house, side, seen)
    for limit in sandbox.limits:
        house.say(f"copy: {limit}")


def _agreed(house: House, side: Side, seen: Observed) -> None:
    """As for every run that a person did not type (promise P8)."""
    if seen.run.seconds <= house.settings.ask_after:
        return
    why = f"The first run took {seen.run.seconds:.0f} s, and the second will take about as long."
    if house.person.channel == "terminal" and house.person.ask(f"{why} Run it?", "y").lower().startswith("y"):
        return
    raise Refused("compare-costs", why, f"It would run {text.short(' '.join(side.command.argv), 80)} once more.", "bitten compare --yes …")


def _tell(pair: list[Recording], kept: str, as_json: bool) -> int:
    one, other = pair
    """Raises: Unable `compare-nothing-in-common`."""
    found = compared(one, other)
    if found.first is None and not found.compared:
        raise Unable("compare-nothing-in-common", f"No mark of {one.name} has its like in {other.name}: nothing could be compared.",
                     "Two runs have marks in common where both reach the same kind of thing: a batch, a model, a step, a metric.",
                     "compare two runs of one command")
    if as_json:
        click.echo(json.dumps(comparing.plain(found, one, other, kept), ensure_ascii=False, indent=1))
    else:
        click.echo("\n".join(comparing.lines(found, one, other, kept)))
    return SAME if found.first is None else DIFFERENT


# ---------------------------------------------------------------------------------------------- one function


def _file(file: str | None) -> str:
    """Raises: BadInput `compare-call-without-file`, `no-such-file`."""
    if file is None or Path(file).suffix not in KINDS:
        raise BadInput("compare-call-without-file", f"{file or 'Nothing'} can't be called on.",
                       f"--on names a file that ends in {', '.join(KINDS)}.", "bitten compare --call FUNCTION --on tiny.json --rev HEAD")
    if not Path(file).is_file():
        raise BadInput("no-such-file", f"Can't read {file}: there is no such file.", way="name a file that is there")
    return str(Path(file).resolve())


def _function(house: House, target: str, operands: tuple[str, ...]) -> str:
    """As `module:name`. Of a bare name: the one function that a recording or the tree has. Raises: BadInput."""
    if ":" in target:
        return target
    found = functions_called(house, target, operands)
    if len(found) == 1:
        return found[0]
    if found and house.person.channel == "terminal":
        return house.person.ask(f"Which one: {', '.join(found)}?", found[0])
    raise BadInput("compare-which-function", f"{len(found) or 'No'} functions are called {target}.", ", ".join(found),
                   f"bitten compare --call {found[0] if found else 'package.module:name'} …")

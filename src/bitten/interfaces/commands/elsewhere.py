"""`bitten capture`, `shell-hook` and `pick`: step 1 for a failure that happened without us: in CI, or in a terminal of this morning."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitten.core.prediction import parse
from bitten.core.trouble import BadInput
from bitten.interfaces import text
from bitten.interfaces.arriving import arrived
from bitten.interfaces.commands.cases import plain
from bitten.interfaces.wiring import House, OpenCase

if TYPE_CHECKING:
    from bitten.interfaces.wiring import Left

SHELLS = ("bash", "zsh", "sh", "fish")


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


@click.command("shell-hook")
@click.argument("shell", type=click.Choice(SHELLS), default="bash")
@click.option("--off", is_flag=True, help="Undo it.")
def shell_hook(shell: str, off: bool) -> None:
    """Print what lets the guest into every Python that this shell starts from now on.

    A Python that crashes then leaves what it knows, variables and all, for `bitten pick`; one that is well leaves nothing.

    \b
    eval "$(bitten shell-hook)"
    bitten shell-hook fish | source
    eval "$(bitten shell-hook --off)"
    """
    click.echo(House.here().shell(shell, off=off), nl=False)
    if sys.stdout.isatty():
        click.echo(click.style('  for a shell to read:  eval "$(bitten shell-hook)"', dim=True), err=True)


@click.command()
@click.argument("number", type=int, required=False, metavar="[N]")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def pick(number: int | None, as_json: bool) -> None:
    """List the crashes that happened in shells with the hook, newest first, or make a case of number N.

    \b
    bitten pick
    bitten pick 1
    """
    house = House.here()
    left = house.crashes()
    if number is not None:
        _show(_picked(house, left, number), as_json)
    elif as_json:
        click.echo(json.dumps([{"number": at, **_told(each)} for at, each in enumerate(left, 1)], ensure_ascii=False, indent=1))
    elif left:
        click.echo(text.table(_row(at, each) for at, each in enumerate(left, 1)) + "\n  next: make a case of one:  bitten pick 1")
    else:
        click.echo('no crash was left here.\n  next: let the guest into this shell\'s Pythons:  eval "$(bitten shell-hook)"')


def _picked(house: House, left: list[Left], number: int) -> OpenCase:
    """The spool goes once the case is on disk."""
    if not 0 < number <= len(left):
        raise BadInput("no-such-crash", f"There is no crash {number} to pick.", f"{len(left)} are left.", "bitten pick")
    one = left[number - 1]
    if one.root != house.root:
        raise BadInput("crash-elsewhere", f"Crash {number} is of another project.", f"It happened in {one.command.cwd}.",
                       f"cd {shlex.quote(one.command.cwd)}, then: bitten pick {number}")
    came = f"picked up: it crashed at {time.strftime('%H:%M on %d %b', time.localtime(one.when))} in a shell with the hook"
    case = arrived(house, one.observed(), "pick", came, spool=one.folder)
    one.forget()
    return case


def _row(number: int, one: Left) -> tuple[str, ...]:
    when = time.strftime("%d %b %H:%M", time.localtime(one.when))
    return str(number), when, text.short(shlex.join(one.command.argv), 50), *_what(one)


def _what(one: Left) -> tuple[str, str]:
    crash = one.crash
    assert crash is not None
    where = f"{crash.site.file}:{crash.site.line}" if crash.site else ""
    return text.short(f"{crash.type}: {text.first_line(crash.message)}", 70), where


def _told(one: Left) -> dict[str, object]:
    what, where = _what(one)
    return {"at": one.when, "argv": list(one.command.argv), "cwd": one.command.cwd, "project": str(one.root), "exception": what,
            "place": where}

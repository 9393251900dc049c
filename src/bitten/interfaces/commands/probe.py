"""`bitten probe`: one instrumented run of the unchanged command in a throw-away copy, by a person's own hand. Opens no case."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitten.core.failure import Command
from bitten.core.ports import Allowed, Observed
from bitten.core.trouble import BadInput
from bitten.interfaces import probing
from bitten.interfaces.commands import options
from bitten.interfaces.probing import Follower
from bitten.interfaces.wiring import House, instruments, selftest
from bitten.steps.probe import findings
from bitten.steps.probe import probe as probed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FOUND = 1
"""Exit code when something is past its threshold, as of a linter: `probe` tells of the program, not how the program ended."""
AFTER_BAD = 50
ALL = "all"


@click.command(cls=options.WithCommand)
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--json", "as_json", is_flag=True, help="Print findings, hints and facts as JSON.")
@click.option("--stop-after", type=click.IntRange(min=0), default=AFTER_BAD, metavar="N",
              help="End the run so many steps after the first bad one; 50 by default.")
@click.option("--stop-on-miss", is_flag=True, help="End it at the first bad step.")
@click.option("--to-the-end", is_flag=True, help="Never end it.")
@click.option("--list", "listed", is_flag=True, help="Say what each instrument watches.")
@click.option("--selftest", is_flag=True, help="Plant a fault in a small program, and see whether it is found.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="End the run after so long.")
@options.allow
def probe(
    names: tuple[str, ...], as_json: bool, stop_after: int, stop_on_miss: bool, to_the_end: bool, listed: bool, selftest: bool,
    timeout: float | None, allowed: Allowed, command: tuple[str, ...],
) -> int:
    """Run COMMAND once in a throw-away copy with instruments inside, and say what is past its threshold, and at which line.

    COMMAND is not changed, nor are its numbers. `all` is the check-up: every instrument at once. Exit code 1 when anything was found.

    \b
    bitten probe all -- python train.py
    bitten probe nan --stop-on-miss -- make train
    bitten probe optimizer mode --json -- torchrun --nproc-per-node 2 train.py
    bitten probe nan --selftest
    bitten probe --list
    """
    if listed:
        click.echo("\n".join(_listed()))
        return 0
    wanted = _known(names)
    if selftest:
        return _selftest(wanted, as_json)
    if not command:
        raise BadInput("probe-without-command", "There is no command to run.", way=f"bitten probe {' '.join(names)} -- python train.py")
    house = House.here()
    stop = None if to_the_end else 0 if stop_on_miss else stop_after
    follower = Follower(house.say, lambda line: None)
    with _shown(follower):
        seen = probed(Command(command, str(Path.cwd())), wanted, house.copies, allowed, follower, stop, timeout)
    kept = str(house.keep_probe("-".join(names or (ALL,))[:40], seen))
    _tell(seen, wanted, follower, kept, as_json)
    return FOUND if findings(seen) else 0


def _known(names: Sequence[str]) -> tuple[str, ...]:
    """Raises: BadInput `no-such-instrument`."""
    every = [each.name for each in instruments()]
    for name in names:
        if name not in (ALL, *every):
            raise BadInput("no-such-instrument", f"There is no instrument {name}.", f"There are: {', '.join(every)}; {ALL} is every one.",
                           "bitten probe --list")
    if not names:
        raise BadInput("no-such-instrument", "No instrument was named.", f"There are: {', '.join(every)}; {ALL} is every one.",
                       "bitten probe all -- python train.py")
    return tuple(every) if ALL in names else tuple(dict.fromkeys(names))


def _listed() -> Iterator[str]:
    for each in instruments():
        yield f"{each.name:<10} {each.about}"
    yield f"{ALL:<10} Every one of them: the check-up."


@contextmanager
def _shown(follower: Follower) -> Iterator[None]:
    """One live line on a terminal, redrawn; where nobody watches, nothing but what is said once."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a run that somebody watches is worth it

    with Console(stderr=True, highlight=False).status("[dim]in a throw-away copy[/dim]", refresh_per_second=4) as status:
        follower.show = lambda line: status.update(f"[dim]{line}[/dim]")
        yield


def _tell(seen: Observed, names: Sequence[str], follower: Follower, kept: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(probing.plain(seen, names, follower, kept), ensure_ascii=False, indent=1))
    else:
        click.echo("\n".join(probing.lines(seen, names, follower, kept)))


def _selftest(names: Sequence[str], as_json: bool) -> int:
    """Each instrument on its own: a program with a fault that it must find. Exit code 1 when any did not."""
    results = {name: _found(partial(selftest, name), name) for name in names}
    if as_json:
        click.echo(json.dumps(results))
    for name, at in results.items() if not as_json else ():
        mark = click.style("✓", fg="green") if at else click.style("✗", fg="red")
        told = f"found what was planted, at {at}" if at else "did not find what was planted: don't trust its silence"
        click.echo(f"{mark} {name:<10} {told}")
    return 0 if all(results.values()) else FOUND


def _found(run: Callable[[], Observed], name: str) -> str:
    """Where it found what was planted; empty when it did not."""
    return next((str(each.facts.get("at")) for each in findings(run()) if each.probe == name), "")

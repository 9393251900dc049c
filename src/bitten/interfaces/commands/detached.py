"""`bitten run --detach` and `bitten wait`: a run apart from any terminal, and how it ended. Decides nothing of a case."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import click

from bitten.core.failure import Command
from bitten.core.trouble import BadInput, Trouble, Unable
from bitten.interfaces import awaiting, text
from bitten.interfaces.course import Told
from bitten.interfaces.fault import spared, tell
from bitten.interfaces.wiring import House, redact
from bitten.interfaces.wiring import detached as wiring
from bitten.interfaces.wiring.detached import ELSEWHERE, ENDED, LOST, RUNNING, STOPPED, Detached, Record, Watched

MISSED, HUNG = 65, 124
"""As `bitten run` has them."""
NOBODY_SAW, RUNS_STILL, WAS_STOPPED = 74, 75, 143
"""Exit codes of `wait` alone: a run that ended without a record; one that still runs; one that a person had stopped."""
LOOK = 0.2
"""Seconds between two looks at a record."""
SETTLES = 60.0
"""Seconds that the watcher of a stopped command gets to write its record."""


def apart(house: House, command: Command, runs: Callable[[Told], int]) -> int:
    """Run it in a session of its own. Returns here once the command has begun, and there when all is done."""

    def work(watched: Watched) -> int:
        try:
            return runs(watched)
        except (Exception, KeyboardInterrupt) as error:
            code = tell(error)
            watched.failed(code, redact(text.trouble(error) if isinstance(error, Trouble) else f"{type(error).__name__}: {error}"))
            return code

    run, code = wiring.leave(house, command, work)
    return _said(run) if code is None else code


def _said(run: Detached) -> int:
    """What the terminal is told at once."""
    if run.standing == LOST:
        raise Unable("run-not-begun", "The run ended before its command began.", "Something killed bitten, or the disk is full.",
                     "bitten run --detach -- CMD")
    record = run.record
    if record.trouble:
        click.echo(record.trouble, err=True)
        run.forget()
        return record.exit or 1
    click.echo(f"{run.id} runs apart from this terminal:  {record.command}\n  log:  {run.log}\n  next: how it ended:  "
               + click.style(f"bitten wait {run.id}", bold=True))
    return 0


@click.command()
@click.argument("run_id", required=False, default="", metavar="[RUN]")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait no longer; exit 75 says that it still runs.")
@click.option("--stop", is_flag=True, help="End it: its processes are asked first, then made to.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def wait(run_id: str, timeout: float | None, stop: bool, as_json: bool) -> int:
    """Wait for a detached run, and exit as its command did; for this project's newest one where none is named.

    Further exit codes: 65 an expectation was missed, 124 it hung, 128 and the signal that ended it; 143 it was stopped, 75 it still runs
    after SECONDS, 74 it ended without a record: bitten was killed or failed, or the machine went down. ^C ends the waiting,
    not the run.

    \b
    bitten wait
    bitten wait r3 --timeout 540
    bitten wait r3 --stop
    """
    house = House.here()
    run = _wanted(house, run_id)
    if stop and run.standing in (RUNNING, LOST):
        wiring.stop(run)
        timeout = SETTLES if timeout is None else timeout
    elif stop and run.standing == ELSEWHERE:
        host = run.record.host
        raise Unable("run-elsewhere", f"{run.id} runs on {host}, not here.", way=f"on {host}:  bitten wait {run.id} --stop")
    standing = _awaited(run, timeout)
    record = run.record
    if standing not in (RUNNING, ELSEWHERE):
        run.mark_read()
    click.echo(json.dumps(awaiting.plain(run, standing), ensure_ascii=False, indent=1) if as_json else awaiting.told(run, standing))
    if not as_json and record.case is not None:
        with spared():
            click.echo("\n" + house.case(record.case).shown())
    return 0 if stop and standing == STOPPED else exit_code(record, standing)


def _wanted(house: House, run_id: str) -> Detached:
    every = wiring.all_of(house)
    if not every:
        raise BadInput("no-detached-run", "No run of this project was detached.", way="bitten run --detach -- CMD")
    found = [run for run in every if run.id == run_id.lower()] if run_id else every[-1:]
    if not found:
        raise BadInput("no-such-run", f"There is no run {run_id} here.", f"There are: {', '.join(run.id for run in every)}.",
                       f"bitten wait {every[-1].id}")
    return found[0]


def _awaited(run: Detached, timeout: float | None) -> str:
    """How it stands when it has ended, or the time is over."""
    deadline = None if timeout is None else time.monotonic() + timeout
    with awaiting.progress(run) as show:
        while (standing := run.standing) in (RUNNING, ELSEWHERE):
            left = LOOK if deadline is None else min(LOOK, deadline - time.monotonic())
            if left <= 0:
                break
            show()
            time.sleep(left)
    return standing


def exit_code(record: Record, standing: str) -> int:
    """The command's own, or what says that there is none."""
    if standing != ENDED:
        return {RUNNING: RUNS_STILL, ELSEWHERE: RUNS_STILL, LOST: NOBODY_SAW, STOPPED: WAS_STOPPED}[standing]
    if record.hung:
        return HUNG
    if record.signal is not None:
        return 128 + record.signal
    return MISSED if record.missed and record.exit == 0 else record.exit or 0

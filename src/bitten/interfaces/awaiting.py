"""A detached run in words: how it stands, the last that it printed, redacted, and what to type. Decides nothing."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from bitten.interfaces import text
from bitten.interfaces.live import plain as plain_line
from bitten.interfaces.wiring import House, redact
from bitten.interfaces.wiring import detached as wiring
from bitten.interfaces.wiring.detached import ELSEWHERE, ENDED, LOST, RUNNING, STOPPED, Detached, Record

QUIET = 2.0
"""Seconds that a wait may last before it shows that it goes on."""
STEP = re.compile(r"\b(step|iteration|iter|batch|epoch)\b\W{0,4}(\d+)(?:\s*(?:/|of)\s*(\d+))?", re.I)


def told(run: Detached, standing: str) -> str:
    """How it stands, the last line that it printed, its log, and what to type where something is left to do."""
    record = run.record
    lines = [f"{_mark(record, standing)} {run.id} {how(record, standing)}:  {record.command}", record.trouble]
    if record.case is None and (last := last_line(run)):
        lines.append(f"  last line: {last}")
    if run.log.exists():
        lines.append(f"  log:  {run.log}")
    if standing in (RUNNING, ELSEWHERE):
        lines.append(f"  next: wait on:  bitten wait {run.id}")
    if standing == LOST:
        lines.append("  That is no success: bitten was killed or failed, or the machine went down. "
                     "What its Pythons left becomes a case:  bitten")
    return "\n".join(filter(None, lines))


def how(record: Record, standing: str) -> str:
    """In a few words."""
    if standing == ENDED and record.trouble:
        return "could not begin"
    if standing == ENDED:
        return f"{_ending(record)} after {_duration(record.seconds)}"
    so_far = _duration(time.time() - record.began)
    return {RUNNING: f"runs, {so_far} so far", ELSEWHERE: f"runs on {record.host}, or did: no end is recorded, {so_far} so far",
            STOPPED: f"was stopped after {_duration(record.seconds)}", LOST: "ended without a record"}[standing]


def _ending(record: Record) -> str:
    if record.hung:
        return "hung"
    if record.signal is not None:
        return f"ended by signal {record.signal}"
    if record.missed and record.exit == 0:
        return "missed an expectation (exit 0)"
    return "ended well" if record.exit == 0 else f"failed, exit {record.exit}"


def _mark(record: Record, standing: str) -> str:
    if standing in (RUNNING, ELSEWHERE):
        return "…"
    well = standing == ENDED and record.exit == 0 and not record.missed and not record.hung
    return click.style("✓", fg="green") if well else click.style("✗", fg="red")


def plain(run: Detached, standing: str) -> dict[str, object]:
    """As a script would read it."""
    record = run.record
    told = {name: getattr(record, name) for name in ("command", "exit", "signal", "hung", "case", "began", "host")}
    seconds = record.seconds or round(time.time() - record.began, 3)
    return {"run": run.id, "standing": standing, **told, "missed": record.missed and record.exit == 0, "seconds": seconds,
            "ended": record.ended or None, "trouble": click.unstyle(record.trouble), "step": step(run.tail()), "last": last_line(run),
            "log": str(run.log)}


def last_line(run: Detached) -> str:
    """Of what it printed, also where a progress bar draws over itself."""
    lines = [line for line in re.split(r"[\r\n]+", redact(run.tail())) if line.strip()]
    return text.short(plain_line(lines[-1]).strip()) if lines else ""


def step(tail: str) -> str:
    """The last count that it printed, as `step 300/1000`; empty where it counts nothing that we know."""
    found = list(STEP.finditer(tail))
    if not found:
        return ""
    name, done, whole = found[-1].groups()
    return f"{name.lower()} {done}" + (f"/{whole}" if whole else "")


@contextmanager
def progress(run: Detached) -> Iterator[Callable[[], None]]:
    """On a terminal, from the third second on: how long, how far, and the last line. Elsewhere nothing."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda: None
        return
    since = time.monotonic()
    from rich.console import Console  # noqa: PLC0415 - only a wait at a terminal is worth it
    from rich.text import Text  # noqa: PLC0415 - as above

    status = Console(stderr=True, highlight=False).status("", refresh_per_second=4)

    def show() -> None:
        if time.monotonic() - since > QUIET:
            status.start()
            status.update(Text(_course(run), style="dim", overflow="ellipsis", no_wrap=True))

    try:
        yield show
    finally:
        status.stop()


def _course(run: Detached) -> str:
    shown = (run.id, _duration(time.time() - run.record.began), step(run.tail()), last_line(run))
    return " · ".join(filter(None, shown))


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.1f} s"


def mentions(house: House) -> Iterator[str]:
    """One line for each run that goes on, or has ended and nobody was told."""
    for run in wiring.all_of(house):
        standing = run.standing
        if standing in (RUNNING, ELSEWHERE) or not run.is_read:
            yield f"  {run.id} {how(run.record, standing)}:  bitten wait {run.id}"

"""Runs apart from any terminal, as a command sees them. Has no rule of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from bitten.adapters.folder import masked
from bitten.adapters.runs import apart, detached
from bitten.adapters.runs.detached import ELSEWHERE, ENDED, LOST, RUNNING, STOPPED, Detached, Record, Watched
from bitten.core.failure import Command

from .single import redact

if TYPE_CHECKING:
    from .house import House

__all__ = ["ELSEWHERE", "ENDED", "LOST", "RUNNING", "STOPPED", "Detached", "Record", "Watched", "all_of", "leave", "stop"]


def all_of(house: House) -> list[Detached]:
    return detached.all_of(house.root)


def leave(house: House, command: Command, work: Callable[[Watched], int]) -> tuple[Detached, int | None]:
    """Go apart and work there. Here: the run, once its command has begun or can't, and None; there: the run, and the exit code."""
    import shlex  # noqa: PLC0415 - as all of this

    run = detached.made(house.root)
    out = apart.log_to(run.log)
    lock = detached.begun(run, house.root, shlex.join(masked(command.argv, redact)))
    reader, writer = os.pipe()
    if apart.leave(out):
        os.close(reader)
        return run, work(Watched(run, lock, writer))
    os.close(writer)
    lock.close()
    os.read(reader, 1)
    os.close(reader)
    return run, None


def stop(run: Detached) -> None:
    """End its command, and all that came from it; returns when they have ended, not when the record tells of it."""
    if not run.memory.is_dir():  # the machine went down: its numbers are other processes' now
        return
    record = run.record
    run.ask_to_stop()
    apart.end(record.watcher, record.pid, record.since)

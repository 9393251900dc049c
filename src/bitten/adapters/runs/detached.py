"""Runs that nobody watches: a folder each tells how one stands, also after a kill or a reboot. Knows no case but by its number.

The record lies on disk, in our state folder; log and lock lie in memory, as what any running command prints, where a link leads to: another
shell, or a full memory, would have another place. Who finds the lock free and the record incomplete knows that nobody saw the end. From
another machine the lock can't be seen: there only the record speaks.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import socket
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from bitten.adapters import places
from bitten.adapters.folder import write
from bitten.core.failure import Run

RUNNING, ENDED, STOPPED, LOST, ELSEWHERE = "running", "ended", "stopped", "lost", "elsewhere"
"""How one stands. `lost` ended without a record; `elsewhere` runs on another machine, or did."""
KEEP, PILE = 8, 32
"""So many of a project's ended runs stay; so many even of those that nobody has looked at."""
TAIL = 1 << 14


@dataclass(frozen=True)
class Record:
    """What is known of a run's course. `complete` is set last: then all that follows from its end is on disk too.

    Times are seconds since the epoch; `pid` is the command's, `watcher` that of the bitten that runs it. `missed`: it failed, be it by
    an expectation alone. `trouble` says why none began.
    """

    id: str
    command: str
    root: str
    host: str
    began: float
    watcher: int = 0
    pid: int = 0
    since: int = 0
    ended: float = 0.0
    exit: int | None = None
    signal: int | None = None
    hung: bool = False
    seconds: float = 0.0
    missed: bool = False
    stopped: bool = False
    case: int | None = None
    trouble: str = ""
    complete: bool = False


@dataclass(frozen=True)
class Detached:
    """One run, as its folders tell of it."""

    folder: Path

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def number(self) -> int:
        return int(self.id[1:])

    @property
    def memory(self) -> Path:
        """With its lock and log."""
        link = self.folder / "memory"
        try:
            return link.readlink()
        except OSError:  # it was never laid
            return link

    @property
    def log(self) -> Path:
        return self.memory / "log"

    @property
    def is_begun(self) -> bool:
        return (self.folder / "record.json").exists()

    @property
    def record(self) -> Record:
        """One that was spoilt from outside is incomplete: it tells of no success."""
        try:
            told = json.loads((self.folder / "record.json").read_text("utf-8"))
            return Record(**{name: value for name, value in told.items() if name in Record.__dataclass_fields__})
        except (OSError, ValueError, TypeError, AttributeError) as error:
            trouble = f"  its record can't be read: {error}"
            return Record(self.id, "(unknown)", "", socket.gethostname(), time.time(), trouble=trouble)

    @property
    def standing(self) -> str:
        """The lock is looked at first: who lets go of it has written before."""
        held = self._is_held()
        record = self.record
        if record.complete:
            return STOPPED if record.stopped else ENDED
        if record.host != socket.gethostname():
            return ELSEWHERE
        return RUNNING if held else LOST

    def _is_held(self) -> bool:
        try:
            with (self.memory / "lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # gone with the machine's memory
            return False
        return False

    @property
    def is_read(self) -> bool:
        """Whether somebody was told of its end."""
        return (self.folder / "read").exists()

    def mark_read(self) -> None:
        with suppress(OSError):  # a full disk: then it is told of once more
            (self.folder / "read").touch(mode=0o600)

    @property
    def is_to_stop(self) -> bool:
        return (self.memory / "stop").exists()

    def ask_to_stop(self) -> None:
        """Its end is then a person's doing, and no failure."""
        (self.memory / "stop").touch(mode=0o600)

    def tail(self) -> str:
        """The end of what was printed, unredacted; empty where the log is gone."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL))
                return log.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def forget(self) -> None:
        for each in (self.memory, self.folder):
            shutil.rmtree(each, ignore_errors=True)

    def keep(self, record: Record) -> None:
        write(self.folder / "record.json", json.dumps(asdict(record), indent=1) + "\n")


@dataclass
class Watched:
    """A run in the hands of the bitten that watches it. What can't be written is written with the next news, and ends nothing.

    `begun` is the end of a pipe: open until the command has begun, or can't.
    """

    run: Detached
    lock: IO[str]
    begun: int
    record: Record = field(init=False)

    def __post_init__(self) -> None:
        self.record = self.run.record

    def started(self, pid: int) -> None:
        from bitten.adapters.watching import proc  # noqa: PLC0415 - a look starts nothing

        stat = proc.stat(pid)
        self._tell(watcher=os.getpid(), pid=pid, since=stat.since if stat else 0)
        self._open_the_gate()

    def ended(self, run: Run) -> None:
        self._tell(exit=run.exit, signal=run.signal, hung=run.hung, seconds=run.seconds, ended=time.time(), stopped=self.run.is_to_stop)

    def complete(self, missed: bool, case: int | None) -> None:
        """All that follows from its end is on disk."""
        self._tell(missed=missed, case=case, complete=True)

    def failed(self, code: int, why: str) -> None:
        """The command never began."""
        self._tell(exit=code, trouble=why, ended=time.time(), complete=True)
        self._open_the_gate()

    @property
    def stopped(self) -> bool:
        return self.run.is_to_stop

    def _tell(self, **news: Any) -> None:
        self.record = replace(self.record, **news)
        with suppress(OSError):
            self.run.keep(self.record)

    def _open_the_gate(self) -> None:
        if self.begun >= 0:
            os.close(self.begun)
            self.begun = -1


def base(root: Path) -> str:
    """Where a project's runs lie, below our state folder and below that in memory."""
    return f"runs/{root.name}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"


def all_of(root: Path) -> list[Detached]:
    """Every run of a project, oldest first."""
    folder = places.state() / base(root)
    if not folder.is_dir():
        return []
    found = [Detached(each) for each in folder.iterdir() if each.name[1:].isdecimal()]
    return sorted((each for each in found if each.is_begun), key=lambda each: each.number)


def made(root: Path) -> Detached:
    """The folders of a new run; it is none until it is begun."""
    _tidy(root)
    return _next(root)


def begun(run: Detached, root: Path, command: str) -> IO[str]:
    """Its record, and its lock, which lasts as long as a process has it open. `command` is without secrets."""
    (run.memory / "lock").touch(mode=0o600)
    lock = (run.memory / "lock").open("r+")
    fcntl.flock(lock, fcntl.LOCK_EX)
    run.keep(Record(run.id, command, str(root), socket.gethostname(), time.time()))
    return lock


def _next(root: Path) -> Detached:
    folders, memory = (places.private(place / base(root)) for place in (places.state(), places.memory()))
    number = max((int(each.name[1:]) for each in folders.iterdir() if each.name[1:].isdecimal()), default=0)
    while True:
        number += 1
        run = Detached(folders / f"r{number}")
        try:
            run.folder.mkdir(mode=0o700)
        except FileExistsError:  # another terminal's, begun meanwhile
            continue
        (run.folder / "memory").symlink_to(tempfile.mkdtemp(prefix=f"{run.id}-", dir=memory))
        return run


def _tidy(root: Path) -> None:
    """What is over, and seen by somebody, goes but for the latest; of what nobody looked at, more is kept."""
    over = [run for run in all_of(root) if run.standing in (ENDED, STOPPED, LOST)]
    for run in over[:-KEEP]:
        if run.is_read or run in over[:-PILE]:
            run.forget()

"""What a command keeps in memory while it is at work, so that the next one can go on for it should it be killed. Judges nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitten.adapters.runs.tape import Tape
from bitten.core.failure import Command
from bitten.core.noun import noun

from . import places
from .held import abandoned, held_folder

if TYPE_CHECKING:
    from bitten.adapters.runs.process import Ended

Marks = Sequence[tuple[int, int, int]]


@noun
class Sitting:
    """One command of ours, at work in one project. Its folder is also the spool of the guest that watches the person's command."""

    folder: Path

    @property
    def output(self) -> Path:
        return self.folder / "output"

    def runs(self, command: Command, expected: Sequence[str]) -> None:
        """The person's command, without secrets, is about to start."""
        told = {"argv": command.argv, "cwd": command.cwd, "env": dict(command.env), "expected": list(expected)}
        self._keep("command", told)

    def started(self, pid: int) -> None:
        self._keep("started", {"pid": pid, "since": _since(pid)})

    def ended(self, ended: Ended, marks: Marks) -> None:
        self._keep("ended", {"exit": ended.exit, "signal": ended.signal, "seconds": ended.seconds, "interrupted": ended.interrupted,
                             "hung": ended.hung,
                             "marks": marks})

    def _keep(self, name: str, told: Mapping[str, Any]) -> None:
        """Whole or not at all; only a machine that goes down takes it along. A full memory costs the recovery, not the run."""
        new = self.folder / f".{name}"
        with suppress(OSError):
            new.write_text(json.dumps(told), "ascii")
            new.replace(self.folder / name)


@contextmanager
def sitting(root: Path) -> Iterator[Sitting]:
    with held_folder(places.memory()) as folder:
        held = Sitting(folder)
        held._keep("project", {"root": str(root)})
        yield held


@noun
class Killed:
    """A sitting whose bitten was killed, read back."""

    folder: Path

    @property
    def project(self) -> Path | None:
        """None when it was killed before it knew, or is no sitting."""
        told = self._read("project")
        return Path(told["root"]) if told else None

    def concerns(self, root: Path) -> bool:
        """Whether a command in this project has something to do about it: it is its own, or nobody's any more."""
        return self.project in (None, root) or not Path(str(self.project)).is_dir()

    @property
    def command(self) -> Command | None:
        """The person's command, if one was about to run, or did."""
        told = self._read("command")
        return Command(tuple(told["argv"]), told["cwd"], told["env"]) if told else None

    @property
    def expected(self) -> tuple[str, ...]:
        return tuple((self._read("command") or {"expected": ()})["expected"])

    @property
    def running(self) -> int | None:
        """The number of the person's command, while that still runs: it was never ours to end."""
        told = self._read("started")
        return int(told["pid"]) if told and told["since"] == _since(told["pid"]) != "" else None

    @property
    def ended(self) -> Ended | None:
        """How the command ended; None when bitten did not live to see it."""
        from bitten.adapters.runs.process import Ended  # noqa: PLC0415 - a living sitting does without

        told = self._read("ended")
        return Ended(told["exit"], told["signal"], told["seconds"], told["interrupted"], bool(told.get("hung"))) if told else None

    @property
    def seconds(self) -> float:
        """From the command's start to the last that was heard of it."""
        heard = [path.stat().st_mtime for path in self.folder.iterdir() if path.is_file()]
        start = self.folder / "started"
        return max(heard) - start.stat().st_mtime if start.exists() else 0.0

    def tape(self) -> Tape | None:
        path = Sitting(self.folder).output
        try:
            return Tape.found(path, (self._read("ended") or {"marks": ()})["marks"])
        except FileNotFoundError:  # killed before it was laid in
            return None

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            told = json.loads((self.folder / name).read_text("ascii"))
        except (OSError, ValueError):  # it never came to that
            return None
        return told if isinstance(told, dict) else None


def killed() -> Iterator[Killed]:
    """Every sitting, of whatever project, that was killed; held while the loop looks at it."""
    return map(Killed, abandoned(places.memory()))


def _since(pid: int) -> str:
    """When a process began, in the kernel's ticks: numbers come back, these two together do not. Empty when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else os.fsdecode(fields[19])

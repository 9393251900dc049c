"""Short programs, run behind walls in fresh processes of the failing program's interpreter. Writes none; judges by what a process told."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitten.adapters import places
from bitten.adapters.held import held_folder, sweep
from bitten.adapters.sandbox.launch import Plan, WallError, launcher
from bitten.adapters.sandbox.room import LaunchedRoom, Room
from bitten.adapters.sandbox.walls import walled_room
from bitten.core.signature import masked

from .program import Program

EACH = 8.0
"""Seconds that one program may run."""
SHRINK = 5.0


@dataclass(frozen=True)
class Shown:
    """The program that failed alike, made smaller, and the words of its error."""

    code: str
    words: str
    program: Program


@dataclass
class Bench:
    """A walled place, and the interpreter that programs are tried with. `until` is when no more is started, by the monotonic clock."""

    room: Room
    place: Path
    interpreter: str
    folder: str
    env: dict[str, str]
    want: Sequence[str]
    until: float
    seconds: float = 0.0

    def first_alike(self, programs: Sequence[Program]) -> Shown | None:
        """The first that fails as the command did, made smaller. Those that ask for a process of their own get one."""
        for batch in _batches(programs):
            found = self._alone(batch[0]) if batch[0].fresh else self._together(batch)
            if found is not None or self._left < 1.0:
                return found
        return None

    def confirmed(self, shown: Shown) -> Shown | None:
        """What fails alike as a script of its own, in a process with nothing of ours: made smaller, or else as it was written."""
        for code in dict.fromkeys((shown.code, shown.program.text)):
            words = self._script(code, shown.program.loose)
            if words is not None:
                return Shown(code, words, shown.program)
        return None

    def _alone(self, program: Program) -> Shown | None:
        words = self._script(program.text, program.loose)
        return Shown(program.text, words, program) if words is not None else None

    def _script(self, code: str, loose: bool) -> str | None:
        """The words of its error, when that is alike."""
        if self._left < 1.0:
            return None
        file = self.place / "reproducer.py"
        file.write_text(code, "utf-8")
        ended = self.room.run([self.interpreter, str(file)], self.folder, self.env, self._left)
        kind, message, last = told(ended.stderr.decode("utf-8", "replace"), file.name)
        want_kind, want_message, want_last = self.want
        alike = kind == want_kind and masked(message).startswith(want_message) and (loose or want_last in ("", last))
        return f"{kind}: {message}" if alike and ended.exit != 0 else None

    def _together(self, programs: Sequence[Program]) -> Shown | None:
        """In one process, so that they share their imports."""
        left = self._left
        job = {"programs": [{"code": each.text, "fixed": each.fixed, "loose": each.loose} for each in programs], "want": [*self.want],
               "seconds": EACH, "shrink": min(SHRINK, left / 3), "walled": self.room.is_strong}
        (self.place / "job.json").write_text(json.dumps(job), "utf-8")
        (self.place / "results").write_bytes(b"")
        self.room.run([self.interpreter, *(str(self.place / name) for name in ("trial.py", "job.json", "results"))],
                      self.folder, self.env, left)
        found = [each for each in _lines(self.place / "results") if "code" in each]
        return Shown(found[-1]["code"], f"{found[-1]['seen'][0]}: {found[-1]['seen'][3]}", programs[found[-1]["at"]]) if found else None

    @property
    def _left(self) -> float:
        return self.until - time.monotonic()


_PLACE = re.compile(r'  File "(.*)", line \d+(?:, in (.*))?')


def told(stderr: str, script: str) -> tuple[str, str, str]:
    """The type, the message and the last library function of the error that a script ended with, as Python printed it."""
    lines = stderr.splitlines()
    at = max((i for i, line in enumerate(lines) if _PLACE.fullmatch(line)), default=-1)
    place = _PLACE.fullmatch(lines[at]) if at >= 0 else None
    rest = [i for i in range(at + 1, len(lines)) if lines[i] and not lines[i].startswith(" ")]
    if place is None or not rest:
        return "", "", ""
    kind, _, message = "\n".join(lines[rest[0]:]).partition(": ")
    return kind, message, "" if place[1].endswith(script) else place[2] or ""


def _batches(programs: Sequence[Program]) -> Iterator[list[Program]]:
    batch: list[Program] = []
    for each in programs:
        if each.fresh:
            if batch:
                yield batch
            batch = []
            yield [each]
        else:
            batch.append(each)
    if batch:
        yield batch


def _lines(file: Path) -> list[dict[str, Any]]:
    """What the process told before it ended; a last line that was cut off is none."""
    found = []
    for line in file.read_text("utf-8", "replace").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


@contextmanager
def bench(root: Path, cwd: str, interpreter: str, env: dict[str, str], want: Sequence[str], seconds: float) -> Iterator[Bench]:
    """A place where programs do no harm: every write diverted, or refused where the system can't divert; the network off."""
    sweep(places.scratch())
    with ExitStack() as stack:
        place = stack.enter_context(held_folder(places.memory()))
        folder = stack.enter_context(held_folder(places.scratch()))
        shutil.copy(Path(__file__).with_name("trial_script.py"), place / "trial.py")
        room = _room(stack, root, folder, place)
        clean = {name: value for name, value in env.items() if not name.startswith("BITTEN_")}
        where = cwd if room.is_strong and Path(cwd).is_dir() else str(place)
        yield Bench(room, place, interpreter, where, clean, want, time.monotonic() + seconds)


def _room(stack: ExitStack, root: Path, folder: Path, place: Path) -> Room:
    try:
        return stack.enter_context(walled_room(root.resolve(), folder, [str(place)], net=False))
    except WallError:
        pass
    tmp = folder / "tmp"
    tmp.mkdir(mode=0o700)
    plan = Plan(str(folder), walls=False, tmp=str(tmp), fence=[str(tmp), str(place), "/dev", "/proc"])
    own = {"TMPDIR": str(tmp), "TMP": str(tmp), "TEMP": str(tmp)}
    return LaunchedRoom("fenced", str(root), stack.enter_context(launcher(plan)), own, is_strong=False)


def environment(more: dict[str, str]) -> dict[str, str]:
    return {**os.environ, **more}

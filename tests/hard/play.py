"""Plays a hard case through the real command line, beside a plain run of the same command, and reads what was kept of it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

from tests.hard import needs
from tests.hard.case import Hard
from tests.stories import BITTEN, Project

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Told:
    """What `bitten run` left of one command: its own end and output, and the case."""

    project: Project
    done: Done

    @functools.cached_property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.project.case() / "events.jsonl").read_text("utf-8").splitlines()]

    @property
    def failure(self) -> dict[str, Any]:
        return next(line["event"] for line in self.events if line["kind"] == "Failure")

    @property
    def crashes(self) -> list[dict[str, Any]]:
        return self.failure["crashes"]

    @property
    def root(self) -> dict[str, Any]:
        return next(crash for crash in self.crashes if crash["role"] == "root")

    @property
    def site(self) -> str:
        """FILE:LINE of the innermost line of the person's own code."""
        mine = [frame for frame in self.root["frames"] if frame["mine"]]
        return f"{mine[-1]['file']}:{mine[-1]['line']}" if mine else ""

    @property
    def variables(self) -> dict[str, str]:
        """Those of the root's innermost frame that has any."""
        return next((frame["variables"] for frame in reversed(self.root["frames"]) if frame["variables"]), {})

    @property
    def document(self) -> str:
        return (self.project.case() / "debug.md").read_text("utf-8")

    @property
    def kept(self) -> str:
        """Every byte that is left of it, in the project and in our own folders."""
        places = (self.project.root / ".bitten", self.project.home, self.project.root.parent / "run")
        files = (file for place in places for file in place.rglob("*") if file.is_file())
        return "\n".join(file.read_bytes().decode("utf-8", "replace") for file in files)


def play(case: Hard, place: Path) -> None:
    """Run it plainly and by bitten; hold both to the same output and end, and the case to its fact."""
    if lacks := [needs.words(each) for each in case.needs if needs.missing(each)]:
        pytest.skip(f"needs {', '.join(lacks)}")
    if case.pending:
        pytest.skip(f"waits for {case.pending}")
    project = opened(case, place)
    if case.by is not None:
        return case.by(project, case)
    plain, done = ran(project, case, *case.command), ran(project, case, *BITTEN, "run", *case.options, "--", *case.command)
    assert plain.returncode == case.code, plain.stdout + plain.stderr
    hold(case, Told(project, done))
    same(project, case, plain, done)
    return None


def opened(case: Hard, place: Path) -> Project:
    project = Project(place, {"README": "A project.\n", **case.files})
    project.env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{project.env['PATH']}"
    project.env.update(case.env)
    case.prepare(project)
    return project


def ran(project: Project, case: Hard, *command: str) -> Done:
    """Its output goes to files: a daemon that holds it keeps nobody waiting."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        run = subprocess.Popen((*case.around, *command), cwd=project.root, env=project.env, stdin=subprocess.DEVNULL,
                               stdout=out, stderr=err)
        try:
            return subprocess.CompletedProcess(command, run.wait(180), *(_read(each) for each in (out, err)))
        finally:
            if run.poll() is None:
                end_all(run)


def end_all(run: subprocess.Popen[bytes]) -> None:
    """And all that it started: nothing outlives its test."""
    below: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        below = psutil.Process(run.pid).children(recursive=True)
    for each in (*below, run):
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    run.wait()


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "surrogateescape")


def hold(case: Hard, told: Told) -> None:
    """The fact that the case must show."""
    assert told.done.returncode == case.code, told.done.stdout + told.done.stderr
    if case.root:
        assert (told.root["type"], told.root["message"][:len(case.root[1])]) == case.root, summary(told)
        assert case.root[0] in told.document, "debug.md names it too"
    if case.site:
        assert told.site == case.site, summary(told)
    if case.process:
        assert re.search(case.process, told.root["process"]), summary(told)
    for pattern in case.says:
        assert re.search(pattern, told.document), f"debug.md does not say {pattern!r}:\n{told.document}"
    if case.never:
        kept = told.kept
        assert not [word for word in case.never if word in kept]
    case.more(told)


def summary(told: Told) -> str:
    rows = [f"{each['role']} {each['type']}: {each['message'][:80]!r} in {each['process']}{' (handled)' if each['handled'] else ''}, "
            f"innermost {[(f['file'], f['line']) for f in each['frames']][-1:]}" for each in told.crashes]
    around = told.failure["surroundings"]
    return "\n".join(["the case shows", *rows, f"notes {around['notes']}", f"ending {around['ending']}", told.done.stderr[-1500:]])


def same(project: Project, case: Hard, plain: Done, done: Done) -> None:
    """Exit code, stdout and stderr are those of the plain run; what two plain runs don't share is not asked for."""
    theirs, ours = (plain.returncode, plain.stdout, plain.stderr), (done.returncode, done.stdout, its_own(done.stderr))
    if theirs == ours:
        return
    again = ran(project, case, *case.command)
    other = (again.returncode, again.stdout, again.stderr)
    assert case.varies or other != theirs, f"two plain runs are alike, and ours is not:\n{theirs}\n{ours}"
    if not any(scrub(theirs) == scrub(ours) for scrub in (_numbers, _words)):
        assert case.varies and ours[0] == theirs[0], f"{theirs}\n{ours}"


def its_own(stderr: str) -> str:
    """Without what bitten says after the command has ended."""
    return re.split("(?:^|\n)✗ ", stderr)[0] if "\n✗ " in "\n" + stderr else stderr


def _numbers(seen: tuple[int, str, str]) -> tuple[object, ...]:
    return seen[0], *(re.sub(r"0x[0-9a-f]+|\d+", "N", text) for text in seen[1:])


def _words(seen: tuple[int, str, str]) -> tuple[object, ...]:
    """Processes that print at once mix their lines."""
    return seen[0], *(Counter(re.findall(r"\w+", str(text))) for text in _numbers(seen)[1:])

"""One story over a torch-free program, command by command, that can be put back to where it was before any of them."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.stories import SUSPECT, Project, fixed, windows_project

KNIFE = [sys.executable, "-m", "tests.killing.knife"]
LESSON = "- (2026-05-04) The last window was one row short. Lesson: every window needs a length-preservation test."
ANSWERS = (("decided it?", "7"), ("name others)", "windows.py:windows test_windows.py"))
COMMANDS = {
    "run": ("run", "--", sys.executable, "main.py"), "expect": ("expect", "eight", "rows"), "suspect": tuple(SUSPECT),
    "check": ("check", "h3"),
    "confirm": ("confirm", "h3"), "verify": ("verify",), "learn": ("learn", "--text", LESSON), "close": ("close",),
}
STEPS = {"run": "suspected", "expect": "suspected", "suspect": "suspected", "check": "tested", "confirm": "confirmed", "verify": "verified",
         "learn": "learned", "close": "closed"}
"""Where the case stands after each command."""
FAULT = re.compile(r"bitten/(interfaces|steps|core|adapters)/|fault of bitten's own|\[our-fault\]")
"""The program's own traceback is no fault of ours."""


@dataclass
class Story:
    """`place` holds the project, its home and its memory; `saved` a copy of all that before each command."""

    place: Path
    saved: Path
    project: Project = field(init=False)
    said: str = ""

    def __post_init__(self) -> None:
        self.place.mkdir()
        self.project = windows_project(self.place)
        self.project.env["PYTHONPATH"] = str(Path(__file__).parents[2])

    def keep(self, name: str) -> None:
        shutil.copytree(self.place, self.saved / name, symlinks=True)

    def back_to(self, name: str) -> None:
        for part in ("project", "run", "home"):
            shutil.rmtree(self.place / part)
            shutil.copytree(self.saved / name / part, self.place / part, symlinks=True)

    def tell(self, name: str, at: int = 0, only: str = "", **env: str) -> int:
        """One command, under the knife; killed at that moment, unless it is 0. Returns its exit code, negative for a signal."""
        env = {"KNIFE_AT": str(at), "KNIFE_ONLY": only, "KNIFE_LOG": str(self.saved / "moments"), **env}
        if name == "confirm":
            return self._typed(env)
        done = self.project.bitten(*COMMANDS[name], program=KNIFE, **env)
        self.said = done.stdout + done.stderr
        assert not FAULT.search(done.stderr), done.stderr
        return done.returncode

    def _typed(self, env: dict[str, str]) -> int:
        import pexpect  # noqa: PLC0415

        try:
            return self.project.typed(*COMMANDS["confirm"], answers=ANSWERS, program=KNIFE, **env)[0]
        except pexpect.EOF:  # killed before it asked
            return -signal.SIGKILL

    def moments(self) -> list[str]:
        return (self.saved / "moments").read_text("utf-8").splitlines()

    def settle(self) -> None:
        """Wait until what a kill has orphaned is gone: git's own processes, and runs in copies."""
        mine = [each for each in psutil.process_iter(["cwd"]) if each.info["cwd"] and each.info["cwd"].startswith(str(self.place))]
        psutil.wait_procs(mine, 20)

    def edit(self, name: str) -> None:
        """What the person does before a command."""
        if name == "verify":
            fixed(self.project)

    def lines(self) -> list[bytes]:
        """Every completed line of every journal."""
        return [line for file in sorted(self.project.root.glob(".bitten/*/events.jsonl")) for line in file.read_bytes().split(b"\n")[:-1]]

    def look(self) -> str:
        """The next `bitten`: what it says of what it found."""
        done = self.project.bitten()
        assert done.returncode == 0 and not FAULT.search(done.stderr), done.stdout + done.stderr
        return done.stderr

    def step(self) -> str:
        cases = json.loads(self.project.bitten("cases", "--json").stdout)
        return cases[-1]["step"] if cases else ""

    def left_over(self) -> list[str]:
        """Temporary files, and what is left in memory."""
        files = (path for folder in (self.project.root, self.place / "run") for path in folder.rglob("*") if ".git" not in path.parts)
        return [str(path) for path in files if re.search(r"/\.[^/]+\.\d+$|/commit-\d|/index-\d|run/bitten-\d+/\d+-", str(path))]


def told(story: Story) -> Iterator[str]:
    """Tell the story; yields before each command, with everything saved as it is then."""
    for name in COMMANDS:
        story.edit(name)
        story.keep(name)
        yield name


KINDS = {"expect": "Note", "suspect": "Hypothesis", "check": "Evidence", "confirm": "Confirmation", "verify": "Verification",
         "learn": "Lesson", "close": "Closing"}
"""The event that a command is there for."""


def goes_on(story: Story, name: str, had: int) -> str:
    """The next `bitten` after a kill: all that was completed is still there, nothing is left behind. Returns what it said."""
    completed = story.lines()
    assert len(completed) >= had + story.moments().count("write after events.jsonl"), "an event that was on disk is gone"
    said = story.look()
    assert story.lines()[:len(completed)] == completed
    assert story.left_over() == []
    if name == "run" and story.lines():
        assert sum(b'"kind":"Hypothesis"' in line for line in story.lines()) == 2, "the next command completes what was begun"
    document = next(story.project.root.glob(".bitten/*/debug.md"), None)
    assert document is None or "What you wrote elsewhere" not in document.read_text("utf-8")
    return said


def finishes(story: Story, name: str, had: int) -> None:
    """The killed command, typed again where it had not come to its point, brings the case where it would have been."""
    if name == "run":
        if not story.lines():
            assert story.tell("run") == 1
    elif not any(f'"kind":"{KINDS[name]}"'.encode() in line for line in story.lines()[had:]):
        assert story.tell(name) == 0, story.said
    assert story.step() == STEPS[name]
    assert not any(b'"about":"tried"' in line for line in story.lines()), "our own words are taken for the person's"
    if name == "close":
        assert_is_won(story)


def assert_is_won(story: Story) -> None:
    """One commit, one lesson, nothing half-done in the person's tree or index."""
    assert story.project.git("rev-list", "--count", "HEAD").strip() == "2"
    assert story.project.git("status", "--porcelain") == ""
    assert story.project.read("CLAUDE.md").count("one row short") == 1
    assert {"fix.patch", "verification.json", "debug.md", "run.sh"} <= {path.name for path in story.project.case().iterdir()}

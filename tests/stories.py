"""A small project of a stranger, and the public command line at work on it: typed at a pseudo-terminal, or piped."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pexpect

BITTEN = [sys.executable, "-m", "bitten"]
WINDOWS = '''"""Windows of a list of rows; the last one is cut short by one row."""


def windows(rows, size):
    for start in range(0, len(rows), size):
        stop = min(start + size, len(rows) - 1)
        yield rows[start:stop]


def other():
    return 1
'''
MAIN = '''import sys

from windows import windows

parts = list(windows(list(range(8)), 4))
print("rows=%d" % sum(map(len, parts)))
if len({len(part) for part in parts}) != 1:
    raise ValueError("windows of unequal size: %s" % [len(part) for part in parts])
print("done")
'''
COUNT = '''from windows import windows

print("bitten-fact rows=%d" % sum(len(part) for part in windows(list(range(8)), 4)))
'''
TEST = '''from windows import windows


def test_every_row_is_in_a_window():
    assert sum(len(part) for part in windows(list(range(8)), 4)) == 8
'''
FIXED = WINDOWS.replace("len(rows) - 1)", "len(rows))")
SUSPECT = [
    "suspect",
    "the last window is one row short",
    "--check",
    f"{sys.executable} count_rows.py",
    "--supports-if",
    "rows < 8",
    "--refutes-if",
    "rows == 8",
    "--scope",
    "windows.py:windows",
]


class Project:
    """`root` is the project; everything of ours that is not in it lies below `home`."""

    def __init__(self, place: Path, files: dict[str, str], git: bool = True, name: str = "project") -> None:
        self.root, self.home = place / name, place / "home"
        for folder in (self.root, self.home, place / "run"):
            folder.mkdir(mode=0o700)
        drop = ("VIRTUAL_ENV", "PYTHONPATH", "BITTEN_SANDBOX")
        self.env = {**{name: value for name, value in os.environ.items() if name not in drop and not name.startswith("GIT_")},
                    "HOME": str(self.home), "XDG_RUNTIME_DIR": str(place / "run"), "XDG_STATE_HOME": str(self.home / "state"),
                    "XDG_CACHE_HOME": str(self.home / ".cache"), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "120", "NO_COLOR": "1",
                    "GIT_CONFIG_GLOBAL": os.devnull}
        for file, text in files.items():
            self.write(file, text)
        if git:
            self.git("init", "-q", "-b", "main")
            self.git("config", "user.name", "Ana")
            self.git("config", "user.email", "ana@example.org")
            self.commit("as found")

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def read(self, name: str) -> str:
        return (self.root / name).read_text("utf-8")

    def git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self.root, env=self.env, capture_output=True, text=True, check=True).stdout

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def bitten(self, *words: str, cwd: str = ".", program: Sequence[str] = BITTEN, **env: str) -> subprocess.CompletedProcess[str]:
        """By a pipe, as a script would."""
        return subprocess.run([*program, *words], cwd=self.root / cwd, env={**self.env, **env}, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=120)

    def started(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        """Running, for a test that has something in mind with it; the first of its process group."""
        return subprocess.Popen([*BITTEN, *words], cwd=self.root, env={**self.env, **env}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def typed(
        self, *words: str, answers: tuple[tuple[str, str], ...] = (), cwd: str = ".", program: Sequence[str] = BITTEN, **env: str
    ) -> tuple[int, str]:
        """At a terminal: each answer is typed at its prompt. Returns the exit code and all that was on the screen."""
        child = pexpect.spawn(
            program[0],
            [*program[1:], *words],
            cwd=str(self.root / cwd),
            env={**self.env, **env},
            encoding="utf-8",
            timeout=90,
            dimensions=(50, 140),
        )
        seen = ""
        for prompt, answer in answers:
            child.expect_exact(prompt)
            seen += child.before + child.after
            child.sendline(answer)
        child.expect(pexpect.EOF)
        child.close()
        return child.exitstatus if child.exitstatus is not None else -child.signalstatus, re.sub(
            r"\x1b\[[0-9;]*[A-Za-z]", "", seen + child.before
        )

    def show(self) -> dict:
        return json.loads(self.bitten("show", "--json").stdout)

    def case(self) -> Path:
        return self.root / ".bitten" / (self.root / ".bitten" / "current").read_text("utf-8").strip()

    def slug(self, done: subprocess.CompletedProcess[str]) -> str:
        found = re.search(r"\[([a-z-]+)\]\s*$", done.stderr)
        return found[1] if found else done.stderr

    def photograph(self, *also: Path) -> dict[str, str]:
        """Every file of the project but `.bitten`, git's own included, and of other folders: a digest and the time of change.

        Git renews the time of an object that one of our photographs shares; its bytes stay.
        """
        found = {}
        for folder in (self.root, *also):
            for file in sorted(folder.rglob("*")):
                if ".bitten" not in file.parts and file.is_file() and not file.is_symlink():
                    found[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest()
                    if "objects" not in file.parts:
                        found[str(file)] += f" {file.stat().st_mtime_ns}"
        return found


def windows_project(place: Path, **how: bool) -> Project:
    return Project(
        place, {"windows.py": WINDOWS, "main.py": MAIN, "count_rows.py": COUNT, "CLAUDE.md": "# Windows\n", ".gitignore": "data/\n"}, **how
    )


def captured(project: Project, cwd: str = ".", script: str = "main.py") -> Project:
    assert project.bitten("run", "--", sys.executable, script, cwd=cwd).returncode == 1
    return project


def confirmed(project: Project, cwd: str = ".", scope: str = "windows.py:windows test_windows.py") -> Project:
    """Up to a confirmed cause: suspected, checked, and the value typed."""
    assert project.bitten(*SUSPECT).returncode == 0
    name = next(h["id"] for h in project.show()["hypotheses"] if h["source"].startswith("person:"))
    done = project.bitten("check", name)
    assert "✓ supported" in done.stdout, done.stdout + done.stderr
    code, seen = project.typed("confirm", name, answers=(("decided it?", "7"), ("name others)", scope)), cwd=cwd)
    assert code == 0, seen
    return project


def fixed(project: Project, code: str = FIXED, test: str = TEST) -> Project:
    project.write("windows.py", code)
    project.write("test_windows.py", test)
    return project

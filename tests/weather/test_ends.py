"""The command's own end comes through, whatever breaks on our side after it: said on stderr, and nothing more."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.stories import BITTEN, Project
from tests.weather.table import Row, hold

PYTHON = sys.executable
SECTION = "Strange places"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, {"main.py": "print('so far')\nraise SystemExit(7)\n"})


def damaged_index(project):
    (project.root / ".git" / "index").write_bytes(b"no index")
    return {}


def broken_git(project):
    project.write("../bin/git", "#!/bin/sh\nexit 128\n")
    (project.root.parent / "bin" / "git").chmod(0o755)
    return {"PATH": f"{project.root.parent / 'bin'}:{project.env['PATH']}"}


def damaged_journal(project):
    assert project.bitten("run", "--", PYTHON, "main.py").returncode == 7
    (project.case() / "events.jsonl").write_bytes(b"{}\n{}\n")
    return {}


def bad_settings(project):
    project.write(".bitten.toml", "budget = [\n")
    return {}


def file_in_our_place(project):
    project.write(".bitten", "mine\n")
    return {}


def fault_of_ours(project):
    """Simulated: a call that never fails does, in bitten alone, and only after the command."""
    project.write("../patch/sitecustomize.py", """
import os, sys
if "bitten" in sys.orig_argv:
    def fsync(descriptor):
        raise RuntimeError("not even this")
    os.fsync = fsync
""")
    return {"PYTHONPATH": str(project.root.parent / "patch")}


@pytest.mark.parametrize(("what", "trouble", "happens", "said", "mark"), [
    ("git's index is damaged", damaged_index, "the case is kept without its tree", "git's own words", "the tree was not kept"),
    ("a git that always fails", broken_git, "the case is kept without its tree", "that the tree was not kept", "the tree was not kept"),
    ("an old case's journal is damaged", damaged_journal, "that case is named, this run has one of its own", "`journal-damaged`",
     "[journal-damaged]"),
    ("settings that can't be read", bad_settings, "the case is kept, its hypotheses wait for `bitten diagnose`", "`bad-settings`",
     "[bad-settings]"),
    ("a file of the person's is called `.bitten`", file_in_our_place, "it is not touched, the case is kept in the state folder",
     "that it is kept elsewhere, and where", "the case is kept elsewhere"),
    ("a fault of bitten's own after the run (simulated)", fault_of_ours, "a report is written", "`our-fault`", "[our-fault]"),
])
def test_what_breaks_on_our_side_is_said_and_changes_no_end(project, what, trouble, happens, said, mark):
    env = trouble(project)
    done = project.bitten("run", "--", PYTHON, "main.py", **env)
    assert (done.returncode, done.stdout) == (7, "so far\n"), done.stderr
    assert mark in done.stderr and "exit 7" in done.stderr, done.stderr
    if trouble in (damaged_index, fault_of_ours):
        missed = project.bitten("run", "--expect", "score > 1", "--", PYTHON, "-c", "print('score=0')", **env)
        assert (missed.returncode, missed.stdout) == (65, "score=0\n"), missed.stderr
    if trouble is file_in_our_place:
        assert project.read(".bitten") == "mine\n"
    hold(Row(SECTION, what, happens, said, "the command's own"))


@pytest.mark.parametrize("closed", ["0<&-", "0<&- 1>&- 2>&-"])
def test_streams_that_are_closed_beforehand(project, closed):
    words = " ".join(f"'{word}'" for word in (*BITTEN, "run", "--", PYTHON, "-c", "raise SystemExit(7)"))
    done = subprocess.run(["sh", "-c", f"{words} {closed}"], cwd=project.root, env=project.env, capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 7, done.stderr
    assert project.show()["exit"] == 7
    hold(Row(SECTION, "closed stdin, stdout or stderr", "the command runs, the case is kept", "what can be said is", "the command's own"))

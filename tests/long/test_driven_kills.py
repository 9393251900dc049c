"""`bitten fix --with` killed at the moments at which something is about to reach the disk, or just has: the same command goes on."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tests.killing.story import FAULT, KNIFE
from tests.scripted import FIXES, at_work, events
from tests.stories import FIXED, TEST

FIX = ("fix", "--with", "scripted", "--yes")
MOMENTS = [("put.json", range(1, 5)), *(("windows.py", range(first, min(first + 3, 9))) for first in (1, 4, 7)),
           *(("events.jsonl", range(first, 22, 9)) for first in (1, 4, 7))]
"""What is written, and at which of its moments the knife falls. The journal's are every third."""


@pytest.mark.parametrize(("only", "moments"), MOMENTS, ids=str)
def test_a_kill_at_any_write_leaves_a_case_that_goes_on(tmp_path, only, moments):
    place, saved = tmp_path / "place", tmp_path / "saved"
    place.mkdir()
    driven = at_work(place).confirmed()
    project = driven.project
    project.env["PYTHONPATH"] += f":{Path(__file__).parents[2]}"
    driven.plays(*FIXES)
    shutil.copytree(place, saved, symlinks=True)
    for moment in moments:
        for part in ("project", "home", "run"):
            shutil.rmtree(place / part)
            shutil.copytree(saved / part, place / part, symlinks=True)
        had = (project.case() / "events.jsonl").read_bytes()
        code = project.bitten(*FIX, program=KNIFE, KNIFE_AT=str(moment), KNIFE_ONLY=only).returncode
        assert code == -signal.SIGKILL, "there is no such moment"
        assert (project.case() / "events.jsonl").read_bytes().startswith(had), "nothing that was completed is lost"
        goes_on(driven, moment)


def goes_on(driven, moment):
    project = driven.project
    looked = project.bitten()
    assert looked.returncode == 0 and not FAULT.search(looked.stderr), looked.stderr
    was_put, asked = (project.case() / "put.json").exists(), len(driven.heard)
    if project.show()["step"] != "verified":
        done = project.bitten(*FIX)
        assert done.returncode == 0 and "✓ proven" in done.stdout, (moment, done.stdout, done.stderr)
        assert len(driven.heard) - asked == (not was_put), "what was looked at is not asked for again"
    assert project.read("windows.py") == FIXED and project.read("test_windows.py") == TEST
    assert project.git("status", "--porcelain", "-uall").split() == ["M", "windows.py", "??", "test_windows.py"], moment
    assert len(events(project, "Verification")) == 1 and driven.copies == []

"""An agent at work on a case, by the public command line: refused proposal, check, confirmation, fix in the second round, kill."""

from __future__ import annotations

import os
import signal

import pytest

from tests.scripted import CONFIRMING, FIXES, GREEN, PROPOSES, RIGHT, WRONG, Driven, at_work, events, proposed, wait_for
from tests.stories import FIXED, MAIN, TEST, captured


@pytest.fixture
def driven(tmp_path):
    return at_work(tmp_path)


def test_an_agent_is_not_asked_before_it_is_said_what_was_expected(tmp_path):
    driven = Driven(tmp_path)
    captured(driven.project)
    done = driven.diagnose(PROPOSES)
    assert done.returncode == 3 and driven.project.slug(done) == "expectation-empty" and driven.heard == []


def test_from_a_refused_proposal_to_a_fix_in_the_second_round(driven):
    project = driven.project
    before = project.photograph()
    done = driven.diagnose({"says": "I read \x1b[2Jwindows.py.\n"},
                           {"proposes": {"hypotheses": [{**RIGHT, "refutes_if": "rows < 8"}, WRONG]}},
                           {"writes": ["windows.py", FIXED]}, {"runs": "rm -rf ."}, PROPOSES)
    assert done.returncode == 0, done.stderr
    assert "same prediction" in driven.told[0] and driven.told[-1].startswith("Accepted:")
    assert "✓ supported  the last window is one row short" in done.stdout
    assert {h["claim"]: h["verdict"] for h in project.show()["hypotheses"]}[WRONG["claim"]] == "refutes"
    assert "│ I read windows.py." in done.stderr and "\x1b" not in done.stderr
    assert "refused on the way: write windows.py, run rm -rf ." in done.stderr
    assert "scripted: 5 of 30 turns" in done.stderr and "of $2.00" in done.stderr
    assert project.photograph() == before and driven.copies == []
    name = next(h["id"] for h in project.show()["hypotheses"] if h["claim"] == RIGHT["claim"])
    code, seen = project.typed("confirm", name, answers=CONFIRMING)
    assert code == 0, seen

    driven.plays(FIXES[1], {"writes": ["test_windows.py", GREEN]}, {"ends": "done"}, *FIXES)
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 0 and "✓ proven" in done.stdout, done.stdout + done.stderr
    assert [each["slug"] for each in events(project, "Withdrawal")] == ["test-green-on-base"]
    assert "was taken back" in done.stderr and "round 2 of 2" in done.stderr
    assert "passes without the fix" in driven.heard[1]["prompt"], "the fresh session is told what was learnt"
    assert "stop = min(start + size, len(rows))" in done.stdout, "the diff was shown"
    assert project.read("windows.py") == FIXED and project.read("test_windows.py") == TEST
    assert not (project.case() / "put.json").exists() and driven.copies == []
    assert {path.name for path in (project.case() / "agent").iterdir()} == {"1-diagnose", "2-fix", "3-patch", "4-fix", "5-patch"}
    assert set({each["session"]: each["alive"] for each in events(project, "Guard")}.values()) == {True}


def test_what_lies_outside_the_scope_never_reaches_the_tree(driven):
    project = driven.confirmed().project
    driven.plays({"writes": ["main.py", "print('rows=8')\n"]}, {"writes": [".claude/settings.json", "{}"]}, {"deletes": "count_rows.py"},
                 {"writes": ["test_other.py", TEST]}, *FIXES, gate=False)
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 0, done.stderr
    assert "left out: .claude/settings.json (new), count_rows.py (removed), main.py (changed), test_other.py (new)" in done.stderr
    assert project.read("main.py") == MAIN and project.git("status", "--porcelain").split() == ["M", "windows.py", "??", "test_windows.py"]
    assert [each["alive"] for each in events(project, "Guard")][-1] is False, "nobody saw its calls"


def test_interrupted_the_case_stands_and_nothing_is_left_running(driven):
    driven.plays(PROPOSES, {"sleeps": 60})
    process = driven.project.started("diagnose", "--with", "scripted")
    wait_for(lambda: proposed(driven.project))
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130 and driven.copies == []
    assert driven.project.show()["step"] in ("suspected", "tested") and events(driven.project, "Guard")[-1]["alive"] is False


def test_killed_while_its_fix_is_proven_it_goes_on_with_the_proof(driven):
    project = driven.confirmed().project
    driven.plays(*FIXES)
    process = project.started("fix", "--with", "scripted", "--yes")
    wait_for(lambda: events(project, "Fix") or process.poll() is not None)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert project.read("windows.py") == FIXED
    driven.plays({"ends": "never asked"})
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 0 and "✓ proven" in done.stdout, done.stdout + done.stderr
    assert driven.heard == [], "no second session was needed"

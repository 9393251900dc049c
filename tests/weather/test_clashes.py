"""Two terminals on one case, and cases that somebody's hand, or another bitten, has changed: named, and in nobody's way."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from tests.stories import BITTEN, SUSPECT, captured, windows_project
from tests.weather.table import Row, hold

SECTION = "Kills and clashes"
RUN = ("run", "--", sys.executable, "main.py")


@pytest.fixture
def project(tmp_path):
    return captured(windows_project(tmp_path))


def together(project, *commands):
    """Each in a terminal of its own, at once. Returns code and stderr of each."""
    started = [subprocess.Popen([*BITTEN, *words], cwd=project.root, env=project.env, stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for words in commands]
    ended = [(each.communicate(timeout=120)[1], each.returncode) for each in started]
    assert not any("our-fault" in said or "bitten/interfaces" in said for said, _ in ended), ended
    return [(code, said) for said, code in ended]


def kinds(project, case="1-*"):
    (file,) = (project.root / ".bitten").glob(f"{case}/events.jsonl")
    return [json.loads(line)["kind"] for line in file.read_text("utf-8").splitlines()]


def test_two_checks_at_once_lose_no_evidence(project):
    project.bitten(*SUSPECT)
    ended = together(project, ("check", "h3"), ("check", "h3"))
    assert [code for code, _ in ended] == [0, 0]
    assert kinds(project).count("Evidence") == 2 and kinds(project).count("Visit") == 4
    assert "What you wrote elsewhere" not in (project.case() / "debug.md").read_text("utf-8")
    assert project.bitten("check", "h3").returncode == 0
    hold(Row(SECTION, "two checks of one case at once", "both are done, both are kept", "", 0))


def test_two_commands_that_answer_the_same_question_take_turns(project):
    ended = together(project, *[SUSPECT] * 4)
    fine = [said for code, said in ended if code == 0]
    refused = [said for code, said in ended if code == 3]
    assert len(fine) + len(refused) == 4 and fine
    assert all("[hypothesis-id-taken]" in said for said in refused)
    assert kinds(project).count("Hypothesis") == 2 + len(fine)
    assert project.bitten().returncode == 0


def test_two_runs_of_a_new_failure_at_once(tmp_path):
    project = windows_project(tmp_path)
    ended = together(project, RUN, RUN, RUN)
    assert [code for code, _ in ended] == [1, 1, 1]
    cases = json.loads(project.bitten("cases", "--json").stdout)
    kept = [kind for case in cases for kind in kinds(project, f"{case['case']}-*")]
    assert kept.count("Failure") + kept.count("Recurrence") == 3 and kept.count("Failure") == len(cases)
    assert project.bitten(*RUN).returncode == 1 and "seen" in project.bitten().stdout
    hold(Row(SECTION, "the same failing command runs in several terminals at once",
             "each failure is kept: as a case of its own, or as one more of an open case", "", "the command's"))


def test_a_case_that_is_dropped_while_it_is_checked(project):
    project.write("slow.py", "import time\ntime.sleep(1)\nprint('bitten-fact rows=7')\n")
    project.bitten("suspect", "slow", "--check", f"{sys.executable} slow.py", "--supports-if", "rows < 8", "--refutes-if", "rows == 8")
    (checked, said), (dropped, _) = together(project, ("check", "h3"), ("drop", "enough"))
    assert (dropped, checked) == (0, 3) and "[case-is-closed]" in said
    assert project.show()["open"] is False
    hold(Row(SECTION, "a case is dropped while another terminal checks it", "the drop stands; the check's evidence has nowhere to go, and "
             "that is said", "`case-is-closed`", 3))


@pytest.fixture
def two(project):
    """Two cases; the second is the current one."""
    project.write("other.py", "raise KeyError('other')\n")
    project.bitten("run", "--", sys.executable, "other.py")
    return project


def delete(victim):
    shutil.rmtree(victim) if victim.is_dir() else victim.unlink()


def test_what_can_be_drawn_again_may_be_deleted(two):
    for gone in ("debug.md", "capture", "evidence", "run.sh"):
        delete(two.case() / gone)
        done = two.bitten("expect", "no", gone)
        assert (done.returncode, done.stderr) == (0, "") and (two.case() / "debug.md").exists()
        hold(Row(SECTION, f"`{gone}` of a case is deleted", "the next command goes on without it; debug.md is drawn again", "", 0))
    assert two.bitten("check", "h1").returncode == 0


@pytest.mark.parametrize(("gone", "slug"), [("events.jsonl", "journal-empty"), ("", "case-gone")])
def test_a_case_that_is_gone_is_named_and_stops_no_other(two, gone, slug):
    delete(two.case() / gone)
    for words in ((), ("check", "h1")):
        looked = two.bitten(*words)
        assert (looked.returncode, two.slug(looked)) == (4, slug), looked.stderr
    assert two.bitten("cases").stdout.startswith("1 ")
    assert two.bitten(*RUN).returncode == 1, "the other case is joined"
    assert "seen 2 times" in two.bitten().stdout
    what = f"`{gone}` of a case is deleted" if gone else "the current case's folder is deleted"
    hold(Row(SECTION, what, "the case is named; other cases go on", f"`{slug}`", 4))


def edited(project, change):
    file = project.case() / "events.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(change(lines)))
    return file


@pytest.mark.parametrize(("what", "change", "slug", "line"), [
    ("a line of a journal is edited by hand", lambda lines: [lines[0].replace(b"unequal", b"equal"), *lines[1:]], "journal-damaged", 1),
    ("a line of a journal is taken out", lambda lines: [lines[0], *lines[2:]], "journal-damaged", 1),
    ("a journal of a newer bitten", lambda lines: [*lines[:-1], lines[-1].replace(b'"v":1', b'"v":2')], "journal-newer", 0),
    ("a journal of version 0", lambda lines: [*lines[:-1], lines[-1].replace(b'"v":1', b'"v":0')], "journal-older", 0),
])
def test_a_journal_that_another_hand_wrote_is_named_at_its_line_and_stops_no_other_case(project, what, change, slug, line):
    file = edited(project, change)
    for words in ((), ("expect", "more")):
        done = project.bitten(*words)
        assert (done.returncode, project.slug(done)) == (4, slug), done.stderr
    assert f"events.jsonl:{line or len(file.read_bytes().splitlines())} " in done.stderr
    listed = project.bitten("cases")
    assert slug in listed.stderr and listed.returncode == 0
    project.write("other.py", "raise KeyError('other')\n")
    again = project.bitten("run", "--", sys.executable, "other.py")
    assert again.returncode == 1 and "case 2 ·" in again.stderr
    assert project.bitten().returncode == 0
    happens = {"journal-damaged": "the file and the line are named", "journal-newer": "the line is named, the case waits for that bitten",
               "journal-older": "refused, not guessed at: no bitten has written such a line"}[slug]
    hold(Row(SECTION, what, f"{happens}; other cases go on", f"`{slug}`", 4))


def test_a_journal_cut_within_its_last_line(project):
    for words in (("expect", "more"), ("cases",), ("show",)):
        edited(project, lambda lines: [*lines[:-1], lines[-1][:30]])
        done = project.bitten(*words)
        assert done.returncode == 0 and "journal-torn: a half-written last line" in done.stderr, done.stderr
    hold(Row(SECTION, "a journal is cut within its last line", "all lines before it stand; the torn one is moved to `events.torn-N`",
             "`journal-torn`", 0))

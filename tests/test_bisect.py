"""`bitten bisect` in real repositories: the first bad commit is found, by skips, merges and noise; nothing of the person's is touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.stories import BITTEN, Project

MAIN = """import sys
from rate import RATE
from count import COUNT
if RATE > 0.5:
    print("val_acc=%.2f" % (0.9 if RATE < 1 else 0.7))
    if RATE >= 1:
        raise ValueError("diverged at step %d" % COUNT)
else:
    import nothing_of_that_name
"""
CMD = ("--", sys.executable, "main.py")


def history(tmp_path: Path, rates: list[float], main: str = MAIN) -> Project:
    """A commit for each rate, tagged c0, c1 …"""
    project = Project(tmp_path, {"main.py": main, "rate.py": "", "count.py": ""})
    for number, rate in enumerate(rates):
        project.write("rate.py", f"RATE = {rate}\n")
        project.write("count.py", f"COUNT = {number}\n")
        project.commit(f"Change number {number}\n\nWhy it was changed.")
        project.git("tag", f"c{number}")
    return project


def found(project: Project, *words: str, code: int = 0) -> dict:
    done = project.bitten("bisect", "--json", *words)
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def state(project: Project) -> tuple[str, ...]:
    index, status = (project.root / ".git" / "index").read_bytes(), project.git("--no-optional-locks", "status", "--porcelain")
    return (status, project.git("for-each-ref"), project.git("rev-parse", "HEAD"), str(hash(index)),
            project.git("stash", "list"))


def subjects(told: dict) -> list[str]:
    return [each.get("subject", each["commit"]) for each in told["first_bad"]]


def test_the_first_bad_commit_is_found_among_many_and_nothing_of_the_persons_is_touched(tmp_path):
    project = history(tmp_path, [0.6] * 23 + [1.5] * 12)
    project.write("untracked.txt", "mine")
    project.write("rate.py", "RATE = 1.6\n")
    before = state(project)
    done = project.bitten("bisect", "--good", "c0", *CMD)
    assert done.returncode == 0, done.stdout + done.stderr
    assert state(project) == before and project.read("rate.py") == "RATE = 1.6\n" and project.read("untracked.txt") == "mine"
    assert "first bad commit: " in done.stdout and "Change number 23" in done.stdout and "Why it was changed." in done.stdout
    assert "    rate.py" in done.stdout.splitlines() and "not noisy: 2 runs of each end gave the same" in done.stdout
    assert "the bad end is the work tree as it stands" in done.stderr and "35 commits, about 6 to try" in done.stderr
    assert done.stdout.count("✓ good") + done.stdout.count("✗ bad") <= 2 + 6


def test_a_commit_that_fails_for_another_reason_is_skipped_and_not_called_bad(tmp_path):
    project = history(tmp_path, [0.6] * 3 + [0.1] + [0.6] * 2 + [1.5] * 5)
    told = found(project, "--good", "c0", "--repeat", "1", *CMD)
    assert subjects(told) == ["Change number 6"]


@pytest.mark.parametrize(("words", "slug"), [
    (["--good", "c0", "--bad", "c1"], "bisect-bad-is-good"), (["--good", "c2"], "bisect-good-is-bad"),
    (["--good", "c3", "--bad", "c3"], "bisect-nothing-between"), (["--good", "nowhere"], "no-such-tree"),
    (["--good", "c0", "--expect", "loss < 1"], "bisect-end-does-not-run"), (["--good", "side"], "bisect-good-is-no-ancestor"),
])  # fmt: skip
def test_ends_that_can_not_be_searched_between_are_refused(tmp_path, words, slug):
    project = history(tmp_path, [0.6, 0.6, 1.5, 1.5])
    project.git("branch", "side", project.git("commit-tree", "-p", "c0", "-m", "aside", "c0^{tree}").strip())
    done = project.bitten("bisect", "--repeat", "1", *words, *CMD)
    assert project.slug(done) == slug, done.stderr


def test_without_a_history_there_is_nothing_to_search(tmp_path):
    project = Project(tmp_path, {"main.py": ""}, git=False)
    assert project.slug(project.bitten("bisect", "--good", "x", *CMD)) == "not-a-repository"
    assert project.slug(project.bitten("bisect", "--good", "x")) == "bisect-without-command"


def test_an_interrupted_search_says_what_is_known_and_leaves_nothing_behind(tmp_path):
    wait = "\nimport os, time\nif 0 < COUNT < 9 and 'MARK' in os.environ:\n    open(os.environ['MARK'], 'w').close()\n    time.sleep(300)\n"
    project = history(tmp_path, [0.6] * 9 + [1.5] * 3, MAIN + wait)
    before, mark = state(project), tmp_path / "seen" / "mark"
    mark.parent.mkdir()
    words = ("bisect", "--good", "c0", "--repeat", "1", "--allow-write", str(mark.parent), *CMD)
    running = subprocess.Popen([*BITTEN, *words], cwd=project.root, env={**project.env, "MARK": str(mark)}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, text=True)
    assert any(mark.exists() or time.sleep(0.05) for _ in range(600))
    running.send_signal(signal.SIGINT)
    told, _ = running.communicate(timeout=20)
    assert running.returncode == 130 and "so far: the first bad commit is one of 11, at or before" in told
    again = project.bitten("bisect", "--good", "c0", "--repeat", "1", "--allow-write", str(mark.parent), *CMD)
    assert "going on from 2 commits that were tried before" in again.stderr and "the good end" not in again.stderr
    assert "Change number 9" in again.stdout and not (project.root / ".bitten" / "bisect.json").exists()
    assert not [each for each in psutil.process_iter(["cwd", "cmdline"]) if str(project.root) == each.info["cwd"]]
    assert not list(Path(f"/var/tmp/bitten-{os.getuid()}").glob(f"{running.pid}-*")) and state(project) == before

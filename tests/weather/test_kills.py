"""Kills: of bitten, of the command, of both; whoever comes next is told what was found, and goes on."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.killing.story import KNIFE, LESSON, Story
from tests.stories import Project, captured, confirmed, fixed, windows_project
from tests.weather.table import Row, hold

SECTION = "Kills and clashes"
HERE = str(Path(__file__).parents[2])
SLOW = '''import os, sys, time
open("began", "w").close()
print("epoch 1", flush=True)
while not os.path.exists("go"):
    time.sleep(0.02)
if "fail" in open("go").read():
    raise ValueError("rows are lost")
'''


def wait_for(what) -> bool:
    return any(what() or time.sleep(0.05) for _ in range(400))


def at_work(project):
    """`bitten run` on a command that waits to be told how to end."""
    running = project.started("run", "--", sys.executable, "slow.py")
    assert wait_for((project.root / "began").exists)
    return running


@pytest.fixture
def slow(tmp_path):
    return Project(tmp_path, {"slow.py": SLOW, ".gitignore": "began\ngo\n"})


def pid_of(project):
    for each in psutil.process_iter(["cmdline", "cwd"]):
        if each.info["cwd"] == str(project.root) and each.info["cmdline"][1:] == ["slow.py"]:
            return each.pid
    return None


def test_a_command_outlives_its_bitten_and_becomes_a_case_when_it_fails(slow):
    running = at_work(slow)
    running.kill()
    running.wait()
    assert pid_of(slow), "the person's command is not ours to end"
    looked = slow.bitten()
    assert "goes on, though the bitten that watched it was killed" in looked.stderr and looked.returncode == 0
    slow.write("go", "fail")
    assert wait_for(lambda: pid_of(slow) is None)
    done = slow.bitten()
    assert "had failed when bitten was killed: kept in case 1." in done.stderr
    assert "ValueError: rows are lost" in done.stdout and "an end that nobody saw" in done.stdout
    assert (slow.case() / "capture" / "output").read_text("utf-8") == "epoch 1\n"
    assert "nobody saw how it ended" in (slow.case() / "debug.md").read_text("utf-8")
    again = slow.bitten("cases")
    assert again.stderr == "" and again.stdout.count("\n") == 1
    hold(Row(SECTION, "bitten is killed while the command runs", "the command goes on; its own output breaks off as through a closed pipe; "
             "if its Python fails, the next command opens the case", "`… goes on, though the bitten that watched it was killed`, then "
             "`… kept in case 1`", 0))


def test_a_run_killed_whole_is_told_and_its_output_kept(slow):
    running = at_work(slow)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    looked = slow.bitten()
    assert "was under way when bitten was killed, and nothing tells that it failed" in looked.stderr and looked.returncode == 0
    assert slow.bitten().stderr == "", "it is said once"
    hold(Row(SECTION, "bitten and the command are killed together", "no case, as nothing tells that the command failed; what it had "
             "printed is kept where `.bitten` is there already",
             "`… was under way when bitten was killed, and nothing tells that it failed`", 0))


def test_what_a_killed_run_had_printed_is_kept_beside_the_cases(slow):
    slow.write("main.py", "raise SystemExit(3)")
    slow.bitten("run", "--", sys.executable, "main.py")
    running = at_work(slow)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    looked = slow.bitten()
    kept = re.search(r"What it had printed: (\S+)", looked.stderr)
    assert kept and Path(kept[1]).read_text("utf-8") == "epoch 1\n"


def test_a_killed_check_leaves_no_process_and_no_room(tmp_path):
    project = captured(windows_project(tmp_path))
    project.write("slow.py", "import os, time\nopen(os.environ['MARK'], 'w').close()\ntime.sleep(300)\n")
    project.bitten("suspect", "slow", "--check", f"{sys.executable} slow.py", "--supports-if", "rows < 8", "--refutes-if", "rows == 8")
    mark = tmp_path / "seen" / "mark"
    mark.parent.mkdir()
    running = project.started("check", "h3", "--allow-write", str(mark.parent), MARK=str(mark))
    assert wait_for(mark.exists)
    mine = psutil.Process(running.pid).children(recursive=True)
    assert any("slow.py" in each.cmdline() for each in mine)
    running.kill()
    running.wait()
    _, alive = psutil.wait_procs(mine, 10)
    assert not alive, "no run in a copy outlives its bitten"
    looked = project.bitten("show", "h3")
    assert looked.returncode == 0 and "untested" in looked.stdout
    assert not list((tmp_path / "run").glob("bitten-*/*")), "what it held in memory is gone"
    hold(Row(SECTION, "bitten is killed during a check", "the run in the copy ends with it; the next command removes the copy", "", 0))


def test_a_close_killed_after_its_commit_is_finished_and_commits_once(tmp_path):
    project = fixed(confirmed(captured(windows_project(tmp_path))))
    assert project.bitten("verify").returncode == 0
    project.bitten("learn", "--text", LESSON)
    log = tmp_path / "moments"
    env = {"KNIFE_ONLY": "events.jsonl", "KNIFE_LOG": str(log), "KNIFE_AT": "1", "PYTHONPATH": HERE}
    assert project.bitten("close", program=KNIFE, **env).returncode == -signal.SIGKILL
    made = project.git("rev-parse", "HEAD")
    done = project.bitten("close")
    assert done.returncode == 0 and f"commit {made[:12]}" in done.stdout, done.stdout + done.stderr
    assert project.git("rev-parse", "HEAD") == made and project.git("status", "--porcelain") == ""
    hold(Row(SECTION, "bitten is killed between the commit and its own note of it", "`bitten close` finds the commit and finishes, without "
             "another", "✓ closed", 0))


def test_a_half_written_case_goes_out_of_the_way(tmp_path):
    story = Story(tmp_path / "place", tmp_path)
    assert story.tell("run", at=2, only="events.jsonl") == -signal.SIGKILL
    said = story.look()
    assert "has no first event: moved to" in said and "kept in case 1." in said
    hold(Row(SECTION, "bitten is killed while it writes a case's first line", "the half-written folder is set aside, the case is opened "
             "from what was kept in memory", "`… was begun by a command that was killed, and has no first event: moved to …`", 0))


def test_a_clock_that_was_set_back_counts_no_time_and_loses_nothing(tmp_path):
    project = captured(windows_project(tmp_path))
    env = {"KNIFE_BACK": "86400", "PYTHONPATH": HERE}
    for words in (("expect", "eight rows"), ("check", "h1"), ("show",)):
        done = project.bitten(*words, program=KNIFE, **env)
        assert done.returncode == 0 and done.stderr.count("\n") <= 1, done.stderr
    assert project.bitten().returncode == 0 and "the hour" not in project.bitten().stdout
    hold(Row(SECTION, "the clock is set back by a day", "events keep the order they were written in; a negative gap counts as none", "", 0))

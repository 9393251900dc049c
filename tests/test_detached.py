"""A run apart from any terminal, from the command line: it goes on, `bitten wait` tells how it ended, and a lost one is no success."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pytest

from tests.killing.story import KNIFE
from tests.stories import BITTEN, Project

SLOW = '''import os, signal, subprocess, sys, time
print("step 1/9 token=ghp_" + "x" * 36, flush=True)
if sys.argv[1:]:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
open("began", "w").close()
while not os.path.exists("go"):
    time.sleep(0.02)
exec(open("go").read())
'''
HERE = str(Path(__file__).parents[1])


@pytest.fixture
def slow(tmp_path):
    project = Project(tmp_path, {"slow.py": SLOW, ".gitignore": "began\ngo\n"})
    yield project
    end_all(project)


def wait_for(what):
    assert any(what() or time.sleep(0.05) for _ in range(1200))


def alive(project):
    """Every process that works in the project: its number."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile, or is a zombie
            if str((each / "cwd").readlink()) == str(project.root):
                found.append(int(each.name))
    return found


def end_all(project):
    for pid in alive(project):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def detach(project, *words, **env):
    done = project.bitten("run", "--detach", *words, "--", sys.executable, "slow.py", **env)
    assert done.returncode == 0, done.stderr
    wait_for((project.root / "began").exists)
    return done.stdout


def go(project, code="pass"):
    """Let it end, in whatever way."""
    project.write("new", code)
    (project.root / "new").replace(project.root / "go")


def record(project, run="r1"):
    return json.loads(next(project.home.glob(f"state/bitten/runs/*/{run}/record.json")).read_text("utf-8"))


def test_it_is_left_at_once_and_waiting_tells_how_it_ended_and_which_case_that_opened(slow):
    told = detach(slow)
    assert told.startswith("r1 runs apart") and "bitten wait r1" in told
    log = Path(re.search(r"log:  (\S+)", told)[1])
    assert "step 1/9" in log.read_text("utf-8") and log.stat().st_mode & 0o077 == 0
    assert "r1 runs" in slow.bitten().stdout
    still = slow.bitten("wait", "--timeout", "0")
    assert still.returncode == 75 and "r1 runs" in still.stdout and "step 1/9" in still.stdout
    assert "ghp_x" not in still.stdout
    go(slow, "raise ValueError('rows are lost')")
    ended = slow.bitten("wait", "r1")
    assert ended.returncode == 1
    assert "r1 failed, exit 1" in ended.stdout and "ValueError: rows are lost" in ended.stdout and "case 1" in ended.stdout
    assert record(slow)["case"] == 1
    assert "ghp_x" not in (slow.case() / "capture" / "output").read_text("utf-8")
    assert "r1" not in slow.bitten().stdout


@pytest.mark.parametrize(("words", "end", "code", "said"), [
    ((), "pass", 0, "ended well"), ((), "sys.exit(7)", 7, "failed, exit 7"),
    ((), "os.kill(os.getpid(), signal.SIGKILL)", 137, "signal 9"),
    (("--expect", "acc > 1"), "print('acc=0.5')", 65, "missed an expectation"),
])  # fmt: skip
def test_wait_exits_as_the_command_did(slow, words, end, code, said):
    detach(slow, *words)
    go(slow, end)
    first = slow.bitten("wait", "--json")
    assert first.returncode == code and json.loads(first.stdout)["standing"] == "ended"
    again = slow.bitten("wait")
    assert again.returncode == code and said in again.stdout


def test_one_whose_bitten_was_killed_is_never_taken_for_a_success(slow):
    detach(slow)
    os.kill(record(slow)["watcher"], signal.SIGKILL)
    lost = slow.bitten("wait")
    assert lost.returncode == 74 and "r1 ended without a record" in lost.stdout
    assert alive(slow) == [record(slow)["pid"]], "the person's command is not ours to end"
    assert slow.bitten("wait", "--stop").returncode == 74 and alive(slow) == []


def test_one_whose_machine_went_down_is_never_taken_for_a_success(slow):
    detach(slow)
    end_all(slow)
    wait_for(lambda: not alive(slow))
    shutil.rmtree(Path(slow.env["XDG_RUNTIME_DIR"]) / f"bitten-{os.getuid()}")
    assert "r1 ended without a record" in slow.bitten().stdout
    lost = slow.bitten("wait", "--json")
    assert lost.returncode == 74 and json.loads(lost.stdout)["standing"] == "lost"
    assert slow.bitten("wait", "--stop").returncode == 74


BREAKS = """
from bitten.interfaces import cli
from bitten.interfaces.commands import capture

def broken(*_):
    raise OSError(28, "No space left on device")

capture._after = broken
cli.main()
"""


@pytest.mark.parametrize(("end", "code"), [("pass", 74), ("sys.exit(7)", 7)])
def test_one_that_nobody_could_look_at_is_never_taken_for_a_success(slow, end, code):
    go(slow, end)
    detach(slow, "--expect", "acc > 1", program=[sys.executable, "-c", BREAKS])
    assert slow.bitten("wait", "--timeout", "60").returncode == code


def test_what_it_printed_moves_no_cursor_of_who_waits(slow):
    go(slow, r"print('\x1b]0;a title\x07\x1b[2Jit is done\x08', flush=True)")
    detach(slow)
    last = next(line for line in slow.bitten("wait").stdout.splitlines() if "last line" in line)
    assert "it is done" in last and not {"\x1b", "\x07", "\x08"} & set(last)


def test_several_may_wait_at_once(slow):
    detach(slow)
    waits = [subprocess.Popen([*BITTEN, "wait"], cwd=slow.root, env=slow.env, stdout=subprocess.DEVNULL) for _ in range(2)]
    go(slow, "sys.exit(5)")
    assert [each.wait(60) for each in waits] == [5, 5]


def test_stopping_ends_all_that_the_command_began_and_opens_no_case(slow):
    done = slow.bitten("run", "--detach", "--", sys.executable, "slow.py", "with a child")
    wait_for((slow.root / "began").exists)
    assert len(alive(slow)) == 3, done.stdout
    stopped = slow.bitten("wait", "--stop")
    assert stopped.returncode == 0 and "r1 was stopped" in stopped.stdout
    wait_for(lambda: not alive(slow))
    assert slow.bitten("wait").returncode == 143
    assert not list(slow.root.glob(".bitten/1-*"))


def test_what_can_not_begin_is_said_at_once_as_without_detaching(slow):
    for words, code, slug in ((("nosuch",), 127, "command-not-found"), (("./slow.py",), 126, "command-not-executable")):
        done = slow.bitten("run", "--detach", "--", *words)
        assert done.returncode == code and slow.slug(done) == slug
    done = slow.bitten("run", "--detach", "--expect", "no such form", "--", "true")
    assert done.returncode == 2, done.stderr
    assert slow.slug(slow.bitten("wait")) == "no-detached-run"


def test_it_asks_for_a_run_that_is_there(slow):
    detach(slow)
    done = slow.bitten("wait", "r9")
    assert done.returncode == 2 and slow.slug(done) == "no-such-run" and "bitten wait r1" in done.stderr


def test_a_wait_at_a_terminal_shows_how_far_it_is_and_interrupting_it_ends_no_run(slow):
    detach(slow)
    screen = at_terminal(slow, "wait")
    screen.expect(r"r1 · [\d.]+ s · step 1/9")
    screen.sendintr()
    screen.expect(pexpect.EOF)
    screen.close()
    assert screen.exitstatus == 130 and alive(slow)
    screen = at_terminal(slow, "wait")
    go(slow, "print('the end')")
    screen.expect(pexpect.EOF)
    screen.close()
    assert screen.exitstatus == 0 and "the end" in screen.before and "ghp_x" not in screen.before


def at_terminal(project, *words):
    return pexpect.spawn(BITTEN[0], [*BITTEN[1:], *words], cwd=str(project.root), env=project.env, encoding="utf-8", timeout=60,
                         dimensions=(24, 100))


MOMENTS = 16
"""Of the record's four writes: each before and after its bytes are on disk, and before and after it takes its place."""


def killed_at(place, at):
    """What `wait` makes of a run that would have ended well, whose bitten was killed at that moment."""
    project = Project(place, {"well.py": "print('well')\n"})
    project.bitten("run", "--detach", "--", sys.executable, "well.py", program=KNIFE, PYTHONPATH=HERE, KNIFE_AT=str(at),
                   KNIFE_ONLY="record.json")
    return project.bitten("wait", "--timeout", "60").returncode


@pytest.mark.parametrize(("at", "code"), [(2, 2), (MOMENTS - 1, 74), (MOMENTS, 0)])
def test_a_kill_at_a_write_of_the_record_makes_no_success_of_it(tmp_path, at, code):
    """Before the first write there is no run; once the last has taken its place, all that follows from the end is on disk."""
    assert killed_at(tmp_path, at) == code

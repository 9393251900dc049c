"""A command that does not end by itself, from the command line: hung, spinning, slow, or ended by others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

from tests.adapters.test_picture import LOCKS
from tests.stories import Project

SPIN = """
import signal, threading
signal.alarm(100)
done = threading.Event()

def wait_for_it():
    while not done.is_set():
        pass

print("waiting", flush=True)
wait_for_it()
"""
SLOW = """
import time

def work(until):
    steps = 0
    while time.monotonic() < until:
        steps += 1
        sum(range(200000))
        time.sleep(0.02)
    return steps

def speak(until):
    while time.monotonic() < until:
        print("still here", flush=True)
        time.sleep(0.5)

began = time.monotonic()
work(began + 6)
speak(began + 10)
"""
BARE = """
import time
until = time.monotonic() + 6
while time.monotonic() < until:
    pass
"""


def project(tmp_path, text):
    return Project(tmp_path, {"prog.py": text, ".gitignore": ""})


def ran(place, *options, **env):
    return place.bitten("run", *options, "--", sys.executable, "prog.py", **env)


def test_a_deadlock_is_ended_and_its_case_shows_where_each_thread_stands(tmp_path):
    place = project(tmp_path, LOCKS)
    done = ran(place, "--hang-after", "2s")
    assert done.returncode == 124
    assert "✗ hung: prog.py is in first (prog.py:8), in lock acquire; prog.py, thread B is in second (prog.py:14)" in done.stderr
    document = (place.case() / "debug.md").read_text("utf-8")
    assert "## Where each process stands" in document and "waits: lock acquire" in document
    assert "It hung: nothing was printed and no CPU used for" in document
    kept = json.loads(place.bitten("picture", "1", "--json").stdout)
    assert kept["odd"].startswith("prog.py is in first") and kept["processes"][0]["stack"][-1]["line"] == 8
    assert ran(place, "--hang-after", "2").returncode == 124
    assert "seen 2 times" in place.bitten().stdout


def test_a_loop_that_changes_nothing_is_a_hang_and_what_it_printed_is_kept(tmp_path):
    place = project(tmp_path, SPIN)
    done = ran(place, "--hang-after", "3")
    assert (done.returncode, done.stdout) == (124, "waiting\n")
    assert "stacks and variables only repeat themselves" in done.stderr
    assert "wait_for_it (prog.py:" in done.stderr


def test_a_program_that_works_or_prints_is_slow_but_alive(tmp_path):
    done = ran(project(tmp_path, SLOW), "--hang-after", "3")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_loop_in_the_module_itself_whose_variables_nobody_sees_is_left_alone(tmp_path):
    done = ran(project(tmp_path, BARE), "--hang-after", "2")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_duration_that_is_none_is_refused_before_anything_runs(tmp_path):
    place = project(tmp_path, "open('ran', 'w')\n")
    assert place.slug(ran(place, "--hang-after", "soon")) == "bad-duration"
    assert not (place.root / "ran").exists()


def test_a_setting_of_the_project_does_what_the_option_does(tmp_path):
    place = project(tmp_path, LOCKS)
    place.write(".bitten.toml", 'hang-after = "2s"\n')
    assert ran(place).returncode == 124


def test_the_running_command_of_a_project_is_found_from_another_terminal_and_goes_on(tmp_path):
    place = project(tmp_path, LOCKS)
    assert place.slug(place.bitten("picture")) == "nothing-runs"
    command = place.started("run", "--", sys.executable, "prog.py")
    try:
        deadline, seen = time.monotonic() + 60, ""
        while "thread B is in second" not in seen and time.monotonic() < deadline:
            seen = place.bitten("picture").stdout
        assert "prog.py is in first (prog.py:8), in lock acquire" in seen
        assert command.poll() is None
    finally:
        os.killpg(command.pid, signal.SIGINT)
        time.sleep(0.2)
        os.killpg(command.pid, signal.SIGKILL)
        command.wait()


def test_a_picture_of_what_is_not_there_says_so(tmp_path):
    place = project(tmp_path, "")
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert place.slug(place.bitten("picture", str(gone.pid))) == "no-such-process"
    assert ran(project_with_a_crash(place)).returncode == 1
    assert place.slug(place.bitten("picture", "1")) == "no-picture"


def project_with_a_crash(place):
    place.write("prog.py", "raise ValueError('x')\n")
    return place


def test_who_was_asked_to_end_by_a_supervisor_is_told_apart_from_a_crash(tmp_path):
    place = project(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    done = ran(place)
    assert done.returncode == -signal.SIGTERM
    assert "SIGTERM ended it: it was asked to end" in done.stderr
    assert "SIGTERM ended it" in (place.case() / "debug.md").read_text("utf-8")


def test_timeout_is_named_with_its_time(tmp_path):
    place = project(tmp_path, "import time\ntime.sleep(60)\n")
    done = place.bitten("run", "--", "timeout", "1", sys.executable, "prog.py")
    assert done.returncode == 124
    assert "timeout(1) ended it: its 1 s were over." in done.stderr

"""A command's tree of processes, watched while real ones run."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from bitten.adapters.watching.watch import Seen, Watch

PYTHON = sys.executable


def watched(argv, until, **how):
    """Run a command, watched, until something was seen of it."""
    command = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, **how)
    watch = Watch()
    watch.start(command.pid)
    try:
        deadline = time.monotonic() + 30
        while not until(watch) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert until(watch), watch.processes
    finally:
        command.communicate(b"\n")
        watch.stop()
    return watch


def named(watch: Watch, word: str) -> Seen | None:
    return next((seen for seen in watch.processes if word in " ".join(seen.argv)), None)


def test_every_process_of_the_tree_is_introduced_by_the_program_that_it_became():
    inner = f"{PYTHON} -c 'input(); word = 7'"
    watch = watched(["sh", "-c", f"{inner}; true"], lambda watch: named(watch, "word = 7") and len(watch.processes) == 2)
    shell, python = watch.processes
    assert (python.ppid, python.is_python, shell.is_python) == (shell.pid, True, False)
    assert python.argv == (PYTHON, "-c", "input(); word = 7")


def test_a_python_shows_whether_the_guest_was_invited_into_it():
    env = {**os.environ, "PYTHONPATH": "/elsewhere", "BITTEN_SPOOL": "/x", "RANK": "3"}
    watch = watched([PYTHON, "-c", "input()"], lambda watch: watch.processes and watch.processes[0].is_python, env=env)
    seen = watch.processes[0]
    assert (seen.pythonpath, seen.is_invited, seen.environment_known, seen.rank) == ("/elsewhere", True, True, 3)


def test_the_most_memory_of_a_process_and_the_curve_of_the_tree_are_kept():
    code = "import time\nheld = b'x' * (90 << 20)\ntime.sleep(.7)\ndel held\ninput()"
    watch = watched([PYTHON, "-c", code], lambda watch: any(seen.peak_rss > 90 << 20 > seen.rss for seen in watch.processes))
    told = watch.watched()
    assert max(size for _, size in told.curve) > 90 << 20
    assert told.seconds >= told.curve[-1][0] > 0


def test_the_curve_stays_short_however_long_a_command_runs():
    watch = Watch()
    watch.pid = os.getpid()
    for second in range(3000):
        watch._curve.append((float(second), 1))
        watch._look(second)
    assert len(watch._curve) < 500
    assert watch._curve[0][0] == 0


def test_nothing_is_looked_at_once_the_command_has_ended():
    command = subprocess.Popen(["true"])
    command.wait()
    watch = Watch()
    watch.start(command.pid)
    watch._thread.join(10)
    assert not watch._thread.is_alive()
    assert watch.watched().processes == ()

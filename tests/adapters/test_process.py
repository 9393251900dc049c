"""Real commands through pipes, each beside the plain one where they must agree. Those at a terminal are in test_terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from tests.adapters.commands import PYTHON, RUN, ours


def both(tmp_path, *command, **how):
    """The plain run and ours."""
    plain = subprocess.run(command, capture_output=True, check=False, **how)
    return plain, subprocess.run(ours(tmp_path, *command), capture_output=True, check=False, **how)


@pytest.mark.parametrize("script", [
    "echo out; echo err >&2; exit 7", "printf 'no newline'; exit 0", "kill -SEGV $$", "kill -TERM $$", "printf '\\377\\000binary'; exit 3",
    "exec 1>&- 2>&-; exit 4", "cat; exit 5", "cd /; pwd", "trap 'echo got term; exit 9' TERM; kill -TERM $$; sleep 5",
])
def test_output_exit_code_and_death_are_those_of_the_plain_command(tmp_path, script):
    plain, run = both(tmp_path, "sh", "-c", script, input=b"typed\n")
    assert (run.returncode, run.stdout, run.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_streams_that_are_no_terminals_stay_none_and_the_tape_has_both(tmp_path):
    code = "import sys; print([s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)]); print('e', file=sys.stderr)"
    run = subprocess.run(ours(tmp_path, PYTHON, "-c", code), capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert run.stdout == "[False, False, False]\n"
    assert set((tmp_path / "tape").read_bytes().splitlines()) == {b"[False, False, False]", b"e"}


@pytest.mark.parametrize(
    ("program", "code", "slug"), [("no-such-program", 127, "command-not-found"), ("/etc/passwd", 126, "command-not-executable")]
)
def test_a_command_that_can_not_start_is_said_as_a_shell_would(tmp_path, program, code, slug):
    run = subprocess.run(ours(tmp_path, program), capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (code, slug)


def test_a_reader_that_goes_away_ends_the_command_as_it_would_have(tmp_path):
    line = " ".join(f"'{word}'" for word in ours(tmp_path, "sh", "-c", "while :; do echo yes || exit 0; done").copy()[3:])
    script = tmp_path / "run.py"
    script.write_text(RUN, "utf-8")
    done = subprocess.run(
        ["bash", "-c", f"'{PYTHON}' '{script}' {line} | head -n 3"], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout == "yes\n" * 3


def test_a_daemon_that_holds_the_output_does_not_hold_us(tmp_path):
    began = time.monotonic()
    run = subprocess.run(ours(tmp_path, "sh", "-c", "sleep 30 & echo $!"), capture_output=True, text=True, check=True)
    os.kill(int(run.stdout), signal.SIGKILL)
    assert time.monotonic() - began < 10


def test_a_signal_to_us_is_passed_on(tmp_path):
    code = (
        "import signal, sys, time\nsignal.signal(15, lambda *a: (print('child got it', flush=True), sys.exit(5)))\n"
        "print('up', flush=True)\ntime.sleep(20)"
    )
    run = subprocess.Popen(ours(tmp_path, PYTHON, "-c", code), stdout=subprocess.PIPE, text=True)
    assert run.stdout and run.stdout.readline() == "up\n"
    run.terminate()
    assert (run.communicate()[0], run.returncode) == ("child got it\n", 5)


def test_python_s_own_ignored_signals_are_not_handed_down(tmp_path):
    """glibc's posix_spawn itself leaves its two internal signals (32, 33) ignored, as it does under make."""
    plain, run = both(tmp_path, "sh", "-c", "grep SigIgn /proc/self/status", text=True)
    ignored = [int(done.stdout.split()[1], 16) & ~(0b11 << 31) for done in (plain, run)]
    assert ignored[0] == ignored[1]

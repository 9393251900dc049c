"""Real commands, through pipes and through a real pseudo-terminal; each is run beside the plain one where they must agree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pexpect
import pytest

RUN = """
import os, sys, pathlib
from bitten.adapters import process
from bitten.adapters.tape import Tape
tape = Tape(pathlib.Path(sys.argv[1]))
full = os.environ.pop("FULL", "") == "1"
try:
    with process.running(sys.argv[2:], dict(os.environ), tape, full_tty=full) as ended:
        pass
except process.Unable as error:
    print(error.slug); sys.exit(error.exit_code)
sys.exit(process.end_like(ended.signal) if ended.signal else ended.exit)
"""
PYTHON = sys.executable


def ours(tmp_path, *command):
    return [PYTHON, "-c", RUN, str(tmp_path / "tape"), *command]


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


def terminal(tmp_path, *command, size=(40, 111)):
    return pexpect.spawn(PYTHON, ours(tmp_path, *command)[1:], encoding="utf-8", timeout=15, dimensions=size)


def test_on_a_terminal_the_command_sees_one_of_the_same_size(tmp_path):
    code = "import os, sys; print([os.isatty(i) for i in (0, 1, 2)], tuple(os.get_terminal_size(1))); open('/dev/tty').close(); sys.exit(7)"
    child = terminal(tmp_path, PYTHON, "-c", code)
    child.expect_exact("[True, True, True] (111, 40)\r\n")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 7


def test_a_resize_reaches_the_command(tmp_path):
    code = ("import os, signal, time\nsignal.signal(signal.SIGWINCH, lambda *a: print('now', tuple(os.get_terminal_size(1)), flush=True))\n"
            "print('ready', flush=True)\nfor _ in range(100): time.sleep(.05)")
    child = terminal(tmp_path, PYTHON, "-c", code)
    child.expect_exact("ready")
    child.setwinsize(20, 77)
    child.expect_exact("now (77, 20)")
    child.close(force=True)


def test_interrupt_reaches_the_command_and_its_end_comes_through(tmp_path):
    code = (
        "import sys, time\ntry:\n print('ready', flush=True); time.sleep(20)\n"
        "except KeyboardInterrupt:\n print('heard', flush=True); sys.exit(130)"
    )
    child = terminal(tmp_path, PYTHON, "-c", code)
    child.expect_exact("ready")
    child.sendintr()
    child.expect_exact("heard")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130


def test_questions_passwords_and_the_debugger_work(tmp_path):
    code = "import getpass\nprint('hello', input('name? '))\nprint(len(getpass.getpass('pw: ')))\nbreakpoint()\nprint('after')"
    child = terminal(tmp_path, PYTHON, "-c", code)
    for prompt, answer in (("name? ", "bob"), ("pw: ", "secret"), ("(Pdb) ", "p 6*7"), ("42", "c")):
        child.expect_exact(prompt)
        child.sendline(answer)
    child.expect_exact("after")
    child.expect(pexpect.EOF)


def test_stop_and_go_on_work_under_a_shell(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(RUN, "utf-8")
    shell = pexpect.spawn("bash", ["--norc", "-i"], encoding="utf-8", timeout=15, env={**os.environ, "PS1": "> "})
    shell.expect_exact("> ")
    shell.sendline(f"'{PYTHON}' '{script}' '{tmp_path / 'tape'}' sh -c 'echo ready; read x; echo got $x'")
    shell.expect_exact("ready\r\n")
    shell.sendcontrol("z")
    shell.expect("Stopped|suspended")
    shell.sendline("fg")
    shell.expect_exact("run.py")
    shell.sendline("word")
    shell.expect_exact("got word")
    shell.close(force=True)

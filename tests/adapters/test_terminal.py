"""Commands at a real pseudo-terminal: plainly, and with a terminal of their own."""

from __future__ import annotations

import os
import signal
import termios
import threading
import time

import pexpect
import pytest
from tests.adapters.commands import PYTHON, RUN, ours
from tests.stories import Project

BOTH = pytest.mark.parametrize("full", ["0", "1"], ids=["plain", "full"])


def terminal(tmp_path, *command, full="0", size=(40, 111)):
    env = {**os.environ, "FULL": full, "TERM": "xterm"}
    return pexpect.spawn(PYTHON, ours(tmp_path, *command)[1:], encoding="utf-8", timeout=30, dimensions=size, env=env,
                         codec_errors="replace")


def ended(child):
    """How it left: its exit code, or the signal that ended it, as a negative number."""
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus if child.exitstatus is not None else -child.signalstatus


@BOTH
def test_on_a_terminal_the_command_sees_one_of_the_same_size(tmp_path, full):
    code = "import os, sys; print([os.isatty(i) for i in (0, 1, 2)], tuple(os.get_terminal_size(1))); open('/dev/tty').close(); sys.exit(7)"
    child = terminal(tmp_path, PYTHON, "-c", code, full=full)
    child.expect_exact("[True, True, True] (111, 40)\r\n")
    assert ended(child) == 7


@BOTH
def test_a_resize_reaches_the_command(tmp_path, full):
    code = ("import os, signal, time\nsignal.signal(signal.SIGWINCH, lambda *a: print('now', tuple(os.get_terminal_size(1)), flush=True))\n"
            "print('ready', flush=True)\nfor _ in range(600): time.sleep(.05)")
    child = terminal(tmp_path, PYTHON, "-c", code, full=full)
    child.expect_exact("ready")
    child.setwinsize(20, 77)
    child.expect_exact("now (77, 20)")
    child.close(force=True)


@BOTH
def test_interrupt_reaches_the_command_and_its_end_comes_through(tmp_path, full):
    code = (
        "import sys, time\ntry:\n print('ready', flush=True); time.sleep(60)\n"
        "except KeyboardInterrupt:\n print('heard', flush=True); sys.exit(130)"
    )
    child = terminal(tmp_path, PYTHON, "-c", code, full=full)
    child.expect_exact("ready")
    child.sendintr()
    child.expect_exact("heard")
    assert ended(child) == 130


@BOTH
def test_death_by_a_signal_comes_through(tmp_path, full):
    assert ended(terminal(tmp_path, "sh", "-c", "kill -SEGV $$", full=full)) == -signal.SIGSEGV


@BOTH
def test_questions_passwords_and_the_debugger_work(tmp_path, full):
    code = "import getpass\nprint('hello', input('name? '))\nprint(len(getpass.getpass('pw: ')))\nbreakpoint()\nprint('after')"
    child = terminal(tmp_path, PYTHON, "-c", code, full=full)
    shown = ""
    for prompt, answer in (("name? ", "bob"), ("pw: ", "secret"), ("(Pdb) ", "p 6*7"), ("42", "c")):
        child.expect_exact(prompt)
        shown += child.before
        child.sendline(answer)
    child.expect_exact("after")
    assert ended(child) == 0
    assert "hello bob" in shown and "secret" not in shown


@BOTH
def test_what_is_typed_for_the_terminal_device_itself_arrives(tmp_path, full):
    child = terminal(tmp_path, "sh", "-c", "echo piped | { read x; printf 'sure? ' > /dev/tty; read y < /dev/tty; echo $x $y; }", full=full)
    child.expect_exact("sure? ")
    child.sendline("yes")
    child.expect_exact("piped yes")
    assert ended(child) == 0


CURSES = """
import curses
def main(screen):
    screen.addstr(3, 5, "press a key"); screen.refresh()
    keys = [screen.getkey() for _ in range(2)]
    screen.addstr(5, 5, "got " + "+".join(keys)); screen.refresh()
    screen.getkey()
curses.wrapper(main)
print("left")
"""


@BOTH
def test_curses_gets_single_keys_and_leaves_the_terminal_as_it_was(tmp_path, full):
    child = terminal(tmp_path, PYTHON, "-c", CURSES, full=full)
    first = termios.tcgetattr(child.child_fd)
    child.expect_exact("press a key")
    child.send("q")
    child.send("\x1b[A")
    child.expect(r"got q\+(KEY_UP|\^\[)")
    child.send("x")
    child.expect_exact("left")
    child.expect(pexpect.EOF)
    child.wait()
    assert termios.tcgetattr(child.child_fd) == first


@BOTH
def test_a_pager_shows_a_page_and_turns_it(tmp_path, full):
    (tmp_path / "long").write_text("".join(f"line {n}.\n" for n in range(500)))
    child = terminal(tmp_path, "less", str(tmp_path / "long"), full=full, size=(20, 80))
    child.expect_exact("line 18.")
    child.send("G")
    child.expect_exact("line 499.")
    child.send("q")
    assert ended(child) == 0


@BOTH
def test_a_command_that_dies_in_raw_mode_leaves_the_terminal_as_it_was(tmp_path, full):
    code = "import os, tty; tty.setraw(1); print('raw', flush=True); os.read(0, 1); os.kill(os.getpid(), 9)"
    child = terminal(tmp_path, PYTHON, "-c", code, full=full)
    child.expect_exact("raw")
    while termios.tcgetattr(child.child_fd)[3] & termios.ICANON:
        time.sleep(0.01)
    child.send("k")
    child.expect(pexpect.EOF)
    child.wait()
    assert termios.tcgetattr(child.child_fd)[3] & termios.ICANON
    assert termios.tcgetattr(child.child_fd)[3] & termios.ECHO


def test_keys_that_the_command_does_not_read_yet_stop_no_output(tmp_path):
    """It writes first and reads later, much more of both than a terminal holds."""
    code = ("import os, sys, tty\ntty.setraw(0)\nprint('go', flush=True)\nsys.stdout.write('x' * 200_000); sys.stdout.flush()\n"
            "got = b''\nwhile not got.endswith(b'!'): got += os.read(0, 65536)\nprint('read', len(got), flush=True)")
    child = terminal(tmp_path, PYTHON, "-c", code, full="1")
    child.expect_exact("go")
    typing = threading.Thread(target=child.send, args=("y" * 30_000 + "!",))
    typing.start()
    child.expect_exact("read 30001")
    typing.join()
    assert ended(child) == 0


def test_bytes_at_a_terminal_are_taped_as_the_command_wrote_them(tmp_path):
    child = terminal(tmp_path, "printf", "a\\nb\\377c\\n")
    assert ended(child) == 0
    assert (tmp_path / "tape").read_bytes() == b"a\nb\xffc\n"


def test_stdin_that_is_no_terminal_stays_what_it_is_beside_a_terminal_of_its_own(tmp_path):
    words = ours(tmp_path, "sh", "-c", "read x; test -t 1 && test ! -t 0 && echo $x there")
    child = pexpect.spawn("sh", ["-c", 'echo typed | "$@"', "sh", *words], encoding="utf-8", timeout=30, env={**os.environ, "FULL": "1"})
    child.expect_exact("typed there")
    assert ended(child) == 0


def test_a_background_process_of_a_session_does_not_hold_us(tmp_path):
    began = time.monotonic()
    child = terminal(tmp_path, "sh", "-c", "trap '' HUP; sleep 30 & echo pid=$!", full="1")
    child.expect(r"pid=(\d+)")
    left = int(child.match[1])
    assert ended(child) == 0
    os.kill(left, signal.SIGKILL)
    assert time.monotonic() - began < 20


def test_stop_and_go_on_work_under_a_shell(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(RUN, "utf-8")
    shell = pexpect.spawn("bash", ["--norc", "-i"], encoding="utf-8", timeout=30, env={**os.environ, "PS1": "> "})
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


def test_after_the_debugger_s_pager_the_debugger_goes_on(tmp_path):
    child = terminal(tmp_path, PYTHON, "-c", "breakpoint()\nprint('after')", size=(20, 80))
    child.expect_exact("(Pdb) ")
    child.sendline("!import pydoc; pydoc.pager('\\n'.join(f'line {n}.' for n in range(500)))")
    child.expect_exact("line 18.")
    child.send("G")
    child.expect_exact("line 499.")
    child.send("q")
    child.expect_exact("(Pdb) ")
    child.sendline("p 6*7")
    child.expect_exact("42")
    child.sendline("c")
    child.expect_exact("after")
    assert ended(child) == 0


QUESTION = "What did you expect?"


def test_from_the_command_line_the_terminal_is_given_back_before_anything_is_asked(tmp_path):
    project = Project(tmp_path, {"train.py": "import tty\ntty.setraw(1)\nprint('raw')\nraise ValueError('no rows')\n"}, git=False)
    code, seen = project.typed("run", "--full-tty", "--", PYTHON, "train.py", answers=((QUESTION, "it to start"),))
    assert code == 1 and "it to start" in seen and "ValueError: no rows" in seen
    assert project.show()["case"] == 1


def test_an_interrupted_command_with_a_terminal_of_its_own_opens_no_case(tmp_path):
    project = Project(tmp_path, {"wait.py": "import time\nprint('ready', flush=True)\ntime.sleep(60)\n"}, git=False)
    child = pexpect.spawn(PYTHON, ["-m", "bitten", "run", "--full-tty", "--", PYTHON, "wait.py"], cwd=str(project.root), env=project.env,
                          encoding="utf-8", timeout=60)
    child.expect_exact("ready")
    child.sendintr()
    child.expect_exact("KeyboardInterrupt")
    assert ended(child) in (130, -signal.SIGINT)
    assert not (project.root / ".bitten").exists()

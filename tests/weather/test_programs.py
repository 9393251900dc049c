"""Strange programs: whatever a command does to itself, its output and its end come through, and bitten says what it could not see."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import psutil
import pytest

from tests.stories import BITTEN, Project
from tests.weather.table import Row, hold

PYTHON = sys.executable
SECTION = "Strange programs"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, {"main.py": "raise SystemExit(3)\n"})


def plain(project, *command, **how):
    return subprocess.run(command, cwd=project.root, env=project.env, capture_output=True, check=False, stdin=subprocess.DEVNULL, **how)


def ours(project, *command, **how):
    done = plain(project, *BITTEN, "run", "--", *command, **how)
    assert b"Traceback" not in done.stderr.split("✗".encode())[-1] and b"[our-fault]" not in done.stderr, done.stderr
    return done


def same(project, *command):
    """The plain run beside ours: same stdout, same end, its own stderr first. Returns ours and what bitten said."""
    theirs, done = plain(project, *command), ours(project, *command)
    assert (done.returncode, done.stdout) == (theirs.returncode, theirs.stdout)
    assert done.stderr.startswith(theirs.stderr)
    return done, done.stderr[len(theirs.stderr):].decode()


def script(project, text, name="main.py"):
    project.write(name, text)
    return PYTHON, name


@pytest.mark.parametrize(("what", "command", "slug", "code"), [
    ("command not found", "no-such-program", "command-not-found", 127),
    ("not executable", "./main.py", "command-not-executable", 126),
    ("a directory as command", "./folder", "command-not-executable", 126),
    ("an empty word as command", "", "command-not-found", 127),
])
def test_a_command_that_can_not_start(project, what, command, slug, code):
    (project.root / "folder").mkdir()
    done = project.bitten("run", "--", command)
    assert (done.returncode, project.slug(done)) == (code, slug), done.stderr
    assert not list((project.root / ".bitten").glob("[0-9]*")), "nothing ran, so there is no case"
    hold(Row(SECTION, what, "nothing ran, no case is opened", f"`{slug}`", code))


def test_no_command_at_all(project):
    done = project.bitten("run", "--")
    assert done.returncode == 2 and "Missing argument 'COMMAND...'" in done.stderr
    hold(Row(SECTION, "no command after `--`", "nothing ran", "how `run` is used", 2))


@pytest.mark.parametrize(("what", "text", "happens"), [
    ("binary output", "import os; os.write(1, bytes(range(256)) * 64); os._exit(3)", "every byte is passed on"),
    ("invalid UTF-8", "import os; os.write(2, b'\\xff\\xfe caf\\xe9\\n'); os._exit(3)", "every byte is passed on"),
    ("no newline at the end", "import os; os.write(1, b'no end'); os._exit(3)", "no newline is added"),
    ("closes its descriptors", "import os; os.closerange(0, 256); os._exit(3)", "its end is seen all the same"),
    ("changes directory", "import os; os.chdir('/'); raise ValueError('far away')", "the case stays with the project"),
    ("prints our own markers", "print('bitten-fact exit=0'); print('[bitten: 9 bytes not kept]'); raise SystemExit(3)",
     "they decide nothing of how it ended"),
    ("forks 200 children", "import os\nfor _ in range(200):\n    if not os.fork():\n        os._exit(1)\n"
     "for _ in range(200):\n    os.wait()\nraise SystemExit(3)", "all are waited for by their own parent, one case is opened"),
])
def test_output_and_end_are_those_of_the_plain_command(project, what, text, happens):
    done, said = same(project, *script(project, text))
    assert "case 1" in said and f"exit {done.returncode}" in said
    assert len([each for each in (project.root / ".bitten").iterdir() if each.is_dir()]) == 2, "one case, and the store"
    hold(Row(SECTION, what, happens, "the case", done.returncode))


def test_it_ends_by_a_signal_nobody_can_handle(project):
    done, _ = same(project, *script(project, "import os; print('so far', flush=True); os.kill(os.getpid(), 9)"))
    assert done.returncode == -signal.SIGKILL and project.show()["signal"] == 9
    hold(Row(SECTION, "ends by SIGKILL", "bitten ends by the same signal, after the case is on disk", "signal 9", 137))


def test_it_leaves_a_daemon_behind(project):
    began = time.monotonic()
    done = ours(project, "sh", "-c", "sleep 60 & echo $!; exit 3")
    os.kill(int(done.stdout), signal.SIGKILL)  # it lives on: bitten did not end it
    assert done.returncode == 3 and time.monotonic() - began < 30
    hold(Row(SECTION, "leaves a daemon behind", "the daemon lives on and is not waited for", "the case", 3))


def test_it_deletes_its_own_sources(project):
    done = ours(project, *script(project, "import os; os.unlink('main.py'); raise ValueError('gone')"))
    assert done.returncode == 1 and project.show()["symptom"] == "ValueError: gone"
    hold(Row(SECTION, "deletes its own sources", "the crash is known, the tree is kept as it then stands", "the case", 1))


def test_it_deletes_the_whole_project(project):
    done = ours(project, PYTHON, "-c", "import shutil, os; shutil.rmtree(os.getcwd()); print('gone'); raise SystemExit(3)")
    assert (done.returncode, done.stdout) == (3, b"gone\n")
    assert b"the tree was not kept" in done.stderr
    hold(Row(SECTION, "deletes the whole project", "the case is kept elsewhere", "that the tree was not kept", 3))


def test_it_deletes_the_cases_while_it_runs(project):
    assert project.bitten("run", "--", PYTHON, "main.py").returncode == 3
    done = ours(project, *script(project, "import shutil; shutil.rmtree('.bitten'); raise ValueError('x')", "other.py"))
    assert done.returncode == 1 and b"case 1" in done.stderr
    assert project.show()["symptom"] == "ValueError: x"
    hold(Row(SECTION, "deletes `.bitten` while it runs", "the folder is laid anew, this run's case is in it", "the case", 1))


REWRITES = """import json, time

with open("conf.json") as file:
    json.load(file)
time.sleep(0.05)
with open("conf.json", "w") as file:
    file.write('{"lr": 2, "late": true}')
raise ValueError("x")
"""


def test_it_rewrites_its_config_while_it_runs(project):
    project.write("conf.json", '{"lr": 1}')
    done = ours(project, *script(project, REWRITES))
    assert done.returncode == 1
    assert "changed after it was read" in (project.case() / "debug.md").read_text("utf-8")
    hold(Row(SECTION, "rewrites its config while it runs", "debug.md says that the file changed after it was read", "the case", 1))


def test_it_asks_for_a_password(project):
    project.write("main.py", "import getpass\nraise SystemExit(3 if getpass.getpass('key: ') == 'typed' else 4)\n")
    code, seen = project.typed("run", "--", PYTHON, "main.py", answers=(("key: ", "typed"), ("expect?", "")))
    assert code == 3 and "typed" not in seen
    assert not any(b"typed" in file.read_bytes() for file in project.case().rglob("*") if file.is_file())
    hold(Row(SECTION, "asks for a password at the terminal", "it is asked, not echoed, and kept nowhere", "the case", 3))


CURSES = """import curses, sys

def main(screen):
    curses.curs_set(0)
    screen.box()
    screen.addstr(2, 4, "epoch 3", curses.A_BOLD)
    screen.refresh()
    with open("ready", "w") as file:
        file.write("%d by %d" % screen.getmaxyx())
    screen.getkey()

curses.wrapper(main)
sys.exit(3)
"""


def on_screen(project, *command):
    """All that the program drew until it waits for a key, and its end."""
    ready = project.root / "ready"
    ready.unlink(missing_ok=True)
    env = {name: value for name, value in project.env.items() if name not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
    child = pexpect.spawn(command[0], list(command[1:]), cwd=str(project.root), env=env, timeout=30,
                          dimensions=(20, 60))
    drawn = until_silent(child, ready)
    assert ready.read_text("utf-8") == "20 by 60"
    child.send("q")
    child.expect(["expect[?]", pexpect.EOF])
    if child.after is not pexpect.EOF:
        child.sendline("")
        child.expect(pexpect.EOF)
    child.close()
    return drawn, child.exitstatus


def until_silent(child, ready):
    """What comes until the program says that it has drawn, and then nothing more for a second."""
    drawn = b""
    while True:
        try:
            drawn += child.read_nonblocking(1 << 16, 1)
        except pexpect.EOF:
            raise AssertionError(drawn) from None
        except pexpect.TIMEOUT:
            if ready.exists():
                return drawn


def test_it_draws_with_curses(project):
    command = script(project, CURSES)
    (theirs, code), (drawn, end) = on_screen(project, *command), on_screen(project, *BITTEN, "run", "--", *command)
    assert drawn == theirs and b"epoch" in drawn
    assert code == end == 3
    hold(Row(SECTION, "draws with curses", "the same bytes reach the screen, and its keys reach it one by one", "the case", 3))


def test_the_terminal_goes_away(project):
    """SIGHUP reaches the command; the case is kept although nobody is left to read."""
    project.write("main.py", "import time\nprint('up', flush=True)\ntime.sleep(60)\n")
    child = pexpect.spawn(BITTEN[0], [*BITTEN[1:], "run", "--", PYTHON, "main.py"], cwd=str(project.root), env=project.env, timeout=30,
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))  # under nohup it would stay ignored, as it must
    child.expect_exact("up")
    os.close(child.child_fd)
    child.closed = True
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and os.waitpid(child.pid, os.WNOHANG)[0] == 0:
        time.sleep(0.05)
    assert time.monotonic() < deadline, what_hangs(child.pid)
    assert project.show()["signal"] == signal.SIGHUP
    hold(Row(SECTION, "runs for longer than its terminal", "the hang-up reaches it, the case is kept", "nobody is left to read", 129))


def what_hangs(pid):
    """Each process below one, what it is and what it waits for: for whoever reads that a test timed out."""
    every = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return [(each.status(), each.cmdline()[-4:], Path(f"/proc/{each.pid}/wchan").read_text("utf-8")) for each in every]


def test_output_without_end_takes_no_memory(project):
    """200 MB here; 3 GB in the long form."""
    size = 200 << 20
    flood(project, size)
    hold(Row(SECTION, "3 GB of output", "all is passed on, in less than 64 MiB of memory; the first MiB and the last four are kept",
             "the case", 3))


def flood(project, size):
    """Run a command that prints so many bytes, and hold what bitten takes of memory, and what it keeps, against their bounds."""
    words = [*BITTEN, "run", "--", "sh", "-c", f"yes abcdefg | head -c {size}; exit 3"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(words, cwd=project.root, env=project.env, **pipes) as child:
        seen = peak = 0
        while data := os.read(child.stdout.fileno(), 1 << 20):
            seen += len(data)
            peak = high_water(child.pid) or peak
        said = child.stderr.read().decode()
    assert (child.returncode, seen) == (3, size), said
    assert peak <= 64 << 10, f"{peak} KiB"
    assert 4 << 20 < (project.case() / "capture" / "output").stat().st_size < 6 << 20


def high_water(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)

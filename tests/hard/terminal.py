# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 101-110: what stands between a command and the person's terminal. Here a screen is compared, not a case."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence

import pexpect

from tests.hard.case import Hard
from tests.hard.play import ran, same
from tests.stories import BITTEN, Project

RUN = (*BITTEN, "run", "--")
BARS = '''import sys

from tqdm import tqdm

for step in tqdm(range(300), desc="step", mininterval=0, bar_format="{l_bar}{bar}|{n_fmt}", ncols=60):
    pass
raise SystemExit(3)
'''
STACKED = '''from tqdm import tqdm

look = {"mininterval": 0, "bar_format": "{l_bar}{bar}|{n_fmt}", "ncols": 60}
for epoch in tqdm(range(3), desc="epoch", position=0, **look):
    for batch in tqdm(range(40), desc="batch", position=1, leave=False, **look):
        if batch == 20:
            tqdm.write("half of epoch %d" % epoch)
raise SystemExit(3)
'''
READY = "print('ready', flush=True)\n"
STOPS = "import sys\n" + READY + "line = sys.stdin.readline()\nprint('got', line.strip(), flush=True)\nraise SystemExit(3)\n"
RESIZES = '''import os
import signal
import time

signal.signal(signal.SIGWINCH, lambda *_: None)
print("ready", tuple(os.get_terminal_size()), flush=True)
while tuple(os.get_terminal_size()) != (77, 33):
    time.sleep(0.02)
print("now", tuple(os.get_terminal_size()), flush=True)
raise SystemExit(3)
'''
ASKS = "import getpass\nword = getpass.getpass('Password: ')\nprint(len(word), 'letters', flush=True)\nraise SystemExit(3)\n"
BREAKS = "rows = 5\nbreakpoint()\nprint('after', flush=True)\nraise SystemExit(3)\n"
TTYLESS = '''import os
import sys

print([stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)])
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError as error:
    print(error)
print(os.environ.get("COLUMNS"))
raise SystemExit(3)
'''


def spawned(project: Project, command: Sequence[str]) -> pexpect.spawn:
    """At a terminal of 24 rows and 100 columns."""
    return pexpect.spawn(command[0], list(command[1:]), cwd=str(project.root), env={k: v for k, v in project.env.items() if k != "COLUMNS"}, encoding="utf-8", timeout=60, dimensions=(24, 100))


def end(child: pexpect.spawn) -> int:
    """Bitten's one question is skipped."""
    seen = ""
    while child.expect([r"What did you expect\? ", pexpect.EOF]) == 0:
        seen += child.before
        child.sendline("")
    child.before = seen + child.before
    child.close()
    return child.exitstatus if child.exitstatus is not None else -child.signalstatus


def screen(project: Project, command: Sequence[str]) -> tuple[int, str]:
    child = spawned(project, command)
    code = end(child)
    return code, child.before


def alike(project: Project, case: Hard) -> None:
    """The whole screen is that of the plain command, byte by byte, and ours comes after it."""
    code, plain = screen(project, case.command)
    assert (code, screen(project, (*RUN, *case.command))[1].startswith(plain)) == (case.code, True)


def piped(project: Project, case: Hard) -> None:
    plain, done = ran(project, case, *case.command), ran(project, case, *RUN, *case.command)
    assert done.returncode == case.code
    same(project, case, plain, done)


def bars(project: Project, case: Hard) -> None:
    """Alike on a terminal and in a pipe."""
    alike(project, case)
    piped(project, case)


def interrupted(project: Project, case: Hard) -> None:
    """^C ends the command as it would have, and a person's own ^C is no failure: there is no case.

    It sleeps in short pieces: a ^C that falls just before a long `time.sleep` begins is not heard until it ends, without us too.
    """
    for command in (case.command, (*RUN, *case.command)):
        child = spawned(project, command)
        child.expect_exact("ready")
        child.sendintr()
        assert end(child) == -signal.SIGINT, f"{command}: {child.exitstatus} {child.signalstatus} {child.before}"
    assert not list((project.root / ".bitten").glob("[0-9]*"))


def stopped(project: Project, case: Hard) -> None:
    """^Z below a shell stops it, fg goes on with it."""
    shell = spawned(project, ("bash", "--norc", "--noprofile", "-i"))
    shell.sendline("PS1='%>'; bind 'set enable-bracketed-paste off'")
    shell.sendline(" ".join((*RUN, *case.command)))
    shell.expect("\nready")
    shell.sendcontrol("z")
    shell.expect("Stopped")
    shell.sendline("fg")
    shell.expect_exact("waits.py")
    shell.sendline("a line")
    shell.expect_exact("got a line")
    shell.expect_exact("expect? ")
    shell.sendline("")
    shell.expect_exact("case 1")
    shell.sendline("echo code=$?")
    shell.expect(r"code=(\d+)")
    assert shell.match[1] == "3"
    shell.sendline("exit")
    shell.expect(pexpect.EOF)


def resized(project: Project, case: Hard) -> None:
    child = spawned(project, (*RUN, *case.command))
    child.expect_exact("ready (100, 24)")
    child.setwinsize(33, 77)
    child.expect_exact("now (77, 33)")
    assert end(child) == 3


def asked(project: Project, case: Hard) -> None:
    """What is typed is neither shown nor kept."""
    child = spawned(project, (*RUN, *case.command))
    child.expect_exact("Password: ")
    child.sendline("correct horse")
    child.expect_exact("13 letters")
    assert end(child) == 3
    kept = [file for file in (project.root / ".bitten").rglob("*") if file.is_file() and b"correct horse" in file.read_bytes()]
    assert not kept


def debugged(project: Project, case: Hard) -> None:
    child = spawned(project, (*RUN, *case.command))
    for prompt, answer in (("(Pdb) ", "p rows + 1"), ("6", "c")):
        child.expect_exact(prompt)
        child.sendline(answer)
    child.expect_exact("after")
    assert end(child) == 3


ENDS = ("exit 0", "exit 77", "exit 255", "kill -KILL $$", "kill -SEGV $$", "kill -PIPE $$")


def ended(project: Project, case: Hard) -> None:
    for each in ENDS:
        plain, done = ran(project, case, "sh", "-c", each), ran(project, case, *RUN, "sh", "-c", each)
        assert done.returncode == plain.returncode, each


def flooded(project: Project, case: Hard) -> None:
    """Counted as it comes; the case keeps a head and a tail of it."""
    size = 1 << 30
    with subprocess.Popen([*RUN, "sh", "-c", f"head -c {size} /dev/zero; exit 3"], cwd=project.root, env=project.env, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as flood:
        assert flood.stdout
        got = 0
        while chunk := flood.stdout.read(1 << 20):
            got += len(chunk)
    assert (got, flood.returncode) == (size, 3)
    assert sum(file.stat().st_size for file in project.case().rglob("*") if file.is_file()) < 64 << 20


def closed_early(project: Project, case: Hard) -> None:
    done = subprocess.run(["bash", "-c", "set -o pipefail; " + " ".join((*RUN, *case.command)) + " | head -n 1"], cwd=project.root, env=project.env,
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)
    assert done.stdout == "line 0\n"
    assert done.returncode == 1 and "BrokenPipeError" in done.stderr


def alone(project: Project, case: Hard) -> None:
    """As in CI: no terminal anywhere, not even a controlling one."""
    outcomes = [subprocess.run(command, cwd=project.root, env={k: v for k, v in project.env.items() if k != "COLUMNS"}, capture_output=True, text=True,
                               check=False, stdin=subprocess.DEVNULL, start_new_session=True, timeout=60)
                for command in (case.command, (*RUN, *case.command))]
    assert (outcomes[0].stdout, "No such device" in outcomes[0].stdout) == (outcomes[1].stdout, True)
    assert outcomes[0].returncode == outcomes[1].returncode == 3


SELF = '''import faulthandler, gc, os, random, signal, sys, threading, warnings

print(sys.argv, sys.flags, sys.warnoptions, sys.path[1:], sys.meta_path[:0], sys.getrecursionlimit(), gc.get_threshold(), gc.isenabled())
print(sorted(name for name in os.environ if not name.startswith(("BITTEN_", "PYTHONPATH"))))
print([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD, signal.SIGSEGV)])
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), threading.enumerate(), warnings.filters, sys.excepthook.__name__)
random.seed(7)
print(random.random(), random.getrandbits(64), hash((1, 2.5)), os.umask(0o022), os.getcwd(), sys.stdout.encoding, sys.stdout.line_buffering)
warnings.warn("a warning of its own")
print(sys.getswitchinterval(), sys.gettrace(), sys.getprofile(), threading.active_count(), os.nice(0), os.getpgrp() == os.getppid())
raise SystemExit(3)
'''


def term(number: int, title: str, text: str, shows: str, by, variant: str = "", **more) -> Hard:
    return Hard(number, title, ("python", "waits.py"), shows, files={"waits.py": text}, by=by, variant=variant, **{"code": 3, **more})


CASES = (
    term(101, "tqdm on a terminal and in a pipe", BARS, "the same bytes", bars, needs=("tqdm",), slow=True),
    term(102, "stacked bars, with lines written between them", STACKED, "the same bytes, in the same order", alike, needs=("tqdm",)),
    term(103, "^C and ^Z", "import time\n" + READY + "for _ in range(1200):\n    time.sleep(0.05)\n", "the command's own end; no case, as nothing failed", interrupted, "^C"),
    term(103, "^C and ^Z", STOPS, "it stops and goes on; the exit code is the command's", stopped, "^Z and fg"),
    term(104, "the window is resized", RESIZES, "the new size reaches the command", resized),
    term(105, "getpass and pdb", ASKS, "the word arrives; it is neither shown nor kept", asked, "getpass"),
    term(105, "getpass and pdb", BREAKS, "the debugger's prompt, as ever", debugged, "pdb"),
    Hard(106, "exit code and death by signal", ("sh", "-c", "…"), "the same exit code, or the same signal", by=ended, slow=True,
         how=f"`sh -c …` with {', '.join(f'`{each}`' for each in ENDS)}"),
    Hard(107, "gigabytes of output", ("sh", "-c", "head -c 1G /dev/zero; exit 3"), "all of it passed on; head and tail kept", by=flooded, slow=True),
    term(108, "no newline at the end, and invalid UTF-8", "import os\nos.write(1, b'caf\\xe9 \\xff\\xfe no end')\nos._exit(3)\n", "the same bytes", piped),
    term(109, "stdout is closed early", "import sys\nfor n in range(200_000):\n    print('line', n)\n", "BrokenPipeError, as without us", closed_early,
         how="`bitten run -- python waits.py \\| head -n 1`"),
    term(110, "no terminal at all, as in CI", TTYLESS, "the same", alone, how="`setsid python waits.py < /dev/null > file`"),
    term(111, "what a program can see of itself", SELF, "the same: flags, paths, signal handlers and masks, threads, warnings, numbers", piped,
         how="every case above, plainly and by `bitten run`; and a program that prints all it can see of itself"),
)

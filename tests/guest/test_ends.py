"""Ends without an exception of their own: processes that a signal ended, exits, and what the interpreter can't raise."""

from __future__ import annotations

import pytest

from tests.guest.test_invariance import same
from tests.guest.visit import project, python, visit

POOL = """
import concurrent.futures, multiprocessing, os, signal
def work(n):
    if n == 1:
        os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("METHOD")) as pool:
        list(pool.map(work, [0, 1]))
"""
OWN = """
import multiprocessing, time
if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    child.start()
    child.kill()
    child.join()
    print(child.exitcode, vars(child._popen)["returncode"])
    raise ValueError("later")
"""
PARSES = """import argparse
p = argparse.ArgumentParser(prog='a')
p.add_argument('--n', type=int)

def main():
    p.parse_args()
main()
"""


def told(done):
    return [(crash.type, crash.role, crash.message, crash.site.line if crash.site else 0) for crash in done.story.crashes]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_worker_that_is_killed_is_the_root_and_the_broken_pool_its_consequence(tmp_path, method):
    first, *others = visit(project(tmp_path, {"a.py": POOL.replace("METHOD", method)}), "a.py").story.crashes
    assert (first.type, first.role) == ("Killed", "root")
    assert first.message.endswith("was ended by SIGKILL") and f"pid {first.process.partition('pid ')[2]}" in first.message
    assert [(crash.type.rpartition(".")[2], crash.role) for crash in others] == [("BrokenProcessPool", "consequence")]


def test_a_child_that_the_program_killed_itself_is_no_news(tmp_path):
    root = project(tmp_path, {"a.py": OWN})
    assert told(visit(root, "a.py")) == [("ValueError", "root", "later", 9)]
    same(root, python("3.11") or "python3", ["a.py"], {})


@pytest.mark.parametrize(("program", "expected"), [
    ("import sys\ndef main():\n    sys.exit(3)\nmain()", ("SystemExit", "root", "3", 3)),
    ("import sys\nsys.exit('no data')", ("SystemExit", "root", "no data", 2)),
    ("import os\nos._exit(3)", ("os._exit", "root", "3", 2)),
    ("import enum, sys\nclass Code(enum.IntEnum):\n    BAD = 4\nsys.exit(Code.BAD)", ("SystemExit", "root", "4", 4)),
])
def test_an_exit_has_a_place(tmp_path, program, expected):
    assert told(visit(project(tmp_path, {"a.py": program}), "a.py")) == [expected]


@pytest.mark.parametrize("program", ["import sys\nsys.exit()", "import sys\nsys.exit(0)",
                                     "import enum, sys\nclass C(enum.IntEnum):\n    OK = 0\nsys.exit(C.OK)"])
def test_an_exit_that_is_well_is_no_crash(tmp_path, program):
    done = visit(project(tmp_path, {"a.py": program}), "a.py")
    assert (done.done.returncode, told(done), list(done.log.of("exit"))) == (0, [], [])


def test_a_wrong_argument_is_told_in_argparses_words_from_the_persons_line(tmp_path):
    done = visit(project(tmp_path, {"a.py": PARSES}), "a.py", "--m", "1")
    assert told(done) == [("SystemExit", "root", "a: error: unrecognized arguments: --m 1", 6)]
    typed = visit(project(tmp_path, {"a.py": PARSES}), "a.py", "--n", "x", name="typed").story.crashes[0]
    assert (typed.type, typed.message, typed.site.line) == ("argparse.ArgumentError", "argument --n: invalid int value: 'x'", 6)


def test_a_childs_exit_is_the_root_of_its_launchers_error(tmp_path):
    files = {"a.py": "import subprocess, sys\nsubprocess.run([sys.executable, 'b.py'], check=True)", "b.py": "import sys\nsys.exit(3)"}
    first, second = visit(project(tmp_path, files), "a.py").story.crashes
    assert (first.type, first.message, first.site.file) == ("SystemExit", "3", "b.py")
    assert (second.type, second.role) == ("subprocess.CalledProcessError", "consequence")


def test_what_cannot_be_raised_is_told_and_is_no_root(tmp_path):
    program = "import sys\nclass D:\n    def __del__(self):\n        1 / 0\nd = D()\ndel d\nsys.exit(4)"
    assert told(visit(project(tmp_path, {"a.py": program}), "a.py")) == [
        ("SystemExit", "root", "4", 7), ("ZeroDivisionError", "context", "division by zero", 4)]


@pytest.mark.parametrize(("argv", "site"), [(["-c", "n = 0\n1 / n"], ("<string>", 2, "1 / n"))])
def test_what_came_by_the_command_line_is_the_persons_own(tmp_path, argv, site):
    (crash,) = visit(project(tmp_path, {"a.py": ""}), *argv).story.crashes
    assert (crash.site.file, crash.site.line, crash.site.text) == site and crash.site.variables["n"] == "0"


def test_a_python_that_leaves_the_guest_behind_by_exec_is_named(tmp_path):
    program = "import os, sys\nos.execv(sys.executable, [sys.executable, *sys.argv[1:], 'b.py'])"
    root = project(tmp_path, {"a.py": program, "b.py": "1 / 0"})
    assert [crash.type for crash in visit(root, "a.py").story.crashes] == ["ZeroDivisionError"]
    lost = visit(root, "a.py", "-I", name="lost").story
    assert lost.crashes == () and any("became another Python by exec" in note for note in lost.notes)


def test_notes_stand_below_the_message_as_python_prints_them(tmp_path):
    program = "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.add_note('in shard 7')\n    raise"
    assert visit(project(tmp_path, {"a.py": program}), "a.py").story.crashes[0].message == "division by zero\nin shard 7"

"""What an end means, from readings made by hand, and once from a real kill by the kernel."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import sys
from pathlib import Path

import pytest
from tests.stories import Project

from bitten.adapters.watching import ending
from bitten.adapters.watching.memory import Group, Reading
from bitten.adapters.watching.watch import NOTHING, Seen, Watched
from bitten.core.failure import Command, Run

MIB = 1 << 20
GROUP = "/sys/fs/cgroup/memory/job"
DOCS = Path(__file__).parent.parent.parent / "docs" / "reference" / "endings.md"


def run(exit=None, number=None, argv=("python", "train.py")):
    return Run(Command(tuple(argv), "/"), exit, 9.0, number)


def reading(kills=0, inside=0, shm=(900 * MIB, 1000 * MIB), limit=256 * MIB):
    return Reading(kills, {GROUP: Group(GROUP, limit, 10 * MIB, inside)}, shm)


def seen(pid, name, peak, last=9.0, argv=("python", "train.py")):
    return Seen(pid, 1, name, argv, "/usr/bin/python3", last=last, rss=peak * MIB, peak_rss=peak * MIB)


def watched(before=None, after=None, least_shm=900 * MIB, processes=()):
    curve = ((0.0, 5 * MIB), (4.0, 120 * MIB), (8.0, 250 * MIB))
    return Watched(tuple(processes), curve, before or reading(), after or reading(), least_shm, (GROUP,), 9.0)


def words(*args):
    return "\n".join(ending.read(*args).words)


def test_a_plain_exception_needs_no_words():
    assert ending.read(run(1), watched(), "Traceback").words == ()


def test_a_kill_for_memory_is_asserted_by_the_counters_with_victim_limit_and_curve():
    everyone = [seen(10, "make", 3, argv=("make", "train")), seen(11, "python", 250, last=8.0)]
    make, said = run(2, argv=("make", "train")), "make: *** [Makefile:2: train] Killed\n"
    told = ending.read(make, watched(after=reading(1, 1), processes=everyone), said)
    assert told.words == (
        "Out of memory: the kernel killed a process in the command's cgroup /memory/job, whose limit is 256 MiB.",
        "python train.py (pid 11) had the most memory of those that ended, 250 MiB.",
        "Memory of all its processes: 5 MiB at 0.0 s, 120 MiB at 4.0 s, 250 MiB at 8.0 s.",
    )
    assert (told.facts["oom_kills"], told.facts["oom_victim"], told.facts["memory_limit_mib"]) == (1, "python train.py", 256)


def test_a_survivor_that_is_larger_is_not_the_victim_of_a_kill():
    everyone = [seen(10, "python", 200), seen(11, "python", 190, last=5.0, argv=("python", "rank.py"))]
    assert ending.read(run(1), watched(after=reading(1, 1), processes=everyone), "").facts["oom_victim"] == "python rank.py"


def test_sigkill_without_a_kill_of_the_kernel_may_be_anybody_s():
    told = words(run(None, 9), watched(), "")
    assert "no kill for want of memory" in told and "else a supervisor or a person" in told


def test_a_kill_elsewhere_on_the_machine_or_around_the_command_blames_nobody():
    before, after = Reading(3, {}, (1, 1)), Reading(4, {}, (1, 1))
    assert "on this machine: it may have been one of this command's" in words(run(137), watched(before, after), "")
    around = "/sys/fs/cgroup/memory"
    before, after = (Reading(0, {GROUP: Group(GROUP, -1, 1, 0), around: Group(around, -1, 1, kills)}) for kills in (0, 2))
    told = ending.read(run(137), watched(before, after), "")
    assert "killed 2 processes for want of memory in the cgroup around the command's, /memory: it may" in told.words[0]
    assert told.facts["oom_kills"] == 0


def test_a_full_shm_is_asserted_by_its_size_and_supposed_by_its_signs():
    small = reading(shm=(0, 64 * MIB))
    told = words(run(1), watched(small, small, 0), "killed by signal: Bus error")
    assert "/dev/shm was full, or nearly: 0 MiB of 64 MiB were free" in told
    assert "/dev/shm may have been full" in words(run(None, signal.SIGBUS), watched(), "")
    assert "/dev/shm was full" in words(run(1), watched(small, small, 0), "RuntimeError: unable to write to file </torch_12_3>")
    assert words(run(1), watched(), "") == ""


@pytest.mark.parametrize(("end", "output", "told"), [
    (run(None, signal.SIGILL), "", "SIGILL ended it: an instruction that this CPU does not have"),
    (run(132), "", "Exit 132 is a shell's word for a process that SIGILL ended"),
    (run(143), "Sending process 7 closing signal SIGTERM", "torchrun asked the others to end"),
    (run(None, signal.SIGTERM), "slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 2026 DUE TO TIME LIMIT ***", "Slurm's time limit"),
    (run(None, signal.SIGXCPU), "", "the CPU time that it may use is used up"),
    (run(134), "terminate called after throwing an instance of 'c10::Error'", "a C++ exception that nothing caught"),
    (run(124, argv=("timeout", "-k", "5", "90s", "python", "x.py")), "", "timeout(1) ended it: its 5 s were over."),
    (run(124, argv=("timeout", "1", "python", "x.py")), "", "timeout(1) ended it: its 1 s were over."),
    (run(124), "", "Exit 124 means by custom: timeout(1) ended it"),
    (run(127, argv=("bash", "-c", "trian")), "", "the program was not found"),
    (run(126), "", "can't be executed"),
    (run(255, argv=("ssh", "host")), "", "ssh, whose connection broke"),
    (run(5, argv=("pytest", "-q")), "", "pytest's exit 5: no test was collected."),
    (run(2, argv=("python", "-m", "pytest")), "", "the tests could not be collected"),
    (run(2, argv=("make", "x")), "make[1]: *** [Makefile:3: x] Error 139\nmake: *** [Makefile:1: all] Error 2\n",
     "The recipe of `x` ended with 139, a shell's word for SIGSEGV"),
    (run(2, argv=("make", "x")), "make: *** [Makefile:3: x] Segmentation fault (core dumped)\n", "(SIGSEGV: C code touched memory"),
    (run(2, argv=("make", "x")), "make: *** [Makefile:3: x] Error 127\n", "ended with 127, by custom: the program was not found"),
])  # fmt: skip
def test_an_end_is_explained_by_its_code_and_by_what_was_printed(end, output, told):
    assert told in words(end, NOTHING, output)


def test_a_recipe_that_fails_plainly_is_left_to_its_exception():
    assert words(run(2, argv=("make", "x")), NOTHING, "make: *** [Makefile:3: x] Error 1\n") == ""


def test_the_reference_has_every_code_and_signal_as_the_program_says_it():
    text = DOCS.read_text("utf-8")
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", text, re.M))
    expected = {**{str(code): meaning for code, meaning in ending.CODES.items()},
                **{f"pytest {code}": meaning for code, meaning in ending.PYTEST.items()},
                **{f"{128 + getattr(signal, name)} {name}": meaning for name, meaning in ending.SIGNALS.items()}}
    assert {name: rows.get(name) for name in expected} == expected


FILL = """
import resource, time

def fill():
    held = []
    while True:
        held.append(bytearray(b"x" * (1 << 20)))
        if 90 << 10 <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= 91 << 10:
            time.sleep(4)

fill()
"""


@contextlib.contextmanager
def group(limit):
    """A memory group of version 1 with this limit, where we may make one."""
    folder = Path(f"/sys/fs/cgroup/memory/bitten-test-{secrets.token_hex(4)}")
    if not os.access(folder.parent, os.W_OK) or not (folder.parent / "memory.limit_in_bytes").exists():
        pytest.skip("no memory cgroup (version 1) can be made here")
    folder.mkdir()
    try:
        (folder / "memory.limit_in_bytes").write_text(str(limit))
        yield folder
    finally:
        folder.rmdir()


def test_a_real_kill_for_memory_below_make_names_limit_victim_and_where_it_stood(tmp_path):
    with group(96 * MIB) as folder:
        recipe = f"@echo $$$$ > {folder}/cgroup.procs && exec {sys.executable} fill.py"
        place = Project(tmp_path, {"fill.py": FILL, "Makefile": f"train:\n\t{recipe}\n"})
        done = place.bitten("run", "--", "make", "train")
        assert done.returncode == 2
        limit = f"cgroup /memory/{folder.name}, whose limit is 96 MiB."
        assert f"Out of memory: the kernel killed a process in the command's {limit}" in done.stderr
        document = (place.case() / "debug.md").read_text("utf-8")
    assert "fill.py (pid" in document and re.search(r"fill \(fill.py:\d\)", document), document

# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 63-68: nothing ends, nothing is said. Each is played with a short `--hang-after`, and must not be called early or late."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator

import psutil

from tests.hard.case import Hard, nothing
from tests.hard.play import Told, end_all, hold, ran
from tests.stories import BITTEN, Project

SYNC = '''import time

import torch
import torch.distributed as dist


def sync_grads(loss):
    dist.all_reduce(loss)


def evaluate(rank):
    while True:
        time.sleep(0.5)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for step in range(6):
        if rank == 1 and step == 3:
            evaluate(rank)
        sync_grads(torch.ones(2, 3))


main()
'''
LOCKED = '''import threading

first, second = threading.Lock(), threading.Lock()
ready = threading.Barrier(2)


def take(one, other):
    with one:
        ready.wait()
        with other:
            pass


thread = threading.Thread(target=take, args=(second, first), name="writer")
thread.start()
take(first, second)
'''
READS = '''import multiprocessing
import os


def work(pipe):
    os.read(pipe, 1)


if __name__ == "__main__":
    reader, writer = os.pipe()
    process = multiprocessing.get_context("fork").Process(target=work, args=(reader,), name="reader")
    process.start()
    process.join()
'''
SPINS = '''def wait_for(ready):
    while not ready:
        pass


wait_for([])
'''
SLOW = '''import time

for step in range(10):
    began = time.process_time()
    while time.process_time() - began < 0.4:
        sum(range(1000))
print("done")
raise SystemExit(3)
'''
LIMIT = 124
"""What `bitten run` exits with when it has ended a command that hung, as timeout(1) does."""


def hung(project: Project, case: Hard) -> None:
    """Called hung, ended, and told where each process stood."""
    told = Told(project, ran(project, case, *BITTEN, "run", *case.options, "--", *case.command))
    hold(case, told)
    assert told.failure["run"]["hung"], told.done.stderr
    assert not [each for each in psutil.process_iter(["cwd"]) if each.info["cwd"] == str(project.root)], "nothing of it is left"


def slow(project: Project, case: Hard) -> None:
    told = Told(project, ran(project, case, *BITTEN, "run", *case.options, "--", *case.command))
    hold(case, told)
    assert not told.failure["run"]["hung"]


def spared(project: Project, case: Hard) -> None:
    """A picture of ranks that wait for each other, taken from beside: the same processes are there before and after."""
    with started(project, *BITTEN, "run", "--", *case.command) as run:
        deadline = time.monotonic() + 120
        while not (odd := json.loads(project.bitten("picture", "--json").stdout or "{}").get("odd")):
            assert time.monotonic() < deadline and run.poll() is None
            time.sleep(0.5)
        before = {each.pid for each in psutil.Process(run.pid).children(recursive=True)}
        assert "rank 1" in project.bitten("picture").stdout, odd
        assert {each.pid for each in psutil.Process(run.pid).children(recursive=True)} == before and len(before) >= 3


@contextlib.contextmanager
def started(project: Project, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Running beside, with all that it starts; none of it outlives the test."""
    run = subprocess.Popen(command, cwd=project.root, env=project.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield run
    finally:
        end_all(run)


def _stands(*words: str):
    """The picture has these words of the processes' own lines."""
    def check(told: Told) -> None:
        picture = told.failure["surroundings"]["picture"]
        where = "\n".join(f"{each['name']} {frame['file']}:{frame['line']} {frame['function']} {each['waits']}"
                          for each in picture["processes"] for frame in each["stack"])
        assert all(word in where for word in words), where

    return check


def _spins(told: Told) -> None:
    stack = told.failure["surroundings"]["picture"]["processes"][0]["stack"]
    assert ("spins.py", "wait_for") in [(frame["file"], frame["function"]) for frame in stack]


def _odd(told: Told) -> None:
    odd = told.failure["surroundings"]["picture"]["odd"]
    assert "rank 1" in odd and "evaluate" in odd and "sync.py:13" in odd, odd
    assert odd in told.document
    _stands("sync.py:8 sync_grads", "sync.py:13 evaluate")(told)


def hang(number: int, title: str, file: str, text: str, shows: str, *words: str, **more) -> Hard:
    return Hard(number, title, ("python", file), shows, **{"files": {file: text}, "by": hung, "code": LIMIT, "slow": True, "more": _stands(*words),
                                                          "options": ("--hang-after", "4"), **more})


RANKS = {"command": ("torchrun", "--nproc-per-node", "2", "sync.py"), "files": {"sync.py": SYNC}, "slow": True}

CASES = (
    Hard(63, "a rank skips all_reduce", shows="the odd one out in a sentence, and where each rank stands", by=hung, code=LIMIT, more=_odd,
         options=("--hang-after", "8"), **RANKS),
    hang(64, "two locks taken in two orders", "locked.py", LOCKED, "where the main thread waits", "locked.py:10 take"),
    hang(65, "a worker is stuck in a read", "reads.py", READS, "the worker's line, and that of its parent", "reads.py:6 work", "reads.py:13"),
    hang(66, "spinning without output", "spins.py", SPINS, "the function it spins in", more=_spins),
    hang(67, "slow but alive", "slow.py", SLOW, "no word of a hang", by=slow, code=3, more=nothing),
    Hard(68, "the dump leaves every process alive", shows="the odd one out, while all of them live on", by=spared,
         how="`bitten picture`, while `torchrun --nproc-per-node 2 sync.py` hangs", **RANKS),
)

# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 63-68: nothing ends, nothing is said. Each is played with a short `--hang-after`, and must not be called early or late."""

from __future__ import annotations

from tests.hard.case import Hard

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
SPINS = '''def search(rows):
    at = 0
    while rows[at % len(rows)] != 4:
        at += 1


search([1, 2, 3])
'''
SLOW = '''import time

for step in range(10):
    began = time.process_time()
    while time.process_time() - began < 0.4:
        sum(range(1000))
print("done")
raise SystemExit(3)
'''
WAITS = "the hang watch"


CASES = (
    Hard(63, "a rank skips all_reduce", ("torchrun", "--nproc-per-node", "2", "sync.py"), "the odd one out in a sentence, each rank's line, its last collective",
         files={"sync.py": SYNC}, slow=True, pending=WAITS),
    Hard(64, "two locks taken in two orders", ("python", "locked.py"), "each thread's line", files={"locked.py": LOCKED}, slow=True, pending=WAITS),
    Hard(65, "a worker is stuck in a read", ("python", "reads.py"), "the worker's line, and that its parent waits for it", files={"reads.py": READS}, slow=True,
         pending=WAITS),
    Hard(66, "spinning without output", ("python", "spins.py"), "the line it spins in", files={"spins.py": SPINS}, slow=True, pending=WAITS),
    Hard(67, "slow but alive", ("python", "slow.py"), "no word of a hang", files={"slow.py": SLOW}, slow=True, code=3, pending=WAITS),
    Hard(68, "the dump leaves every process alive", ("torchrun", "--nproc-per-node", "2", "sync.py"), "every process of before is there afterwards",
         files={"sync.py": SYNC}, slow=True, pending=WAITS),
)

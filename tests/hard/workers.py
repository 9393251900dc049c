# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 18-29: what fails is a worker, and its parent tells a story of its own."""

from __future__ import annotations

from tests.hard.case import Hard
from tests.hard.play import Told

LOADER = '''import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        if at == 37:
            raise IndexError("no row %d" % at)
        return torch.full((3,), float(at))


if __name__ == "__main__":
    for batch in DataLoader(Rows(), batch_size=8, num_workers=2, multiprocessing_context=sys.argv[1]):
        pass
'''
POOL = '''import multiprocessing
import sys


def work(row):
    twice = row * 2
    return 1 / (twice - 6)


if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, range(6)))
'''
FUTURES = '''from concurrent.futures import ProcessPoolExecutor


def work(row):
    return 1 / (row - 3)


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        print(list(pool.map(work, range(6))))
'''
SPAWN = '''import torch
import torch.multiprocessing as mp


def work(index, count):
    rows = torch.ones(index + count)
    if index == 1:
        raise ValueError("worker %d got %d rows" % (index, len(rows)))


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
'''
STACK = '''import torch
from torch.utils.data import DataLoader

rows = [torch.zeros(3) for _ in range(10)] + [torch.zeros(4)]
for batch in DataLoader(rows, batch_size=4, num_workers=0):
    pass
'''
DIES = '''import ctypes
import os
import signal
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        if at == 37:
            die(sys.argv[1])
        return torch.zeros(2)


def die(how):
    if how == "segv":
        ctypes.string_at(0)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    for batch in DataLoader(Rows(), batch_size=8, num_workers=2, %s):
        pass
'''
RECORD = '''import os

from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    rank = int(os.environ["RANK"])
    raise ValueError("rank %d has a bad config" % rank)


main()
'''
MIXED = "the processes print at once"


def folds_the_parent(told: Told) -> None:
    """What the parent raised is a consequence, not a second root."""
    assert [crash["role"] for crash in told.crashes].count("root") == 1, told.crashes


def names_the_worker(told: Told) -> None:
    """Whichever of its errors the parent met, the case names the dead worker and the signal."""
    assert "DataLoader worker" in told.document and "SIGKILL" in told.document + told.done.stderr, told.document


def _loader(number: int, method: str) -> Hard:
    return Hard(number, f"DataLoader workers, {method}", ("python", "rows.py", method), files={"rows.py": LOADER}, slow=True,
                shows="the worker's own exception, live, with its number and values; the parent's copy is folded", more=_live_worker,
                root=("IndexError", "no row 37"), site="rows.py:13", process="DataLoader worker 0", varies=MIXED)


def _live_worker(told: Told) -> None:
    folds_the_parent(told)
    assert told.variables["at"] == "37"


def _pool(number: int, method: str) -> Hard:
    return Hard(number, f"multiprocessing.Pool, {method}", ("python", "work.py", method), files={"work.py": POOL}, more=_live_pool,
                shows="the worker's own exception, live, with its values", root=("ZeroDivisionError", "division by zero"), site="work.py:7",
                process="PoolWorker|Process-", slow=method != "fork")


def _live_pool(told: Told) -> None:
    folds_the_parent(told)
    assert told.variables == {"row": "3", "twice": "6"}


CASES = (
    _loader(18, "fork"), _loader(19, "spawn"), _loader(20, "forkserver"),
    Hard(21, "default collate of unequal tensors, no workers", ("python", "rows.py"), files={"rows.py": STACK}, slow=True,
         shows="the exception, the line that iterates, and the shapes", root=("RuntimeError", "stack expects each tensor to be equal size"),
         site="rows.py:5", says=(r"\[3\] at entry 0 and \[4\] at entry 2",)),
    _pool(22, "fork"), _pool(23, "spawn"), _pool(24, "forkserver"),
    Hard(25, "ProcessPoolExecutor", ("python", "work.py"), files={"work.py": FUTURES}, more=folds_the_parent,
         shows="the worker's own exception, live, with its values", root=("ZeroDivisionError", "division by zero"), site="work.py:5"),
    Hard(26, "torch.multiprocessing.spawn", ("python", "work.py"), files={"work.py": SPAWN}, slow=True, more=folds_the_parent, varies=MIXED,
         shows="the worker's own exception; ProcessRaisedException is folded", root=("ValueError", "worker 1 got 3 rows"), site="work.py:8"),
    Hard(27, "a DataLoader worker dies of a segmentation fault", ("python", "rows.py", "segv"), files={"rows.py": DIES % "prefetch_factor=2"}, slow=True,
         shows="the fault as the root, with the worker's Python stack, though torch has its own handler there", varies=MIXED,
         root=("Segmentation fault", ""), site="rows.py:22", process="DataLoader worker|pid"),
    *(Hard(28, "a DataLoader worker is killed", ("python", "rows.py", "kill"), files={"rows.py": DIES % how}, slow=True, more=names_the_worker,
           variant=variant, shows="the dead worker and its signal, whichever of four errors the parent met", varies=MIXED)
      for variant, how in (("default", "prefetch_factor=2"), ("pinned or polled", "timeout=30"),
                           ("spawn", "multiprocessing_context='spawn'"), ("one batch ahead", "prefetch_factor=1"))),
    Hard(29, "torch elastic @record", ("torchrun", "--nproc-per-node", "2", "main.py"), files={"main.py": RECORD}, slow=True, varies=MIXED,
         shows="the exception and its line, by rank; torchrun's `error_file` adds nothing that is missed", root=("ValueError", "rank "),
         site="main.py:9", process="rank [01]"),
)

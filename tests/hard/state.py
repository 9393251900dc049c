# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 86-95: values that bite whoever looks at them."""

from __future__ import annotations

import re

from tests.hard.case import Hard
from tests.hard.play import Told

REPRS = '''import sys
import time


class Exits:
    def __repr__(self):
        sys.exit(9)


class Prints:
    def __repr__(self):
        print("looked at")
        return "Prints()"


class Sleeps:
    def __repr__(self):
        time.sleep(60)


class Recurses:
    def __repr__(self):
        return repr(self)


def fit(a, b, c, d, rows):
    raise ValueError("no rows in %d" % rows)


fit(Exits(), Prints(), Sleeps(), Recurses(), 5)
'''
PROXIES = '''from unittest import mock


class Lazy:
    def __getattr__(self, name):
        print("asked for", name)
        raise SystemExit(9)

    __len__ = __iter__ = __bool__ = __hash__ = __eq__ = lambda self, *_: self.loaded


class Settings:
    @property
    def __dict__(self):
        raise SystemExit(9)

    @property
    def __class__(self):
        raise SystemExit(9)


def fit(lazy, model, settings, rows):
    raise ValueError("no rows in %d" % rows)


model = mock.MagicMock()
try:
    fit(Lazy(), model, Settings(), 5)
finally:
    print(len(model.mock_calls), "calls")
'''
TENSORS = '''import numpy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

numpy.zeros((4, 3), dtype="int16").tofile("rows.bin")


def fit(huge, nowhere, fake, sparse, coarse, mapped, rows):
    raise ValueError("no rows in %d" % rows)


with FakeTensorMode():
    fake = torch.zeros(7, 5)
fit(torch.empty(2_500_000_000), torch.empty(8, 2, device="meta"), fake, torch.eye(6).to_sparse(),
    torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), numpy.memmap("rows.bin", "int16", "r", shape=(4, 3)), 5)
'''
PLACED = '''import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


def fit(placed, rows):
    raise ValueError("no rows in %d" % rows)


fit(distribute_tensor(torch.ones(6, 4), init_device_mesh("cpu", (1,)), [Shard(0)]), 5)
'''
ONE_NAN = '''import torch


def fit(rows, batch):
    raise ValueError("no rows in %d" % rows)


batch = torch.ones(10_000_000)
batch[7_654_321] = float("nan")
fit(5, batch)
'''
CYCLES = '''def fit(tree, loop, rows):
    raise ValueError("no rows in %d" % rows)


tree, loop = {"name": "root"}, []
tree["self"] = tree
loop.append((loop, tree))
fit(tree, loop, 5)
'''
LONG = '''def fit(big, rows):
    raise ValueError("no rows in %d" % rows)


fit(1 << 3_321_928, 5)
'''
HOSTILE = '''class Config(dict):
    def items(self):
        raise SystemExit(9)

    __iter__ = __len__ = __getitem__ = keys = values = get = items


def fit(config, rows):
    raise ValueError("no rows in %d" % rows)


fit(Config(rate=0.1), 5)
'''
TOO_MUCH = '''class Node:
    def __init__(self, depth):
        self.name = "n" * 20000
        self.below = [Node(depth - 1) for _ in range(6)] if depth else []


def fit(depth, tree, rows):
    words = ["word" * 50] * 100_000
    table = {str(n): [n] * 50 for n in range(20_000)}
    if depth:
        return fit(depth - 1, tree, rows)
    raise ValueError("no rows in %d" % rows)


fit(25, Node(5), 5)
'''
HANDLER = '''import signal


def stop(*_):
    signal.setitimer(signal.ITIMER_REAL, 0.0005)
    if not running:
        raise RuntimeError("from the handler")


def fit(rows):
    many = [[{key: [key] * 9 for key in range(9)}] * 6] * 6
    running.clear()
    raise ValueError("no rows in %d" % rows)


running = [True]
signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, 0.0005)
try:
    fit(5)
except RuntimeError as error:
    raise error.__context__ or error
finally:
    signal.setitimer(signal.ITIMER_REAL, 0)
'''
POISON = '''import torch


def fit(table, rows):
    picked = table[rows]
    torch.cuda.synchronize()
    return picked


fit(torch.ones(4, device="cuda"), torch.tensor([1, 900], device="cuda"))
'''


def hostile(number: int, title: str, text: str, shows: str, **more) -> Hard:
    """The exception and the plain value beside the hostile ones: that they did nothing is the same output and the same end."""
    values = more.pop("values", {})

    def check(told: Told) -> None:
        seen = told.variables
        assert seen.get("rows") == "5", told.root
        for name, pattern in values.items():
            assert re.search(pattern, seen.get(name, "")), (name, pattern, seen.get(name))

    line = text.splitlines().index('    raise ValueError("no rows in %d" % rows)') + 1
    return Hard(number, title, ("python", "main.py"), shows, files={"main.py": text}, root=("ValueError", "no rows in 5"), site=f"main.py:{line}",
                more=check, **more)


def _is_bounded(told: Told) -> None:
    assert told.failure["run"]["seconds"] < 30
    assert len(told.document) < 40_000
    assert told.root["frames"][-1]["variables"], "the innermost frame comes first"


CASES = (
    hostile(86, "a __repr__ that exits, prints, sleeps or recurses", REPRS, "the values by their types; none was called",
            values={"a": "Exits", "b": "Prints", "c": "Sleeps", "d": "Recurses"}),
    hostile(87, "__getattr__ with side effects, a mock, a lazy proxy", PROXIES, "the values by their types; none was asked",
            values={"lazy": "Lazy", "model": "Mock", "settings": "Settings"}),
    hostile(88, "strange tensors", TENSORS, "size and dtype of a 10 GB tensor, of meta, fake, sparse, quantised and mapped ones, none of them read in full", slow=True,
            values={"huge": "2,?500,?000,?000", "nowhere": r"8.*2.*meta", "fake": "7.*5", "sparse": "6.*6.*sparse|sparse.*6.*6", "coarse": "q",
                    "mapped": "4.*3.*int16|int16.*4.*3"}, variant="one process"),
    hostile(88, "strange tensors", PLACED, "shape and kind of a DTensor", slow=True, values={"placed": "DTensor"}, variant="DTensor"),
    hostile(89, "one NaN in ten million numbers", ONE_NAN, "that there is one, and how many", slow=True, values={"batch": "(?i)nan"}),
    hostile(90, "containers that hold themselves", CYCLES, "each value once", values={"tree": "see above|…|above", "loop": "see above|…|above"}),
    hostile(91, "an int of a million digits", LONG, "that it is one, not its digits", values={"big": "int of"}),
    hostile(92, "a dict subclass with hostile methods", HOSTILE, "what it holds, by none of its own methods", values={"config": "rate.*0.1"}),
    Hard(93, "more state than the budget allows", ("python", "main.py"), "what fits, innermost first, in bounded time and size", files={"main.py": TOO_MUCH},
         root=("ValueError", "no rows in 5"), site="main.py:12", more=_is_bounded, slow=True),
    Hard(94, "a signal handler raises during the snapshot", ("python", "main.py"), "the program's own exception", files={"main.py": HANDLER},
         root=("ValueError", "no rows in 5"), site="main.py:13", varies="signals come when they come"),
    Hard(95, "a CUDA context that an assertion has broken", ("python", "main.py"), "the exception and its line, though no tensor can be looked at",
         files={"main.py": POISON}, slow=True, needs=("gpu",), says=("device-side assert",)),
)

# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 1-17: whatever starts the Python that fails."""

from __future__ import annotations

import json
import zipfile

from tests.hard.case import Hard
from tests.hard.play import Told
from tests.stories import Project

TRAIN = '''import sys


def scale(step, warmup):
    return step / warmup


def train(steps):
    for step in range(steps):
        scale(step, warmup=2 - step)


train(5)
'''
FAILS = {"train.py": TRAIN}
DIVISION = ("ZeroDivisionError", "division by zero")
SITE = "train.py:5"


def crash(number: int, title: str, *command: str, shows: str = "", **more) -> Hard:
    """A launch of TRAIN: the exception, its line and its values, whatever stood in between."""
    told = {"files": FAILS, "root": DIVISION, "site": SITE, "more": _has_values, **more}
    return Hard(number, title, command, shows or "the exception, `train.py:5`, and the values there", **told)


def _has_values(told: Told) -> None:
    assert told.variables == {"step": "2", "warmup": "0"}


def _zipped(project: Project) -> None:
    with zipfile.ZipFile(project.root / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", TRAIN)


def _ends_as(*patterns: str):
    def check(told: Told) -> None:
        ends = [crash for crash in told.crashes if crash["role"] == "consequence"]
        assert {crash["type"].rpartition(".")[2] for crash in ends} & set(patterns), told.crashes

    return check


NOTEBOOK = json.dumps({
    "cells": [{"cell_type": "code", "id": "a", "execution_count": None, "metadata": {}, "outputs": [], "source": "rows = [3, 1, 2]\nprint(len(rows))"},
              {"cell_type": "code", "id": "b", "execution_count": None, "metadata": {}, "outputs": [],
               "source": "def pick(rows, at):\n    return rows[at]\n\npick(rows, 7)"}],
    "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}, "nbformat": 4, "nbformat_minor": 5})
CELL = {"files": {"study.ipynb": NOTEBOOK}, "root": ("IndexError", "list index out of range"), "slow": True,
        "env": {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}, "varies": "a kernel's own log tells times and ports"}


def _is_in_the_cell(told: Told) -> None:
    last = told.root["frames"][-1]
    assert (last["function"], last["line"]) == ("pick", 2) and last["variables"].get("at") == "7", told.root


RANKS = '''import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
batch = torch.ones(4) * rank
dist.all_reduce(batch)
if rank == 1:
    raise RuntimeError("rank 1 has no data left: %d rows" % batch.numel())
dist.barrier()
dist.barrier()
'''
TESTS = '''from pytest import fixture


@fixture
def rows():
    return [1, 2, 3]


def test_passes(rows):
    assert len(rows) == 3


def test_sum(rows):
    total = sum(rows)
    assert total == 7
'''
BARE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""The plugins that happen to be installed cost a second a run."""
FAILED_TEST = {"root": ("AssertionError", ""), "site": "test_rows.py:15"}


def _test_is_named(told: Told) -> None:
    assert told.variables["total"] == "6" and told.variables["rows"] == "[1, 2, 3]", told.root


DDTRACE = '''"""Does as ddtrace-run does: puts a folder with its own sitecustomize in front, which lets the shadowed one run."""
import os
import sys

os.environ["PYTHONPATH"] = os.path.join(os.getcwd(), "front") + os.pathsep + os.environ.get("PYTHONPATH", "")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
'''
FRONT = '''import importlib
import os
import sys

here = os.path.dirname(__file__)
at = sys.path.index(here)
del sys.path[at]
mine = sys.modules.pop("sitecustomize")
try:
    importlib.import_module("sitecustomize")
except ImportError:
    sys.modules["sitecustomize"] = mine
finally:
    sys.path.insert(at, here)
'''

CASES = (
    crash(1, "make", "make", "train", code=2, files={**FAILS, "Makefile": "train:\n\tpython train.py\n"}, says=("make train → python train.py",),
          shows="the exception and its line; `make train → python train.py`, though the exit code is make's own 2"),
    crash(2, "bash with set -e and a pipe", "bash", "-c", "set -eo pipefail; python train.py | cat; echo never"),
    Hard(3, "torchrun, one of two ranks raises", ("torchrun", "--nproc-per-node", "2", "ranks.py"), files={"ranks.py": RANKS}, slow=True,
         shows="the exception of rank 1 as the root, the lost connections of the other and torchrun's own error as consequences",
         root=("RuntimeError", "rank 1 has no data left: 4 rows"), site="ranks.py:9", process="rank 1", more=_ends_as("ChildFailedError"),
         varies="torchrun prints times, and its ranks print at once"),
    crash(4, "accelerate launch", "accelerate", "launch", "--cpu", "--num_processes", "1", "--num_machines", "1", "--mixed_precision", "no",
          "--dynamo_backend", "no", "train.py", slow=True, needs=("accelerate",)),
    crash(5, "uv run", "uv", "run", "--offline", "--no-project", "--python", "python", "train.py", needs=("uv",)),
    crash(6, "python -m", "python", "-m", "pkg", site="pkg/work.py:5",
          files={"pkg/__init__.py": "", "pkg/__main__.py": "from . import work\n", "pkg/work.py": TRAIN}, shows="the exception and its line in the package"),
    crash(7, "a subprocess of a subprocess of a subprocess", "python", "down.py", "3",
          files={**FAILS, "down.py": "import subprocess, sys\nn = int(sys.argv[1])\nif n:\n    sys.exit(subprocess.call([sys.executable, 'down.py', str(n - 1)]))\n"
                                     "import train\n"}),
    crash(8, "os.execv", "python", "go.py", files={**FAILS, "go.py": "import os, sys\nos.execv(sys.executable, [sys.executable, 'train.py'])\n"}),
    crash(9, "a zipapp", "python", "app.pyz", prepare=_zipped, files={}, site="app.pyz/__main__.py:5", shows="the exception and its line in the archive"),
    crash(10, "a script on stdin", "sh", "-c", "python < train.py", site="<stdin>:5", shows="the exception and its line of the script"),
    Hard(11, "python -c", ("python", "-c", "rows = [1]\nrows[3]"), "the exception, its line, and the values there",
         root=("IndexError", "list index out of range"), site="<string>:2"),
    Hard(12, "a failing pytest test", ("python", "-m", "pytest", "-q", "test_rows.py"), "the assertion, its line, and the test's values",
         files={"test_rows.py": TESTS}, more=_test_is_named, env=BARE, varies="it tells how long it took", **FAILED_TEST),
    Hard(13, "an error while pytest collects", ("python", "-m", "pytest", "-q", "test_rows.py"), "the exception at import, with its line", code=2,
         files={"test_rows.py": "sizes = {}\nwidth = sizes['width']\n\n\ndef test_it():\n    pass\n"}, root=("KeyError", "'width'"), site="test_rows.py:2", env=BARE,
         varies="it tells how long it took"),
    Hard(14, "pytest-xdist", ("python", "-m", "pytest", "-q", "-p", "xdist", "-n2", "test_rows.py"), "the assertion, its line, and the values in the worker",
         files={"test_rows.py": TESTS}, more=_test_is_named, env=BARE, **FAILED_TEST, slow=True, varies="xdist's workers report at once", process="gw[01]|pid"),
    Hard(15, "unittest", ("python", "-m", "unittest", "test_it"), "the assertion and its line",
         files={"test_it.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_sum(self):\n        total = sum([1, 2])\n"
                              "        self.assertEqual(total, 4)\n"}, root=("AssertionError", "3 != 4"), site="test_it.py:7",
         varies="it tells how long it took"),
    crash(16, "ipython", "ipython", "--no-banner", "--colors=NoColor", "--HistoryManager.enabled=False", "train.py", needs=("ipython",), variant="a script", slow=True),
    Hard(16, "ipython", ("jupyter", "execute", "study.ipynb"), "the exception of the cell, its line and values", needs=("nbclient", "ipykernel"),
         variant="a notebook's cell", more=_is_in_the_cell, **CELL),
    Hard(16, "ipython", ("papermill", "study.ipynb", "out.ipynb"), "the exception of the cell, its line and values", needs=("papermill", "ipykernel"),
         variant="a notebook's cell by papermill", more=_is_in_the_cell, **CELL),
    crash(17, "ddtrace-run in between", "python", "ddrun.py", "train.py", files={**FAILS, "ddrun.py": DDTRACE, "front/sitecustomize.py": FRONT},
          how="`python ddrun.py train.py`, which does as ddtrace-run does: a sitecustomize of its own in front, which lets the shadowed one run"),
)

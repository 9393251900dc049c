"""debug.md of five launchers, whole: kept in goldens/ without what differs from run to run and from machine to machine.

`BITTEN_REWRITE=1 pytest tests/hard/test_goldens.py tests/long/test_goldens.py` renews them; read the difference before it is committed.
"""

from __future__ import annotations

import difflib
import os
import re
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.hard import needs
from tests.hard.case import Hard
from tests.hard.launch import NOTEBOOK
from tests.hard.play import Told, opened, ran
from tests.stories import BITTEN

FOLDER = Path(__file__).with_name("goldens")
FIRST = 24
"""Lines that hold command, root exception, culprit process and the line of the person's code."""
WIDTH, SCREENS = 120, 100
"""Columns of a screen, and the lines of two."""
TRIES = 3
MEANWHILE = r"\n- Meanwhile the kernel killed [^\n]*\n"
"""Said where a test beside this one ran out of memory: it makes a document two lines longer."""
KEPT = ("PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "PYTHONDONTWRITEBYTECODE", "COLUMNS", "NO_COLOR",
        "GIT_CONFIG_GLOBAL")
"""Variables that a document is drawn with: others of this machine would stand in it."""

TRAIN = '''import json


def batches(rows, size):
    for start in range(0, len(rows), size):
        yield rows[start:start + size]


def train(config):
    rows = list(range(config["rows"]))
    for batch in batches(rows, config["batch_size"]):
        print("mean", sum(batch) / (len(batch) - config["drop"]))


train(json.load(open("config.json")))
'''
SHAPES = '''import pytest


def widen(rows, width):
    return [row + [0] * (width - len(row)) for row in rows]


@pytest.fixture
def rows():
    return [[1], [1, 2], [1, 2, 3, 4]]


def test_rows_are_equally_wide(rows):
    wide = widen(rows, 3)
    assert {len(row) for row in wide} == {3}
'''
RANKS = '''import torch
import torch.distributed as dist


def shard(rows, rank, world):
    size = len(rows) // world
    return rows[rank * size:(rank + 1) * size].view(2, 4)


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
rows = torch.ones(16 if rank == 0 else 14)
loss = shard(rows, rank, world).sum()
dist.all_reduce(loss)
'''
LOADER = '''import torch
from torch.utils.data import DataLoader, Dataset


class Words(Dataset):
    def __init__(self, lengths):
        self.lengths = lengths

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, at):
        return torch.zeros(self.lengths[at])


if __name__ == "__main__":
    for batch in DataLoader(Words([8, 8, 8, 8, 8, 7]), batch_size=2, num_workers=1):
        print(batch.shape)
'''


@dataclass(frozen=True)
class Golden:
    """`opens` are words of the first lines: command, root exception, culprit process, the line of the person's code."""

    name: str
    command: tuple[str, ...]
    files: dict[str, str]
    opens: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    is_plain: bool = False
    needs: tuple[str, ...] = ()


QUICK = ("make", "pytest")
GOLDENS = {golden.name: golden for golden in (
    Golden("make", ("make", "-s", "train"), {"train.py": TRAIN, "config.json": '{"rows": 10, "batch_size": 4, "drop": 2}\n',
                                           "Makefile": "train:\n\tpython train.py\n"},
           ("make -s train", "ZeroDivisionError", "pid N", "train.py:12 in train"), is_plain=True),
    Golden("pytest", ("python", "-m", "pytest", "-q", "test_rows.py"), {"test_rows.py": SHAPES},
           ("pytest -q test_rows.py", "AssertionError", "pid N", "test_rows.py:15 in test_rows_are_equally_wide"),
           {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, is_plain=True),
    Golden("torchrun", ("torchrun", "--nproc-per-node", "2", "ranks.py"), {"ranks.py": RANKS},
           ("torchrun --nproc-per-node 2 ranks.py", "RuntimeError", "rank 1, pid N", "ranks.py:7 in shard")),
    Golden("loader", ("python", "words.py"), {"words.py": LOADER},
           ("python words.py", "RuntimeError", "DataLoader worker 0, pid N", "words.py:17 in <module>")),
    Golden("notebook", ("jupyter", "execute", "study.ipynb"), {"study.ipynb": NOTEBOOK},
           ("jupyter execute study.ipynb", "IndexError", "pid N", "in pick"), {"PYDEVD_DISABLE_FILE_VALIDATION": "1"},
           needs=("nbclient", "ipykernel")),
)}


def hold(name: str, place: Path) -> None:
    """The document is the golden one, tells the most important first, and is short where the crash is plain."""
    golden, kept = GOLDENS[name], FOLDER / f"{name}.md"
    if lacks := [needs.words(each) for each in golden.needs if needs.missing(each)]:
        pytest.skip(f"needs {', '.join(lacks)}")
    if os.environ.get("BITTEN_REWRITE"):
        kept.write_text(_drawn(golden, place / "first"), "utf-8")
    for attempt in range(TRIES):  # capture keeps to its seconds: on a busy machine it leaves out what took too long
        text = _drawn(golden, place / str(attempt))
        if text == kept.read_text("utf-8"):
            return
    lines = (each.splitlines(keepends=True) for each in (kept.read_text("utf-8"), text))
    pytest.fail("".join(difflib.unified_diff(*lines, "golden", "drawn", n=1))
                + "\nif it is right: BITTEN_REWRITE=1 pytest tests/hard/test_goldens.py tests/long/test_goldens.py")


def _drawn(golden: Golden, place: Path) -> str:
    """What a person gets, held to what must come first and to its length; scrubbed."""
    place.mkdir()
    case = Hard(0, golden.name, golden.command, "", files=golden.files, env=golden.env)
    project = opened(case, place)
    project.env = {name: value for name, value in project.env.items() if name in KEPT or name in golden.env} | {"LANG": "C.UTF-8"}
    document = Told(project, ran(project, case, *BITTEN, "run", "--", *golden.command)).document
    text = scrubbed(document, project.root)
    head = "\n".join(text.splitlines()[:FIRST])
    assert not [word for word in golden.opens if word not in head], head
    assert not golden.is_plain or screens(document) <= SCREENS, document
    return text


def screens(text: str) -> int:
    """Lines on a screen, long ones wrapped."""
    return sum(max(1, -(-len(line) // WIDTH)) for line in text.splitlines())


def scrubbed(text: str, root: Path) -> str:
    """Without paths of this machine, process numbers, times, revisions, versions."""
    python = sysconfig.get_paths()
    places = {root: "PROJECT", root.parent / "home": "HOME", python["purelib"]: "SITE", python["stdlib"]: "STDLIB",
              python["scripts"]: "BIN"}
    for place, word in places.items():
        text = text.replace(str(place), word)
    for pattern, word in SCRUBS:
        text = re.sub(pattern, word, text)
    return text


SCRUBS = (
    (r"# bug-[\d-]+", "# bug-DATE"),
    (r"pid \d+", "pid N"),
    (r"\d+(\.\d+)? s\b", "N s"),
    (r"HEAD is [0-9a-f]+", "HEAD is HEAD"),
    (r'(File "(?:SITE|STDLIB)[^"]*", line) \d+', r"\1 N"),
    (r"(?s)(## Environment\n\n- command: [^\n]*\n).*?(?=\n## )", r"\1- …\n"),
    (r"/\S*ipykernel_\d+/\d+\.py", "CELL"),
    (r"0x[0-9a-f]+", "0xN"),
    (r"\[/\S*/gloo/[^`]*`", "a lost connection`"),
    (r"/tmp/tmp\w+\.json", "CONNECTION"),
    (r"/tmp/torchelastic_\S*", "TMP"),
    (r"- wrote: `/tmp` [^\n]*\n", ""),
    (r"\n- Meanwhile the kernel killed [^\n]*\n", ""),
)

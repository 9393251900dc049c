"""Which share of real crashes gets a verified reproducer of ten lines, and after how long.

`python benchmarks/reproducer.py --folder FOLDER --python PYTHON` runs `bitten run` on a copy of every case in FOLDER whose `case.toml` says
`kind = "crash"`; of that file only the command and the kind are read. PYTHON has what the cases need. The folder isn't part of this
repository: a set of reproduced ML bugs, one small project each.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomllib
import torch
from harness import section, table, verdict

GOAL = 0.70
LINES = 10
HIDDEN = ("case.toml", "fix.patch")


@dataclass(frozen=True)
class Found:
    """What one crash got. `words` say why, where there is none."""

    name: str
    lines: int
    verified: bool
    seconds: float
    words: str


def crashes(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, Path, str]]:
    for file in sorted(folder.glob("*/case.toml")):
        told = tomllib.loads(file.read_text("utf-8"))
        if told.get("kind") == "crash" and (not names or file.parent.name in names):
            yield file.parent.name, file.parent, told["command"]


def found(name: str, folder: Path, command: str, python: Path) -> Found:
    with tempfile.TemporaryDirectory(prefix="bitten-bench-") as place:
        project = Path(place, "project")
        shutil.copytree(folder, project, ignore=shutil.ignore_patterns(*HIDDEN, "__pycache__"))
        env = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "HOME": place, "XDG_STATE_HOME": f"{place}/state",
               "XDG_CACHE_HOME": f"{place}/cache", "BITTEN_REPRODUCER": "1", "NO_COLOR": "1"}
        argv = [sys.executable, "-m", "bitten", "run", "--", "bash", "-c", command]
        subprocess.run(argv, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=600)
        return _told(name, project)


def _told(name: str, project: Path) -> Found:
    journals = list(project.glob(".bitten/1-*/events.jsonl"))
    events = [json.loads(line) for line in journals[0].read_text("utf-8").splitlines()] if journals else []
    told = next((each["event"] for each in events if "Reproducer" in str(each.get("kind"))), None)
    if told is None:
        return Found(name, 0, False, 0.0, "no case was opened")
    lines = sum(1 for line in told.get("code", "").splitlines() if line.strip())
    return Found(name, lines, bool(told.get("verified")), float(told.get("seconds", 0.0)), told.get("why", ""))


def _share(good: Sequence[Found], of: int) -> str:
    seconds, lines = [each.seconds for each in good] or [0.0], [each.lines for each in good] or [0]
    return (f"{len(good)} of {of} have a verified one ({len(good) / max(1, of):.0%}), of {statistics.median(lines):.0f} lines in the "
            f"middle, after {statistics.median(seconds):.1f} s in the middle and {max(seconds):.1f} s at most.")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    rows = [found(*each, given.python) for each in crashes(given.folder, given.only)]
    good = [each for each in rows if each.verified and each.lines <= LINES]
    told = [[each.name, each.lines if each in good else "none", f"{each.seconds:.1f}", "" if each in good else each.words] for each in rows]
    section("A reproducer of ten lines", {"torch": torch.__version__}, table(["crash", "lines", "seconds", "why none"], told),
            _share(good, len(rows)), verdict(f"at least {GOAL:.0%} of the crashes", len(good) >= GOAL * len(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Does a program print the same under every instrument? Each case of a folder runs twice alone and once probed; nobody looks at what it is.

`python benchmarks/untouched.py FOLDER [NAME …] [--jobs N]`. Only names and a word each are printed: equal, different, differs alone (then
nothing can be said), over time. The exit code is 1 when any is different.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tomllib

from bitten.adapters.runs.invitation import env_for
from bitten.adapters.vocabulary import names
from bitten.steps.probe import RECORDING

ANSWERS = shutil.ignore_patterns("case.toml", "control.toml", "fix.patch", "__pycache__")
PATIENCE = 3
"""Times a case's own limit: the machine may be busy."""
Shown = tuple[int, str, str]


def shown(case: Path, known: Mapping[str, object], probed: bool) -> Shown | None:
    """Exit code and output of a fresh copy; None when it went over its time."""
    with tempfile.TemporaryDirectory(prefix="untouched-") as folder:
        project, spool, cache = Path(folder, "project"), Path(folder, "spool"), Path(folder, "cache")
        shutil.copytree(case, project, ignore=ANSWERS)
        for each in (spool, cache):
            each.mkdir()
        ours = env_for(spool, cache, (), False, os.environ, (*names(), RECORDING)) if probed else {}
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **ours}
        try:
            done = subprocess.run(shlex.split(str(known["command"])), cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=PATIENCE * int(str(known.get("timeout_s", 60))), check=False)
        except subprocess.TimeoutExpired:
            return None
        return done.returncode, same(done.stdout, folder), same(done.stderr, folder)


def same(text: str, folder: str) -> str:
    """Without what differs from run to run for reasons of its own: the copy's place, process numbers and addresses."""
    return re.sub(r"0x[0-9a-f]+|pid[ =]?\d+", "", text.replace(folder, ""))


def verdict(case: Path) -> str:
    file = case / "case.toml"
    known = tomllib.loads((file if file.is_file() else case / "control.toml").read_text("utf-8"))
    once, again = (shown(case, known, probed=False) for _ in range(2))
    if once is None or again is None:
        return "over time"
    if once[:2] != again[:2]:
        return "differs alone"
    probed = shown(case, known, probed=True)
    if probed is None:
        return "over time when probed"
    if once[:2] != probed[:2]:
        return "different"
    return "equal" if once[2] == probed[2] or once[2] != again[2] else "equal, but for what it says beside"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    cases = sorted(file.parent.resolve() for kind in ("case.toml", "control.toml") for file in given.folder.rglob(kind))
    chosen = [each for each in cases if not given.names or each.name in given.names]
    told: Counter[str] = Counter()
    with ThreadPoolExecutor(given.jobs) as pool:
        for case, word in zip(chosen, pool.map(verdict, chosen), strict=True):
            print(f"{case.name}: {word}", flush=True)
            told[word] += 1
    print("; ".join(f"{count} {word}" for word, count in told.most_common()))
    return int(any(word.startswith("different") for word in told))


if __name__ == "__main__":
    sys.exit(main())

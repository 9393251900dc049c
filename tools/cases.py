"""Goes through cases of a casebook folder as a stranger would, by the public command line, and prints what each came to.

usage: python tools/cases.py FOLDER [NAME…]

A case is copied elsewhere without its answer (`case.toml`, `fix.patch`), as a git repository of its own. Printed are the
first hypothesis, its verdict on the broken tree, and its verdict when the same check is done on a copy with the patch.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tomllib

FIRST = ("shape-collate-grey-mask", "label-range-one-based", "shape-linear-infeatures")
ANSWERS = shutil.ignore_patterns("case.toml", "control.toml", "fix.patch", "__pycache__")


def bitten(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(
        [sys.executable, "-m", "bitten", *words], cwd=tree, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def copied(case: Path, to: Path, patched: bool = False) -> Path:
    shutil.copytree(case, to, ignore=ANSWERS)
    if patched:
        subprocess.run(["git", "apply", "--unsafe-paths", str(case / "fix.patch")], cwd=to, check=True)
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "as found"]):
        subprocess.run(["git", *words], cwd=to, check=True)
    return to


def went(case: Path, place: Path) -> tuple[str, ...]:
    """Name, class of the first hypothesis, its verdict here and on the patched copy, seconds, and its claim."""
    known = tomllib.loads((case / "case.toml").read_text("utf-8"))
    broken, mended = copied(case, place / "project"), copied(case, place / "mended", patched=True)
    began = time.monotonic()
    bitten(broken, "run", "--", *known["command"].split())
    took = time.monotonic() - began
    shown = json.loads(bitten(broken, "show", "--json").stdout or "{}")
    first = next(iter(shown.get("hypotheses", [])), None)
    if first is None:
        return (case.name, known["class"], "no hypothesis", "", "", f"{took:.1f} s", "")
    again = json.loads(bitten(broken, "check", first["id"], "--on", str(mended), "--json").stdout or "[{}]")[0]
    right = "right" if first["class"] == known["class"] else f"({first['class']})"
    return (case.name, known["class"], right, str(first["verdict"]), str(again.get("verdict")), f"{took:.1f} s", first["claim"])


def main(folder: str, *names: str) -> int:
    good = True
    print("case | class | first hypothesis | broken tree | patched tree | run took | claim")
    for name in names or FIRST:
        with tempfile.TemporaryDirectory(prefix="case-", dir="/var/tmp") as place:
            row = went(Path(folder).resolve() / name, Path(place))
        print(" | ".join(row), flush=True)
        good = good and row[2:5] == ("right", "supports", "refutes")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

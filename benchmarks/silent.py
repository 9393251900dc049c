"""The silent cases of a casebook under `bitten probe all`: who points at the culprit's file, on the broken program and on the fixed one.

usage: python benchmarks/silent.py CASEBOOK [--python PYTHON] [--only NAME…] [--half odd|even] [--write] [--tell]

A case is run as a stranger would, without its answer (`case.toml`, `fix.patch`). Found: a finding names a file that the fix touches.
Those at even places of the sorted list are played by this script alone, and nothing of what was found in them is printed but counts;
`--tell` prints the findings of the others.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib
from harness import section, table

HEAD = ["case", "half", "found", "findings broken", "findings fixed", "by", "troubles"]
ANSWERS = shutil.ignore_patterns("case.toml", "control.toml", "fix.patch", "__pycache__")


@dataclass(frozen=True)
class Row:
    """What came of one case. `broken` and `fixed` are findings; of a control `broken` holds what should be none."""

    name: str
    half: str
    broken: list[dict[str, Any]]
    fixed: list[dict[str, Any]]
    culprits: frozenset[str]
    troubles: int

    @property
    def is_found(self) -> bool:
        return any(file in self.culprits for each in self.broken for file in files_of(each))

    def cells(self) -> list[object]:
        probes = ", ".join(sorted({each["probe"] for each in self.broken})) if self.half != "even" else ""
        found = "" if self.half == "control" else "yes" if self.is_found else "no"
        return [self.name, self.half, found, len(self.broken), len(self.fixed), probes, self.troubles or ""]


def files_of(finding: dict[str, Any]) -> Iterator[str]:
    for each in (finding["facts"].get("at", ""), finding["place"], *finding["facts"].get("also", ())):
        yield str(each).partition(":")[0].removeprefix("./")


def played(case: Path, python: str, patched: bool = False) -> dict[str, Any]:
    """The JSON that `bitten probe all` printed of a copy of the case."""
    known = tomllib.loads(next(case.glob("c*.toml")).read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="silent-", dir="/var/tmp") as place:
        root = Path(place, "project")
        shutil.copytree(case, root, ignore=ANSWERS)
        if patched:
            subprocess.run(["patch", "-p1", "-s", "-i", str(case / "fix.patch")], cwd=root, check=True)
        env = {**os.environ, **known.get("env", {}), "PATH": f"{Path(python).parent}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1",
               "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
        limit = str(5 * known.get("timeout_s", 60))
        words = [sys.executable, "-m", "bitten", "probe", "all", "--json", "--to-the-end", "--timeout", limit, "--"]
        done = subprocess.run([*words, *_argv(known["command"])], cwd=root, env=env, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"findings": [], "limits": [f"the guest had trouble: {done.stderr}"]}


def _argv(command: str) -> list[str]:
    return ["bash", "-c", command] if set(command) & set("&|;<>$") else shlex.split(command)


def row(case: Path, half: str, python: str) -> Row:
    broken = played(case, python)
    fixed = played(case, python, patched=True) if (case / "fix.patch").exists() else {"findings": [], "limits": []}
    troubles = sum("the guest had trouble" in each for each in (*broken["limits"], *fixed["limits"]))
    return Row(case.name, half, broken["findings"], fixed["findings"], culprits(case), troubles)


def culprits(case: Path) -> frozenset[str]:
    file = case / "case.toml"
    known = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    return frozenset([known.get("root_cause", {}).get("file", ""), *known.get("fix", {}).get("files", [])]) - {""}


def chosen(book: Path, half: str, only: list[str]) -> Iterator[tuple[Path, str]]:
    """The silent cases with their half, then the controls."""
    silent = [each.parent for each in sorted(book.glob("*/case.toml")) if tomllib.loads(each.read_text("utf-8")).get("silent")]
    for place, case in enumerate(silent):
        mine = "odd" if place % 2 == 0 else "even"
        if half in ("", mine) and (not only or case.name in only):
            yield case, mine
    if half != "even":
        yield from ((each, "control") for each in sorted((book / "controls").iterdir()) if not only or each.name in only)


def told(rows: list[Row]) -> str:
    lines = []
    for half in ("odd", "even"):
        mine = [each for each in rows if each.half == half]
        if mine:
            lines.append(f"{half} places: {sum(each.is_found for each in mine)} of {len(mine)} found")
    healthy = sum(len(each.fixed) for each in rows) + sum(len(each.broken) for each in rows if each.half == "control")
    return "; ".join([*lines, f"{healthy} findings on fixed twins and controls"]) + "."


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("casebook", type=Path)
    options.add_argument("--python", default=sys.executable, help="the Python of the cases' requirements")
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--half", default="", choices=("", "odd", "even"))
    options.add_argument("--tell", action="store_true")
    given = options.parse_args()
    rows = []
    for case, half in chosen(given.casebook.resolve(), given.half, given.only):
        found = row(case, half, given.python)
        rows.append(found)
        print(" | ".join(map(str, found.cells())), file=sys.stderr, flush=True)
        for where, each in [("broken", e) for e in found.broken] + [("fixed", e) for e in found.fixed]:
            if given.tell and half != "even":
                print(f"      {where}: {each['probe']} at {each['facts'].get('at')}: {each['facts'].get('says')}", file=sys.stderr)
    section("Silent cases under `bitten probe all`", {},
            table(HEAD, [each.cells() for each in rows]), told(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

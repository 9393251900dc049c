"""What it costs to start `bitten`: its version, and a look at the case in a repository with 50 cases, beside `python -c pass`.

`python benchmarks/command.py [--rounds N] [--cases N]`
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from harness import cost, interval, lockstep, options, ratio, section, table, verdict, workplace

import bitten

BITTEN = str(Path(sys.executable).with_name("bitten"))
PASS = [sys.executable, "-c", "pass"]
CRASH = "values = {'a': 1}\nprint('loss=0.5')\nvalues['b']\n"
PARTS = {"dataclasses, re, json": "dataclasses, re, json", "click": "click", "msgspec": "msgspec",
         "the nouns of the law": "bitten.core.next", "all of a look": "bitten.interfaces.commands.cases"}


KINDS = {"frozen dataclasses": "from dataclasses import dataclass; made = dataclass(frozen=True)",
         "nouns": "from bitten.core.noun import noun as made"}
FORTY = """{made}
for _ in range(40):
    @made
    class Noun:
        "A class of five values."
        first: int
        second: str
        third: tuple = ()
        fourth: str = ""
        fifth: float = 0.0
"""


def main() -> None:
    given = options(rounds=30, cases=50)
    with workplace() as project:
        fill(project, given.cases)
        contenders = {"`python -c pass`": PASS, "`python -c pass` again": PASS, "`bitten --version`": [BITTEN, "--version"],
                      f"`bitten`, {given.cases} cases": [BITTEN]}
        contenders |= {f"forty {name}": [sys.executable, "-c", FORTY.format(made=made)] for name, made in KINDS.items()}
        contenders |= {f"`import` of {name}": [sys.executable, "-c", f"import {module}"] for name, module in PARTS.items()}
        runs = lockstep({name: partial(spent, argv, project) for name, argv in contenders.items()}, given.rounds)
    plain = runs["`python -c pass`"]
    rows = [[name, f"{interval(times).middle * 1000:.1f}", f"{ratio(times, plain):.2f}"] for name, times in runs.items()]
    section("Start of the command", {"bitten": bitten.__version__}, table(["", "CPU ms", "ratio [95 %]"], rows),
            verdict("`bitten --version` at most 3×", ratio(runs["`bitten --version`"], plain).high <= 3),
            verdict(f"`bitten` with {given.cases} cases at most 5×", ratio(runs[f"`bitten`, {given.cases} cases"], plain).high <= 5))


def spent(argv: list[str], project: Path) -> float:
    return cost(argv, cwd=project).cpu


def fill(project: Path, cases: int) -> None:
    """One real case, and the others as copies of its folder: the same journal under another number."""
    (project / "crash.py").write_text(CRASH, "utf-8")
    done = subprocess.run([BITTEN, "run", "--", sys.executable, "crash.py"], cwd=project, capture_output=True, check=False)
    first = next((project / ".bitten").glob("1-*"), None)
    assert first is not None, done.stderr
    for number in range(2, cases + 1):
        shutil.copytree(first, first.with_name(f"{number}-{first.name.removeprefix('1-')}"))


if __name__ == "__main__":
    main()

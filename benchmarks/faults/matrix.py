"""Does the report name the first cause? `make faults`, or `python benchmarks/faults/matrix.py [NAME …] [--no-peers] [--jobs N]`.

Each program runs as the command of `bitten probe nan --json`; what its finding says is held against the truth, and so is what the peers
say. The exit code is 1 when a row of ours is not wholly right, or a healthy program has a finding. Peers never decide it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import peers
import programs
from truth import HEALTHY, HERE, TRUTH, Truth, lines

sys.path.insert(0, str(HERE.parent))
from harness import section, table

PROJECT = HERE.parent.parent
SECONDS = 120


def ours(name: str, state: Path) -> list[str]:
    """Where our report differs from the truth; empty when it is right."""
    own = {key: str(state) for key in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")}
    program = [sys.executable, str(HERE.relative_to(PROJECT) / "programs.py"), name]
    done = subprocess.run([sys.executable, "-m", "bitten", "probe", "nan", "--json", "--", *program], cwd=PROJECT, capture_output=True,
                          text=True, timeout=SECONDS, env={**os.environ, **own}, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return [f"no report: {' '.join(done.stderr.split())[-200:]}"]
    findings = [each for each in report["findings"] if each["probe"] == "nan"]
    if TRUTH[name] is HEALTHY:
        return [f"a finding: {each['facts'].get('says', '')}" for each in findings]
    return [wrong for each in findings for wrong in differences(each["facts"], TRUTH[name], lines(name))] if findings else ["nothing found"]


def differences(facts: Mapping[str, Any], truth: Truth, where: set[str]) -> list[str]:
    said = {key: facts.get(f"nan.{key}") for key in ("kind", "module", "overflow", "tensor", "argument", "rows")}
    op = re.sub(r"^aten[.:]+|\.\w+$", "", facts.get("nan.op") or "")
    held = {
        f"kind {said['kind']}": said["kind"] in truth.kinds,
        f"step {facts.get('step')}": facts.get("step") == truth.step,
        f"op {op}": not truth.ops or op in truth.ops,
        f"module {said['module']!r}": not truth.modules or said["module"] in truth.modules,
        f"line {facts.get('at')}": facts.get("at") in where,
        f"overflow {said['overflow']}": bool(said["overflow"]) == truth.overflow,
        f"tensor {said['tensor']!r}": truth.tensor in {None, said["tensor"]},
        f"argument {said['argument']!r}": not truth.argument or said["argument"] in truth.argument,
        f"rows {said['rows']}": truth.rows is None or list(truth.rows) == list(said["rows"] or []),
    }
    return [what for what, right in held.items() if not right]


def grade(told: peers.Told, truth: Truth, where: set[str]) -> str:
    """As kind as can be: a line, a tensor or an input range is right without its kind; what an optimizer wrote may be seen a step later."""
    if told.step < 0:
        return "fails" if told.says else "right" if truth is HEALTHY else "not seen"
    late = told.step - truth.step - ("optimizer step" in truth.kinds)
    if truth is HEALTHY or late > 0:
        return "false alarm" if truth is HEALTHY else "late, wrong"
    if told.line in where or (truth.tensor or "nothing") in told.says or ("input" in truth.kinds and "Input values" in told.says):
        return "right"
    first = "a.lin" if "input" in truth.kinds else (truth.tensor or "").rpartition(".")[0]
    return "module only" if told.module and (told.module in truth.modules or told.module.removeprefix("net.") == first) else "wrong"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[[], *TRUTH], metavar="NAME")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    names = given.names or list(TRUTH)
    with tempfile.TemporaryDirectory(prefix="bitten-faults-") as folder, ThreadPoolExecutor(given.jobs) as pool:
        found = dict(zip(names, pool.map(partial(ours, state=Path(folder)), names), strict=True))
    here = [] if given.no_peers else list(peers.installed())
    rows, sums = [], dict.fromkeys(here, 0)
    for name in names:
        grades = {each: grade(peers.told_by(each, programs.PROGRAMS[name]), TRUTH[name], lines(name)) for each in here}
        sums.update({each: sums[each] + (said == "right") for each, said in grades.items()})
        told = [grades.get(each, "–") for each in peers.PEERS]
        rows.append([name, " / ".join(TRUTH[name].kinds), *told, "; ".join(found[name]) or "right"])
    right = sum(not wrong for wrong in found.values())
    rows.append([f"**right / {len(names)}**", "", *(f"**{sums[each]}**" if each in sums else "–" for each in peers.PEERS), f"**{right}**"])
    said = [] if len(here) == len(peers.PEERS) or given.no_peers else ["–: not installed; `pip install -r benchmarks/requirements.txt`."]
    section("The first cause of a NaN", {"torch": programs.torch.__version__},
            table(["program", "kind", *peers.PEERS, "bitten probe nan"], rows), *said)
    return int(right < len(names))


if __name__ == "__main__":
    sys.exit(main())

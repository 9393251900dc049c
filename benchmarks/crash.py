"""From the end of the crashed process to the last line of `bitten run`: the headline, and hypotheses that captured facts have tested.

`python benchmarks/crash.py [--rounds N]`
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from harness import interval, options, section, table, verdict, workplace

import bitten
from bitten import playbooks

BITTEN = str(Path(sys.executable).with_name("bitten"))
BITES = Path(playbooks.__file__).parent / "unequal_items" / "bites_1.py"
EXAMPLE = Path(__file__).parent.parent / "examples" / "charngram"


def main() -> None:
    given = options(rounds=5)
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    programs = {
        "`unequal_items/bites_1.py`": ([sys.executable, "program.py"], "program.py", BITES),
        "`examples/charngram`, `make train`": (["make", "train", "RUN=bench"], ".", EXAMPLE),
    }
    rows, worst = [], 0.0
    for name, (command, to, source) in programs.items():
        waits = [one(command, to, source) for _ in range(given.rounds)]
        found = interval([each[0] for each in waits])
        worst = max(worst, found.high)
        rows.append([name, f"{found:.2f}", f"{max(each[0] for each in waits):.2f}", sorted({each[1] for each in waits})[0]])
    section("From a crash to tested hypotheses", {"bitten": bitten.__version__, "torch": torch.__version__},
            table(["program", "seconds [95 %]", "worst", "verdicts on screen"], rows), verdict("at most 1 s", worst <= 1))


def one(command: Sequence[str], to: str, source: Path) -> tuple[float, str]:
    """Seconds, and how many hypotheses stood there with a verdict."""
    with workplace() as project:
        if source.is_dir():
            shutil.copytree(source, project / to, dirs_exist_ok=True, ignore=shutil.ignore_patterns("runs", "__pycache__"))
        else:
            shutil.copy(source, project / to)
        who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
        subprocess.run(["git", "add", "-A"], cwd=project, check=True)
        subprocess.run(["git", *who, "commit", "-q", "-m", "as found"], cwd=project, check=True)
        return waited([BITTEN, "run", "--no-reproducer", "--", *command], project)


def waited(argv: Sequence[str], project: Path) -> tuple[float, str]:
    process = subprocess.Popen(argv, cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    child = os.pidfd_open(child_of(process.pid))
    ended, last, said = 0.0, 0.0, b""
    while True:
        ready = select.select([process.stderr, *([] if ended else [child])], [], [])[0]
        if child in ready:
            ended = time.perf_counter()
        if process.stderr in ready:
            data = os.read(process.stderr.fileno(), 1 << 16)
            if not data:
                break
            last, said = time.perf_counter(), said + data
    process.wait()
    os.close(child)
    text = said.decode("utf-8", "replace")
    assert "next:" in text, text
    return last - ended, f"{text.count('✓ supported')} supported, {text.count('✗ refuted')} refuted"


def child_of(pid: int) -> int:
    """The command, as soon as it is there."""
    while True:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        if children and Path(f"/proc/{children[-1]}/cmdline").read_bytes():
            return int(children[-1])
        time.sleep(0.001)


if __name__ == "__main__":
    main()

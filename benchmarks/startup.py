"""What the guest adds to the start of a Python process: instructions by callgrind, and time in lockstep pairs.

`python benchmarks/startup.py [--rounds N]`; `PYTHON=python3.12 python benchmarks/startup.py` measures another interpreter.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from harness import QUIET, cost, difference, first_line, interval, lockstep, options, ratio, section, table, verdict

from bitten.adapters.runs.invitation import env_for

PYTHON = os.environ.get("PYTHON", sys.executable)
PASS = [PYTHON, "-c", "pass"]
CALLGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]


def main() -> None:
    given = options(rounds=60)
    with tempfile.TemporaryDirectory() as folder:
        spool, cache = Path(folder, "spool"), Path(folder, "cache")
        spool.mkdir()
        cache.mkdir()
        cached = env_for(spool, cache, [], False, {})
        contenders = {"plain": {}, "plain again": {}, "guest": cached, "guest, no cache": {**cached, "BITTEN_CACHE": ""}}
        told = {name: instructions(env) for name, env in contenders.items() if name != "plain again" and cost(PASS, env).code == 0}
        runs = lockstep({name: partial(started, env) for name, env in contenders.items()}, given.rounds)
    more = difference(runs["guest"], runs["plain"])
    rows = [[name, f"{told[name] / 1e6:.1f}" if name in told else "", f"{told[name] / told['plain']:.3f}" if name in told else "",
             f"{interval(times).middle * 1000:.1f}", f"{ratio(times, runs['plain']):.3f}", _ms(times, runs["plain"]),
             f"{(min(times) - min(runs['plain'])) * 1000:+.2f}"]
            for name, times in runs.items()]
    head = ["", "instructions, millions", "ratio", "CPU ms", "ratio [95 %]", "ms more [95 %]", "ms more, least against least"]
    section("Start of a Python process", {"interpreter": first_line([PYTHON, "-V"]), "callgrind": first_line(["valgrind", "--version"])},
            table(head, rows),
            "The least of all rounds is the nearest that a shared machine comes to an idle core.",
            verdict("at most 2 ms more on an idle core", min(runs["guest"]) - min(runs["plain"]) <= 0.002),
            verdict("the same in the middle of the interval, as the machine was", more.middle <= 0.002))


def started(env: dict[str, str]) -> float:
    return cost(PASS, env).cpu


def instructions(env: dict[str, str]) -> int:
    done = subprocess.run([*CALLGRIND, *PASS], env={**os.environ, **QUIET, **env}, capture_output=True, text=True, check=True)
    return int(re.findall(r"Collected : (\d+)", done.stderr)[-1])


def _ms(times: list[float], plain: list[float]) -> str:
    found = difference(times, plain)
    return f"{found.middle * 1000:+.2f} [{found.low * 1000:+.2f}, {found.high * 1000:+.2f}]"


if __name__ == "__main__":
    main()

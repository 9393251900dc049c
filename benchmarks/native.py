"""What `--native` adds to the start of any program, and to a Python's that would else be without the guest.

`python benchmarks/native.py [--rounds N]`; each contender is started so many times a round that one start is not lost in the noise.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from harness import Interval, cost, difference, interval, lockstep, options, section, table, verdict, workplace

TIMES = 20
LOOP = 'i=0; while [ $i -lt "$0" ]; do "$@"; i=$((i+1)); done'


def main() -> None:
    given = options(rounds=30)
    with workplace(git=False) as project:
        from bitten.adapters.runs import native  # noqa: PLC0415 - the folders of ours are known only now
        from bitten.adapters.runs.invitation import env_for  # noqa: PLC0415 - as above

        cache = project / "cache"
        cache.mkdir()
        invited = env_for(project, cache, [], False, {})
        preloaded = {**invited, **native.env_for({})}
        isolated = [sys.executable, "-I", "-c", "pass"]
        pairs = {"`/bin/true`": (["/bin/true"], {}, preloaded), "`/bin/true` again": (["/bin/true"], {}, {}),
                 "`python -c pass`, guest in": ([sys.executable, "-c", "pass"], invited, preloaded),
                 "`python -I -c pass`, which lets the guest in now": (isolated, invited, preloaded)}
        runs = {name: compared(project, *each, given.rounds) for name, each in pairs.items()}
    rows = [[name, f"{plain * 1000:.2f}", _ms(more)] for name, (plain, more) in runs.items()]
    section("Start of a program with `--native`", {}, table(["", "CPU ms without", "CPU ms more with it [95 %]"], rows),
            verdict("at most 0.3 ms more for a program that is no Python", runs["`/bin/true`"][1].middle <= 0.0003))


def compared(project: Path, argv: list[str], without: dict[str, str], env: dict[str, str], rounds: int) -> tuple[float, Interval]:
    times = lockstep({"without": partial(started, project, argv, without), "with": partial(started, project, argv, env)}, rounds)
    return interval(times["without"]).middle, difference(times["with"], times["without"])


def started(project: Path, argv: list[str], env: dict[str, str]) -> float:
    """CPU seconds of one start."""
    return cost(["sh", "-c", LOOP, str(TIMES), *argv], env, project).cpu / TIMES


def _ms(more: Interval) -> str:
    return f"{more.middle * 1000:+.2f} [{more.low * 1000:+.2f}, {more.high * 1000:+.2f}]"


if __name__ == "__main__":
    main()

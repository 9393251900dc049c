"""Pairs in lockstep: each round runs every contender once, in an order of chance, so that whatever else the machine does hits all alike.

A ratio is the median of the rounds' own ratios, with its 95 % bootstrap interval; the ratio of the plain contender to itself
stands beside it and says what the machine can't tell apart. Knows nothing of what is measured.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
RESAMPLES = 4000
QUIET = {"PYTHONHASHSEED": "0", "NO_COLOR": "1"}


@dataclass(frozen=True)
class Cost:
    """What one process cost, with those it waited for; in seconds and bytes."""

    cpu: float
    wall: float
    peak: int
    code: int


def cost(argv: Sequence[str], env: Mapping[str, str] | None = None, cwd: Path | None = None, **streams: int) -> Cost:
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    began = time.perf_counter()
    process = subprocess.Popen(argv, env={**os.environ, **QUIET, **(env or {})}, cwd=cwd, **streams)  # type: ignore[call-overload]
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss * 1024, process.returncode)


def lockstep(contenders: Mapping[str, Callable[[], T]], rounds: int, seed: int = 0) -> dict[str, list[T]]:
    chance, found = random.Random(seed), {name: list[T]() for name in contenders}
    for _ in range(rounds):
        for name in chance.sample(list(contenders), len(contenders)):
            found[name].append(contenders[name]())
    return found


@dataclass(frozen=True)
class Interval:
    middle: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        return f"{self.middle:{form}} [{self.low:{form}}, {self.high:{form}}]"


def interval(values: Sequence[float], seed: int = 0) -> Interval:
    """The median and its 95 % bootstrap interval."""
    chance = random.Random(seed)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return Interval(statistics.median(values), medians[RESAMPLES // 40], medians[-RESAMPLES // 40])


def ratio(one: Iterable[float], other: Iterable[float]) -> Interval:
    return interval([a / b for a, b in zip(one, other, strict=True)])


def difference(one: Iterable[float], other: Iterable[float]) -> Interval:
    return interval([a - b for a, b in zip(one, other, strict=True)])


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *([str(each) for each in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verdict(goal: str, met: bool) -> str:
    return f"Goal: {goal}: **{'met' if met else 'missed'}**."


def section(title: str, versions: Mapping[str, str], *parts: str) -> None:
    """Print a table with all that is needed to print it again."""
    machine = f"{os.cpu_count()} CPUs ({_processor()}), {platform.system()} {platform.release()}, load {os.getloadavg()[0]:.1f}"
    told = ", ".join(f"{name} {version}" for name, version in {"Python": platform.python_version(), **versions}.items())
    program = Path(sys.argv[0]).resolve().relative_to(Path(__file__).resolve().parent.parent)
    command = shlex.join(["python", program.as_posix(), *sys.argv[1:]])
    print(f"## {title}\n\n`{command}` · {told} · {machine} · {datetime.date.today()}\n\n" + "\n\n".join(parts) + "\n")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def first_line(argv: Sequence[str]) -> str:
    """What a program says of its version."""
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split("\n")[0].strip()


def options(**defaults: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


@contextmanager
def workplace(git: bool = True) -> Iterator[Path]:
    """A fresh project, with a home of its own for all that is ours outside of it."""
    with tempfile.TemporaryDirectory(prefix="bitten-bench-") as folder:
        home, project = Path(folder, "home"), Path(folder, "project")
        for each in (home, home / "run", project):
            each.mkdir(mode=0o700)
        own = {"HOME": str(home), "XDG_STATE_HOME": f"{home}/state", "XDG_CACHE_HOME": f"{home}/cache", "XDG_RUNTIME_DIR": f"{home}/run"}
        os.environ.update(own)
        if git:
            who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
            subprocess.run(["git", "init", "-q"], cwd=project, check=True)
            subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "begin"], cwd=project, check=True)
        yield project

"""What the instruments cost a training loop, and what their peers do: contenders live side by side and do blocks of steps in turn.

`python benchmarks/probes.py [--starts N] [--blocks N] [--only NAME …] [--workloads NAME …]`. Ours are let in as in any command, through the
environment; peers are armed by what their own pages say. A start's ratio is the median of its blocks', and the interval that of the starts.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from harness import QUIET, Interval, interval, lockstep, section, table, verdict
from workloads import PEERS

from bitten.adapters.guest_told import guest_log
from bitten.adapters.runs.invitation import env_for
from bitten.adapters.vocabulary import instruments
from bitten.steps.probe import RECORDING

WORKER = Path(__file__).with_name("workloads.py")
STEPS = {"mlp": 20, "cnn": 5, "transformer": 5}
SENTINEL, ALL = "sentinel", "probe all"
GOALS = {SENTINEL: {"mlp": 1.12, "cnn": 1.12, "transformer": 1.08}, ALL: {"mlp": 1.35, "cnn": 1.30, "transformer": 1.20}}


class Contender:
    """A training loop under way."""

    def __init__(self, workload: str, peer: str, env: Mapping[str, str], device: str) -> None:
        self.steps = STEPS[workload]
        program = [sys.executable, str(WORKER), workload, peer, device]
        self.process = subprocess.Popen(program, env={**os.environ, **QUIET, **env}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def block(self) -> float:
        return float(self.ask(str(self.steps)))

    def end(self) -> str:
        """A hash of all losses."""
        told = self.ask("")
        self.process.communicate()
        return told

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(line, file=self.process.stdin, flush=True)
        if answer := self.process.stdout.readline().strip():
            return answer
        raise SystemExit(f"{shlex.join(map(str, self.process.args))} died")  # type: ignore[arg-type]


@dataclass
class Runs:
    """Of one contender and one workload, over all starts."""

    ratios: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    same: bool = True
    troubles: set[str] = field(default_factory=set)


def contenders() -> dict[str, str]:
    """Each contender's name, and the peer it arms: empty for the plain loop and for ours."""
    here = [name for name, (package, _) in PEERS.items() if importlib.util.find_spec(package)]
    return {**dict.fromkeys(("plain", "plain again"), ""), **{name: name for name in here}, **dict.fromkeys(GOALS, "")}


def armed(name: str, folder: Path) -> dict[str, str]:
    if name not in GOALS:
        return {}
    asked = ("nan",) if name == SENTINEL else (*(each.name for each in instruments()), RECORDING)
    for each in (spool := folder / name, cache := folder / "cache"):
        each.mkdir(exist_ok=True)
    return env_for(spool, cache, (), False, {}, asked)


def one_start(workload: str, names: Mapping[str, str], blocks: int, seed: int, runs: dict[str, Runs], device: str = "cpu") -> None:
    with tempfile.TemporaryDirectory() as folder:
        living = {name: Contender(workload, peer, armed(name, Path(folder)), device) for name, peer in names.items()}
        for each in living.values():
            each.block()  # what happens only once
        found = lockstep({name: partial(each.block) for name, each in living.items()}, blocks, seed)
        ends = {name: each.end() for name, each in living.items()}
        for name in GOALS & names.keys():
            runs[name].troubles |= {f"{each['where']}: {each['err']}" for each in guest_log.load(Path(folder, name)).of("hookerr")}
    for name, times in found.items():
        runs[name].ratios.append(statistics.median(a / b for a, b in zip(times, found["plain"], strict=True)))
        runs[name].seconds.append(statistics.median(times) / STEPS[workload])
        runs[name].same &= ends[name] == ends["plain"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--workloads", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--only", nargs="+", choices=contenders(), default=list(contenders()), metavar="NAME")
    given = parser.parse_args()
    names = {name: peer for name, peer in contenders().items() if name in ("plain", "plain again", *given.only)}
    found = {workload: {name: Runs() for name in names} for workload in given.workloads}
    for start in range(given.starts):
        for workload in given.workloads:
            one_start(workload, names, given.blocks, start, found[workload])
    told = {workload: {name: interval(run.ratios) for name, run in runs.items()} for workload, runs in found.items()}
    section("A training loop under instruments", versions(), table(["", *given.workloads, "losses"], rows(found, told)),
            *(goal(name, told) for name in GOALS if name in names),
            *sorted({f"Taken out, and so not paid for: {each}" for runs in found.values() for run in runs.values()
                     for each in run.troubles}))


def rows(found: Mapping[str, Mapping[str, Runs]], told: Mapping[str, Mapping[str, Interval]]) -> list[Sequence[str]]:
    plain = [f"{statistics.median(runs['plain'].seconds) * 1e3:.2f} ms" for runs in found.values()]
    others = [[name, *(f"{ratios[name]:.2f}" for ratios in told.values()), _same(name, found)] for name in _names(found) if name != "plain"]
    return [["plain, CPU a step", *plain, ""], *others]


def _names(found: Mapping[str, Mapping[str, Runs]]) -> list[str]:
    return list(next(iter(found.values())))


def _same(name: str, found: Mapping[str, Mapping[str, Runs]]) -> str:
    return "equal bit for bit" if all(runs[name].same for runs in found.values()) else "**different**"


def goal(name: str, told: Mapping[str, Mapping[str, Interval]]) -> str:
    most = {workload: GOALS[name][workload] for workload in told}
    met = all(told[workload][name].high <= limit for workload, limit in most.items())
    return verdict(f"{name}'s upper bound at most {' / '.join(map(str, most.values()))}", met)


def versions() -> dict[str, str]:
    packages = {name.replace("_", "-") for name, _ in PEERS.values() if importlib.util.find_spec(name)} - {"torch"}
    return {"torch": torch.__version__, **{name: importlib.metadata.version(name) for name in sorted(packages)}}


if __name__ == "__main__":
    main()

"""What the guest costs a training loop: contenders live side by side and do blocks of steps in turn.

`python benchmarks/training.py [--starts N] [--blocks N] [--steps N]`
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import torch
from harness import QUIET, lockstep, options, ratio, section, table, verdict

from bitten import playbooks
from bitten.adapters.runs.invitation import env_for

LOOP = Path(__file__).with_name("loop.py")
PROBES = sorted(Path(playbooks.__file__).parent.glob("*/probe.py"))


class Contender:
    """A training loop under way."""

    def __init__(self, env: dict[str, str]) -> None:
        self.process = subprocess.Popen([sys.executable, str(LOOP)], env={**os.environ, **QUIET, **env}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def block(self, steps: int) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(steps, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate()


def main() -> None:
    given = options(starts=4, blocks=25, steps=100)
    runs: dict[str, list[float]] = {}
    for start in range(given.starts):
        with tempfile.TemporaryDirectory() as folder:
            for name, times in one_start(Path(folder), given.blocks, given.steps, start).items():
                runs.setdefault(name, []).extend(times)
    plain = runs["plain"]
    rows = [[name, f"{sum(times) / len(times) / given.steps * 1e6:.0f}", f"{ratio(times, plain):.3f}"] for name, times in runs.items()]
    section("A training loop (MLP 64-128-128-10, batch of 64, AdamW, one thread)", {"torch": torch.__version__},
            table(["", "CPU µs a step", "ratio [95 %]"], rows),
            verdict("the plain guest's upper bound at most 1.05", ratio(runs["guest"], plain).high <= 1.05))


def one_start(folder: Path, blocks: int, steps: int, seed: int) -> dict[str, list[float]]:
    guest = env_for(folder, folder, PROBES, False, {})
    settings = {"plain": {}, "plain again": {}, "guest": guest, "guest, watching": {**guest, "BITTEN_WATCH": "1"}}
    living = {name: Contender(env) for name, env in settings.items()}
    for each in living.values():
        each.block(steps)  # what happens only once
    found = lockstep({name: partial(each.block, steps) for name, each in living.items()}, blocks, seed)
    for each in living.values():
        each.end()
    return found


if __name__ == "__main__":
    main()

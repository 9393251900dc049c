"""How fast a command's output comes through `bitten run`, beside `tee` by a pipe and `script` by a terminal; and the memory that it takes.

`python benchmarks/output.py [--pipe MiB] [--terminal MiB] [--long MiB] [--rounds N]`
"""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from harness import Cost, Interval, cost, first_line, interval, lockstep, options, ratio, section, table, verdict, workplace

import bitten

BITTEN = str(Path(sys.executable).with_name("bitten"))
SPEW = Path(__file__).with_name("spew.py")


def main() -> None:
    given = options(pipe=512, terminal=256, long=3072, rounds=5)
    with workplace() as project:
        pipes = {"tee": tee(given.pipe), "tee again": tee(given.pipe), "bitten run": ours(given.pipe), "nobody between": spew(given.pipe)}
        terminals = {"script -qf": script(given.terminal), "script -qf again": script(given.terminal), "bitten run": ours(given.terminal),
                     "nobody between": spew(given.terminal)}
        by_pipe = lockstep({name: partial(by_a_pipe, argv, project) for name, argv in pipes.items()}, given.rounds)
        at_one = lockstep({name: partial(at_a_terminal, argv, project) for name, argv in terminals.items()}, given.rounds)
        peaks = [cost(argv, cwd=project).peak / 2**20 for argv in (ours(1), ours(given.long), [*ours(given.long), "1"])]
    pipe, terminal = faster(by_pipe, "bitten run", "tee"), faster(at_one, "bitten run", "script -qf")
    versions = {"bitten": bitten.__version__, "tee": first_line(["tee", "--version"]), "script": first_line(["script", "-V"])}
    head = ["MiB/s, the whole command", "throughput to the peer's [95 %]", "CPU s", "CPU to the peer's [95 %]"]
    names = ["1 MiB", f"{given.long} MiB", f"{given.long} MiB, and the command fails"]
    section("Output that passes through", versions,
            table([f"{given.pipe} MiB by a pipe", *head], rows(by_pipe, "tee", given.pipe)),
            table([f"{given.terminal} MiB at a terminal", *head], rows(at_one, "script -qf", given.terminal)),
            table(["output by a pipe", "peak memory of `bitten`, MiB"], zip(names, [f"{peak:.1f}" for peak in peaks], strict=True)),
            verdict("by a pipe at least half of `tee`", pipe.low >= 0.5),
            verdict("at a terminal no slower than `script -qf`", terminal.low >= 1),
            verdict(f"at most 32 MiB at {given.long} MiB of output, while the command runs and when it ends well", peaks[1] <= 32))


def rows(runs: dict[str, list[Cost]], peer: str, size: int) -> list[list[str]]:
    cpu = {name: [each.cpu for each in costs] for name, costs in runs.items()}
    return [[name, f"{interval([size / each.wall for each in costs]).middle:.0f}", f"{faster(runs, name, peer):.2f}",
             f"{interval(cpu[name]).middle:.2f}", f"{ratio(cpu[name], cpu[peer]):.2f}"] for name, costs in runs.items()]


def faster(runs: dict[str, list[Cost]], name: str, peer: str) -> Interval:
    return ratio([each.wall for each in runs[peer]], [each.wall for each in runs[name]])


def spew(size: int) -> list[str]:
    return [sys.executable, str(SPEW), str(size)]


def ours(size: int) -> list[str]:
    return [BITTEN, "run", "--", *spew(size)]


def tee(size: int) -> list[str]:
    return ["sh", "-c", '"$0" "$@" | tee tee.log', *spew(size)]


def script(size: int) -> list[str]:
    return ["script", "-qf", "-c", shlex.join(spew(size)), "script.log"]


def by_a_pipe(argv: Sequence[str], project: Path) -> Cost:
    """The whole command, its output drained by `cat` as a reader would."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as drain:
        assert drain.stdin is not None
        return cost(argv, cwd=project, stdout=drain.stdin.fileno())


def at_a_terminal(argv: Sequence[str], project: Path) -> Cost:
    """The whole command at a terminal of its own, drained by `cat`."""
    reader, writer = pty.openpty()
    with subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        os.close(reader)
        spent = cost(argv, cwd=project, stdin=writer, stdout=writer, stderr=writer)
        os.close(writer)  # then `cat` meets the end
    return spent


if __name__ == "__main__":
    main()

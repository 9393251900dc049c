"""How soon `bitten mcp` answers `initialize`, and what it costs from its start to its end, beside `python -c pass`.

`python benchmarks/mcp.py [--rounds N]`
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness import QUIET, interval, lockstep, options, ratio, section, table, verdict, workplace

import bitten

PASS = [sys.executable, "-c", "pass"]
PLUGIN = [sys.executable, "-I", "-m", "bitten.interfaces.mcp"]
SCRIPT = [str(Path(sys.executable).with_name("bitten")), "mcp"]
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}
CASE = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "case"}}


@dataclass(frozen=True)
class Spent:
    """Seconds to the last answer, and of CPU from start to end."""

    answered: float
    cpu: float


def main() -> None:
    given = options(rounds=40)
    with workplace() as project:
        (project / "crash.py").write_text("raise ValueError('x')\n", "utf-8")
        subprocess.run([SCRIPT[0], "run", "--", sys.executable, "crash.py"], cwd=project, capture_output=True, check=False)
        contenders = {"`python -c pass`": partial(spent, PASS, (), project), "`python -c pass` again": partial(spent, PASS, (), project),
                      "the plugin's command": partial(spent, PLUGIN, (HELLO,), project),
                      "`bitten mcp`": partial(spent, SCRIPT, (HELLO,), project),
                      "the plugin's command, and one call of `case`": partial(spent, PLUGIN, (HELLO, CASE), project)}
        runs = lockstep(contenders, given.rounds)
    plain = runs["`python -c pass`"]
    rows = [[name, ms(each.answered for each in found), against(found, plain, "answered"), ms(each.cpu for each in found),
             against(found, plain, "cpu")] for name, found in runs.items()]
    head = ["", "ms to the last answer", "ratio [95 %]", "CPU ms to its end", "ratio [95 %]"]
    section("Start of the MCP server", {"bitten": bitten.__version__}, table(head, rows),
            *(verdict(f"{name} answers within 3×", soon(runs[name], plain) <= 3) for name in ("the plugin's command", "`bitten mcp`")))


def spent(argv: list[str], messages: tuple[dict[str, object], ...], cwd: Path) -> Spent:
    """`python -c pass` answers nothing: its end is its answer."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env={**os.environ, **QUIET}, bufsize=0)
    assert process.stdin and process.stdout
    if messages:
        process.stdin.write("".join(json.dumps(each) + "\n" for each in messages).encode())
    for _ in messages or ("its end",):
        process.stdout.readline()
    answered = time.perf_counter() - began
    process.stdin.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    assert process.returncode == 0, argv
    return Spent(answered, used.ru_utime + used.ru_stime)


def ms(seconds: object) -> str:
    return f"{interval(list(seconds)).middle * 1000:.1f}"  # type: ignore[call-overload]


def against(found: list[Spent], plain: list[Spent], what: str) -> str:
    return f"{ratio([getattr(each, what) for each in found], [getattr(each, what) for each in plain]):.2f}"


def soon(found: list[Spent], plain: list[Spent]) -> float:
    return ratio([each.answered for each in found], [each.answered for each in plain]).high


if __name__ == "__main__":
    main()

"""The installed Claude CLI on a script, in a world of its own: is an edit before a confirmed cause refused? Knows no rule of a gate."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from .agents import Program, dotted
from .gates import AGAIN, TRIAL, Gate
from .scratch import SOURCE, Scratch, ended
from .vital import BROKEN, OK, Vital

SECONDS = 90
DONE = "The row count is corrected."


class API(Protocol):
    """A Messages API on loopback that plays a script, and tells what it was asked."""

    url: str

    @property
    def turns(self) -> Sequence[Told]: ...

    @property
    def strangers(self) -> Sequence[str]: ...


class Told(Protocol):
    @property
    def last_result(self) -> str: ...


def steps(scratch: Scratch) -> list[dict[str, object]]:
    """Read, edit, and say that it was done."""
    file = str(scratch.source)
    return [{"tool": "Read", "input": {"file_path": file}},
            {"tool": "Edit", "input": {"file_path": file, "old_string": "127", "new_string": "128"}}, {"text": DONE}]


def vitals(program: Program, gate: Gate, scratch: Scratch, api: API) -> Iterator[Vital]:
    scratch.source.write_text(SOURCE, "utf-8")  # a dead gate that was tried before let it be edited
    began = time.monotonic()
    done = _played(program, gate, scratch, api)
    took, results = time.monotonic() - began, [turn.last_result for turn in api.turns]
    by = f"claude {dotted(program.version)} {program.where}"
    if api.strangers:
        yield _vital(BROKEN, f"{by} called {api.strangers[0]}, which no session of ours does", "tell us: that should not be")
    if scratch.source.read_text("utf-8") != SOURCE:
        yield _vital(BROKEN, f"the gate is dead: a scripted edit before a confirmed cause went through in {by}", AGAIN)
    elif any("bitten" in told and "case" in told for told in results[2:3]):
        yield _vital(OK, f"the gate{_trial(gate)} is alive: a scripted edit before a confirmed cause was refused in {by}, {took:.1f} s")
    else:
        yield _vital(BROKEN, f"{by} did not come to the edit: {_why(done, results)}", "claude -p hello, in a terminal, may say more")


def _trial(gate: Gate) -> str:
    return ", on trial," if gate.where == TRIAL else ""


def _played(program: Program, gate: Gate, scratch: Scratch, api: API) -> subprocess.CompletedProcess[str] | str:
    env = {**scratch.env, "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none-is-needed", "API_TIMEOUT_MS": "20000",
           "CLAUDE_CODE_MAX_RETRIES": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "NO_PROXY": "127.0.0.1"}
    words = [program.path, "-p", "Correct the row count.", "--plugin-dir", str(gate.folder), "--permission-mode", "acceptEdits",
             "--strict-mcp-config", "--output-format", "stream-json", "--verbose"]
    try:
        return ended(words, scratch.project, env, SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)


def _why(done: subprocess.CompletedProcess[str] | str, results: Sequence[str]) -> str:
    if isinstance(done, str):
        return done[:300]
    said = done.stderr.strip() or next((line for line in reversed(done.stdout.splitlines()) if _is_result(line)), "")
    return f"exit {done.returncode} after {len(results)} requests. {' '.join(said.split())[-300:]}"


def _is_result(line: str) -> bool:
    try:
        return bool(json.loads(line).get("type") == "result")
    except (ValueError, AttributeError):
        return False


def _vital(state: str, said: str, way: str = "") -> Vital:
    return Vital("plugin", "alive", state, said, way)

"""Sample events, fed to the very commands that Claude Code would run: whether they answer as they must. Knows no rule of theirs."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .gates import AGAIN, TRIAL, Gate
from .scratch import Scratch, ended
from .vital import BROKEN, OK, Vital

SESSION = "bitten-doctor"
SECONDS = 30


@dataclass(frozen=True)
class Answer:
    """What one hook said."""

    exit: int
    out: str
    err: str
    seconds: float

    @property
    def told(self) -> Mapping[str, Any]:
        """As Claude Code reads it: empty where it is none of its form."""
        try:
            told = json.loads(self.out or "{}")
        except ValueError:
            return {}
        return told if isinstance(told, dict) else {}

    @property
    def denies(self) -> bool:
        said = self.told.get("hookSpecificOutput")
        return self.exit == 2 or (isinstance(said, dict) and said.get("permissionDecision") == "deny")

    @property
    def is_well(self) -> bool:
        """It ran, and what it printed is nothing or an object."""
        return self.exit == 0 and (not self.out.strip() or bool(self.told) or self.out.strip() == "{}") and "failed" not in str(
            self.told.get("systemMessage", ""))

    @property
    def words(self) -> str:
        said = " ".join((self.err or self.out).split())[-200:]
        return f"exit {self.exit}" + (f", {said}" if said else "")


def vitals(gate: Gate, scratch: Scratch) -> Iterator[Vital]:
    """In a project with an open case and no confirmed cause."""
    wrong: list[Vital] = []
    slowest = count = 0.0
    for name, event, wanted in _samples(scratch):
        for hook in gate.commands(name):
            answer = _fed(str(hook["command"]), gate, scratch, event)
            count += 1
            slowest = max(slowest, answer.seconds if name == "PreToolUse" else 0.0)
            if not _is(wanted, answer):
                wrong.append(_wrong(f"the {name} hook should {WANTED[wanted]}, and did not: {answer.words}"))
    if count and not wrong and not _is_alive(scratch):
        wrong.append(_wrong("the gate did not note that it was asked: its cases stay advisory"))
    well = f"answer {count:.0f} sample events as they must; the gate within {slowest * 1000:.0f} ms"
    yield from wrong or [Vital("plugin", "hooks", OK, well + (" (a trial: none is installed)" if gate.where == TRIAL else ""))]


WANTED = {"deny": "refuse an edit before a confirmed cause", "let": "let a read through",
          "shut": "stay shut on an event that it can't read", "run": "answer"}


def _is(wanted: str, answer: Answer) -> bool:
    return {"deny": answer.denies and "bitten" in answer.out + answer.err, "let": answer.is_well and not answer.denies,
            "shut": answer.exit == 2, "run": answer.is_well}[wanted]


def _samples(scratch: Scratch) -> Iterator[tuple[str, str, str]]:
    """The event's name, the event, and what must come back."""
    read = {"tool_name": "Read", "tool_input": {"file_path": str(scratch.source)}, "tool_use_id": "toolu_doctor_1"}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(scratch.source), "old_string": "127", "new_string": "128"},
            "tool_use_id": "toolu_doctor_2"}
    over = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_doctor_3", "duration_ms": 3}
    yield "SessionStart", _event(scratch, "SessionStart", source="startup"), "run"
    yield "PreToolUse", _event(scratch, "PreToolUse", **read), "let"
    yield "PreToolUse", _event(scratch, "PreToolUse", **edit), "deny"
    yield "PreToolUse", '{"hook_event_name": "PreToolUse", ', "shut"
    yield "PostToolUse", _event(scratch, "PostToolUse", tool_response={"stdout": "data.py", "stderr": ""}, **over), "run"
    yield "PostToolUseFailure", _event(scratch, "PostToolUseFailure", error="Exit code 1\nls: no such file", **over), "run"
    yield "Stop", _event(scratch, "Stop", stop_hook_active=False, last_assistant_message="I have read data.py."), "run"


def _event(scratch: Scratch, name: str, **more: object) -> str:
    told = {"session_id": SESSION, "transcript_path": str(scratch.folder / "transcript.jsonl"), "cwd": str(scratch.project),
            "permission_mode": "default", "hook_event_name": name, **more}
    return json.dumps(told)


def _fed(command: str, gate: Gate, scratch: Scratch, event: str) -> Answer:
    env = {**scratch.env, "CLAUDE_PLUGIN_ROOT": str(gate.folder), "CLAUDE_PROJECT_DIR": str(scratch.project)}
    began = time.monotonic()
    try:
        done = ended(["sh", "-c", command], scratch.project, env, SECONDS, event)
    except subprocess.TimeoutExpired:
        return Answer(124, "", f"no answer within {SECONDS} s", SECONDS)
    return Answer(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


def _is_alive(scratch: Scratch) -> bool:
    file = scratch.folder / "home" / "state" / "bitten" / "claude" / f"{SESSION}.json"
    try:
        return json.loads(file.read_text("utf-8")).get("alive") is True
    except (OSError, ValueError):
        return False


def _wrong(said: str) -> Vital:
    return Vital("plugin", "hooks", BROKEN, said, f"{AGAIN}, then a new session")

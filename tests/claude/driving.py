"""ClaudeAgent at work in a staged project: what it answered, what came to its listener, and what is left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bitten.adapters.agents.claude import ClaudeAgent
from bitten.core.ports import Answer, Brief, Limits, Spent
from bitten.core.trouble import BadInput
from tests.claude.stage import Stage

ANOTHER = os.environ.get("CLAUDE_UNDER_TEST")
"""Another CLI than the one of the SDK, to see what it holds: CLAUDE_UNDER_TEST=/path/claude pytest tests/claude tests/long/claude"""
PROPOSE = "mcp__bitten__propose_hypotheses"
FIRST = {
    "claim": "the last window is one row short", "because": "127 rows came, one less than a batch",
    "likelihood": "likely", "look": "captured", "supports_if": "rows < 128", "refutes_if": "rows == 128", "scope": ["data.py:windows"],
}
SECOND = {**FIRST, "claim": "rows are lost when the file is read", "likelihood": "possible"}
PROPOSAL = {"hypotheses": [FIRST, SECOND]}


class Ear:
    """A listener that keeps what it hears; `refusing` proposals are sent back."""

    def __init__(self, refusing: int = 0) -> None:
        self.words: list[str] = []
        self.spendings: list[Spent] = []
        self.proposals: list[Mapping[str, Any]] = []
        self.refusing = refusing

    def says(self, words: str) -> None:
        self.words.append(words)

    def spent(self, spent: Spent) -> None:
        self.spendings.append(spent)

    def proposes(self, proposal: Mapping[str, Any]) -> str:
        self.proposals.append(proposal)
        if len(self.proposals) <= self.refusing:
            raise BadInput("bad-proposal", "h1 can't be refuted.", "Nothing would show it wrong.", "name a value for refutes_if")
        return f"kept {len(proposal['hypotheses'])} hypotheses"


def brief(stage: Stage, phase: str = "diagnose", prompt: str = "Why?", may_write: tuple[str, ...] = (), **limits: Any) -> Brief:
    return Brief(phase, prompt, str(stage.project.root), may_write, Limits(**{"seconds": 90.0, **limits}))


def ask(stage: Stage, ear: Ear | None = None, asked: Brief | None = None, **env: str) -> Answer:
    """In this process: the SDK is imported once for all tests."""
    return ClaudeAgent(cli_path=ANOTHER, env={**stage.project.env, **env}).ask(asked or brief(stage), ear or Ear())


CHILD = """
import json, sys
from bitten.core.ports import Brief
from bitten.adapters.agents.claude import ClaudeAgent
class Ear:
    def says(self, words): print(words, flush=True)
    def spent(self, spent): pass
    def proposes(self, proposal): return "kept"
ClaudeAgent().ask(Brief("diagnose", "Why?", sys.argv[1]), Ear())
"""


def asking(stage: Stage) -> subprocess.Popen[str]:
    """In a process of its own, for a test that has something in mind with it."""
    return subprocess.Popen([sys.executable, "-c", CHILD, str(stage.project.root)], env=stage.project.env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def left(stage: Stage) -> list[str]:
    """The command lines of all processes that were given this stage's home, but zombies and ourselves."""
    mark = f"CLAUDE_CONFIG_DIR={stage.config}".encode()
    found = []
    for each in Path("/proc").iterdir():
        with suppress(OSError):
            if each.name.isdigit() and int(each.name) != os.getpid() and mark in (each / "environ").read_bytes().split(b"\0"):
                found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def is_claude(line: str) -> bool:
    return "claude" in line.split(" ", 1)[0]


def ended(child: subprocess.Popen[str], number: signal.Signals) -> int:
    child.send_signal(number)
    child.communicate(timeout=40)
    return child.returncode


def bodies(stage: Stage) -> str:
    """All that was sent to the model, as it was sent."""
    return "\n".join(json.dumps(each.body) for each in stage.api.requests)

"""Claude behind the port `Agent`: one fresh session of the Claude CLI a phase, on a leash. Knows nothing of cases."""

# ruff: noqa: PLC0415 - the SDK takes seconds to import, and only who asks Claude pays for it

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bitten.core.ports import Answer, Brief, Listener

from .cli import found, launched


class ClaudeAgent:
    """`env` is the environment of the person, ours by default; of it the CLI gets what it needs. Without `cli_path` the SDK's own CLI is
    taken, else the one on the PATH."""

    def __init__(self, model: str | None = None, cli_path: str | Path | None = None, env: Mapping[str, str] | None = None) -> None:
        self.model, self.cli_path = model, cli_path
        self.env = dict(os.environ if env is None else env)

    @property
    def name(self) -> str:
        return "claude"

    def ask(self, brief: Brief, listener: Listener) -> Answer:
        cli = found(self.cli_path, self.env)
        with launched(cli, self.env, [brief.folder] if brief.phase == "fix" else []) as launch:
            from .session import Session

            return Session(brief, listener, launch, self.model).held()

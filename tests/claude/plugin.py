"""The plugin laid out into a stage's home, for the real CLI's `--plugin-dir`."""

from __future__ import annotations

from pathlib import Path

from bitten.adapters.claude_code import layout
from tests.claude.stage import Stage


def laid_out(stage: Stage) -> Path:
    return layout.lay_out(stage.project.home / "marketplace")

"""The plugin laid out into a stage's home, for the real CLI's `--plugin-dir`; and a checked case in the stage's project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bitten.adapters.claude_code import layout
from bitten.testing.scripted_api import Step
from tests.claude.stage import Stage, staged
from tests.stories import COUNT, MAIN, SUSPECT, WINDOWS, Project, captured

FILES = {"windows.py": WINDOWS, "main.py": MAIN, "count_rows.py": COUNT, "CLAUDE.md": "# Windows\n", ".gitignore": "data/\n"}


def laid_out(stage: Stage) -> Path:
    return layout.lay_out(stage.project.home / "marketplace")


@contextmanager
def on_a_case(place: Path, *steps: Step) -> Iterator[tuple[Stage, str, Path]]:
    """A stage with a checked case, the name of its supported hypothesis, and the plugin."""
    with staged(place, FILES, steps) as stage:
        yield stage, checked(stage.project), laid_out(stage)


def checked(project: Project) -> str:
    """Captured, suspected and checked. Returns the hypothesis that the evidence supports; the deciding value is 7."""
    captured(project)
    assert project.bitten(*SUSPECT).returncode == 0
    name = next(each["id"] for each in project.show()["hypotheses"] if each["source"].startswith("person:"))
    assert "✓ supported" in project.bitten("check", name).stdout
    return name


def remembered(project: Project) -> list[dict[str, Any]]:
    """What is remembered of each session."""
    return [json.loads(file.read_text("utf-8")) for file in (project.home / "state" / "bitten" / "claude").glob("*.json")]


def events(project: Project) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project.case() / "events.jsonl").read_text("utf-8").splitlines()]

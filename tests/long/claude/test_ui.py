"""The plugin in the real Claude Code as a person sees it, in tmux: refused, shown, confirmed, mended in scope, and no further."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.claude import inside
from tests.stories import FIXED, TEST, WINDOWS

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "tutorial" / "inside-claude-code.md"
needs_tmux = pytest.mark.skipif(bool(inside.missing()), reason=inside.missing())


@needs_tmux
def test_a_person_sees_each_refusal_and_only_what_they_type_confirms(tmp_path):
    with inside.session(tmp_path) as (stage, scenes):
        project = stage.project

        _, screen = next(scenes)
        assert "No cause is confirmed, so nothing is written yet" in " ".join(screen.split())
        assert project.read("windows.py") == WINDOWS

        _, screen = next(scenes)
        assert "→ rows = 7" in screen and "Nothing is confirmed yet" in screen
        assert confirmations(project) == []

        _, screen = next(scenes)
        assert [each["channel"] for each in confirmations(project)] == ["claude-code prompt"]
        assert "outside of windows" in " ".join(screen.split())
        assert project.read("windows.py") == FIXED and project.read("tests/test_windows.py") == TEST

        next(scenes)
        assert "case 1" in stage.api.turns[-1].told and "confirmed" in stage.api.turns[-1].told
        assert stage.api.strangers == []


@needs_tmux
def test_the_page_shows_what_was_played(tmp_path):
    if f"Claude Code v{inside.version()}" not in PAGE.read_text("utf-8"):
        pytest.skip(f"the page was played with another version than {inside.version()}")
    done = subprocess.run([sys.executable, "tools/ui.py", "--check", str(PAGE)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def confirmations(project) -> list[dict]:
    lines = (project.case() / "events.jsonl").read_text("utf-8").splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == "Confirmation"]

"""Projects with a case in a wanted state, written line by line as bitten writes it, and calls of Claude Code's tools in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bitten
from bitten.adapters.folder import Cases
from bitten.adapters.journal import FileJournal
from bitten.core.case import Drop
from bitten.core.failure import Command, Failure, FileSeen, Run, Surroundings
from bitten.core.ladder import Event
from tests import nouns

HOOKS = Path(bitten.__file__).parent / "interfaces" / "claude_plugin" / "hooks"
SOURCE = '''import os

ROWS = 7


class Loader:
    size = 2

    # how it goes round
    def __iter__(self):
        return iter(range(ROWS - 1))

    def __len__(self):
        return ROWS


def helper():
    return 1
'''
CONFIRMED = nouns.confirmation(nouns.evidence(nouns.hypothesis()))
FIXED = nouns.fix(CONFIRMED)
VERIFIED = nouns.verification(FIXED)
LEARNED = nouns.lesson(VERIFIED)
AFTER_FAILURE: dict[str, list[Event]] = {
    "none": [], "open": [], "suspected": [nouns.hypothesis()], "tested": [nouns.hypothesis(), nouns.evidence()],
    "confirmed": [nouns.hypothesis(), nouns.evidence(), CONFIRMED],
    "fixed": [nouns.hypothesis(), nouns.evidence(), CONFIRMED, FIXED],
    "verified": [nouns.hypothesis(), nouns.evidence(), CONFIRMED, FIXED, VERIFIED],
    "learned": [nouns.hypothesis(), nouns.evidence(), CONFIRMED, FIXED, VERIFIED, LEARNED],
    "closed": [nouns.hypothesis(), nouns.evidence(), CONFIRMED, FIXED, VERIFIED, LEARNED, nouns.closing(LEARNED)],
    "dropped": [Drop("enough")],
}


def project(place: Path, state: str, git: bool = True) -> Path:
    """`src/data.py` with the loader, a test beside it, and the case as far as it is said; scope and test are those of tests/nouns.py."""
    root = place / "project"
    for name, text in {"src/data.py": SOURCE, "src/other.py": "x = 1\n", "tests/test_old.py": "def test_old(): pass\n"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    if git:
        for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=Ana", "-c", "user.email=a@b.c", "commit", "-qm", "as found"]):
            subprocess.run(["git", *words], cwd=root, check=True)
    if state != "none":
        add(root, [failure(root), *AFTER_FAILURE[state]])
    return root


def failure(root: Path) -> Failure:
    wrote = Surroundings(files=(FileSeen("metrics.json", "wrote"),))
    run = Run(Command(("make", "train", "RUN=a b"), str(root)), 2, 4.2)
    return Failure(run, {"exit": 2, "signature": nouns.SIGNATURE}, surroundings=wrote)


def add(root: Path, events: Sequence[Event]) -> Path:
    """A new current case of these events."""
    cases = Cases(root, str)
    journals = []

    def begin(folder: Any) -> None:
        journals.append(FileJournal(folder.path, root.parent / "heads"))
        journals[0].append(events[0], "ana", "terminal")

    folder = cases.create("it failed", begin)
    for event in events[1:]:
        journals[0].append(event, "ana", "terminal")
    return folder.path


def event(root: Path, tool: str, told: object, **more: object) -> dict[str, Any]:
    return {"session_id": "session-1", "transcript_path": "/dev/null", "cwd": str(root), "permission_mode": "bypassPermissions",
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": told, "tool_use_id": "toolu_1", **more}


def hook(script: str, told: bytes | dict[str, Any], **env: str) -> subprocess.CompletedProcess[str]:
    """A hook script as Claude Code starts it."""
    given = told if isinstance(told, bytes) else json.dumps(told).encode()
    done = subprocess.run([sys.executable, "-I", HOOKS / script], input=given, capture_output=True, env={**os.environ, **env}, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

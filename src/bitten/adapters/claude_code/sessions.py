"""What our hooks remember of a Claude Code session: one small file each in our state folder, written whole. Knows no case.

The gate's own scripts write the same file without us; a change of theirs in the very instant of one of ours would be lost, and is made anew
by their next call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from bitten.adapters import places
from bitten.adapters.folder import write
from bitten.adapters.locks import Lock

DOOMSDAY = 2.0**33
"""Seconds since the epoch: no clock is that far ahead, and a date can still be made of it."""


def folder() -> Path:
    return places.private(places.state() / "claude")


def remembered() -> Iterator[dict[str, Any]]:
    """Every session that is remembered, whatever its project."""
    for file in sorted(folder().glob("*.json")):
        if told := _read(file):
            yield told


def noted(session: str) -> Iterator[dict[str, Any]]:
    """What the gate's scripts wrote down of files that changed during a session's calls, and had no leave to: `at`, `tool`, `paths`."""
    with suppress(OSError):  # most sessions leave none
        for line in (folder() / f"{session}.noted.jsonl").read_text("utf-8", "replace").splitlines():
            told = _parsed(line)
            at = told.get("at")
            if isinstance(at, (int, float)) and 0 <= at < DOOMSDAY and isinstance(told.get("paths"), list):
                yield told


class Memory:
    """Of one session. One without a name that can be a file's is forgotten at once."""

    def __init__(self, session: str) -> None:
        self.session = session if re.fullmatch(r"[\w-]{1,80}", session, re.ASCII) else ""

    def get(self, name: str) -> Any:
        return _read(self._file).get(name) if self.session else None

    def change(self, name: str, new: Callable[[Any], Any]) -> None:
        """Read, changed and written under one lock."""
        if not self.session:
            return
        with Lock(folder() / "sessions.lock", 5):
            told = {"session": self.session, **_read(self._file)}
            told[name] = new(told.get(name))
            write(self._file, json.dumps(told))

    @property
    def _file(self) -> Path:
        return folder() / f"{self.session}.json"


def _read(file: Path) -> dict[str, Any]:
    try:
        return _parsed(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _parsed(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}

"""What a session may call: one judgement, asked by the hook before every call and again by the callback. Reads links, changes nothing."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bitten.core.ports import Brief

READERS = ("Read", "Grep", "Glob")
WRITERS = ("Edit", "Write")
SERVER = "bitten"
PROPOSE = "propose_hypotheses"
PROPOSE_TOOL = f"mcp__{SERVER}__{PROPOSE}"


class Gate:
    """`denied` are the calls that it refused, `seen` the ids of all that it was asked about."""

    def __init__(self, brief: Brief) -> None:
        self.folder = os.path.realpath(brief.folder)
        self.fixing = brief.phase == "fix"
        self.may_write = tuple(brief.may_write) if self.fixing else ()
        self.denied: list[str] = []
        self.seen: set[str] = set()

    @property
    def tools(self) -> list[str]:
        return [*READERS, *(WRITERS if self.fixing else ())]

    def judge(self, tool: str, given: Mapping[str, Any]) -> str:
        """Why a call is refused; empty where it may pass."""
        if tool == PROPOSE_TOOL and not self.fixing:
            return ""
        if tool not in self.tools:
            return f"bitten: {tool} is no tool of this phase. You have {', '.join(self.tools)}."
        if tool == "Glob" and (why := _wandering(given.get("pattern"))):
            return why
        path = given.get("file_path" if tool in ("Read", *WRITERS) else "path")
        if path is None and tool in ("Grep", "Glob"):
            return ""
        if why := _odd(path):
            return why
        return self._written(str(path)) if tool in WRITERS else self._read(str(path))

    def named(self, tool: str, given: Mapping[str, Any]) -> str:
        """A call in a few words: the tool, and what it is about."""
        about = str(given.get("file_path") or given.get("path") or given.get("pattern") or "")
        return f"{tool} {self._short(about)[:200]}".strip()

    def _short(self, path: str) -> str:
        """The CLI completes a path before the hook sees it; we name it as the person would."""
        return path.removeprefix(self.folder + os.sep)

    def _real(self, path: str) -> str:
        return os.path.realpath(os.path.join(self.folder, path))  # noqa: PTH118 - a Path would swallow what the tool may not

    def _read(self, path: str) -> str:
        real = self._real(path)
        inside = real == self.folder or real.startswith(self.folder + os.sep)
        return "" if inside else f"bitten: {path} leads out of the project's copy."

    def _written(self, path: str) -> str:
        if self._real(path) not in self._writable():
            allowed = ", ".join(self.may_write) or "nothing"
            return f"bitten: {self._short(path)} is not in the agreed scope; this session may write {allowed}."
        return ""

    def _writable(self) -> set[str]:
        """Looked up at every call: a file that has become a link, or shares its content with another, is out."""
        return {real for name in self.may_write if (real := self._plain(Path(self.folder, name)))}

    def _plain(self, path: Path) -> str:
        real = os.path.realpath(path)
        if real != os.path.normpath(path) or not real.startswith(self.folder + os.sep):
            return ""
        return "" if path.exists() and (not path.is_file() or path.stat().st_nlink > 1) else real


def _odd(path: object) -> str:
    """The CLI trims, expands and composes a path before it opens it: what such a step would change, we would judge as another file."""
    if not isinstance(path, str) or not path:
        return "bitten: the path is missing."
    odd = re.search(r"\A[\s\ufeff]|[\s\ufeff]\Z", path) or path[0] == "~" or "\0" in path or unicodedata.normalize("NFC", path) != path
    return f"bitten: write the path plainly, from the project's root: {path!r}" if odd else ""


def _wandering(pattern: object) -> str:
    """A pattern can't be followed as a path can; it stays below where it starts when it has no way up and no root of its own."""
    out = not isinstance(pattern, str) or re.search(r"(^|[{,(])[\s\ufeff]*[/~]|\.\.", pattern)
    return f"bitten: {pattern} leads out of the project's copy." if out else ""

"""What the tools of an agent need from disk: raw output, and whether a gate of ours is seen to hold. Has no rule of its own."""

from __future__ import annotations

from pathlib import Path

from bitten.adapters.claude_code.sessions import Memory
from bitten.core.case import Evidence

from .open_case import OpenCase


def seen_alive(session: str, root: Path) -> bool:
    """Whether a call of this session of Claude Code was seen to pass our gate in this project: `liveness` takes down no other."""
    known = Memory(session)
    return known.get("alive") is True and known.get("root") in (str(root), str(root.resolve()))


def output_of(opened: OpenCase, found: Evidence | None) -> str:
    """What the run behind the evidence printed, as it was kept; where captured facts sufficed, the failing run's own."""
    folder = opened.folder.path / found.output if found and found.output else opened.folder.capture
    try:
        return (folder / "output").read_bytes().decode("utf-8", "replace")
    except OSError:  # tidied away, or never kept
        return ""

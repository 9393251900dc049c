"""Whether agents' gates are alive: from what Claude Code's sessions left, a case's guards. Has no rule of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bitten.adapters.claude_code.sessions import remembered
from bitten.core.case import Guard

if TYPE_CHECKING:
    from .open_case import OpenCase

BY = "claude-code plugin"


def guards_of(opened: OpenCase) -> Iterator[Guard]:
    """Each session in the case's project that was seen to pass our gate since the case was opened, once.

    None is called advisory here: a session that made no tool call has changed nothing, and one whose gate is silent is known by its
    other hooks, which say so when its first turn with a tool call ends.
    """
    known = {each.session for each in opened.case.guards if each.alive}
    for told in remembered():
        session = str(told.get("session") or "")
        if session and session not in known and told.get("alive") is True and _takes_part(told, opened):
            yield Guard(BY, session, alive=True)


def _takes_part(told: dict[str, Any], opened: OpenCase) -> bool:
    """One that passed the gate before the case was opened, and still is at work, is taken down by its own hooks."""
    seen = max(float(told.get(name) or 0.0) for name in ("began", "alive_at"))
    root = opened.house.root
    return told.get("root") in (str(root), str(root.resolve())) and seen >= opened.began

"""What Claude Code's sessions left of their gates: a case's guards, and what changed past them. Has no rule of its own."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bitten.adapters.claude_code.sessions import noted, remembered
from bitten.core.case import Guard, Note

if TYPE_CHECKING:
    from .open_case import OpenCase

BY = "claude-code plugin"
SHOWN = 12
"""Paths of one call."""


def guards_of(opened: OpenCase) -> Iterator[Guard]:
    """Each session in the case's project that was seen to pass our gate since the case was opened, once.

    None is called advisory here: a session that made no tool call has changed nothing, and one whose gate is silent is known by its
    other hooks, which say so when its first turn with a tool call ends.
    """
    known = {each.session for each in opened.case.guards if each.alive}
    for told in remembered():
        session = str(told.get("session") or "")
        if session and session not in known and told.get("alive") is True and _is_here(told, opened) and _seen(told) >= opened.began:
            yield Guard(BY, session, alive=True)


def strays_of(opened: OpenCase) -> Iterator[Note]:
    """Files that changed during an agent's call without leave, since the case was opened: a note a call, once."""
    known = {note.text for note in opened.case.notes if note.about == "stray"}
    for told in remembered():
        session = str(told.get("session") or "")
        for line in noted(session) if session and _is_here(told, opened) else ():
            note = Note("stray", _stray(line, session))
            if line["at"] >= opened.began and note.text not in known:
                yield note


def _stray(line: Mapping[str, Any], session: str) -> str:
    paths = list(map(str, line["paths"]))
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    when = datetime.datetime.fromtimestamp(line["at"], tz=datetime.timezone.utc).astimezone()
    told = f"{', '.join(paths[:SHOWN])}{more}, by {line.get('tool')} at {when:%H:%M:%S} in session {session[:8]}"
    return "".join(each if each.isprintable() else "?" for each in told)


def _is_here(told: Mapping[str, Any], opened: OpenCase) -> bool:
    root = opened.house.root
    return told.get("root") in (str(root), str(root.resolve()))


def _seen(told: Mapping[str, Any]) -> float:
    """When a session was last heard of here. One that passed the gate before the case was opened is taken down by its own hooks."""
    return max((told[name] for name in ("began", "alive_at") if isinstance(told.get(name), (int, float))), default=0.0)

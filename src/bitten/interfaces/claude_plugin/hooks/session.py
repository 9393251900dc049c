"""What is remembered of a Claude Code session: whether its gate was seen alive, the tree before each call, what changed without leave.

The session file is written by bitten's own SessionStart; here only `alive` is set in it. All else is in files of our own beside it,
since hooks of one call run at once, and two that rewrite one file would take each other's words away. Nothing here decides, so what
can't be kept (a full disk, a folder that is gone) changes no answer.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress

from . import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .edge import Event

KEPT = 86_400
"""Seconds that a tree is kept whose call never ended."""


def mark_alive(event: Event) -> None:
    """The first call of a session that has a nonce proves that calls come through here."""
    file = _file(event, ".json")
    told = told_in(file) if file else None
    if told and told.get("nonce") and not told.get("alive"):
        with suppress(OSError):
            write(file, json.dumps({**told, "alive": True, "alive_at": time.time()}))


def keep_tree(event: Event, tree: dict[str, Any]) -> None:
    """The tree before a call; one that can't be kept is not compared."""
    name = _call(event)
    place = folder("calls")
    if not name or not place:
        return
    with suppress(OSError):
        write(f"{place}/{name}", json.dumps(tree))
        sweep(place, KEPT)


def kept_tree(event: Event) -> dict[str, Any] | None:
    """The tree before this call, which is then forgotten."""
    name = _call(event)
    file = next((f"{place}/calls/{name}" for place in places.states() if os.path.isfile(f"{place}/calls/{name}")), "")
    told = told_in(file) if name and file else None
    with suppress(OSError):
        os.unlink(file)
    return told


def note(event: Event, changed: Sequence[str]) -> None:
    """For `bitten` to show: one line a call, in SESSION.noted.jsonl."""
    session, place = name_in(event, "session_id"), folder("claude")
    if not session or not place:
        return
    line = json.dumps({"at": time.time(), "tool": event.get("tool_name"), "agent": event.get("agent_id", ""), "paths": list(changed)})
    with suppress(OSError):
        _append(f"{place}/{session}.noted.jsonl", f"{line}\n".encode())


def root_of(event: Event) -> str:
    """Where the session began, as bitten noted it."""
    file = _file(event, ".json")
    told = told_in(file) if file else None
    return str((told or {}).get("root") or "")


def _file(event: Event, end: str) -> str:
    session = name_in(event, "session_id")
    return next((file for place in places.states() for file in [f"{place}/claude/{session}{end}"] if session and os.path.isfile(file)), "")


def name_in(event: Event, key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,128}", value) else ""


def _call(event: Event) -> str:
    session, call = name_in(event, "session_id"), name_in(event, "tool_use_id")
    return f"{session}.{call}" if session and call else ""


def told_in(file: str) -> dict[str, Any] | None:
    try:
        with open(file, encoding="utf-8") as text:
            told = json.load(text)
    except (OSError, ValueError):  # gone meanwhile, or half of somebody's: as if there were none
        return None
    return told if isinstance(told, dict) else None


def folder(name: str) -> str:
    """Ours alone, made on first use; empty where none can be."""
    for state in places.states():
        place = f"{state}/{name}"
        try:
            os.makedirs(place, mode=0o700, exist_ok=True)
        except OSError:
            continue
        if os.stat(place).st_uid == os.getuid() and os.access(place, os.W_OK):
            return place
    return ""


def _append(file: str, line: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def write(file: str, text: str) -> None:
    new = f"{file}.{os.getpid()}"
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w", encoding="utf-8") as file_:
        file_.write(text)
    os.replace(new, file)


def sweep(place: str, kept: float) -> None:
    """What nobody touched for so many seconds: trees of calls that were refused elsewhere, or killed; sessions long over."""
    now = time.time()
    for entry in os.scandir(place):
        with suppress(OSError):  # another call or session took it away meanwhile
            if now - entry.stat().st_mtime > kept:
                os.unlink(entry.path)

"""What instruments found, told in bounds: each sighting once when it is new, then at each doubling of its count, and at the end.

A sighting has a name of its own (`key`), so that two at one place stay apart. Knows no fact's meaning.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")
probe: Any = hook.load("_bitten_probe")

MOST = 400
"""Sightings a process keeps; what comes later is counted in `lost`."""
_seen: dict[tuple[str, str], dict[str, Any]] = {}
_told: dict[tuple[str, str], int] = {}
_lost = [0]


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the person's own code at or above `frame`."""
    for _ in range(200):
        if frame is None or not (frames.is_ours(frame.f_code) or frames.is_library(frame.f_code.co_filename)):
            return frame
        frame = frame.f_back
    return None


def line(frame: FrameType | None) -> tuple[str, str]:
    """(`file:line`, `file:function`) of the person's own innermost line at or above `frame`; two empty texts where there is none."""
    own = user_frame(frame)
    if own is None:
        return "", ""
    file = frames.absolute(own.f_code.co_filename)
    return f"{file}:{own.f_lineno}", f"{file}:{frames.full_name(own)}"


def here() -> tuple[str, str]:
    """`line` of whoever called the instrument."""
    return line(sys._getframe(1))


def fact(name: str, key: str, facts: dict[str, Any], where: tuple[str, str] = ("", "")) -> None:
    """Something measured, which no threshold judges. Facts of the same key that come later take the earlier ones' place."""
    _add(name, key, facts, where, False)


def hint(name: str, key: str, says: str, facts: dict[str, Any], where: tuple[str, str] = ("", "")) -> None:
    """A signal of low precision: words that may prompt a hypothesis, never a verdict."""
    _add(name, key, dict(facts, says=says), where, False)


def finding(name: str, key: str, says: str, facts: dict[str, Any], where: tuple[str, str]) -> None:
    """A fact past its threshold at a line of the person's own; without such a line it is a hint. The first of a key stands.

    `says` is a whole sentence with the values in it.
    """
    _add(name, key, dict(facts, says=says), where, bool(where[0]))


def _add(name: str, key: str, facts: dict[str, Any], where: tuple[str, str], is_finding: bool) -> None:
    known = (name, key)
    old = _seen.get(known)
    if old is None and len(_seen) >= MOST:
        _lost[0] += 1
        return
    if old is not None and old["finding"]:
        old["calls"] += 1
    else:
        told = {"at": where[0], **facts} if where[0] else dict(facts)
        _seen[known] = old = {"probe": name, "seam": "", "key": key, "place": where[1], "finding": is_finding,
                              "facts": probe._as_facts(told), "calls": 1 + (old["calls"] if old else 0)}
    calls = old["calls"]
    if calls & (calls - 1) == 0:
        _tell(known)


def _tell(known: tuple[str, str]) -> None:
    _told[known] = _seen[known]["calls"]
    hook.emit("sighting", **_seen[known])


def flush() -> None:
    """Say what has not been said of every sighting."""
    for known, sighting in list(_seen.items()):
        if _told.get(known) != sighting["calls"]:
            _tell(known)
    if _lost[0]:
        hook.emit("note", text=f"{_lost[0]} sightings of the instruments were left out")
        _lost[0] = 0


def forked() -> None:
    """A child begins to count anew."""
    _seen.clear()
    _told.clear()
    _lost[0] = 0

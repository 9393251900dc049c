"""What the gate knows of a case: how far its chain reaches, replayed from the kinds of its events. Derived each time, never stored.

It holds the order of links, the digests, and what a line must be to count; not what is inside evidence: bitten itself does that, and
what bitten would not load can't be read here either. Whatever can't be read counts as open, with no cause confirmed.
"""

from __future__ import annotations

import json
import os
import re

from .places import homes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

VERSION = 1
START = "0" * 64
LINKS = ("Confirmation", "Fix", "Verification", "Lesson", "Closing")
BEFORE = frozenset(("Hypothesis", "Rejection", "Evidence"))
"""What is only added while no cause is confirmed."""
ANY_TIME = frozenset(("Note", "Recurrence", "Reproducer", "Guard", "Reset", "Visit"))
KINDS = frozenset(("Failure", "Rescope", "Withdrawal", "Drop", *LINKS, *BEFORE, *ANY_TIME))
OPEN, CONFIRMED, FIXED, VERIFIED, LEARNED, CLOSED, DROPPED = ("open", "confirmed", "fixed", "verified", "learned", "closed", "dropped")
_PHASES = (OPEN, CONFIRMED, FIXED, VERIFIED, LEARNED, CLOSED)
IMPORTED = "imported from "


class Unreadable(Exception):  # noqa: N818 - it says what the journal is
    """The journal can't be read; the text says why."""


class Reading:
    """`parts` and `test` are the agreed scope, `argv` and `cwd` the failing command, `wrote` the files that it writes by itself."""

    def __init__(self, root: str, number: str, trouble: str = "") -> None:
        self.root, self.number, self.trouble = root, number, trouble
        self.links: list[str] = []
        self.parts: tuple[str, ...] = ()
        self.test = ""
        self.argv: tuple[str, ...] = ()
        self.cwd = ""
        self.wrote: frozenset[str] = frozenset()
        self.is_imported = self.is_dropped = False
        self._suspected = self._measured = False
        self._begun = False

    @property
    def phase(self) -> str:
        return OPEN if self.trouble else DROPPED if self.is_dropped else _PHASES[len(self.links)]

    @property
    def is_open(self) -> bool:
        return self.phase not in (CLOSED, DROPPED)

    @property
    def files(self) -> tuple[str, ...]:
        """What a fix may write, relative to the root."""
        return tuple(dict.fromkeys((*(part.split(":")[0] for part in self.parts), *([self.test] if self.test else []))))

    def take(self, kind: str, event: dict[str, Any]) -> None:
        """Raises: Unreadable, when it can't follow."""
        self._must(self._may(kind), f"a {kind} can't stand there")
        if kind == "Failure":
            self._begin(event)
        elif kind in LINKS:
            self.links.append(kind)
        elif kind == "Withdrawal":
            self.links = [] if event.get("to_step_two", True) else self.links[:1]
        self._suspected |= kind == "Hypothesis"
        self._measured |= kind == "Evidence"
        self.is_dropped |= kind == "Drop"
        self.is_imported |= kind == "Note" and str(event.get("text", "")).startswith(IMPORTED)
        if kind in ("Confirmation", "Rescope"):
            self.parts, self.test = tuple(map(str, event["scope"]["parts"])), str(event["scope"]["test"])
        if not self.links:
            self.parts, self.test = (), ""

    def _may(self, kind: str) -> bool:
        if not self._begun or kind == "Failure":
            return not self._begun and kind == "Failure"
        if self.is_dropped or (self.links[-1:] == ["Closing"] and kind != "Visit"):
            return False
        if kind in ANY_TIME or kind == "Drop":
            return True
        if kind in LINKS:
            return kind == LINKS[len(self.links)] and self._measured
        if kind in BEFORE:
            return not self.links and (self._suspected or kind == "Hypothesis")
        return len(self.links) == 1 if kind == "Rescope" else bool(self.links)

    def _begin(self, event: dict[str, Any]) -> None:
        self._begun = True
        command = event["run"]["command"]
        self.argv, self.cwd = tuple(map(str, command["argv"])), str(command["cwd"])
        files = event.get("surroundings", {}).get("files", ())
        self.wrote = frozenset(str(each["path"]) for each in files if each.get("role") == "wrote")

    @staticmethod
    def _must(holds: bool, why: str) -> None:
        if not holds:
            raise Unreadable(why)


def reading(root: str) -> Reading | None:
    """The current case of a project, closed and dropped ones too; None where commands speak of none."""
    try:
        folder = _current(root)
    except OSError as error:
        return Reading(root, "?", f"the cases can't be looked at ({error})")
    if not folder:
        return None
    case = Reading(root, os.path.basename(folder).split("-")[0])
    try:
        replay(case, _lines(f"{folder}/events.jsonl"))
    except Exception as error:  # whatever is odd about it, the gate stays shut and says so
        return Reading(root, case.number, f"{folder}/events.jsonl can't be read ({error or type(error).__name__})")
    return case


def replay(case: Reading, lines: Sequence[bytes]) -> Reading:
    """Raises: Unreadable, or what a damaged line brings."""
    import hashlib  # noqa: PLC0415 - it loads OpenSSL; without a case nobody needs it

    prev = START
    for number, line in enumerate(lines, 1):
        try:
            told = json.loads(line)
            if told["prev"] != prev or told["kind"] not in KINDS:
                raise Unreadable("it is not what it was, or no event")
            if told["v"] != VERSION:
                raise Unreadable("another version of bitten wrote it")
            case.take(told["kind"], told["event"])
        except Exception as error:
            raise Unreadable(f"line {number}: {error or type(error).__name__}") from None
        prev = hashlib.sha256(line).hexdigest()
    if not lines:
        raise Unreadable("it holds no event")
    return case


def _lines(path: str) -> list[bytes]:
    """The completed ones. A torn last line never happened: its command did not say that it was done."""
    with open(path, "rb") as file:
        *lines, _ = file.read().split(b"\n")
    return lines if not lines or _is_whole(lines[-1]) else lines[:-1]


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _current(root: str) -> str:
    """The folder of the case that commands speak of."""
    marks = [(stat.st_mtime_ns, home) for home in homes(root) for stat in [_stat(f"{home}/current")] if stat]
    if not marks:
        return ""
    home = max(marks, key=lambda mark: mark[0])[1]
    with open(f"{home}/current", encoding="utf-8", errors="surrogateescape") as file:
        name = file.read(4096).strip()
    return f"{home}/{name}" if re.fullmatch(r"[0-9]+-[^/\n]*", name) and os.path.isdir(f"{home}/{name}") else ""


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None

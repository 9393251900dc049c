"""A spool, read as records in the order of time. Knows a log's form and a fault dump's, not what any record means."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = dict[str, Any]
"""`k` says its kind, `t` when, `pid` whose: the last is the log's name, since a record may have lost its process."""

_FAULT_FRAME = re.compile(r'\s*File "(.*)", line (\d+) in (.*)')
_NEEDS: dict[object, set[str]] = {
    "hello": {"ppid", "exe", "v", "env"}, "fork": {"ppid"}, "exc": {"how", "exc", "sightings"}, "exit": {"code", "fn", "at"},
    "config": {"p"},
    "data": {"p", "n"}, "wrote": {"p"}, "net": {"host"}, "denied": {"p"}, "sighting": {"probe", "place", "facts", "calls", "finding"},
    "test": {"test", "phase", "result", "error", "message"}, "modules": {"names"}, "hookerr": {"where", "err"},
    "worker": {"id"}, "dead": {"child", "signal"}, "kill": {"child", "signal"}, "note": {"text"}, "exec": {"p"}, "cell": {"f", "n", "src"},
    "boundary": {"type", "msg", "frames"}, "held": {"files"}, "root": {"argv", "cwd"},
    "armed": {"probes", "refused"}, "met": {"name", "version"}, "live": {"step", "loss"}, "bad": {"step"}, "stop": {"step"},
}  # fmt: skip
_FATAL = "Fatal Python error: "


@dataclass(frozen=True)
class Log:
    """`torn` counts the lines that were cut off or are nobody's."""

    records: tuple[Record, ...] = ()
    torn: int = 0

    def of(self, *kinds: str) -> Iterator[Record]:
        return (record for record in self.records if record["k"] in kinds)


def load(spool: Path, only: Collection[str] = ()) -> Log:
    """Every process's log, or the records of some kinds; an unreadable spool is an empty one."""
    records: list[Record] = []
    torn = 0
    for path in sorted(spool.glob("p*.log")):
        if path.stem[1:].isdigit():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            mine = [parsed(line, int(path.stem[1:])) for line in lines if line.startswith("{") and (not only or is_of(line, only))]
            rest = [line for line in lines if line and not line.startswith("{")]
            fault, strange = _fault(rest, int(path.stem[1:]), path.stat().st_mtime)
            records += [*(record for record in mine if record is not None), *fault]
            torn += mine.count(None) + strange
    return Log(tuple(sorted(records, key=lambda record: float(record["t"]))), torn)


def is_of(line: str, kinds: Collection[str]) -> bool:
    """Asked before a line is parsed: a record's kind stands near its end."""
    return any(f"'k': '{kind}'" in line[-80:] for kind in kinds)


def parsed(line: str, pid: int) -> Record | None:
    try:
        found = ast.literal_eval(line)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    whole = isinstance(found, dict) and isinstance(found.get("t"), (int, float)) and found.keys() >= _NEEDS.get(found.get("k"), {"?"})
    return {**found, "pid": pid} if whole else None


def _fault(lines: list[str], pid: int, when: float) -> tuple[list[Record], int]:
    """faulthandler's dump, as the record that the dying process could not write; and the count of lines that belong to none."""
    at = next((i for i, line in enumerate(lines) if line.startswith(_FATAL)), None)
    if at is None:
        return [], len(lines)
    frames = [{"f": file, "l": line, "n": function} for file, line, function in reversed(list(_current_thread(lines[at:])))]
    crash = {"type": lines[at].removeprefix(_FATAL).strip(), "mro": [], "msg": "", "frames": frames}
    return [{"k": "exc", "t": when, "pid": pid, "how": "fault", "exc": crash, "sightings": []}], at


def _current_thread(lines: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    """Innermost first, as the dump has them."""
    inside = False
    for line in lines:
        frame = _FAULT_FRAME.fullmatch(line)
        if frame is None and inside and not line.startswith("  "):
            return
        inside = inside or line.startswith("Current thread")
        if frame is not None and inside:
            yield frame[1], int(frame[2]), frame[3]

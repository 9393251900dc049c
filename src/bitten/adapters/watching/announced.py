"""What instruments announce while their program still runs: armed, the step they are at, the first bad one. Reads logs as they grow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bitten.adapters.guest_told.guest_log import Record, is_of, parsed

KINDS = ("armed", "met", "live", "bad", "stop")


class Announcements:
    """Of all processes of one spool, each record once. What is half written is read the next time."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._read: dict[Path, int] = {}

    def new(self) -> Iterator[Record]:
        for log in sorted(self._spool.glob("p*.log")):
            for line in self._lines(log):
                found = parsed(line, int(log.stem[1:])) if log.stem[1:].isdigit() and is_of(line, KINDS) else None
                if found is not None:
                    yield found

    def _lines(self, log: Path) -> list[str]:
        with log.open("rb") as file:
            file.seek(self._read.get(log, 0))
            whole, newline, _ = file.read().rpartition(b"\n")
        self._read[log] = self._read.get(log, 0) + len(whole) + len(newline)
        return whole.decode("utf-8", "replace").splitlines()

"""What a command printed: its first MiB and its last four, in a file in memory, so that a kill loses nothing.

How much was printed in all stands in a file beside it: without it nobody could tell where the ring begins. Which stream a
byte came from is known to a living tape alone, unless it says so by `marks`. The tape does not redact (the reader must) and
does not know a progress bar from a log line.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path

HEAD = 1 << 20
RING = 4 << 20
"""Bytes kept from the beginning and from the end (notes/capture.md, section 3)."""

_NEW = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


def _counter(path: Path) -> Path:
    return path.with_name(path.name + ".count")


class Tape:
    """Bytes of several streams in the order they came. `path` must lie in a folder of mode 0700."""

    def __init__(self, path: Path) -> None:
        self._file, self._count = (os.open(each, _NEW, 0o600) for each in (path, _counter(path)))
        self._written = self.heard = 0
        self._segments: deque[tuple[int, int, int]] = deque()

    @classmethod
    def found(cls, path: Path, marks: Iterable[Iterable[int]] = ()) -> Tape:
        """What a killed bitten taped. Without its `marks` all counts as stdout."""
        tape = cls.__new__(cls)
        tape._file, tape._count = (os.open(each, os.O_RDONLY | os.O_CLOEXEC) for each in (path, _counter(path)))
        tape._written = tape.heard = int.from_bytes(os.pread(tape._count, 8, 0), "little")
        told = [(kind, start, end) for kind, start, end in marks]
        tape._segments = deque(told or [(1, 0, tape._written)])
        return tape

    @property
    def marks(self) -> list[tuple[int, int, int]]:
        """Stream, start and end of each stretch that is kept."""
        return list(self._segments)

    def add(self, stream: int, data: bytes) -> None:
        """Append what came on a stream (1 is stdout, 2 is stderr)."""
        self.heard += len(data)
        self._mark(stream, len(data))
        while data:
            place, room = self._next_room()
            part = data[:room]
            os.pwrite(self._file, part, place)
            self._written += len(part)
            data = data[len(part):]
        os.pwrite(self._count, self._written.to_bytes(8, "little"), 0)

    def read(self, stream: int | None = None, until: int | None = None) -> bytes:
        """All that was kept, or one stream's share; the first `until` bytes that were heard. A gap is marked by a line that says
        how many bytes it swallowed."""
        stop = self._written if until is None else until
        oldest = self._oldest_in_ring()
        wanted = [(start, min(end, stop)) for kind, start, end in self._segments if stream in (None, kind) and start < stop]
        parts = [self._slice(start, end, oldest) for start, end in wanted]
        return b"".join(parts)

    def close(self) -> None:
        os.close(self._file)
        os.close(self._count)

    def _mark(self, stream: int, size: int) -> None:
        start, end = self._written, self._written + size
        if self._segments and self._segments[-1][0] == stream:
            start = self._segments.pop()[1]
        self._segments.append((stream, start, end))
        while len(self._segments) > 1 and self._segments[1][1] > HEAD and self._segments[1][2] < end - RING:
            del self._segments[1]

    def _next_room(self) -> tuple[int, int]:
        if self._written < HEAD:
            return self._written, HEAD - self._written
        place = (self._written - HEAD) % RING
        return HEAD + place, RING - place

    def _oldest_in_ring(self) -> int:
        return max(HEAD, self._written - RING)

    def _slice(self, start: int, end: int, oldest: int) -> bytes:
        head = os.pread(self._file, max(0, min(end, HEAD) - start), start) if start < HEAD else b""
        lost = max(0, min(end, oldest) - max(start, HEAD))
        gap = b"\n[bitten: %d bytes not kept]\n" % lost if lost else b""
        return head + gap + self._ring(max(start, oldest), end)

    def _ring(self, start: int, end: int) -> bytes:
        out = b""
        while start < end:
            place = (start - HEAD) % RING
            part = os.pread(self._file, min(end - start, RING - place), HEAD + place)
            out, start = out + part, start + len(part)
        return out

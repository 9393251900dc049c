"""How a run ended and what it printed, read as it comes and kept within bounds. Knows a run only by its pipes and its line."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

CHUNK = 1 << 16
HEAD, TAIL = 1 << 20, 4 << 20
GRACE = 10.0
"""Seconds that a killed tree gets to be gone; a process that waits for a device can't be killed at all."""
TICK = 0.25
"""Seconds between two questions whether a run is to go on."""


def never() -> bool:
    return False


@dataclass(frozen=True)
class Ended:
    """`exit` is None when a signal or the time-out ended the run. `output` is both streams as they came; all are bounded."""

    exit: int | None
    signal: int | None
    seconds: float
    timed_out: bool
    output: bytes
    stdout: bytes
    stderr: bytes


class Bounded:
    """The first `HEAD` and the last `TAIL` bytes of a stream, and between them how many were left out."""

    def __init__(self) -> None:
        self.head, self.tail, self.lost = b"", bytearray(), 0

    def add(self, data: bytes) -> None:
        space = HEAD - len(self.head)
        self.head += data[:space]
        self.tail += data[max(space, 0):]
        if len(self.tail) > 2 * TAIL:
            self._forget()

    def _forget(self) -> None:
        surplus = max(len(self.tail) - TAIL, 0)
        self.lost += surplus
        del self.tail[:surplus]

    def __bytes__(self) -> bytes:
        self._forget()
        note = b"\n[bitten: %d bytes left out]\n" % self.lost if self.lost else b""
        return self.head + note + bytes(self.tail)


@dataclass
class Started:
    """A run under way: the reading ends of its pipes, and its line, which tells its end and ends it when hung up."""

    stdout: int
    stderr: int
    line: socket.socket
    began: float = field(default_factory=time.monotonic)


def follow(started: Started, timeout: float | None, is_over: Callable[[], bool] = never) -> Ended:
    """Read until the run's whole tree has ended, or `is_over` wants it to. Its tree ends before we go on, whatever interrupts us."""
    try:
        return _Reader(started, is_over).read(timeout)
    finally:
        _hang_up(started)


def _hang_up(started: Started) -> None:
    with started.line as line:
        line.settimeout(GRACE)
        with contextlib.suppress(OSError):  # the other side has gone already, or can't be killed
            line.shutdown(socket.SHUT_WR)
            while line.recv(CHUNK):
                pass
    os.close(started.stdout)
    os.close(started.stderr)


class _Reader:
    def __init__(self, started: Started, is_over: Callable[[], bool]) -> None:
        self.started, self.is_over = started, is_over
        self.kept = {started.stdout: Bounded(), started.stderr: Bounded()}
        self.both, self.told, self.seconds = Bounded(), b"", 0.0
        self.asked = 0.0

    def read(self, timeout: float | None) -> Ended:
        limit = None if timeout is None else self.started.began + timeout
        timed_out = not self._until(limit)
        if timed_out:
            self.seconds = time.monotonic() - self.started.began
        code = None if timed_out or not self.told else int(self.told)
        stdout, stderr = (bytes(kept) for kept in self.kept.values())
        return Ended(
            code if code is not None and code >= 0 else None, -code if code is not None and code < 0 else None,
            self.seconds, timed_out, bytes(self.both), stdout, stderr,
        )

    def _until(self, limit: float | None) -> bool:
        """Read until every end is closed, until the limit, or until it is over; says whether all was closed by itself."""
        with selectors.DefaultSelector() as selector:
            for each in (*self.kept, self.started.line.fileno()):
                selector.register(each, selectors.EVENT_READ)
            while selector.get_map():
                if self._is_over() or (limit is not None and time.monotonic() >= limit):
                    return False
                for key, _ in selector.select(self._wait(limit)):
                    if not self._take(key.fd):
                        selector.unregister(key.fd)
        return True

    def _is_over(self) -> bool:
        """Asked at most once a tick: a program that prints a lot would wait for the answers."""
        now = time.monotonic()
        if now - self.asked < TICK:
            return False
        self.asked = now
        return self.is_over()

    def _wait(self, limit: float | None) -> float | None:
        """Seconds until the next question, where there is one."""
        waits = [*([] if self.is_over is never else [TICK]), *([] if limit is None else [max(0.0, limit - time.monotonic())])]
        return min(waits, default=None)

    def _take(self, fd: int) -> bool:
        data = os.read(fd, CHUNK)
        if fd in self.kept:
            self.kept[fd].add(data)
            self.both.add(data)
        elif data:
            self.told += data
            self.seconds = time.monotonic() - self.started.began
        return bool(data)

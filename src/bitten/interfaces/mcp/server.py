"""The server's loop: the client's lines come in, answers go out, calls are at work between. Decides nothing, knows no method.

One thread waits for all of them at once: a ping is answered while a check runs, and no two hands write.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType

from .calls import Processes
from .lines import CHUNK, Lines, dumped, write
from .protocol import Session

GRACE, LAST = 1.0, 15.0
"""Seconds that calls get to end by themselves when the client has gone; and, their leash let go, to end what they started."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _Stopped(Exception):  # noqa: N818 - a signal on its way out of the loop
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def serve() -> int:
    """From the first line to the last. Returns the exit code: 0 when the client went, else that of the signal."""
    if os.isatty(0):
        os.write(2, b"bitten mcp speaks JSON-RPC with an agent, on its standard input and output. ^D ends it.\n")
    server = Server(*_ends())
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    code = _code(server.run) or _code(server.wait)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # what was started is ended in peace; that is bounded
    server.end()
    return code


def _code(part: Callable[[], None]) -> int:
    try:
        part()
    except _Stopped as stopped:
        return 128 + stopped.number
    except ConnectionError:  # the client reads no more: it has gone
        return 0
    return 0


def _stop(number: int, _frame: FrameType | None) -> None:
    raise _Stopped(number)


def _ends() -> tuple[int, int]:
    """The client's two ends, for us alone: what is printed by mistake goes to stderr, and nobody else reads its lines."""
    stream, out = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    os.set_blocking(out, True)
    return stream, out


class Server:
    def __init__(self, stream: int, out: int) -> None:
        self._stream, self._lines = stream, Lines()
        self._poll = select.poll()
        self._poll.register(stream, select.POLLIN)
        self._calls = Processes(lambda descriptor: self._poll.register(descriptor, select.POLLIN), self._poll.unregister)
        self._session = Session(lambda message: write(out, dumped(message)), self._calls)

    def run(self) -> None:
        """Until the client says no more; then, or once we are stopped, it is not heard either."""
        try:
            while True:
                for descriptor, _ in self._poll.poll():
                    if descriptor != self._stream:
                        self._calls.ready(descriptor)
                    elif not self._heard():
                        return
        finally:
            self._poll.unregister(self._stream)

    def _heard(self) -> bool:
        """What the client said; False at its end."""
        data = os.read(self._stream, CHUNK)
        for line in self._lines.feed(data) if data else self._lines.rest():
            if line is None or line.strip():
                self._session.heard(line)
        return bool(data)

    def wait(self) -> None:
        """Calls at work may still be answered, if that takes no longer than a moment: whoever asked by a pipe reads on."""
        self._until(time.monotonic() + GRACE)

    def end(self) -> None:
        """What is still at work is cancelled."""
        self._calls.let_all_go()
        self._until(time.monotonic() + LAST)
        self._calls.kill_all()

    def _until(self, limit: float) -> None:
        while not self._calls.are_done and (left := limit - time.monotonic()) > 0:
            for descriptor, _ in self._poll.poll(left * 1000):
                self._calls.ready(descriptor)

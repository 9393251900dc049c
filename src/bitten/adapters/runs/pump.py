"""Carries bytes: from the command to our own stdout and stderr and to the tape, and keys to it. Knows no command, only its number."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal

from bitten.adapters.runs.streams import Streams
from bitten.adapters.runs.tape import Tape

CHUNK = 1 << 16
FLOOD = 2048
"""Bytes: a piece of that size is no prompt."""
GRACE = 0.5
"""Seconds of silence after the command's end before we leave a background process that holds its output."""


class Pump:
    """`wake` is readable when a signal has come. `run` ends when the command has, and returns its wait status."""

    def __init__(self, pid: int, streams: Streams, tape: Tape, wake: int) -> None:
        self.pid, self.streams, self.tape, self.wake = pid, streams, tape, wake
        self.selector = selectors.DefaultSelector()
        self.selector.register(wake, selectors.EVENT_READ)
        for reader in streams.readers:
            self.selector.register(reader, selectors.EVENT_READ)
        self.open = set(streams.readers)
        self._mind_keys()
        self.status: int | None = None
        self.deaf: set[int] = set()
        self._interrupted = self._lags = False

    @property
    def interrupted(self) -> bool:
        return self._interrupted or (self.streams.keys is not None and self.streams.keys.interrupted)

    def run(self) -> int:
        while self.open or self.status is None:
            events = self.selector.select(0 if self._lags else GRACE if self.status is not None else None)
            if not events and not self._lags:
                break
            self._lags = self._lags and bool(events)
            if not events:
                self._follow_modes()
            for key, ready in events:
                self._hear(key.fd, ready)
        for reader in tuple(self.open):
            self._close(reader)
        assert self.status is not None
        return self.status

    def _hear(self, fd: int, ready: int) -> None:
        if fd == self.wake:
            self._news()
        elif fd not in self.streams.readers:
            self._type()
        else:
            if ready & selectors.EVENT_WRITE:
                self._type_on()
            if ready & selectors.EVENT_READ and fd in self.open:
                self._carry(fd)

    def _carry(self, reader: int) -> None:
        try:
            data = os.read(reader, CHUNK)
        except BlockingIOError:  # the terminal only had room for keys
            return None
        except OSError:  # EIO: the last holder of the pseudo-terminal closed it
            data = b""
        if not data:
            return self._close(reader)
        if reader == self.streams.terminal:
            self._look_at_modes(len(data))
        stream = self.streams.readers[reader]
        self._pass_on(stream, data)
        with contextlib.suppress(OSError):  # no room in memory: the command goes on untaped
            self.tape.add(stream, data)
        return None

    def _look_at_modes(self, size: int) -> None:
        """Before a prompt is seen; in a flood, once it ebbs: to ask at each piece takes a tenth of the time."""
        self._lags = size >= FLOOD
        if not self._lags:
            self._follow_modes()

    def _follow_modes(self) -> None:
        if self.streams.modes is not None and self.streams.terminal in self.open and self.streams.modes.follow():
            self._mind_keys()

    def _mind_keys(self) -> None:
        """Hear what is typed where the command can't by itself."""
        self._stop_typing()
        if self.streams.keys is not None and self.streams.wants_keys():
            self.selector.register(0, selectors.EVENT_READ)

    def _pass_on(self, stream: int, data: bytes) -> None:
        """Our own reader may have gone (`| head`): then the command goes on unheard, as long as it would have."""
        if stream in self.deaf:
            return
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(stream, view):]
        except OSError:
            self.deaf.add(stream)
            for reader, its in self.streams.readers.items():
                if its == stream and reader in self.open:
                    self._close(reader)  # the command meets the broken pipe that it would have met

    def _close(self, reader: int) -> None:
        if self.streams.modes is not None and reader == self.streams.terminal:
            self.streams.modes.end()
            self._stop_typing()
        self.selector.unregister(reader)
        self.open.discard(reader)
        os.close(reader)

    def _type(self) -> None:
        """Keys have come; should the command's terminal have no room for them, no more are read until it has."""
        keys, terminal = self.streams.keys, self.streams.terminal
        if keys is None or terminal is None or not self.streams.wants_keys() or not keys.read():
            return self._stop_typing()
        keys.pass_on()
        if keys.waiting:
            self.selector.unregister(0)
            self.selector.modify(terminal, selectors.EVENT_READ | selectors.EVENT_WRITE)
        return None

    def _type_on(self) -> None:
        keys, terminal = self.streams.keys, self.streams.terminal
        assert keys is not None and terminal is not None
        keys.pass_on()
        if not keys.waiting:
            self.selector.modify(terminal, selectors.EVENT_READ)
            self.selector.register(0, selectors.EVENT_READ)

    def _stop_typing(self) -> None:
        with contextlib.suppress(KeyError):  # nobody types, or keys wait
            self.selector.unregister(0)

    def _news(self) -> None:
        heard = os.read(self.wake, 512)
        if signal.SIGWINCH in heard:
            self.streams.resize()
        self._interrupted = self._interrupted or signal.SIGINT in heard
        if signal.SIGCHLD in heard and self.status is None:
            self._reap()

    def _reap(self) -> None:
        pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        if not pid:
            return
        if os.WIFSTOPPED(status):
            self._stop_with_it()
        else:
            self.status = status

    def _stop_with_it(self) -> None:
        """^Z stopped the command: stop with it, and go on with it."""
        modes = self.streams.modes
        if modes is not None:
            modes.pause()
        os.kill(os.getpid(), signal.SIGSTOP)
        if modes is not None:
            modes.resume()
        os.kill(self.pid, signal.SIGCONT)

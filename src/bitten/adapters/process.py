"""The person's own command, run as if we weren't there: same terminal, same output, same end. Knows nothing of cases.

Each of stdout and stderr keeps its kind: what was no terminal becomes a pipe; what was one becomes a pseudo-terminal
(one for both, so that their order stays). The command stays in our process group with the real terminal as its
controlling one, so ^C, ^Z, getpass and pdb work by themselves (measured in notes/capture.md, section 3).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pty
import selectors
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from bitten.adapters.modes import Followed
from bitten.adapters.tape import Tape
from bitten.core.trouble import Unable

CHUNK = 1 << 16
GRACE = 0.5
"""Seconds of silence after the command's end before we leave a background process that holds its output."""
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Ended:
    """How a command ended: `exit` is None when a signal ended it; `interrupted` when ^C was typed meanwhile."""

    exit: int | None
    signal: int | None
    seconds: float
    interrupted: bool = False


def run(argv: Sequence[str], env: Mapping[str, str], tape: Tape, started: Callable[[int], None] = lambda _: None) -> Ended:
    """Run a command in the current directory, its output passed on and taped. `started` is told its number.

    Raises: Unable `command-not-found` (exit code 127) or `command-not-executable` (126), as a shell would say.
    """
    streams = _Streams()
    began = time.monotonic()
    with _signals() as wake:
        try:
            pid = _spawn(argv, env, streams)
        finally:
            streams.close_childs()
        with _forwarding(pid):
            started(pid)
            pump = _Pump(pid, streams, tape, wake)
            status = pump.run()
    return _ended(status, time.monotonic() - began, pump.interrupted)


def end_like(number: int) -> int:
    """Die by the signal that ended the command, so that `$?` is the same; its exit code where we survive it."""
    with contextlib.suppress(OSError, ValueError):  # SIGKILL and SIGSTOP have no handler to restore
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


class _Streams:
    """The ends that the command writes to, and those that we read from."""

    def __init__(self) -> None:
        terminals = [os.isatty(1), os.isatty(2)]
        self.readers: dict[int, int] = {}
        self.writers: dict[int, int] = {}
        self.terminal: int | None = None
        self.modes: Followed | None = None
        if any(terminals):
            self._add_terminal([stream for stream in (1, 2) if terminals[stream - 1]])
        for stream in (1, 2):
            if not terminals[stream - 1]:
                self._add(stream, *os.pipe())

    def _add(self, stream: int, reader: int, writer: int) -> None:
        self.readers[reader], self.writers[stream] = stream, writer

    def _add_terminal(self, streams: list[int]) -> None:
        reader, writer = pty.openpty()
        self.modes = Followed(reader)
        for stream in streams:
            self._add(stream, reader, writer)
        self.terminal = reader
        self.resize()

    def resize(self) -> bool:
        """Give the pseudo-terminal the real one's size. Returns whether that changed it."""
        if self.terminal is None:
            return False
        size = _real_size()
        changed = size != fcntl.ioctl(self.terminal, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)
        return changed

    def follow_modes(self) -> None:
        if self.modes is not None:
            self.modes.follow()

    def close_childs(self) -> None:
        for writer in set(self.writers.values()):
            os.close(writer)


def _real_size() -> bytes:
    """Rows and columns of the first real terminal; without any, 24 by 80 (in a 0 by 0 one tqdm prints empty bars)."""
    for fd in (0, 1, 2):
        with contextlib.suppress(OSError):
            return fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8)
    return struct.pack("HHHH", 24, 80, 0, 0)


def _spawn(argv: Sequence[str], env: Mapping[str, str], streams: _Streams) -> int:
    dup = [(os.POSIX_SPAWN_DUP2, writer, stream) for stream, writer in sorted(streams.writers.items())]
    try:
        if not argv[0]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        # Python ignores these two signals; a command must not inherit that.
        return os.posix_spawnp(argv[0], list(argv), dict(env), file_actions=dup, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
    except OSError as error:
        raise _cannot_start(argv[0], error) from None


def _cannot_start(program: str, error: OSError) -> Unable:
    found = error.errno not in (errno.ENOENT, errno.ENOTDIR)
    slug = "command-not-executable" if found else "command-not-found"
    trouble = Unable(slug, f"Can't run {program!r}: {error.strerror}.", way="bitten run -- CMD, where CMD starts in your shell")
    trouble.exit_code = 126 if found else 127
    return trouble


@contextlib.contextmanager
def _signals() -> Iterator[int]:
    """A pipe that wakes the pump on a child's end or a resize. ^C and ^\\ are the command's; we only survive them."""
    wake, bell = os.pipe()
    os.set_blocking(bell, False)
    old_bell = signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    mine = _handle((signal.SIGCHLD, signal.SIGWINCH, signal.SIGINT, signal.SIGQUIT), _heard)
    try:
        yield wake
    finally:
        for each, old in mine.items():
            signal.signal(each, old)
        signal.set_wakeup_fd(old_bell)
        os.close(wake)
        os.close(bell)


def _handle(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> dict[int, Any]:
    """Install a handler, but leave ignored signals ignored: under nohup the command must inherit just that."""
    return {each: signal.signal(each, handler) for each in numbers if signal.getsignal(each) is not signal.SIG_IGN}


def _heard(_signal: int, _frame: FrameType | None) -> None:
    """The wake-up pipe carries the news."""


@contextlib.contextmanager
def _forwarding(pid: int) -> Iterator[None]:
    def forward(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):  # it ended in the meantime
            os.kill(pid, number)

    mine = _handle(FORWARDED, forward)
    try:
        yield
    finally:
        for each, old in mine.items():  # a hang-up that comes twice must not end us before all is kept
            signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else old)


class _Pump:
    """Carries bytes from the command to our own stdout and stderr, and to the tape, until the command has ended."""

    def __init__(self, pid: int, streams: _Streams, tape: Tape, wake: int) -> None:
        self.pid, self.streams, self.tape, self.wake = pid, streams, tape, wake
        self.selector = selectors.DefaultSelector()
        self.selector.register(wake, selectors.EVENT_READ)
        for reader in streams.readers:
            self.selector.register(reader, selectors.EVENT_READ)
        self.open = set(streams.readers)
        self.status: int | None = None
        self.deaf: set[int] = set()
        self.interrupted = False

    def run(self) -> int:
        while self.open:
            events = self.selector.select(GRACE if self.status is not None else None)
            if not events and self.status is not None:
                break
            for key, _ in events:
                self._news() if key.fd == self.wake else self._carry(key.fd)
        for reader in tuple(self.open):
            self._close(reader)
        return self.status if self.status is not None else os.waitpid(self.pid, 0)[1]

    def _carry(self, reader: int) -> None:
        try:
            data = os.read(reader, CHUNK)
        except OSError:  # EIO: the last holder of the pseudo-terminal closed it
            data = b""
        if not data:
            return self._close(reader)
        if reader == self.streams.terminal:
            self.streams.follow_modes()
        stream = self.streams.readers[reader]
        self._pass_on(stream, data)
        with contextlib.suppress(OSError):  # no room in memory: the command goes on untaped
            self.tape.add(stream, data)
        return None

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
        self.selector.unregister(reader)
        self.open.discard(reader)
        os.close(reader)

    def _news(self) -> None:
        heard = os.read(self.wake, 512)
        if signal.SIGWINCH in heard and self.streams.resize():
            os.killpg(0, signal.SIGWINCH)  # the first one reached the command before its terminal had the new size
        self.interrupted = self.interrupted or signal.SIGINT in heard
        if signal.SIGCHLD in heard and self.status is None:
            self._reap()

    def _reap(self) -> None:
        pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        if not pid:
            return
        if os.WIFSTOPPED(status):  # ^Z stopped the command: stop with it, and go on with it
            self.streams.follow_modes()
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(self.pid, signal.SIGCONT)
        else:
            self.status = status


def _ended(status: int, seconds: float, interrupted: bool) -> Ended:
    code = os.waitstatus_to_exitcode(status)
    return Ended(None, -code, seconds, interrupted) if code < 0 else Ended(code, None, seconds, interrupted)

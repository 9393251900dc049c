"""The ends of a command's output, each of its own kind: what was no terminal is a pipe, what was one a pseudo-terminal. Knows no process.

Plainly the command keeps the real terminal as its controlling one and writes to ours, so ^C, ^Z, getpass and pdb work by
themselves (measured in notes/capture.md, section 3); keys are carried only to a pager, which opens ours by name. With a
terminal of its own, as `script` would give it, the real one carries all keys: then a program may set what it likes, and ^Z
stops nobody, since no shell above knows of its session.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import stat
import struct
import termios
from pathlib import Path
from typing import Any

from bitten.adapters.runs.modes import Followed, Raw

Action = tuple[Any, ...]


class Streams:
    """Stdout and stderr as they are here; both at one pseudo-terminal where both are terminals, so that their order stays."""

    has_session = False
    keys: Keys | None = None

    def __init__(self) -> None:
        self.readers: dict[int, int] = {}
        self.writers: dict[int, int] = {}
        self.terminal: int | None = None
        self.modes: Followed | Raw | None = None
        self._lay()

    def _lay(self) -> None:
        terminals = [stream for stream in (1, 2) if os.isatty(stream)]
        if terminals:
            reader, writer = self._open()
            self.modes = Followed(reader)
            for stream in terminals:
                self._add(stream, reader, writer)
            self._resized()
        for stream in {1, 2} - set(terminals):
            self._add(stream, *os.pipe())

    def _open(self) -> tuple[int, int]:
        self.terminal, writer = pty.openpty()
        os.set_blocking(self.terminal, False)
        self._name, self._reader = os.ttyname(writer), ""
        self.keys = Keys(self.terminal) if os.isatty(0) else None
        return self.terminal, writer

    def wants_keys(self) -> bool:
        """Whether a program reads keys from the pseudo-terminal, as the pager less does: all others find them at the real one."""
        if self.modes is None or not self.modes.takes_single_keys:
            return False
        if not _leads(self._reader, self._name):
            self._reader = _reader_of(self._name)
        return bool(self._reader)

    def _add(self, stream: int, reader: int, writer: int) -> None:
        self.readers[reader], self.writers[stream] = stream, writer

    def actions(self) -> list[Action]:
        """What a new process does to write to them, for `posix_spawn`."""
        return [(os.POSIX_SPAWN_DUP2, writer, stream) for stream, writer in sorted(self.writers.items())]

    def resize(self) -> None:
        """Give the pseudo-terminal the real one's size: the first SIGWINCH reached the command before it had that."""
        if self._resized():
            os.killpg(0, signal.SIGWINCH)

    def _resized(self) -> bool:
        if self.terminal is None:
            return False
        size = _real_size()
        changed = size != fcntl.ioctl(self.terminal, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)
        return changed

    def close_childs(self) -> None:
        for writer in set(self.writers.values()):
            os.close(writer)


class OwnTerminal(Streams):
    """One new terminal for stdout, stderr and, where that is a terminal here, stdin; the controlling one of a session of its own."""

    has_session = True

    def _lay(self) -> None:
        reader, writer = self._open()
        self.modes = Raw(reader)
        self._add(1, reader, writer)
        self._resized()

    def wants_keys(self) -> bool:
        return True

    def actions(self) -> list[Action]:
        """A session's first terminal that it opens becomes its controlling one."""
        also = (0, 2) if self.keys else (2,)
        return [(os.POSIX_SPAWN_OPEN, 1, self._name, os.O_RDWR, 0), *((os.POSIX_SPAWN_DUP2, 1, each) for each in also)]

    def resize(self) -> None:
        """Its terminal tells the command by itself."""
        self._resized()


class Keys:
    """What is typed, on its way to the command's own terminal; what that has no room for yet waits here."""

    def __init__(self, terminal: int) -> None:
        self._terminal, self.waiting, self.interrupted = terminal, b"", False

    def read(self) -> bool:
        """Returns whether more may come."""
        with contextlib.suppress(OSError):  # the real terminal was hung up
            typed = os.read(0, 1024)
            self.interrupted = self.interrupted or self._interrupts(typed)
            self.waiting += typed
            return bool(typed)
        return False

    def _interrupts(self, typed: bytes) -> bool:
        local, characters = (termios.tcgetattr(self._terminal)[each] for each in (3, 6))
        return bool(local & termios.ISIG) and characters[termios.VINTR] in typed

    def pass_on(self) -> None:
        try:
            self.waiting = self.waiting[os.write(self._terminal, self.waiting):]
        except BlockingIOError:  # no room yet
            return
        except OSError:  # the command has ended
            self.waiting = b""


def _reader_of(name: str) -> str:
    """Where below /proc a process of our session has a terminal open for reading alone: one that it inherited could be written too."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if os.getsid(int(process.name)) == os.getsid(0):
                for each in (process / "fd").iterdir():
                    if _leads(str(each), name):
                        return str(each)
    return ""


def _leads(path: str, name: str) -> bool:
    with contextlib.suppress(OSError):
        return str(Path(path).readlink()) == name and stat.S_IMODE(Path(path).lstat().st_mode) == stat.S_IRUSR | stat.S_IXUSR
    return False


def _real_size() -> bytes:
    """Rows and columns of the first real terminal; without any, 24 by 80 (in a 0 by 0 one tqdm prints empty bars)."""
    for fd in (0, 1, 2):
        with contextlib.suppress(OSError):
            return fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8)
    return struct.pack("HHHH", 24, 80, 0, 0)

"""The person's own command, run as if we weren't there: same terminal, same output, same end. Knows nothing of cases.

The command stays in our process group, so whatever the real terminal sends to one reaches both; a command with a terminal of
its own gets a session too. Which ends it writes to is for `streams` to say, which modes hold for `modes`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from bitten.adapters.runs.pump import Pump
from bitten.adapters.runs.streams import OwnTerminal, Streams
from bitten.adapters.runs.tape import Tape
from bitten.core.trouble import Unable

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
TYPED = (signal.SIGINT, signal.SIGQUIT)
"""The terminal sends these to our whole group; a command in a session of its own is not in it."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: `exit` is None when a signal ended it, or we did (`hung`); `interrupted` when ^C was typed meanwhile."""

    exit: int | None
    signal: int | None
    seconds: float
    interrupted: bool = False
    hung: bool = False


@contextlib.contextmanager
def running(
    argv: Sequence[str], env: Mapping[str, str], tape: Tape, started: Callable[[int], None] = lambda _: None, *, full_tty: bool = False
) -> Iterator[Ended]:
    """Run a command in the current directory, its output passed on and taped; the context begins when it has ended.

    In it a hang-up that comes again ends nothing of ours: what the command showed is kept first. `started` is told its
    number. `full_tty` gives it a terminal of its own, as `script` does.
    Raises: Unable `command-not-found` (exit code 127) or `command-not-executable` (126), as a shell would say.
    """
    hang_up = signal.getsignal(signal.SIGHUP)
    try:
        yield _run(argv, env, tape, started, full_tty)
    finally:
        signal.signal(signal.SIGHUP, hang_up)


def _run(argv: Sequence[str], env: Mapping[str, str], tape: Tape, started: Callable[[int], None], full_tty: bool) -> Ended:
    streams = OwnTerminal() if full_tty else Streams()
    began = time.monotonic()
    with _modes(streams), _signals() as wake:
        try:
            pid = _spawn(argv, env, streams)
        finally:
            streams.close_childs()
        with _forwarding(pid, streams):
            started(pid)
            pump = Pump(pid, streams, tape, wake)
            status = pump.run()
    return _ended(status, time.monotonic() - began, pump.interrupted)


@contextlib.contextmanager
def _modes(streams: Streams) -> Iterator[None]:
    try:
        yield
    finally:
        if streams.modes is not None:
            streams.modes.end()


def end_like(number: int) -> int:
    """Die by the signal that ended the command, so that `$?` is the same; its exit code where we survive it."""
    with contextlib.suppress(OSError, ValueError):  # SIGKILL and SIGSTOP have no handler to restore
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number


def _spawn(argv: Sequence[str], env: Mapping[str, str], streams: Streams) -> int:
    try:
        if not argv[0]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        # Python ignores these two signals; a command must not inherit that.
        return os.posix_spawnp(argv[0], list(argv), dict(env), file_actions=streams.actions(), setsid=streams.has_session,
                               setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
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
def _forwarding(pid: int, streams: Streams) -> Iterator[None]:
    """A hang-up stays ignored when this ends; `running` gives it back."""

    def forward(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):  # it ended in the meantime
            os.kill(pid, number)

    mine = _handle((*FORWARDED, *(TYPED if streams.has_session else ())), forward)
    try:
        yield
    finally:
        for each, old in mine.items():  # a hang-up that comes twice must not end us before all is kept
            signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else old)


def _ended(status: int, seconds: float, interrupted: bool) -> Ended:
    code = os.waitstatus_to_exitcode(status)
    return Ended(None, -code, seconds, interrupted) if code < 0 else Ended(code, None, seconds, interrupted)

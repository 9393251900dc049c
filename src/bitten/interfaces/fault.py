"""What is said when something stands in the way: three sentences, or for a fault of ours a report to paste. Ends nothing itself."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import select
import sys
import traceback
from collections.abc import Iterator

import click

from bitten import __version__
from bitten.core.trouble import BadInput, Trouble, Unable
from bitten.interfaces import text
from bitten.interfaces.wiring import keep_report, recent_events, redact

_OF_THE_MACHINE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE))
_OF_A_FILE = frozenset((errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG))
OURS, UNHEARD = 70, 141
"""Exit codes: a fault of ours; nobody reads our output any more, as a shell tells of a program that SIGPIPE ended."""


def tell(error: BaseException) -> int:
    """Say it. Returns the exit code that it has by itself."""
    if isinstance(error, BrokenPipeError) and _unheard():
        return UNHEARD
    try:
        return _told(error)
    except OSError:  # nobody hears us: stderr is closed, or the disk behind it full
        return 4


@contextlib.contextmanager
def spared() -> Iterator[None]:
    """What stands in bitten's own way in here is said, and ends nothing."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        tell(error)


def say(words: str) -> None:
    """On stderr, where perhaps nobody is left to read it."""
    with contextlib.suppress(OSError):
        click.echo(words, err=True)


def _told(error: BaseException) -> int:
    error = in_our_form(error)
    if isinstance(error, Trouble):
        click.echo(text.trouble(error), err=True)
        return error.exit_code
    if isinstance(error, Exception) and not isinstance(error, click.Abort):
        return report(error)
    return 130


def in_our_form(error: BaseException) -> BaseException:
    """What the machine or click complains of, as a trouble of ours; anything else as it is."""
    if isinstance(error, OSError) and (error.errno in _OF_THE_MACHINE or (error.errno in _OF_A_FILE and error.filename is not None)):
        return Unable("file-not-written", f"{error.filename or 'A file of ours'}: {error.strerror}.",
                      "What was completed before is as it was.", "make room, or let bitten write there, then try again")
    return _not_understood(error) if isinstance(error, click.ClickException) else error


def _not_understood(error: click.ClickException) -> BadInput:
    """Click's own complaint, in our form."""
    context = getattr(error, "ctx", None)
    usage = context.get_usage() if context else ""
    return BadInput("not-understood", error.format_message(), usage, f"{context.command_path if context else 'bitten'} --help")


def report(fault: Exception) -> int:
    """Say that the fault is ours, and where its report lies; whatever breaks meanwhile, the exit code is that of a fault of ours."""
    with contextlib.suppress(OSError):  # nobody hears us
        if os.environ.get("BITTEN_DEBUG") == "1":
            click.echo(redact("".join(traceback.format_exception(fault))), err=True)
        click.echo(click.style("✗ ", fg="red") + f"This is a fault of bitten's own: {type(fault).__name__}.", err=True)
        click.echo("  The case is as it was after its last completed step.\n"
                   f"  way out:  {way_out(fault)}\n  [our-fault]", err=True)
    return OURS


def way_out(fault: Exception) -> str:
    """What to do about a fault of ours, its report kept."""
    try:
        return f"paste {keep_report(_written(fault))} into a new issue"
    except Exception as second:  # a fault in the report must not hide the one that it is about
        return f"run it again with BITTEN_DEBUG=1, and paste that into a new issue (no report could be written: {type(second).__name__})"


def _written(fault: Exception) -> str:
    """Of what was typed the verb alone: its arguments may be anybody's business."""
    from bitten.interfaces.cli import COMMANDS  # noqa: PLC0415 - it imports this module where a fault is told

    verb = next((word for word in sys.argv[1:] if word in COMMANDS), "alone, or unknown")
    return (f"bitten {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
            f"command: {verb}\nlast events: {', '.join(recent_events()) or 'none'}\n\n"
            + "".join(traceback.format_exception(fault)))


def _unheard() -> bool:
    """Whether it is our own output that nobody reads. Then it goes nowhere from now on, also what Python flushes at its end."""
    poll = select.poll()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        poll.register(stream.fileno(), 0)  # errors are told unasked
    gone = [descriptor for descriptor, _ in poll.poll(0)]
    for descriptor in gone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    return bool(gone)

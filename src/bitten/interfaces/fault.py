"""What is said when something stands in the way: three sentences, or for a fault of ours a report to paste. Ends nothing itself."""

from __future__ import annotations

import contextlib
import errno
import platform
import traceback
from collections.abc import Iterator

import click

from bitten import __version__
from bitten.core.trouble import Trouble, Unable
from bitten.interfaces import text
from bitten.interfaces.wiring import keep_report

_OF_THE_MACHINE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE, errno.ENOENT))


def tell(error: BaseException) -> int:
    """Say it. Returns the exit code that it has by itself."""
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
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE and error.filename is not None:
        error = Unable("file-not-written", f"{error.filename}: {error.strerror}.", "What was completed before is as it was.",
                       "make room, or let bitten write there, then try again")
    if isinstance(error, Trouble):
        click.echo(text.trouble(error), err=True)
        return error.exit_code
    if isinstance(error, Exception) and not isinstance(error, click.Abort):
        return report(error)
    return 130


def report(fault: Exception) -> int:
    """Write the report and say where it is. Returns the exit code, 70: a fault of ours."""
    words = "".join(traceback.format_exception(fault))
    path = keep_report(f"bitten {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n{words}")
    click.echo(click.style("✗ ", fg="red") + f"This is a fault of bitten's own: {type(fault).__name__}.", err=True)
    click.echo(
        f"  The case is as it was after its last completed step.\n  way out:  paste {path} into a new issue\n  [our-fault]", err=True
    )
    return 70

"""A fault of ours: a report to paste, redacted, in our state folder. The person's work is not touched by it."""

from __future__ import annotations

import platform
import traceback

import click

from bitten import __version__
from bitten.interfaces.wiring import keep_report


def report(fault: Exception) -> int:
    """Write the report and say where it is. Returns the exit code, 70: a fault of ours."""
    words = "".join(traceback.format_exception(fault))
    path = keep_report(f"bitten {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n{words}")
    click.echo(click.style("✗ ", fg="red") + f"This is a fault of bitten's own: {type(fault).__name__}.", err=True)
    click.echo(
        f"  The case is as it was after its last completed step.\n  way out:  paste {path} into a new issue\n  [our-fault]", err=True
    )
    return 70

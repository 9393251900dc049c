"""The reproducer, looked for last of all: the case is on disk and on the screen by then, and nothing waits for it. Judges no program."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import click

from bitten.interfaces import text
from bitten.interfaces.fault import say, spared
from bitten.interfaces.wiring import OpenCase

PATIENCE = 2.0
"""Seconds of silence on a terminal before it is said what is waited for."""


def reproduce(case: OpenCase, spool: Path) -> None:
    """Look for a program of ten lines that fails alike, and keep it. ^C skips that; nothing of it changes how the command ends."""
    if not case.house.settings.reproducer or os.environ.get("BITTEN_REPRODUCER") == "0":
        return
    with spared(), contextlib.suppress(KeyboardInterrupt):
        with _waiting(case.house.person.channel == "terminal"):
            found = case.reproduced(spool)
        with case.visited("run"):
            case.add([found])
        if found.verified:
            say(text.reproducer(found, case.keep_reproducer()))


@contextlib.contextmanager
def _waiting(seen: bool) -> Iterator[None]:
    """One line on a terminal, while it lasts."""
    told = threading.Event()

    def tell() -> None:
        told.set()
        with contextlib.suppress(OSError):
            click.echo(click.style("  … looking for a reproducer of ten lines; ^C skips it", dim=True), nl=False, err=True)

    timer = threading.Timer(PATIENCE, tell)
    timer.daemon = True
    if seen:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if told.is_set():
            with contextlib.suppress(OSError):
                click.echo("\r\x1b[K", nl=False, err=True)

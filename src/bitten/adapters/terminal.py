"""Whoever sits at the terminal, and the clock on the wall. A pipe is no person, and says so by its channel."""

from __future__ import annotations

import getpass
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click


class Terminal:
    """ports.Person. Questions go to stderr, so that stdout stays what a script may read."""

    @property
    def name(self) -> str:
        try:
            return getpass.getuser()
        except (KeyError, OSError):  # a user id without a name, as in many containers
            return "somebody"

    @property
    def channel(self) -> str:
        return "terminal" if all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)) else "pipe"

    def ask(self, question: str, default: str = "") -> str:
        suffix = " " if question.endswith("?") and not default else ": "
        return str(click.prompt(f"  {question}", default=default, show_default=bool(default), prompt_suffix=suffix, err=True)).strip()

    def show(self, text: str) -> None:
        click.echo(text)

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """What is being waited for; one plain line where nobody watches."""
        if sys.stderr is None or not sys.stderr.isatty():
            click.echo(f"  … {text}", err=True)
            yield
            return
        from rich.console import Console  # noqa: PLC0415 - 60 ms that only a wait is worth

        with Console(stderr=True, highlight=False).status(f"[dim]{text}[/dim]", refresh_per_second=2):
            yield


class WallClock:
    """ports.Clock: seconds since the epoch."""

    def now(self) -> float:
        return time.time()

"""An agent's session as it is watched: its words as they come, and what it has taken of its budget. Decides nothing."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

import click

from bitten.core.ports import Limits, Spent
from bitten.core.prediction import Json
from bitten.core.trouble import BadInput
from bitten.interfaces.wiring import redact

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_CONTROL = re.compile("\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b\\[[0-?]*[ -/]*[@-~]|"
                      "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069]")
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
                     "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]|\r(?!\n)")
LONGEST = 2000
"""Characters without an end of line: then they are shown as they are."""


class Live:
    """core.ports.Listener. On a terminal a line below the words tells turns, seconds and dollars; in a pipe the end does."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.name, self.limits = name, limits
        self.taken = Spent()
        self.words: list[str] = []
        self._rest = ""
        self._since, self._is_over = time.monotonic(), False
        self._stack = ExitStack()
        self._console: Console | None = None

    def __enter__(self) -> Live:
        if sys.stderr is not None and sys.stderr.isatty():
            from rich.console import Console  # noqa: PLC0415 - 60 ms that only a wait is worth

            self._console = Console(stderr=True, highlight=False, soft_wrap=True)
            self._stack.enter_context(self._console.status(self, refresh_per_second=4))
        else:
            click.echo(f"  … {self.name} at work, {self._budget()}", err=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()
        self._is_over = True
        self._show(self._rest)
        self._rest = ""
        click.echo(click.style(f"  {self.line()}", dim=True), err=True)

    def says(self, words: str) -> None:
        *lines, self._rest = (self._rest + words).split("\n")
        if len(self._rest) > LONGEST:
            lines, self._rest = [*lines, self._rest], ""
        for line in lines:
            self._show(line)

    def spent(self, spent: Spent) -> None:
        self.taken = spent

    def proposes(self, proposal: Mapping[str, Json]) -> str:
        raise BadInput("bad-proposal", "Hypotheses are not asked for here.", way="make the fix that was asked for")

    def _show(self, line: str) -> None:
        line = plain(line)
        if not line.strip():
            return
        self.words.append(line)
        if self._console is not None:
            self._console.print(f"  │ {line}", markup=False, style="dim")
        else:
            click.echo(f"  │ {line}", err=True)

    def __rich__(self) -> Text:
        from rich.text import Text  # noqa: PLC0415 - as above

        return Text(self.line(), style="dim")

    def line(self) -> str:
        """What was taken of each budget."""
        seconds = time.monotonic() - self._since
        taken, most = self.taken.dollars, f"${self.limits.dollars:.2f}"
        unknown = "price unknown" if self._is_over else f"at most {most}, told at its end"
        dollars = unknown if taken is None else f"about ${taken:.2f} of {most}"
        return f"{self.name}: {self.taken.turns} of {self.limits.turns} turns, {seconds:.0f} of {self.limits.seconds:.0f} s, {dollars}"

    def _budget(self) -> str:
        return f"at most {self.limits.turns} turns, {self.limits.seconds:.0f} s, ${self.limits.dollars:.2f}"


def visible(text: str) -> str:
    """A text whose every character can be seen: what would move the cursor, turn the direction or hide stands there by its number."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text).encode("utf-8", "replace").decode()


def plain(line: str) -> str:
    """A line as a terminal may show it: nothing in it moves the cursor, hides, or is a secret."""
    return redact(_CONTROL.sub("", line.replace("\t", "    "))).encode("utf-8", "replace").decode()

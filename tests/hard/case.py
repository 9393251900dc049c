"""What a hard case is: a command, the programs it starts, and the fact that its case must show. Starts nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.hard.play import Told
    from tests.stories import Project

GROUPS = {"Launch": range(1, 18), "Workers": range(18, 30), "Exceptions": range(30, 53), "Native and hard ends": range(53, 63),
          "Hangs": range(63, 69), "Getting in": range(69, 86), "State": range(86, 96), "Secrets": range(96, 101),
          "Terminal": range(101, 111), "Invariance": range(111, 112)}


def nothing(_: object) -> None:
    """Where the fields of a case say all."""


@dataclass(frozen=True)
class Hard:
    """`code` is the exit code, negative for a signal. `root` is type and message, `site` FILE:LINE of the person's code, `process` what the
    root's process is called, `says` patterns in debug.md, `never` words that are nowhere in what was kept; `more` what else must hold.

    `prepare` makes what text can't hold. `needs` names what the machine must have (see needs.py), `pending` what bitten still lacks.
    `varies` tells why two plain runs needn't print the same; `alone` cases are played by `by` itself: no second, plain run beside it.
    `options` are those of `bitten run`; `around` is a command that either run is put into.
    """

    number: int
    title: str
    command: tuple[str, ...]
    shows: str
    files: Mapping[str, str] = field(default_factory=dict)
    variant: str = ""
    code: int = 1
    root: tuple[str, str] | None = None
    site: str = ""
    process: str = ""
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    more: Callable[[Told], object] = nothing
    prepare: Callable[[Project], object] = nothing
    by: Callable[[Project, Hard], None] | None = None
    options: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    slow: bool = False
    needs: tuple[str, ...] = ()
    pending: str = ""
    varies: str = ""
    how: str = ""

    @property
    def name(self) -> str:
        words = f"{self.number:02} {self.title} {self.variant}"
        return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")

    @property
    def group(self) -> str:
        return next(group for group, numbers in GROUPS.items() if self.number in numbers)

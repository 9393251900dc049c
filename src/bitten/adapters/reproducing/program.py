"""A short program in its parts: where it finds modules, imports, definitions, values, and what fails. Runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

LINES = 10
_READS = re.compile(r"\b(?:open|load|safe_load|loadtxt|from_pretrained|read_\w+|listdir|glob)\(")


BIG = 1 << 26
"""Elements of one value: a trial must not take the memory that the person's work needs."""


class Cant(Exception):  # noqa: N818 - no error: the next way is tried
    """A value or a statement can't be made anew; the message says which, and why."""


@dataclass(frozen=True)
class Program:
    """`path` is the folder that the person's own modules are imported from; `fresh` asks for a process of its own.

    `about` tells what it can't. A `loose` one need not end in the same function; a `weak` one is a guess; `depth` is how far below
    the person's own words its call lies. Only the values may be made smaller: the last `fixed` lines are the person's own words.
    """

    imports: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    path: str = ""
    definitions: tuple[str, ...] = ()
    fresh: bool = False
    loose: bool = False
    weak: bool = False
    depth: int = 0
    about: str = ""

    @property
    def text(self) -> str:
        first = (f"import sys; sys.path.insert(0, {self.path!r})",) if self.path else ()
        return "\n".join((*first, *_merged(self.imports), *self.definitions, *self.values, *self.body)) + "\n"

    @property
    def lines(self) -> int:
        return lines_of(self.text)

    @property
    def fixed(self) -> int:
        return lines_of("\n".join(self.body))

    @property
    def fits(self) -> bool:
        return 0 < self.lines <= LINES

    def cost(self) -> tuple[object, ...]:
        """What calls no private function first, then what needs nothing of the person's; then fewer lines (their own words
        are worth one), then the nearer to those, then the shorter."""
        private = self.weak or " _" in "\n".join(self.imports)
        return private, bool(self.path) or self.reads_files, self.lines + (self.depth > 0), self.depth, len(self.text)

    @property
    def reads_files(self) -> bool:
        return _READS.search("\n".join((*self.values, *self.body))) is not None


@dataclass
class Needs:
    """What the values of a program need: imports, copied definitions, the folder of the person's modules; and whether one is a guess."""

    imports: list[str] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    path: str = ""
    guessed: bool = False

    def add(self, line: str) -> None:
        if line not in self.imports:
            self.imports.append(line)

    def define(self, text: str) -> None:
        if text not in self.definitions:
            self.definitions.append(text)

    def find_in(self, folder: str) -> None:
        if self.path not in ("", folder):
            raise Cant("modules of two folders")
        self.path = folder

    def program(self, values: Iterable[str], body: Iterable[str], **more: object) -> Program:
        made = Program(tuple(self.imports), tuple(values), tuple(body), self.path, tuple(self.definitions), weak=self.guessed)
        return replace(made, **more)  # type: ignore[arg-type]


def lines_of(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def affordable(count: int) -> None:
    """Raises: Cant."""
    if count > BIG:
        raise Cant("a value too large to make anew")


def _merged(imports: Iterable[str]) -> list[str]:
    """`from x import a` and `from x import b` are one line."""
    names: dict[str, list[str]] = {}
    for line in sorted(imports, key=lambda each: (each.startswith("from"), each)):
        module, _, name = line.partition(" import ")
        names.setdefault(module if name else line, []).extend([name] if name else [])
    return [f"{module} import {', '.join(dict.fromkeys(them))}" if them else module for module, them in names.items()]

"""Lines of the program's own files that match a pattern: for what happens in C, where no call can be seen. Reads text; knows no meaning.

Only files of modules that are loaded, or that made something, are read, once something has been found. A notebook's cells have none.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")

LARGEST = 1 << 20  # characters of a file
MOST = 12  # lines
_makers: set[str] = set()


def remember(where: tuple[str, str]) -> None:
    """A file of the program's that its launcher may have put back out of `sys.modules` when the search comes."""
    if where[0] and len(_makers) < 200:
        _makers.add(where[0].rpartition(":")[0])


def lines(pattern: str) -> list[tuple[str, str]]:
    """(`file:line`, `file:function`) of each line that the pattern matches; comments are none."""
    import re  # noqa: PLC0415 - loaded by whatever framework this is

    found, search = [], re.compile(pattern).search
    for file, text in _own_files():
        every = text.splitlines()
        found += [(f"{file}:{number}", f"{file}:{_function(every, number)}")
                  for number, line in enumerate(every, 1) if search(line.partition("#")[0])]
    return found[:MOST]


def only(pattern: str) -> tuple[str, str]:
    """The line, if there is just one; else two empty texts."""
    found = lines(pattern)
    return found[0] if len(found) == 1 else ("", "")


def _own_files() -> Iterator[tuple[str, str]]:
    was = hook.set_busy(True)
    found = [vars(module).get("__file__") for module in list(sys.modules.values()) if type(module) is type(sys)]
    every = {frames.absolute(file) for file in found if type(file) is str and file.endswith(".py") and not frames.is_library(file)}
    try:
        for file in sorted(every | _makers):
            yield file, _text(file)
    finally:
        hook.set_busy(was)


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as source:  # noqa: PTH123 - pathlib imports half the library
            return source.read(LARGEST)
    except OSError:
        return ""


def _function(every: list[str], number: int) -> str:
    """By indentation: the nearest `def` above that is further out."""
    depth = _indent(every[number - 1])
    for line in reversed(every[: number - 1]):
        words = line.replace("(", " ").split()
        if words and _indent(line) < depth:
            depth = _indent(line)
            if words[0] in ("def", "async"):
                return words[1 if words[0] == "def" else 2]
    return "<module>"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

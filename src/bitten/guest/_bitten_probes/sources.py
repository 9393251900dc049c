"""Lines of the program's own files that match a pattern: for what happens in C, where no call can be seen. Reads text; knows no meaning.

Only modules that are loaded are read, once something has been found; a notebook's cells have no file and are not.
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
    was, seen = hook.set_busy(True), set()
    try:
        for module in list(sys.modules.values()):
            file = vars(module).get("__file__") if type(module) is type(sys) else None
            if type(file) is str and file.endswith(".py") and file not in seen and not frames.is_library(file):
                seen.add(file)
                yield frames.absolute(file), _text(file)
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

"""Modules of the project that given files import, one step far, found by reading the files. Imports and runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

LARGEST = 256 * 1024
FILES = 6


def imported(paths: Iterable[str], root: Path, search: Iterable[str]) -> dict[str, str]:
    """Path of each module, with the file that imports it; `search` is where that interpreter looked, inside of the project."""
    places = [place for place in dict.fromkeys((*(Path(each) for each in search), root)) if place == root or root in place.parents]
    found: dict[str, str] = {}
    known = list(paths)
    for path in known[:FILES]:
        for name, level in _names(root / path):
            for module in _files(name, level, root / path, places):
                there = module.relative_to(root).as_posix() if module.is_relative_to(root) else ""
                if there and there not in known:
                    found.setdefault(there, path)
    return found


def _names(file: Path) -> Iterator[tuple[str, int]]:
    """Full names as they stand there, with the dots before a relative one; of `from a import b` both `a.b` and `a`."""
    tree = ast.Module([], [])
    with suppress(OSError, ValueError, SyntaxError, RecursionError):
        if file.stat().st_size <= LARGEST:
            tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield from ((f"{base}.{alias.name}".strip("."), node.level) for alias in node.names)
            yield base, node.level


def _files(name: str, level: int, importer: Path, places: list[Path]) -> Iterator[Path]:
    """The first place that has it: a file, or a package's own."""
    starts = [importer.parents[level - 1]] if 0 < level <= len(importer.parents) else [importer.parent, *places]
    parts = name.split(".")
    for start in starts if name else ():
        module = start.joinpath(*parts)
        for file in (module.with_suffix(".py"), module / "__init__.py"):
            if file.is_file():
                if file.stat().st_size:  # an empty one marks a package, and there is nothing to read in it
                    yield file
                return

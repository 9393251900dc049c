"""Frames of a log, set beside the project's files: which are its own, and where its code is another one. Reads, never runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from bitten.core.failure import Crash, Frame

_LIBRARY = ("/site-packages/", "/dist-packages/", "/lib/python", "\\site-packages\\", "/torch/", "<frozen ")
LARGEST = 4 << 20
"""Bytes of a file that is still taken for source."""
DEEP = 12
"""Folders of a path that are tried, from its beginning."""


_NOWHERE = Frame("", 0, "")


class Places:
    """A path of another machine belongs to the project when its end does: `/home/runner/work/x/x/src/data.py` is `src/data.py`."""

    def __init__(self, root: Path) -> None:
        self._roots = tuple(dict.fromkeys((root, root.resolve())))
        self._known: dict[str, str] = {}
        self._sources: dict[str, list[str]] = {}
        self._trees: dict[str, ast.AST] = {}

    def crash(self, crash: Crash) -> Crash:
        *others, last = map(self.frame, crash.frames or (_NOWHERE,))
        return replace(crash, frames=(*others, self._named(last))) if crash.frames else crash

    def frame(self, frame: Frame) -> Frame:
        if frame.file not in self._known:
            self._known[frame.file] = self._own(frame.file)
        own = self._known[frame.file]
        return replace(frame, file=own, mine=True, function=self._full_name(own, frame)) if own else frame

    def _named(self, last: Frame) -> Frame:
        """The library's function that raised is part of a failure's signature: its whole name, where that very file is here."""
        is_here = not last.mine and last.file.startswith("/") and last.text and last.text in self._line(last.file, last.line)
        return replace(last, function=self._full_name(last.file, last)) if is_here else last

    def differs(self, frame: Frame) -> bool:
        """Whether the file has another line there than the log shows; a frame without its line tells nothing."""
        return bool(frame.mine and frame.text) and frame.text not in self._line(frame.file, frame.line)

    def _own(self, file: str) -> str:
        if not file or file[0] == "<" or any(part in file for part in _LIBRARY) or file.startswith((sys.base_prefix, sys.prefix)):
            return ""
        return next((name for name in self._endings(file) if self._is_file(name)), "")

    def _endings(self, file: str) -> Iterator[str]:
        """Its path from the root; else, the longest first, what may be one."""
        inside = [file.removeprefix(f"{root}/") for root in self._roots if file.startswith(f"{root}/")]
        parts = PurePosixPath(file.replace("\\", "/")).parts
        parts = parts[1:] if parts and parts[0] == "/" else parts
        yield from inside or ("/".join(parts[at:]) for at in range(min(len(parts), DEEP)))

    def _is_file(self, name: str) -> bool:
        try:
            return ".." not in name.split("/") and (self._roots[0] / name).is_file()
        except (OSError, ValueError):  # a name that no file can have
            return False

    def _lines(self, name: str) -> list[str]:
        if name not in self._sources:
            try:
                file = self._roots[0] / name
                text = file.read_text("utf-8", "replace") if file.stat().st_size < LARGEST else ""
            except OSError:
                text = ""
            self._sources[name] = text.splitlines()
        return self._sources[name]

    def _line(self, name: str, number: int) -> str:
        lines = self._lines(name)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def _full_name(self, name: str, frame: Frame) -> str:
        """`Class.function`, as the guest has it, where the file still has such a function at that line."""
        if frame.function.startswith("<") or not name.endswith(".py"):
            return frame.function
        found = "".join(_names_around(self._tree(name), frame.line))
        return found if found.rpartition(".")[2] == frame.function else frame.function

    def _tree(self, name: str) -> ast.AST:
        if name not in self._trees:
            try:
                self._trees[name] = ast.parse("\n".join(self._lines(name)))
            except (SyntaxError, ValueError, RecursionError):
                self._trees[name] = ast.Module([], [])
        return self._trees[name]


def _names_around(node: ast.AST, line: int, before: str = "") -> Iterator[str]:
    """The qualified name of the innermost definition at a line, in parts."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if child.lineno <= line <= (child.end_lineno or child.lineno):
                yield before + child.name
                yield from _names_around(child, line, "." if isinstance(child, ast.ClassDef) else ".<locals>.")
        else:
            yield from _names_around(child, line, before)

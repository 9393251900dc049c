"""Frames of a log, set beside the project's files: which are its own, and where its code is another one. Reads, never runs."""

from __future__ import annotations

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


class Places:
    """A path of another machine belongs to the project when its end does: `/home/runner/work/x/x/src/data.py` is `src/data.py`."""

    def __init__(self, root: Path) -> None:
        self._roots = tuple(dict.fromkeys((root, root.resolve())))
        self._known: dict[str, str] = {}
        self._sources: dict[str, list[str]] = {}

    def crash(self, crash: Crash) -> Crash:
        return replace(crash, frames=tuple(map(self.frame, crash.frames)))

    def frame(self, frame: Frame) -> Frame:
        if frame.file not in self._known:
            self._known[frame.file] = self._own(frame.file)
        own = self._known[frame.file]
        return replace(frame, file=own, mine=True, function=self._full_name(own, frame)) if own else frame

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
        from bitten.adapters.scope import function_at  # noqa: PLC0415 - most runs show no text that is read

        if frame.function.startswith("<") or not name.endswith(".py"):
            return frame.function
        found = function_at(name, "\n".join(self._lines(name)).encode(), frame.line).partition(":")[2]
        return found if found.rpartition(".")[2] == frame.function else frame.function

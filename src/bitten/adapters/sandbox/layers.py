"""What a room's root is put together from. Reads the system, changes nothing, and does not know how a layer is made.

An overlay can't hold its own upper layer, nor, for an unprivileged user, a mount point below it. So each folder on the
way to one of these is made anew, and its children are layered instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

Step = tuple[str, str]
"""What to do (`folder`, `link`, `file`, `layer` or `readonly`), and the path to do it at."""

SYSTEM = ("/proc", "/sys", "/dev")
"""Mounted by the launcher in its own way."""
CROWD = 512
"""A folder with more entries than this is layered whole, which then may happen in memory or not at all."""


@dataclass(frozen=True)
class Mounts:
    """Where something is mounted, the system's own folders left out; `readonly` those that nobody can write to anyway."""

    points: frozenset[str]
    readonly: frozenset[str]

    @classmethod
    def read(cls, mountinfo: str) -> Mounts:
        lines = [line.split() for line in mountinfo.splitlines()]
        seen = {_unescape(words[4]): words[5].split(",") for words in lines}
        mine = {path: options for path, options in seen.items() if not any(is_in(path, system) for system in SYSTEM)}
        return cls(frozenset(mine), frozenset(path for path, options in mine.items() if "ro" in options))


@dataclass(frozen=True)
class Planner:
    mounts: Mounts
    base: str

    def steps(self, top: str = "/") -> Iterator[Step]:
        """Parents come before their children."""
        return self._lay(top)

    def _lay(self, path: str) -> Iterator[Step]:
        if path in SYSTEM or path == self.base:
            return
        if self._must_divide(path):
            yield from self._divide(path)
        else:
            yield ("readonly" if path in self.mounts.readonly else "layer"), path

    def _must_divide(self, path: str) -> bool:
        return any(is_in(each, path) and each != path for each in (self.base, *self.mounts.points, *SYSTEM))

    def _divide(self, path: str) -> Iterator[Step]:
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except PermissionError:
            yield "readonly", path
            return
        if len(entries) > CROWD:
            yield "layer", path
            return
        yield "folder", path
        for entry in entries:
            yield from self._entry(entry)

    def _entry(self, entry: os.DirEntry[str]) -> Iterator[Step]:
        """Sockets and the like are left out: an overlay would cut them off as well."""
        if entry.is_symlink():
            yield "link", entry.path
        elif entry.is_dir():
            yield from self._lay(entry.path)
        elif entry.is_file():
            yield "file", entry.path


def own_layers(steps: Sequence[Step], paths: Sequence[Path], user: int) -> Iterator[Step]:
    """Layers for paths that lie below another user's folder: copying that folder up would mean giving files away."""
    laid = {path for kind, path in steps if kind in ("layer", "folder")}
    for path in paths:
        way = list(takewhile(lambda each: str(each) not in laid, (path, *path.parents)))
        if any(each.stat().st_uid != user for each in way):
            laid.add(str(path))
            yield "layer", str(path)


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _unescape(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)

"""How much room a project's cases take, and what may go: runs by hand, raw output of done cases, trees that no open one names.

What tells the story of a case (events, debug.md, fix.patch, verification.json, run.sh) stays for ever, and an open case
loses nothing. Whatever stops it, the next tidying goes on. Knows no event but by the tree that it names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bitten.core.ladder import fold
from bitten.core.trouble import Trouble

from .folder import CaseFolder, homes
from .journal import FileJournal
from .store import Store

RAW = ("capture", "evidence")
"""What goes of a case that is done, each as a whole."""


@dataclass(frozen=True)
class Gone:
    what: str
    size: int


@dataclass(frozen=True)
class Tidied:
    """In bytes. `gone` is what was removed, or would be; `notes` says what stood in the way."""

    before: int
    limit: int
    gone: tuple[Gone, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def freed(self) -> int:
        return sum(each.size for each in self.gone)

    @property
    def after(self) -> int:
        return self.before - self.freed


@dataclass(frozen=True)
class Standing:
    """A case as tidying sees it. One that can't be read counts as open, and nobody knows its trees."""

    folder: CaseFolder
    is_open: bool = True
    ended: float = 0.0
    trees: frozenset[str] = frozenset()
    unread: str = ""


def taken(root: Path) -> int:
    """Bytes on disk of all that is ours in a project."""
    return sum(map(size_of, homes(root)))


def size_of(path: Path) -> int:
    """Bytes on disk; links are not followed, and what vanishes meanwhile takes none."""
    found = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)  # noqa: PTH118 - thousands of them
    return sum(map(_blocks, found))


def _blocks(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:
        return 0


def tidy(root: Path, cases: Iterable[CaseFolder], state: Path, store: Store, limit: int, *, dry_run: bool = False) -> Tidied:
    """Prune the store; then, while it is over the limit, take runs by hand and the raw output of cases that are done, oldest first."""
    before = taken(root)
    standing = [_standing(folder, state) for folder in cases]
    gone, notes = _without_trees(store, standing, dry_run)
    over = before - limit - sum(each.size for each in gone)
    for what, path, size in (*_probes(root), *_raw(root, standing)):
        if over <= 0:
            break
        freed = size if dry_run else _remove(path, size)
        gone.append(Gone(what, freed))
        over -= freed
    return Tidied(before, limit, tuple(each for each in gone if each.size), notes)


def _standing(folder: CaseFolder, state: Path) -> Standing:
    try:
        entries = FileJournal(folder.path, state).entries()
        case = fold(entry.event for entry in entries)
    except Trouble as why:
        return Standing(folder, unread=str(why))
    if case is None:
        return Standing(folder, unread="It holds no event.")
    trees = frozenset(tree for entry in entries if (tree := getattr(entry.event, "tree", "")))
    return Standing(folder, case.is_open, entries[-1].at, trees)


def _without_trees(store: Store, standing: Sequence[Standing], dry_run: bool) -> tuple[list[Gone], tuple[str, ...]]:
    """Where a case can't be read, or git can't walk a tree that is needed, every tree stays."""
    unread = [each for each in standing if each.unread]
    if unread:
        names = ", ".join(f"case {each.folder.number}" for each in unread)
        return [], (f"No tree was removed: {names} can't be read, so nobody knows what it needs. {unread[0].unread}",)
    needed = {tree for each in standing if each.is_open for tree in each.trees}
    try:
        paths = store.unneeded(needed)
        size = sum(_blocks(str(path)) for path in paths)
        if paths and not dry_run:
            store.forget_all_but(needed)
    except Trouble as why:
        return [], (f"No tree was removed: {why}",)
    return [Gone("trees that no open case names", size)], ()


def _probes(root: Path) -> Iterator[tuple[str, Path, int]]:
    """What runs by hand left, oldest first: no case rests on it."""
    found = (path for home in homes(root) for path in (home / "probes").glob("*-*") if path.is_dir() and not path.is_symlink())
    for path in sorted(found, key=lambda each: each.stat().st_mtime):
        yield f"probe run {path.name}", path, size_of(path)


def _raw(root: Path, standing: Sequence[Standing]) -> Iterator[tuple[str, Path, int]]:
    """Folders of raw output that may go, oldest case first, with their sizes."""
    ours = {home.resolve() for home in homes(root)}
    for each in sorted((each for each in standing if not each.is_open), key=lambda each: each.ended):
        for path in (each.folder.path / name for name in RAW):
            if path.is_dir() and path.resolve() == path.parent.resolve() / path.name and path.resolve().parent.parent in ours:
                yield f"{path.name} of case {each.folder.number}", path, size_of(path)


def _remove(path: Path, size: int) -> int:
    """What can't be removed stays, and is not counted as freed."""
    shutil.rmtree(path, ignore_errors=True)
    return size - size_of(path)

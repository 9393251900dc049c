"""The tree of sources at one moment, as digests of what differs from HEAD, and what lies between two such moments. Writes nothing.

A digest is git's own name for a content, so that a file that was committed in between compares with what it was before.
Limit: where git changes line endings or filters at a commit, such a file counts as changed.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bitten.adapters.store import Git, git_file, paths_in, persons_git
from bitten.core.state import Moved, State
from bitten.core.trouble import Unable

MOST = 200
"""Files that differ from HEAD, or sources outside git, that are read."""
LARGEST = 4 << 20
BUDGET = 0.06
"""Seconds for reading them."""
SUBJECTS = 6
PATIENCE = 20.0
QUIETLY = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_SOURCES = (".py", ".pyx", ".sh", ".yaml", ".yml", ".toml", ".json", ".cfg", ".ini", ".cu", ".cpp", ".ipynb", "Makefile")
_NOT_OURS = frozenset((".git", ".bitten", ".venv", "venv", "node_modules", "__pycache__", "site-packages", ".tox", "wandb", "mlruns"))


@dataclass(frozen=True)
class Status:
    """What git says of the tree at once. `is_sure`: each of these paths does differ from HEAD; one that was staged and then
    changed again may be back at what it was."""

    head: str
    paths: tuple[str, ...]
    is_sure: bool


def status(git: Git) -> Status:
    """The revision (empty before the first), and every path that differs from it or is new, but for what is ignored or ours."""
    listed = git(*QUIETLY, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames",
                 "--ignore-submodules=dirty", patience=PATIENCE).split(b"\0")
    head = next((line.split()[-1].decode() for line in listed if line.startswith(b"# branch.oid ")), "")
    found = [each for line in listed if (each := _entry(line))]
    paths = tuple(sorted({path for path, _ in found}))
    return Status("" if head == "(initial)" else head, paths, len(paths) == len(found) and not any(twice for _, twice in found))


def _entry(line: bytes) -> tuple[str, bool] | None:
    """A path and whether both sides of the index differ; in git's second form the place of the path depends on the kind of line."""
    before = {b"1": 8, b"u": 10, b"?": 1}.get(line[:1])
    words = line.split(b" ", before or 0)
    path = os.fsdecode(words[-1])
    if before is None or path.endswith("/") or ".bitten" in path.split("/"):
        return None
    return path, before > 1 and b"." not in words[1]


def standing(root: Path, is_git: bool) -> tuple[str, dict[str, str], bool]:
    """The revision, a digest of every file that differs from it, and whether these are all; outside git no revision, and the sources."""
    if not is_git:
        return "", *digests(root, _sources(root))
    now = status(persons_git(root))
    return now.head, *digests(root, now.paths, now.head)


def digests(root: Path, paths: Iterable[str], head: str = "") -> tuple[dict[str, str], bool]:
    """Of files as they are, empty for one that is gone; and whether there was time and room for all."""
    until = time.monotonic() + BUDGET
    found: dict[str, str] = {}
    for path in paths:
        if len(found) >= MOST or time.monotonic() > until:
            return found, False
        found[path] = digest(root / path, head)
    return found, True


def digest(path: Path, head: str = "") -> str:
    """Git's name of the content, in the repository's own hash; a large file's size and time instead."""
    make = hashlib.sha256 if len(head) == 64 else hashlib.sha1
    try:
        found = path.lstat()
        if path.is_symlink():
            data = os.fsencode(path.readlink())
        elif found.st_size > LARGEST or not path.is_file():
            return f"{found.st_size} {found.st_mtime_ns}"
        else:
            data = path.read_bytes()
    except OSError:
        return ""
    return make(b"blob %d\0" % len(data) + data).hexdigest()


def _sources(root: Path) -> Iterator[str]:
    """In the order of names, so that two walks that were cut short have most in common."""
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if name not in _NOT_OURS and not name.startswith("."))
        for name in sorted(names):
            if name.endswith(_SOURCES):
                yield os.path.relpath(f"{folder}/{name}", root)


def between(root: Path, good: State, now: State) -> Moved:
    """Which files differ, whether committed or not in either state, and the commits in between."""
    try:
        git = persons_git(root)
        then, here = _committed(git, good.head, now.head)
        subjects, count = _commits(git, good.head, now.head)
    except Unable:  # that revision is no more
        then, here, subjects, count = {}, {}, (), -1
    paths = sorted({*then, *good.files, *now.files})
    if not (good.head and now.head and good.whole and now.whole):
        paths = [path for path in paths if path in then or (path in good.files and path in now.files)]
    return Moved(subjects, count, tuple(path for path in paths if _was(path, good, then) != _was(path, now, here)))


def _was(path: str, state: State, committed: Mapping[str, str]) -> str:
    """What a path held; where it did not differ from HEAD, and no commit touched it, it was as in the other state."""
    return state.files.get(path, committed.get(path, "as in HEAD"))


def _committed(git: Git, old: str, new: str) -> tuple[dict[str, str], dict[str, str]]:
    """What the two revisions hold of the files in which they differ; empty for none."""
    then: dict[str, str] = {}
    here: dict[str, str] = {}
    if old and new and old != new:
        fields = git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new, patience=PATIENCE).split(b"\0")
        for meta, path in zip(fields[::2], paths_in(b"\0".join(fields[1::2])), strict=False):
            then[path], here[path] = (each.strip("0") and each for each in meta.decode().split()[2:4])
    return then, here


def _commits(git: Git, old: str, new: str) -> tuple[tuple[str, ...], int]:
    """Subjects, newest first, and their number; -1 where the old revision is no ancestor."""
    if not old or not new or old == new:
        return (), 0
    if git.run("merge-base", "--is-ancestor", old, new).returncode:
        return (), -1
    told = git("log", "--format=%h %s", f"--max-count={SUBJECTS}", f"{old}..{new}").decode("utf-8", "replace").splitlines()
    return tuple(told), int(git.word("rev-list", "--count", f"{old}..{new}") or len(told))


def head_at(root: Path, began: float) -> str:
    """What HEAD was when a command began, if it has moved since; read off the log of HEAD, where there is one."""
    try:
        lines = git_file(persons_git(root), "logs/HEAD").read_text("utf-8", "replace").splitlines()[-50:]
    except (OSError, ValueError):
        return ""
    moves = [(line.split(" ", 2)[0], _moment(line)) for line in lines]
    return next((old for old, at in moves if at > began), "")


def _moment(line: str) -> float:
    words = line.partition("\t")[0].split()
    return float(words[-2]) if len(words) > 3 and words[-2].isdigit() else 0.0

"""What differs in a project from its last commit, by size and time: two looks at it tell what changed between them. Knows no rule.

Files that git ignores are not looked at, but for settings and hooks; nor is a tree whose look takes longer than a few seconds.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Tree = dict[str, str]

PATIENCE = 4.0
MOST = 20_000
SKIPPED = frozenset((".git", ".bitten", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"))
CURRENT = ".bitten/current"
GUARDED = (".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".git/config", ".git/hooks", CURRENT)
HEAD = "(HEAD)"


def look(root: str) -> Tree | None:
    """Each file that differs from HEAD with its size and time; where git can't say, each file. None where that takes too long."""
    found = _by_git(root) if os.path.lexists(f"{root}/.git") else _by_walking(root)
    if found is None:
        return None
    return {**found, **{name: _state(f"{root}/{name}") for name in _guarded(root)}}


def changed(before: Tree, after: Tree) -> list[str]:
    return sorted(path for path in {**before, **after} if before.get(path) != after.get(path))


def _by_git(root: str) -> Tree | None:
    import subprocess  # noqa: PLC0415 - only calls that may write are looked around

    command = ["git", "-C", root, "-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--porcelain=v2", "--branch", "-z",
               "--untracked-files=all", "--no-renames"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return None
    except OSError:  # no git on this machine
        return _by_walking(root)
    if done.returncode:  # a repository that git won't speak of: half of one, or somebody else's
        return _by_walking(root)
    return dict(_entries(root, done.stdout.decode("utf-8", "surrogateescape").split("\0")))


_FIELDS = {"1": 8, "u": 10, "?": 1}
"""How many blanks stand before the path, by the kind of line."""


def _entries(root: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if line.startswith("# branch.oid "):
            yield HEAD, line
        elif line[:1] in _FIELDS:
            fields = line.split(" ", _FIELDS[line[0]])
            yield fields[-1], f"{' '.join(fields[:2])} {_state(f'{root}/{fields[-1]}')}"


def _by_walking(root: str) -> Tree | None:
    found: Tree = {}
    until = time.monotonic() + PATIENCE
    for folder, folders, files in os.walk(root):
        folders[:] = [each for each in folders if each not in SKIPPED]
        found.update((os.path.relpath(f"{folder}/{file}", root), _state(f"{folder}/{file}")) for file in files)
        if len(found) > MOST or time.monotonic() > until:
            return None
    return found


def _guarded(root: str) -> Iterator[str]:
    for name in GUARDED:
        yield name
        if os.path.isdir(f"{root}/{name}"):
            yield from (f"{name}/{each}" for each in sorted(os.listdir(f"{root}/{name}")))


def _state(path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return "gone"
    return f"{found.st_mode:o} {found.st_size} {found.st_mtime_ns}"

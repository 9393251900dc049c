"""Folders held by a lock that dies with its process: who finds one unheld knows that its bitten was killed. Knows not what lies in them."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def held_folder(base: Path) -> Iterator[Path]:
    """A fresh folder, gone when the context ends. Its name tells our process, its lock whether we still live.

    A lock and not the process's number decides that: numbers come back, and two containers may share one base.
    """
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = base / f"{os.getpid()}-{os.urandom(4).hex()}"
    with _locked(_lock_of(folder)):
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            forget(folder)


def abandoned(base: Path) -> Iterator[Path]:
    """Each folder that a killed bitten left, held by us while the loop looks at it; the looker forgets it, or leaves it for later."""
    for name in sorted(each for each in os.listdir(base) if each.endswith(".lock")):  # noqa: PTH208 - nothing else is looked at
        with contextlib.suppress(OSError), (base / name).open("r+") as lock:  # held by the living, or gone meanwhile
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(lock, base / name):
                yield (base / name).with_suffix("")


def sweep(base: Path) -> None:
    """Remove what killed ones left behind."""
    for folder in abandoned(base):
        forget(folder)


def owner(folder: Path) -> int:
    """The number that its process had."""
    return int(folder.name.partition("-")[0])


def forget(folder: Path) -> None:
    """First the folder, then its lock: whatever stops us in between, the next sweep finds the rest."""
    import shutil  # noqa: PLC0415 - a command that only looks makes no folder

    _unlock_folders(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        _lock_of(folder).unlink(missing_ok=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


def _locked(path: Path) -> IO[str]:
    """Locked by us, and still there: a sweep may take a lock file away before its maker has locked it."""
    while True:
        lock = path.open("w")
        with contextlib.suppress(OSError):  # no locks here: then nobody sweeps either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_at(lock, path):
            return lock
        lock.close()


def _is_at(lock: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _unlock_folders(folder: Path) -> None:
    """A run may leave folders that it can't write to, and an overlay leaves one that nobody can read."""
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - a layer may hold very many
            with contextlib.suppress(OSError):  # not ours: then the removal leaves it, and the next sweep tries again
                if not os.path.islink(path):  # noqa: PTH114 - as above
                    os.chmod(path, 0o700)  # noqa: PTH101 - as above

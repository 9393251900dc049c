"""The folders that rooms live in: each held by a lock that dies with its bitten, each removed whole. Knows nothing of what lies in them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def room_folder(base: Path) -> Iterator[Path]:
    """A fresh folder, gone when the context ends. Its name tells our process, its lock whether we still live.

    A lock and not the process's number decides that: numbers come back, and two containers may share one base.
    """
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = base / f"{os.getpid()}-{secrets.token_hex(4)}"
    with _lock_of(folder).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            _forget(folder)


def sweep(base: Path) -> None:
    """Remove the rooms that a killed bitten left behind."""
    for path in base.glob("*.lock"):
        with path.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # somebody lives there
            _forget(path.with_suffix(""))


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


def _forget(folder: Path) -> None:
    """First the folder, then its lock: whatever stops us in between, the next sweep finds the rest."""
    _unlock_folders(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        _lock_of(folder).unlink(missing_ok=True)


def _unlock_folders(folder: Path) -> None:
    """A run may leave folders that it can't write to, and an overlay leaves one that nobody can read."""
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 - a layer may hold very many
            with contextlib.suppress(OSError):  # not ours: then the removal leaves it, and the next sweep tries again
                if not os.path.islink(path):  # noqa: PTH114 - as above
                    os.chmod(path, 0o700)  # noqa: PTH101 - as above

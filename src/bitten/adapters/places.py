"""Where our own folders lie, outside the project: in memory, on disk, and for what outlives a case. Each has mode 0700."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from bitten.core.trouble import Unable


def private(folder: Path) -> Path:
    """Make a folder that is ours alone. Raises: Unable `folder-not-ours` when somebody else's stands there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = folder.stat().st_uid
    except OSError as error:
        raise Unable(
            "folder-not-writable", f"Can't make {folder}: {error.strerror}.", way="set XDG_RUNTIME_DIR, XDG_STATE_HOME or TMPDIR"
        ) from None
    if owner != os.getuid():
        raise Unable("folder-not-ours", f"{folder} belongs to another user.", way="remove it, or set XDG_RUNTIME_DIR or TMPDIR")
    folder.chmod(0o700)
    return folder


def memory() -> Path:
    """For what a running command says: gone with the machine, and not on disk where the system has a place in memory."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    candidates = [Path(runtime) if runtime else None, Path("/dev/shm"), Path(tempfile.gettempdir())]
    place = next(each for each in candidates if each and os.access(each, os.W_OK))
    return private(place / f"bitten-{os.getuid()}")


def scratch() -> Path:
    """For throw-away copies: on disk, outside projects and homes, which the copies lay a layer over."""
    large = Path("/var/tmp")
    return private((large if os.access(large, os.W_OK) else Path(tempfile.gettempdir())) / f"bitten-{os.getuid()}")


def state() -> Path:
    return private(Path(platformdirs.user_state_dir("bitten")))


def cache() -> Path:
    return private(Path(platformdirs.user_cache_dir("bitten")))


@contextmanager
def spool() -> Iterator[Path]:
    """A folder for one run's records and output, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"run-{os.getpid()}-", dir=memory()) as folder:
        yield Path(folder)

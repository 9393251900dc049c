"""Where our own folders lie, outside the project: in memory, on disk, and for what outlives a case. Each has mode 0700."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from bitten.core.trouble import Unable

ROOM = 1 << 20
"""Bytes that a file system must have left for a case to be begun there."""


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
    return _first(_in_memory())


def scratch() -> Path:
    """For throw-away copies: on disk, outside projects and homes, which the copies lay a layer over."""
    return _first(f"{place}/bitten-{os.getuid()}" for place in ("/var/tmp", *_temporary()) if os.access(place, os.W_OK))


def state() -> Path:
    """In memory where there is no home, or it can't be written: then a rewritten journal shows until the machine restarts."""
    return _first(_at_home_or_in_memory(platformdirs.user_state_dir, "state"))


def cache() -> Path:
    return _first(_at_home_or_in_memory(platformdirs.user_cache_dir, "cache"))


def _at_home_or_in_memory(place: Callable[[str], str], name: str) -> Iterator[str]:
    yield from _at_home(place)
    yield f"{memory()}/{name}"


def _at_home(place: Callable[[str], str]) -> Iterator[str]:
    """Nothing for a user without a home: older versions of platformdirs then name a folder relative to the current one."""
    with suppress(RuntimeError):
        found = Path(place("bitten"))
        if found.is_absolute():
            yield str(found)


def spare() -> Iterator[Path]:
    """Where a case may go that finds no room in its project. Nothing is made; a folder that is somebody else's is no such place."""
    for place in map(Path, (*_at_home(platformdirs.user_state_dir), *_in_memory())):
        if not place.exists() or place.stat().st_uid == os.getuid():
            yield place


def _in_memory() -> Iterator[str]:
    """Those with room first: a full one serves only where there is no other."""
    known = [place for place in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm", *_temporary()) if place and os.access(place, os.W_OK)]
    yield from (f"{place}/bitten-{os.getuid()}" for place in sorted(known, key=is_full))


def is_full(place: str | Path) -> bool:
    """Whether a file system has no room for a case: neither bytes nor names."""
    left = os.statvfs(place)
    return left.f_bavail * left.f_frsize < ROOM or (left.f_favail == 0 and left.f_files > 0)


def _first(places: Iterable[str]) -> Path:
    """The first that can be ours and written."""
    trouble = Unable("folder-not-writable", "There is no folder that bitten may write to.",
                     way="set XDG_RUNTIME_DIR, XDG_STATE_HOME or TMPDIR")
    for place in places:
        try:
            folder = private(Path(place))
        except Unable as why:
            trouble = why
            continue
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise trouble


def _temporary() -> Iterator[str]:
    import tempfile  # noqa: PLC0415 - the last resort

    try:
        yield tempfile.gettempdir()
    except OSError:  # none of its candidates can be written
        return


@contextmanager
def spool() -> Iterator[Path]:
    """A folder for one run's records and output, removed afterwards."""
    import tempfile  # noqa: PLC0415 - a look runs nothing

    with tempfile.TemporaryDirectory(prefix=f"run-{os.getpid()}-", dir=memory(), ignore_cleanup_errors=True) as folder:
        yield Path(folder)

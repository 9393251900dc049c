"""A person's file, written anew: whole or not at all, and still theirs: its links, mode and owner stay. Knows nothing of what is in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bitten.core.trouble import Unable


def writable(path: Path) -> Path:
    """The file that is meant, past all links. Raises: Unable `file-protected`, when it is a folder, or kept from being written."""
    try:
        target = path.resolve()
    except (OSError, RuntimeError):  # before Python 3.13 links in a ring are a RuntimeError
        raise Unable("file-protected", f"{path} is a link that leads nowhere.", "Nothing was written.",
                     f"rm {path}, then try again") from None
    if target.is_dir():
        raise Unable("file-protected", f"{path} is a folder.", "Nothing was written.", "move it away, then try again")
    place = target if target.exists() else target.parent
    if not os.access(place, os.W_OK):
        raise Unable("file-protected", f"{place} is write-protected.", "Nothing was written.", f"chmod u+w {place}, then try again")
    return target


def rewrite(path: Path, content: bytes) -> None:
    """Raises: Unable as `writable`; OSError, with the old content in place.

    A file with several names, one in a folder that can't be written, and one of another owner are written in place: a new
    file would be another one. Only there could a kill leave a part.
    """
    target = writable(path)
    if not _may_be_another(target):
        target.write_bytes(content)
        return
    new = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        _write_like(new, target, content)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def _may_be_another(target: Path) -> bool:
    """Whether a new file in its place would be the same to all."""
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return False
    if not target.exists():
        return True
    known = target.stat()
    return known.st_nlink == 1 and (os.geteuid() == 0 or known.st_uid == os.geteuid())


def _write_like(new: Path, target: Path, content: bytes) -> None:
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if not target.exists():
        return
    known, made = target.stat(), new.stat()
    if (known.st_uid, known.st_gid) != (made.st_uid, made.st_gid):
        os.chown(new, known.st_uid, known.st_gid)
    shutil.copystat(target, new)
    os.utime(new)  # all but its time, which tells that it was written

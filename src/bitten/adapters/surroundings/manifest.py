"""The files that a program opened, with a digest of each, and what is odd about them: changed, missing, not what a list of data says.

Read by us once the command has ended, within a budget of time, and never what is no plain file. Knows no crash.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bitten.core.failure import FileSeen

BUDGET = 0.15
"""Seconds."""
FIRST = 1 << 20
"""Bytes of a data file that are read."""
WHOLE = 8 << 20
"""Bytes up to which a config is read whole."""
ENTRIES = 2000
"""Files of a folder whose names and sizes are its digest."""
_ROWS = (".csv", ".tsv", ".jsonl", ".txt", ".ndjson")


def digested(files: Iterable[FileSeen], root: Path, seconds: float = BUDGET) -> tuple[tuple[FileSeen, ...], tuple[str, ...]]:
    """The files with their digests, and a line that says what there was no time for. What the run wrote is not read."""
    until = time.monotonic() + seconds
    known = tuple(files)
    found = {(each.path, each.role): _digested(each, root / each.path, until) for each in sorted(known, key=_order) if each.role != "wrote"}
    skipped = sum(1 for each in found.values() if each is None)
    note = (f"{skipped} files were not read for their digest: there was no time",) if skipped else ()
    return tuple(found.get((each.path, each.role)) or each for each in known), note


def _order(each: FileSeen) -> tuple[bool, int]:
    return each.role != "config", each.size


def _digested(each: FileSeen, path: Path, until: float) -> FileSeen | None:
    """None when the time is over; as it was when it can't be read."""
    if time.monotonic() > until:
        return None
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return replace(each, digest=_of_folder(path))
        return _of_file(each, path, found.st_size) if stat.S_ISREG(found.st_mode) else each
    except OSError:
        return each


def _of_file(each: FileSeen, path: Path, size: int) -> FileSeen:
    most = WHOLE if each.role == "config" else FIRST
    with path.open("rb") as file:
        data = file.read(most)
    rows = data.count(b"\n") + (not data.endswith(b"\n") and data != b"") if size <= most and each.path.endswith(_ROWS) else -1
    return replace(each, digest=hashlib.sha256(data).hexdigest(), whole=size <= most, rows=rows)


def _of_folder(path: Path) -> str:
    """Of its names and sizes; nothing for a folder of very many files."""
    with os.scandir(path) as entries:
        found = []
        for entry in entries:
            found.append(f"{entry.name} {entry.stat().st_size if entry.is_file() else -1}")
            if len(found) > ENTRIES:
                return ""
    return hashlib.sha256("\n".join(sorted(found)).encode("utf-8", "surrogateescape")).hexdigest()


def changed(files: Sequence[FileSeen], root: Path) -> Iterator[str]:
    """Data that is no longer what the program read. (Of configs the guest's own story tells.)"""
    for each in files:
        if each.role != "data" or each.size < 0:
            continue
        try:
            now = (root / each.path).stat()
        except OSError:
            yield f"{each.path} was removed after it was read"
            continue
        if (now.st_size, now.st_mtime) != (each.size, each.modified):
            yield f"{each.path} changed after it was read"

"""A small record of the last run of a command that went well, so that a failure can say what changed since. Knows no case.

One file a command and project, in our own folder, 0600 in 0700; it holds digests, versions and redacted values, no content.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from bitten.adapters import places
from bitten.adapters.folder import write
from bitten.core.failure import Command
from bitten.core.state import State

MOST = 200
"""Records, the latest of all commands and projects."""
OLDEST = 90 * 86400.0
"""Seconds after which a record says nothing any more."""
HALF = 3600.0
"""Seconds after which nobody is at a half-written one any more."""
LARGEST = 1 << 20


def keep(command: Command, root: Path, state: State) -> None:
    """Put in the place of the one before."""
    text = json.dumps(msgspec.to_builtins(state), separators=(",", ":"))
    if len(text) <= LARGEST:
        folder = places.private(_folder())
        write(folder / _name(command, root), text)
        _prune(folder)


def find(command: Command, root: Path) -> State | None:
    """None where there is none, or it is of another version of ours."""
    try:
        return msgspec.convert(json.loads((_folder() / _name(command, root)).read_bytes()), type=State)
    except (OSError, ValueError, msgspec.ValidationError):
        return None


def _folder() -> Path:
    return places.state() / "good"


def _name(command: Command, root: Path) -> str:
    """What was typed may hold a secret: only its digest names the file."""
    told = "\0".join((str(root), command.cwd, *command.argv))
    return f"{hashlib.sha256(os.fsencode(told)).hexdigest()[:32]}.json"


def _prune(folder: Path) -> None:
    """Also what a kill left half-written: it has a dot before its name."""
    found = sorted(((entry.stat().st_mtime, entry) for entry in os.scandir(folder)), key=lambda each: each[0], reverse=True)
    for at, (when, entry) in enumerate(found):
        if at >= MOST or when < time.time() - (HALF if entry.name.startswith(".") else OLDEST):
            with suppress(OSError):
                Path(entry.path).unlink()

"""Which files of a work tree may hold other bytes than git's index says: all others need not be read to be photographed. Writes nothing.

git's own `diff-files` finds what changed by time and size, and by content where these can't tell. That says what the bytes
are only where nothing changes them on their way into the index, so a file with such an attribute counts as unlike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .store import Git, git_file, paths_in

_UNCHANGED = (":(exclude,attr:!text !eol !crlf !ident !filter !working-tree-encoding)",
              ":(exclude,attr:-text !ident !filter !working-tree-encoding)")
"""Paths whose bytes go into the index as they are."""


@dataclass(frozen=True)
class Unlike:
    """`index` is the person's, to be copied; `read` are its files that may be unlike, `untracked` those that it doesn't know."""

    index: Path
    read: tuple[str, ...]
    untracked: tuple[str, ...]


def unlike(git: Git, quietly: Sequence[str], name: str, patience: float) -> Unlike | None:
    """None where every file must be read: in a merge, a sparse checkout, or where git was told to overlook changes or convert endings.

    `name` is the folder of ours, which no photograph holds.
    """
    listed, differing, filtered, others, endings = git.together(
        (*quietly, "ls-files", "-z", "-s", "-v"),
        (*quietly, "diff-files", "-z", "--name-only", "--ignore-submodules=all", "--no-ext-diff"),
        (*quietly, "ls-files", "-z", "--", ".", *_UNCHANGED),
        (*quietly, "ls-files", "-z", "--others", "--exclude-standard"),
        ("config", "--get", "core.autocrlf"),
        patience=patience,
    )
    if None in (listed, differing, filtered, others) or (endings or b"false").strip().lower() not in (b"false", b"no", b"off", b"0"):
        return None
    assert listed is not None
    is_plain = all(line.startswith((b"H 100", b"H 120", b"H 160")) for line in listed.split(b"\0") if line)
    place = git_file(git, "index")
    if not is_plain or f"{name}/".encode() in listed or not place.is_file():
        return None
    return Unlike(place, tuple(dict.fromkeys((*paths_in(differing or b""), *paths_in(filtered or b"")))), tuple(paths_in(others or b"")))

"""Which folder is the project: found by looking, as git looks; git itself is asked only where looking can't tell.

Starting git costs a look at a case as much as reading it. Nothing here knows what a repository holds.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from bitten.core.trouble import Unable

_UNUSUAL = re.compile(rb"worktree|bare\s*=(?!\s*false)|bare\s*$", re.I | re.M)
"""Words in a repository's config that move its work tree, or leave it without one."""


def root_of(folder: Path) -> Path:
    """The tree around a folder: git's, else the nearest above it (below the home) that holds our cases, else the folder itself."""
    folder = folder.resolve()
    sign = _first_sign(folder)
    top = sign if sign and _is_plain(sign, folder) else toplevel(folder) if sign else None
    return top or _with_cases(folder) or folder


def toplevel(folder: Path) -> Path | None:
    """Git's own word; None where it knows no work tree."""
    from .store import persons_git  # noqa: PLC0415 - it starts processes, which most looks need not

    try:
        told = persons_git(folder).word("rev-parse", "--show-toplevel")
    except Unable:  # no git on this machine: the tree is a plain folder then
        return None
    return Path(told) if told else None


def _first_sign(folder: Path) -> Path | None:
    """The nearest folder upwards where git's search may end: at a repository, inside of one, at another file system."""
    device = folder.stat().st_dev
    for each in (folder, *folder.parents):
        if each.name == ".git" or os.path.lexists(each / ".git") or os.path.lexists(each / "HEAD") or each.stat().st_dev != device:
            return each
    return None


def _is_plain(top: Path, folder: Path) -> bool:
    """A repository like most: no submodule, no added work tree, nobody else's, not half of one, not beyond a mount."""
    git, me = top / ".git", os.geteuid()
    try:
        ours = top.stat().st_uid == git.stat().st_uid == me and top.stat().st_dev == folder.stat().st_dev
        return ours and (git / "HEAD").is_file() and not _UNUSUAL.search((git / "config").read_bytes())
    except OSError:
        return False


def _with_cases(folder: Path) -> Path | None:
    """Not the home itself nor above it: a case once opened there would claim every project below."""
    try:
        home = Path.home().resolve()
    except RuntimeError:  # nobody's home is known: nothing is too high
        home = Path("/")
    too_high = {home, *home.parents}
    return next((each for each in (folder, *folder.parents) if each not in too_high and (each / ".bitten" / ".gitignore").is_file()), None)

"""Where things lie, as bitten has it: a project's root, the homes of its cases, our state. Knows no case and writes nothing.

The rules are those of adapters/root.py, folder.py and places.py, once more in the standard library alone; a test holds them equal.
Where bitten would ask git for the root, which costs a process, every folder that it could name is taken: one open case shuts the gate.
"""

from __future__ import annotations

import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_UNUSUAL = re.compile(rb"worktree|bare\s*=(?!\s*false)|bare\s*$", re.I | re.M)
_WORKTREE = re.compile(rb'^\s*worktree\s*=\s*"?(.*?)"?\s*$', re.I | re.M)


def roots(folder: str) -> list[str]:
    """The project around a folder; several where only git could tell which."""
    folder = os.path.realpath(folder)
    sign = _first_sign(folder)
    if sign and _is_plain(sign, folder):
        return [sign]
    found = [*_told_by_git(sign), _with_cases(folder), folder] if sign else [_with_cases(folder) or folder]
    return list(dict.fromkeys(each for each in found if each))


def _ancestors(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _first_sign(folder: str) -> str:
    try:
        device = os.stat(folder).st_dev
    except OSError:  # a folder that is yet to be made: its nearest that stands decides
        return _first_sign(os.path.dirname(folder)) if os.path.dirname(folder) != folder else ""
    for each in _ancestors(folder):
        if os.path.basename(each) == ".git" or os.path.lexists(f"{each}/.git") or os.path.lexists(f"{each}/HEAD"):
            return each
        if os.stat(each).st_dev != device:
            return each
    return ""


def _is_plain(top: str, folder: str) -> bool:
    git, me = f"{top}/.git", os.geteuid()
    try:
        ours = os.stat(top).st_uid == os.stat(git).st_uid == me and os.stat(top).st_dev == os.stat(folder).st_dev
        return ours and os.path.isfile(f"{git}/HEAD") and not _UNUSUAL.search(_content(f"{git}/config"))
    except OSError:
        return False


def _told_by_git(sign: str) -> list[str]:
    """The folder with `.git`, and the work tree that its config names elsewhere."""
    tops = [each for each in _ancestors(sign) if os.path.lexists(f"{each}/.git")][:1]
    git = f"{tops[0]}/.git" if tops else sign
    try:
        named = _WORKTREE.search(_content(f"{git}/config"))
    except OSError:  # an added work tree, whose `.git` is a file: it is its own top
        named = None
    elsewhere = [os.path.realpath(os.path.join(git, os.fsdecode(named[1])))] if named else []
    return [*tops, *elsewhere]


def _with_cases(folder: str) -> str:
    home = os.path.realpath(os.path.expanduser("~"))
    too_high = set(_ancestors(home)) if os.path.isabs(home) else {"/"}
    return next((each for each in _ancestors(folder) if each not in too_high and os.path.isfile(f"{each}/.bitten/.gitignore")), "")


def homes(root: str) -> Iterator[str]:
    """Where a project's cases may lie: in it, or where we found room for them."""
    yield f"{root}/.bitten"
    rooms = [place for place in spare() if os.path.isdir(f"{place}/projects")]
    if rooms:
        import hashlib  # noqa: PLC0415 - it loads OpenSSL, and most projects can be written

        name = f"{os.path.basename(root)}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"
        yield from (f"{place}/projects/{name}" for place in rooms)


def spare() -> list[str]:
    """Our own folders outside of any project, if they are ours: the state folder first, then those in memory."""
    return [place for place in (*_state(), *in_memory()) if not os.path.exists(place) or os.stat(place).st_uid == os.getuid()]


def states() -> list[str]:
    """Where what plugin hooks remember may lie, best first."""
    return [*_state(), *(f"{place}/state" for place in in_memory())]


def data() -> str:
    """Where the plugin was laid out for Claude Code to install it from."""
    return f"{_base('XDG_DATA_HOME', '~/.local/share')}/bitten"


def _state() -> list[str]:
    place = f"{_base('XDG_STATE_HOME', '~/.local/state')}/bitten"
    return [place] if os.path.isabs(place) else []


def _base(name: str, default: str) -> str:
    if sys.platform == "darwin" and not os.environ.get(name, "").strip():
        default = "~/Library/Application Support"
    return os.environ.get(name, "").strip() or os.path.expanduser(default)


def in_memory() -> list[str]:
    candidates = (*(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp", "/usr/tmp")
    temporary = next((os.path.abspath(place) for place in candidates if place and os.access(place, os.W_OK | os.X_OK)), "")
    known = (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm", temporary)
    return list(dict.fromkeys(f"{place}/bitten-{os.getuid()}" for place in known if place and os.access(place, os.W_OK)))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(1 << 20)

"""The second way to make a room, where namespaces are not allowed: a clone of the project at another path, with links to what is large.

It guards less, and its `how` says so. What a run writes through a link is refused by Landlock, where the kernel has it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .launch import Plan, launcher
from .room import LaunchedRoom, Room

SMALL = 1 << 20
CROWD = 2000
"""A folder with more entries than this becomes one link."""
BUDGET = 50_000
"""Entries that a clone makes at most; what comes later becomes links to whole folders."""


@contextmanager
def cloned_room(root: Path, folder: Path, opened: Sequence[str], net: bool, why: str) -> Iterator[Room]:
    clone, tmp, home = folder / "clone" / root.name, folder / "tmp", folder / "home"
    Cloner(_listed(root), frozenset(opened)).clone(root, clone)
    tmp.mkdir(mode=0o700)
    _home(Path(os.path.expanduser("~")), home)  # noqa: PTH111 - Path.home() raises for a user without one
    fence = [str(clone), str(tmp), str(home), "/dev", "/proc", *opened]
    with launcher(Plan(str(folder), walls=False, tmp=str(tmp), fence=fence)) as started:
        own = {"TMPDIR": str(tmp), "TMP": str(tmp), "TEMP": str(tmp), "HOME": str(home)}
        inside = renamer(str(root), str(clone), opened)
        yield LaunchedRoom(_how(why, started.fenced, net), str(clone), started, own, net, inside=inside, is_strong=False)


def _how(why: str, fenced: bool, net: bool) -> str:
    unseen = "refused by Landlock" if fenced else "not even refused, as this kernel has no Landlock"
    return "; ".join((
        f"a clone with links at another path, as {why}",
        f"writes to absolute paths, through links and by editable installs are not diverted but {unseen}",
        "modes and times of what is linked are not guarded",
        "the network is open" if net else "trackers are offline, but the network can't be cut off",
    ))


def renamer(root: str, clone: str, keep: Sequence[str]) -> Callable[[str], str]:
    """Turns the root into the clone wherever it stands in a word as a whole path or the beginning of one, but for paths to keep."""
    kept = "".join(f"(?!{re.escape(each)}(?![^/:]))" for each in keep)
    pattern = re.compile(rf"(?<![\w./~-]){kept}{re.escape(root)}(?![^/:,;\s'\"])")
    return lambda word: pattern.sub(lambda _: clone, word)


def _listed(root: Path) -> frozenset[str] | None:
    """The paths that git does not ignore; None where it can't tell."""
    argv = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(argv, capture_output=True, check=False)
    except OSError:
        return None
    return frozenset(os.fsdecode(name) for name in done.stdout.split(b"\0") if name) if done.returncode == 0 else None


@dataclass
class Cloner:
    """Copies small files that git does not ignore and links the rest. `linked` paths stay links, since they may really be written."""

    listed: frozenset[str] | None
    linked: Collection[str] = ()
    left: int = field(default=BUDGET)

    def clone(self, root: Path, to: Path) -> None:
        to.parent.mkdir(mode=0o700)
        self._folder(root, to, "")

    def _folder(self, real: Path, to: Path, name: str) -> None:
        to.mkdir(mode=0o700)
        for entry in sorted(real.iterdir()):
            self.left -= 1
            self._entry(entry, to / entry.name, f"{name}{entry.name}")
        shutil.copystat(real, to)

    def _entry(self, real: Path, to: Path, name: str) -> None:
        if real.is_symlink() and str(real) not in self.linked:
            _link_again(real, to)
        elif real.is_dir() and not self._as_link(real):
            self._folder(real, to, name + "/")
        elif real.is_file() and self._is_copied(real, name):
            shutil.copy2(real, to)
        else:
            to.symlink_to(real)

    def _as_link(self, folder: Path) -> bool:
        if str(folder) in self.linked or self.left < 0 or (folder / "pyvenv.cfg").exists() or not os.access(folder, os.R_OK | os.X_OK):
            return True
        return len(os.listdir(folder)) > CROWD  # noqa: PTH208 - counting names alone is quicker

    def _is_copied(self, file: Path, name: str) -> bool:
        """Of a repository also what is large: git follows a link to its index and would write the real one."""
        if str(file) in self.linked or self.left < 0 or not os.access(file, os.R_OK):
            return False
        if name.startswith(".git/"):
            return file.stat().st_size < SMALL or name.count("/") == 1
        return (self.listed is None or name in self.listed) and file.stat().st_size < SMALL


def _link_again(link: Path, to: Path) -> None:
    """A link that is absolute or leaves its own folder would lead elsewhere from the clone: there it leads to the link itself."""
    target = os.readlink(link)  # noqa: PTH115 - as it is written
    to.symlink_to(link if target.startswith("..") else target)


def _home(real: Path, to: Path) -> None:
    """The person's home as links, so that new entries are the room's own; `.cache` one level deeper, where most are made."""
    to.mkdir(mode=0o700)
    for entry in real.iterdir() if real.is_dir() and os.access(real, os.R_OK | os.X_OK) else ():
        if entry.name == ".cache" and entry.is_dir() and not entry.is_symlink():
            _home(entry, to / ".cache")
        else:
            (to / entry.name).symlink_to(entry)

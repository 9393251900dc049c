"""The redacted throw-away copy that an agent works in, and what differs there afterwards, whatever tool wrote it. Knows no scope.

Text alone goes in: no secret that the redactor knows, no history, no case, no settings of an agent, nothing that leads out.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bitten.adapters import places
from bitten.adapters.held import held_folder, sweep
from bitten.adapters.store import paths_in, persons_git
from bitten.core.trouble import Refused

from .unmask import restored

LARGEST = 1 << 20
"""Bytes of a file: source is smaller."""
MOST = 20_000
ROOM = 64 << 20
"""Bytes of all files together."""
PATIENCE = 20.0
NOT_THEIRS = frozenset((".git", ".bitten", ".claude", ".codex", ".gemini", ".cursor", ".opencode", ".aider.conf.yml", ".mcp.json",
                        "opencode.json"))
"""Names that hold history, cases, or what would change how an agent behaves."""

Redact = Callable[[str], str]


@dataclass(frozen=True)
class Given:
    """A file as the agent found it: digests of the real bytes and of those given, and the mode."""

    real: str
    given: str
    mode: int


@dataclass(frozen=True)
class Changed:
    """`how` is new, changed, removed, mode, link, folder or special."""

    path: str
    how: str


@dataclass(frozen=True)
class Edit:
    """The bytes of a real file as they were copied, and as they would be; None where there is none."""

    was: bytes | None
    new: bytes | None


@dataclass
class Workplace:
    """`left_out` says of each path why the agent does not have it."""

    root: Path
    folder: Path
    redact: Redact
    files: dict[str, Given] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    _names_are_clean: bool = False

    def lay(self, paths: Iterable[str]) -> None:
        """Put a copy of these files there; links last, when it is known what they can lead to."""
        paths, links, room = list(paths), [], ROOM
        names = "\n".join(paths)
        self._names_are_clean = self.redact(names) == names  # asked once for all: the asking costs more than the reading
        for path in paths:
            why = self._unwanted(path) or ("the copy is full" if room <= 0 or len(self.files) >= MOST else "")
            if why:
                self.left_out[path] = why
            elif os.path.islink(self.root / path):  # noqa: PTH114 - as in repo: very many
                links.append(path)
            else:
                room -= self._give(path)
        for path in links:
            self._link(path)

    def _unwanted(self, path: str) -> str:
        parts = path.split("/")
        if NOT_THEIRS & {part.casefold() for part in parts}:
            return "not for an agent"
        if not path.isprintable() or not (self._names_are_clean or self.redact(path) == path):
            return "its name is no plain text, or holds a secret"
        parent = os.path.dirname(self.root / path)  # noqa: PTH120 - as above
        return "" if os.path.realpath(parent) == parent else "below a link"

    def _give(self, path: str) -> int:
        """Bytes that it took."""
        try:
            data, mode = read_plainly(self.root / path)
            text = data.decode("utf-8")
            if "\0" in text:
                raise ValueError("no text")
        except UnicodeDecodeError:
            self.left_out[path] = "no text"
            return 0
        except (OSError, ValueError) as why:
            self.left_out[path] = str(why) if isinstance(why, ValueError) else f"unreadable: {why.strerror}"
            return 0
        given = self.redact(text).encode()
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(given)
        place.chmod(0o755 if mode & 0o100 else 0o644)
        self.files[path] = Given(digest(data), digest(given), place.stat().st_mode)
        return len(given)

    def _link(self, path: str) -> None:
        """As a link of its own, relative, where what it leads to is in the copy too."""
        target = os.path.relpath(os.path.realpath(self.root / path), self.root)
        if not (self.folder / target).exists() or target in ("", ".") or target.startswith(".."):
            self.left_out[path] = "a link to what is not in the copy"
            return
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        self.links[path] = os.path.relpath(self.folder / target, place.parent)
        place.symlink_to(self.links[path])

    def changes(self) -> list[Changed]:
        """All that differs from what the agent found, by content, in the order of paths."""
        seen = dict(_entries(self.folder))
        gone = [Changed(path, "removed") for path in (*self.files, *self.links) if path not in seen]
        there = (Changed(path, how) for path, found in seen.items() if (how := self._how(path, found)))
        return sorted((*gone, *there), key=lambda each: each.path)

    def _how(self, path: str, found: os.stat_result) -> str:
        known = self.files.get(path)
        if stat.S_ISDIR(found.st_mode):
            return "" if self._is_known_folder(path) else "folder"
        if stat.S_ISLNK(found.st_mode):
            return "" if self.links.get(path) == str((self.folder / path).readlink()) else "link"
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            return "special"
        if known is None:
            return "new"
        if digest_at(self.folder / path) != known.given:
            return "changed"
        return "mode" if found.st_mode != known.mode else ""

    def _is_known_folder(self, path: str) -> bool:
        """One that holds a file of ours, or anything at all: then that is told by its own name."""
        return any((self.folder / path).iterdir()) or any(name.startswith(f"{path}/") for name in (*self.files, *self.links))

    def brought(self, change: Changed) -> Edit:
        """What the real file would be with this change.

        Raises: Refused `fix-touches-a-secret`, `fix-is-no-text`; `tree-moved` where the real file is no longer what was copied.
        """
        known = self.files.get(change.path)
        if change.how == "removed" and known:
            return Edit(self._real(change.path, known).encode(), None)
        if change.how not in ("new", "changed", "mode"):
            raise _no_text(change, f"It is there as a {change.how}.")
        new = self._text(change)
        if known is None:
            return Edit(None, restored(change.path, "", "", new).encode())
        real = self._real(change.path, known)
        return Edit(real.encode(), restored(change.path, real, self.redact(real), new).encode())

    def _text(self, change: Changed) -> str:
        try:
            text = read_plainly(self.folder / change.path)[0].decode("utf-8")
        except (OSError, ValueError) as why:
            raise _no_text(change, str(why)) from None
        if "\0" in text:
            raise _no_text(change, "It holds bytes that no text has.")
        return text

    def _real(self, path: str, known: Given) -> str:
        try:
            data = read_plainly(self.root / path)[0]
        except (OSError, ValueError):
            data = b""
        if digest(data) != known.real:
            raise moved(path)
        return data.decode("utf-8")


@contextmanager
def workplace(root: Path, paths: Iterable[str], redact: Redact) -> Iterator[Workplace]:
    """A copy of these files of a project, on disk, outside of it, and gone when the context ends."""
    sweep(places.scratch())
    with held_folder(places.scratch()) as held:
        folder = held / (root.name if root.name.isprintable() and redact(root.name) == root.name else "project")
        folder.mkdir(mode=0o700)
        place = Workplace(root.resolve(), folder.resolve(), redact)
        place.lay(with_submodules(root, paths))
        yield place


def with_submodules(root: Path, paths: Iterable[str]) -> Iterator[str]:
    """Each path; where it is a repository of its own, the files of that."""
    for path in paths:
        is_folder = (root / path).is_dir() and not (root / path).is_symlink()
        if is_folder and os.path.lexists(root / path / ".git"):
            listed = persons_git(root / path).run("ls-files", "-z", "--cached", "--others", "--exclude-standard", patience=PATIENCE)
            inside = dict.fromkeys(each for each in paths_in(listed.stdout) if not each.endswith("/"))
            yield from (f"{path}/{each}" for each in with_submodules(root / path, inside))
        elif not is_folder:
            yield path


def read_plainly(path: Path) -> tuple[bytes, int]:
    """The bytes and the mode of a plain file, no link, of bearable size. Raises: OSError; ValueError, whose words say what it is."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("no file")
        if found.st_size > LARGEST:
            raise ValueError("larger than 1 MiB")
        return file.read(LARGEST + 1), found.st_mode


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest_at(path: Path) -> str:
    """Empty where it can't be read, or is larger than what we ever gave."""
    try:
        return digest(read_plainly(path)[0])
    except (OSError, ValueError):
        return ""


def moved(path: str) -> Refused:
    return Refused("tree-moved", f"{path} was changed meanwhile, and not by the agent.", "Nothing was put over it.",
                   "bitten fix --with AGENT starts anew from what is there")


def _no_text(change: Changed, why: str) -> Refused:
    return Refused("fix-is-no-text", f"What the agent left at {change.path} can't be taken over.", why, "make that change by hand")


def _entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Everything below, folders too, no link followed."""
    for parent, folders, names in os.walk(folder, onerror=None):
        for name in (*folders, *names):
            path = os.path.join(parent, name)  # noqa: PTH118 - very many
            yield os.path.relpath(path, folder), os.lstat(path)

"""An agent's change on its way into the person's tree: shown, remembered, put there, and taken back where it is still as we wrote it.

What was and what shall be are two trees in our own store, so that a kill at any instant can be gone on from, or undone.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bitten.adapters.folder import write
from bitten.adapters.repo import GitRepo
from bitten.adapters.store import Entry, Store, index_lines
from bitten.adapters.theirs import rewrite
from bitten.core.case import Scope
from bitten.core.noun import noun
from bitten.core.ports import Difference
from bitten.core.trouble import Refused, Trouble

from .workplace import NOT_THEIRS, Edit, moved

Files = Mapping[str, bytes | None]


@noun
class Put:
    """What was put into the tree, or is about to be. `withdrawals` is how many the case had then: one more speaks against it.

    `folders` are those that are made for it, `modes` what the files had that it takes away.
    """

    before: str
    after: str
    withdrawals: int
    by: str
    pid: int
    folders: tuple[str, ...] = ()
    modes: tuple[tuple[str, int], ...] = ()


def refuse_links(root: Path, scope: Scope) -> None:
    """Raises: Refused `scope-is-a-link`, for a file whose change would be one of another file too, or that lies elsewhere."""
    for path in scope.files:
        parts = Path(path).parts
        if path.startswith("/") or ".." in parts or NOT_THEIRS & {part.casefold() for part in parts}:
            raise Refused("scope-is-protected", f"{path} is no place for an agent's fix.", "It lies outside the project, or holds a gate.",
                          "bitten fix --scope FILE[:NAME]")
        if why := _is_a_link(root, parts):
            raise Refused("scope-is-a-link", f"{path} {why}.", "A change of it would change what lies elsewhere.",
                          "mend it by hand, or name the file that is meant:  bitten fix --scope FILE[:NAME]")


def _is_a_link(root: Path, parts: tuple[str, ...]) -> str:
    place, found = root, root.stat()
    for part in parts:
        place /= part
        try:
            found = place.lstat()
        except OSError:  # a file, or a folder, that the fix is to make
            return ""
        if stat.S_ISLNK(found.st_mode):
            return "is a link" if place == root.joinpath(*parts) else f"lies below the link {place.relative_to(root)}"
    if stat.S_ISDIR(found.st_mode):
        return "is a folder"
    return "has a second name (it is a hard link)" if found.st_nlink > 1 else "" if stat.S_ISREG(found.st_mode) else "is no plain file"


@dataclass(frozen=True)
class Handover:
    """`record` is the file in the case's folder that remembers what is put."""

    root: Path
    repo: GitRepo
    record: Path

    def planned(self, edits: Mapping[str, Edit], withdrawals: int, by: str) -> tuple[Put, Difference]:
        """The tree as it stands, and as it would be with these. Writes nothing of the person's.

        Raises: Refused `tree-moved`, where a file is no longer what the edit was made of.
        """
        before = self.repo.snapshot()
        for path, data in self.repo.files_at(before, edits).items():
            if data != edits[path].was:
                raise moved(path)
        after = amended(self.repo.store, before, {path: edit.new for path, edit in edits.items()})
        folders = tuple(_missing_folders(self.root, edits))
        modes = tuple((path, stat.S_IMODE((self.root / path).stat().st_mode)) for path, edit in edits.items() if edit.new is None)
        return Put(before, after, withdrawals, by, os.getpid(), folders, modes), self.repo.difference(before, after)

    def unkept(self, paths: Iterable[str]) -> list[str]:
        """Files that a photograph does not have as they are, such as untracked ones with a secret: these could not be taken back."""
        return [path for path, data in self.repo.files_at(self.repo.snapshot(), paths).items() if data != self._now(path)]

    def put(self, put: Put) -> None:
        """Raises: Refused `tree-moved`, before anything is written, where a file is no longer what it was."""
        before, after = self._sides(put)
        for path in after:
            if self._now(path) not in (before[path], after[path]):
                raise moved(path)
        self._remember(put)
        for path, data in after.items():
            if self._now(path) == before[path]:
                self._write(path, data)

    def _remember(self, put: Put) -> None:
        write(self.record, json.dumps({name: getattr(put, name) for name in Put.__dataclass_fields__}) + "\n")

    def known(self) -> Put | None:
        """What was put, and neither taken back nor forgotten."""
        try:
            told = json.loads(self.record.read_text("utf-8"))
            return Put(**{**told, "folders": tuple(told["folders"]), "modes": tuple((path, mode) for path, mode in told["modes"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def go_on(self, put: Put) -> None:
        """Put what a kill kept from being put. Raises: Refused `tree-moved`."""
        self._sweep(put, self._sides(put)[1])
        self.put(replace(put, pid=os.getpid()))

    def _sweep(self, put: Put, paths: Iterable[str]) -> None:
        """What a kill left half-written."""
        for path in paths:
            with suppress(OSError):
                _new_name(self.root / path, put.pid).unlink(missing_ok=True)

    def take_back(self, put: Put) -> tuple[str, ...]:
        """Each file as it was, and nothing where it is no longer what we wrote. Returns those that stay."""
        try:
            before, after = self._sides(put)
        except Trouble:  # the trees are gone: after an hour `bitten gc` needs them no more
            self.forget()
            return ("all of it",)
        if put.pid != os.getpid():
            self._sweep(put, after)
            self._remember(replace(put, pid=os.getpid()))
        stay = tuple(path for path in after if self._now(path) not in (after[path], before[path]))
        for path in after:
            if self._now(path) == after[path] and path not in stay:
                self._write(path, before[path])
        for path, mode in put.modes:
            if path not in stay:
                (self.root / path).chmod(mode)
        for folder in reversed(put.folders):
            with suppress(OSError):  # there is something of the person's in it by now
                (self.root / folder).rmdir()
        self.forget()
        return stay

    def forget(self) -> None:
        self.record.unlink(missing_ok=True)

    def _sides(self, put: Put) -> tuple[Files, Files]:
        paths = self.repo.difference(put.before, put.after).files
        return self.repo.files_at(put.before, paths), self.repo.files_at(put.after, paths)

    def _now(self, path: str) -> bytes | None:
        """What is there; something that is never equal to a file's content where it is no plain file, or lies below a link by now."""
        if _is_a_link(self.root, Path(path).parts):
            return b"\0no file\0"
        try:
            return (self.root / path).read_bytes()
        except OSError:
            return None

    def _write(self, path: str, data: bytes | None) -> None:
        place = self.root / path
        if data is None:
            place.unlink(missing_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        rewrite(place, data)


def _new_name(place: Path, pid: int) -> Path:
    """What `theirs.rewrite` calls a file before it is the new one."""
    return place.with_name(f".{place.name}.{pid}")


def _missing_folders(root: Path, files: Iterable[str]) -> Iterator[str]:
    """Outermost first."""
    above = dict.fromkeys(str(folder) for path in files for folder in reversed(Path(path).parents))
    yield from (folder for folder in above if not (root / folder).exists())


def amended(store: Store, tree: str, files: Files) -> str:
    """A tree with other contents for some files, each with the mode that it had; None takes one out."""
    modes = {path: entry.mode for path, entry in store.entries(tree, files).items()}
    kept = [Entry(modes.get(path, "100644"), _kept(store, data), path) for path, data in files.items() if data is not None]
    gone = b"".join(os.fsencode(path) + b"\0" for path, data in files.items() if data is None)
    with tempfile.TemporaryDirectory(prefix=f"amend-{os.getpid()}-", dir=store.home) as folder:
        env = {"GIT_INDEX_FILE": f"{folder}/index"}
        store.git("read-tree", tree, env=env)
        store.git("update-index", "--force-remove", "-z", "--stdin", data=gone, env=env)
        store.git("update-index", "-z", "--index-info", data=index_lines(kept), env=env)
        return store.git("write-tree", "--missing-ok", env=env).decode().strip()


def _kept(store: Store, data: bytes) -> str:
    return store.git("hash-object", "-w", "--stdin", "--no-filters", data=data).decode().strip()

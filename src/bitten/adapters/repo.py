"""The person's tree, photographed into our own store and read by git; nothing of theirs is written but by `commit`.

A photograph has every tracked file as its bytes are on disk, and untracked text that the redactor passes unchanged. All
else (ignored files, data, what is too large) is left out; `left_out` says what and why. Submodules count by their commit.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from bitten.adapters.surroundings.worktree import status
from bitten.core.ports import Difference
from bitten.core.trouble import BadInput, Unable

from .commit import Commit
from .folder import NAME, Redact, lay
from .root import root_of, toplevel
from .store import Changed, Entry, Store, git_file, paths_in, persons_git
from .unlike import Unlike, unlike

LARGEST_TEXT = 64 * 1024
"""Bytes of an untracked file; source is smaller, data larger."""
LARGEST_TRACKED = 8 * 1024 * 1024
"""Bytes of a tracked file that is still read; a larger one counts as the index knows it."""
MOST_UNTRACKED = 5_000
MOST_TEXT = 8 * 1024 * 1024
"""Bytes of all untracked files together: more takes seconds to read and redact."""
PATIENCE = 20.0
"""Seconds for git to list the tree: a home folder taken for a project has no end."""
_QUIETLY = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
"""Reading starts none of the person's programs."""


def repo_at(folder: Path, redact: Redact) -> GitRepo:
    """The tree around a folder, as `root.root_of` finds it."""
    return repo_in(root_of(folder), redact)


def repo_in(root: Path, redact: Redact) -> GitRepo:
    """The tree of a known root; a repository where git itself says that this is its top."""
    return GitRepo(root, redact, is_git=toplevel(root) == root)


class GitRepo:
    def __init__(self, root: Path, redact: Redact, *, is_git: bool) -> None:
        self._root, self._redact, self._is_git = root, redact, is_git
        self._person = persons_git(root)
        self._store = Store(root, self._person if is_git else None)
        self.left_out: dict[str, str] = {}
        self.notes: list[str] = []

    @property
    def root(self) -> str:
        return str(self._root)

    @property
    def store(self) -> Store:
        return self._store

    @property
    def is_git(self) -> bool:
        return self._is_git

    def snapshot(self) -> str:
        """Most files are as git's index has them, and are not read where git can tell."""
        try:
            found = unlike(self._person, _QUIETLY, NAME, PATIENCE) if self._is_git else None
            return self._photographed_like(found) if found else self._read_whole()
        except Unable as why:
            if why.slug != "git-failed":
                raise
            return self._read_whole()  # an index of a kind that can't be copied

    def _photographed_like(self, found: Unlike) -> str:
        self.left_out = {}
        is_real = cache(lambda folder: os.path.realpath(folder) == folder)
        read = [path for path in found.read if not self._stays_as_known(path, Entry("100644", "", path))]
        there = {path for path in read if self._is_there(path, is_real)}
        return self._store.photograph_like(found.index, [*there, *self._texts(_files(found.untracked))], set(read) - there)

    def _read_whole(self) -> str:
        self.left_out = {}
        tracked = self._tracked()
        as_known = {path: entry for path, entry in tracked.items() if self._stays_as_known(path, entry)}
        is_real = cache(lambda folder: os.path.realpath(folder) == folder)
        on_disk = [path for path in tracked if path not in as_known and self._is_there(path, is_real)]
        known = [Entry(entry.mode.removeprefix("S"), entry.blob, path) for path, entry in as_known.items()]
        return self._store.photograph(on_disk, known, new=self._texts(path for path in self._listed_untracked() if path not in tracked))

    def difference(self, old: str, new: str, without: Collection[str] = ()) -> Difference:
        before, after = self._tree(old), self._tree(new)
        changes = [each for each in self._store.changes(before, after) if each.path not in without]
        blobs = self._store.blobs(side.blob for change in changes for side in (change.old, change.new) if side.mode)
        touches = [touch for change in changes for touch in _touched(change, blobs)]
        paths = tuple(change.path for change in changes)
        return Difference(self._store.patch(before, after, paths), tuple(touches), paths)

    def files_at(self, tree: str, paths: Iterable[str]) -> Mapping[str, bytes | None]:
        wanted = list(paths)
        entries = self._store.entries(self._tree(tree), wanted)
        blobs = self._store.blobs(entry.blob for entry in entries.values())
        return {path: blobs.get(entries[path].blob) if path in entries else None for path in wanted}

    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({*self._tracked(), *self._listed_untracked()}))

    def changed_since(self, revision: str) -> tuple[str, ...]:
        """For a revision of the person's as their git sees it, filters and line endings included; for a tree of ours by bytes."""
        if revision == "HEAD" and self._is_git and (now := status(self._person)).head and now.is_sure:
            return now.paths
        commit = self.revision(revision)
        if commit is None:
            return self.difference(revision, self.snapshot()).files
        return tuple(sorted({*self._differing(commit), *self._listed_untracked()}))

    def _differing(self, commit: str) -> list[str]:
        """`git diff` freshens the index that it reads, whatever it is told: it gets a copy."""
        with tempfile.TemporaryDirectory(prefix=f"index-{os.getpid()}-", dir=lay(self._root)) as folder:
            index = git_file(self._person, "index")
            if index.exists():
                shutil.copy2(index, f"{folder}/index")
            return paths_in(self._person(*_QUIETLY, "diff", "--name-only", "-z", "--no-ext-diff", "--no-renames",
                                         "--ignore-submodules=dirty", commit, "--", env={"GIT_INDEX_FILE": f"{folder}/index"}))

    def revision(self, name: str) -> str | None:
        return self._person.word("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") if self._is_git else None

    def new_tests(self, path: str, old: str, new: str) -> tuple[str, ...]:
        from .tests_in import changed_tests  # noqa: PLC0415 - libcst takes a quarter of a second to import

        return changed_tests(self.files_at(old, [path])[path], self.files_at(new, [path])[path])

    def would_commit(self, patch: str, files: Mapping[str, bytes]) -> str:
        """The tree that `commit` would make, in our store: for a proof of just that tree. Raises: Refused `fix-entangled`."""
        return self._commit().planned(patch, files)

    def commit(self, patch: str, files: Mapping[str, bytes], message: str) -> str:
        """Raises: Refused `fix-entangled`, `commit-empty`, `commit-in-between`.

        And Unable `commit-hook-failed`, `commit-failed`, `git-identity`, `git-index-locked`, `not-a-repository`.
        """
        commit = self._commit()
        made = commit.make(patch, files, message)
        self.notes += commit.notes
        return made

    def finished(self, trailers: Sequence[str]) -> str:
        return self._commit().finished(trailers)

    def _commit(self) -> Commit:
        if not self._is_git:
            raise Unable("not-a-repository", f"{self._root} is no git repository.", "There is nothing to commit to.", "git apply fix.patch")
        return Commit(self._person, self._store)

    def _tree(self, name: str) -> str:
        commit = self.revision(name)
        if commit is None and not self._store.holds_tree(name):
            raise BadInput("no-such-tree", f"There is no tree or revision {name!r}.", way="git log --oneline")
        return self._store.git("rev-parse", f"{commit or name}^{{tree}}").decode().strip()

    def _tracked(self) -> dict[str, Entry]:
        """By path; the mode has the letter S before it where a sparse checkout leaves the file out."""
        if not self._is_git:
            return {}
        listed = self._quiet_listing("-s", "-t").split(b"\0")[:-1]
        return {entry.path: entry for entry in map(_staged, listed) if NAME not in Path(entry.path).parts}

    def _stays_as_known(self, path: str, entry: Entry) -> bool:
        if entry.mode == "160000":
            return True
        try:
            found = os.lstat(f"{self._root}/{path}")
        except OSError:
            return entry.mode.startswith("S")
        if found.st_size > LARGEST_TRACKED:
            self.left_out[path] = "tracked and larger than 8 MiB: as the index knows it"
        return path in self.left_out

    def _is_there(self, path: str, is_real: Callable[[str], bool]) -> bool:
        """A file or link at this very place; a folder put there, or a link above it, means that it is gone."""
        place = f"{self._root}/{path}"  # words, not Path: there may be a hundred thousand of them
        try:
            mode = os.lstat(place).st_mode
        except OSError:
            return False
        return (stat.S_ISREG(mode) or stat.S_ISLNK(mode)) and is_real(os.path.dirname(place))  # noqa: PTH120 - as above

    def _texts(self, untracked: Iterable[str]) -> list[str]:
        """As many as a run can afford to read."""
        found: dict[str, str] = {}
        room = MOST_TEXT
        for path in untracked:
            if len(found) >= MOST_UNTRACKED or room <= 0:
                self.left_out[path] = f"more than {MOST_UNTRACKED} untracked files"
            elif (text := self._source(path)) is not None:
                found[path] = text
                room -= len(text)
        return list(self._without_secrets(found))

    def _without_secrets(self, texts: dict[str, str]) -> Iterator[str]:
        """Asked for all at once; for each alone only where one of them holds a secret: the asking costs more than the reading."""
        whole = "\n\n".join(texts.values())
        are_clean = self._redact(whole) == whole
        for path, text in texts.items():
            if are_clean or self._redact(text) == text:
                yield path
            else:
                self.left_out[path] = "untracked and may hold a secret"

    def _listed_untracked(self) -> list[str]:
        if not self._is_git:
            return [path for path in self._store.unignored(PATIENCE) if not path.endswith("/")]
        return _files(paths_in(self._quiet_listing("--others", "--exclude-standard")))

    def _quiet_listing(self, *options: str) -> bytes:
        return self._person(*_QUIETLY, "ls-files", "-z", *options, patience=PATIENCE)

    def _source(self, path: str) -> str | None:
        """The text of a small file, nothing of a link; None for what is no source."""
        try:
            return _text(f"{self._root}/{path}")
        except OSError as why:
            self.left_out[path] = f"unreadable: {why.strerror}"
        except ValueError as why:
            self.left_out[path] = str(why)
        return None


def _files(untracked: Iterable[str]) -> list[str]:
    """Without repositories of their own, and without ours."""
    return [path for path in untracked if not path.endswith("/") and NAME not in path.split("/")]


def _text(place: str) -> str:
    """Raises: ValueError, whose words say why it is no source."""
    found = os.lstat(place)
    if stat.S_ISLNK(found.st_mode):
        return ""
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("no file")
    if found.st_size >= LARGEST_TEXT:
        raise ValueError("untracked and 64 KiB or larger")
    content = Path(place).read_bytes()
    if b"\0" in content:
        raise ValueError("untracked and no text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("untracked and no text") from None


def _touched(change: Changed, blobs: Mapping[str, bytes]) -> tuple[str, ...]:
    if not change.is_plain:
        return (change.path,)
    from .scope import touched  # noqa: PLC0415 - as above

    old, new = (blobs.get(side.blob) for side in (change.old, change.new))
    return touched(change.path, old, new) or (change.path,)


def _staged(line: bytes) -> Entry:
    meta, path = os.fsdecode(line).split("\t", 1)
    tag, mode, blob, _ = meta.split(" ")
    return Entry(f"S{mode}" if tag == "S" else mode, blob, path)

"""One commit of patch and files on HEAD, made beside the person's index and work in progress. Knows git, and no case.

The tree is built in our own store; the person's git then commits it from a temporary index, with their hooks, signing
and config. Their index takes up what was committed; staged work in the same files keeps it on top, where both fit together.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bitten.core.trouble import Refused, Unable, gate

from .store import Changed, Entry, Git, Store, index_lines

_IN_BETWEEN = {"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert",
               "rebase-merge": "rebase", "rebase-apply": "rebase"}
LATEST = 50
"""Commits among which one of ours is looked for: a person may have gone on meanwhile."""
_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")
_FAILED_AT = re.compile(r"^error: (?:patch failed: (.+):\d+|(.+?): (?:does not exist in|already exists in|does not match) index)$", re.M)


@dataclass
class Commit:
    """`notes` says where the person's index could not take the fix up."""

    person: Git
    store: Store
    notes: list[str] = field(default_factory=list)

    def planned(self, patch: str, files: Mapping[str, bytes]) -> str:
        """The tree of the commit, in our store."""
        base = self._base()
        with self._temporary_index() as folder:
            env = {"GIT_INDEX_FILE": f"{folder}/index"}
            self.store.git("read-tree", base, env=env)
            self._apply(patch, env)
            self.store.git("update-index", "-z", "--index-info", env=env, data=index_lines(self._entries(base, files)))
            return self.store.git("write-tree", "--missing-ok", env=env).decode().strip()

    def make(self, patch: str, files: Mapping[str, bytes], message: str) -> str:
        """The id of the commit."""
        self._check_that_it_may()
        base, tree = self._base(), self.planned(patch, files)
        gate(tree != base, "commit-empty", "There is nothing to commit.",
             "HEAD has the fix, its test and the lesson already.", "git log -3")
        with self._temporary_index() as folder:
            env = {"GIT_INDEX_FILE": f"{folder}/index"}
            self.person("read-tree", base, env=env)
            self._put(self.store.changes(base, tree), env)
            self._commit(message, Path(folder), env)
        made = self._head() or ""
        self._take_up(self.store.changes(base, self._tree(made)))
        return made

    def finished(self, trailers: Sequence[str]) -> str:
        """A commit of ours that a kill kept us from telling of; its second half, the person's index, is done where HEAD is still there."""
        latest = self.person.run("log", f"-{LATEST}", "-z", "--format=%H%n%B").stdout.decode("utf-8", "replace").split("\0")
        made = next((lines[0] for each in latest if set(trailers) <= {*(lines := each.splitlines())}), "")
        if made and made == self._head():
            parent = self.person.word("rev-parse", "--verify", "--quiet", f"{made}^")
            self._take_up(self.store.changes(self._tree(parent) if parent else self.store.empty_tree(), self._tree(made)))
        return made

    def _head(self) -> str | None:
        return self.person.word("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def _base(self) -> str:
        """The tree of HEAD; of a branch without a commit, the empty one."""
        head = self._head()
        return self._tree(head) if head else self.store.empty_tree()

    def _tree(self, commit: str) -> str:
        return self.store.git("rev-parse", f"{commit}^{{tree}}").decode().strip()

    def _temporary_index(self) -> tempfile.TemporaryDirectory[str]:
        self.store.git  # noqa: B018 - lays the store where there is none yet
        return tempfile.TemporaryDirectory(prefix=f"commit-{os.getpid()}-", dir=self.store.home)

    def _check_that_it_may(self) -> None:
        doing = next((what for name, what in _IN_BETWEEN.items() if self._in_git_dir(name).exists()), None)
        gate(doing is None, "commit-in-between", f"A {doing} is under way here.", "A commit now would become a part of it.",
             "finish it or abort it, then:  bitten close")
        if self._in_git_dir("index.lock").exists():
            raise Unable("git-index-locked", "Another git command holds the index, or was killed while it did.",
                         f"{self._in_git_dir('index.lock')} is there.",
                         "wait for it, or remove that file when no git is at work, then:  bitten close")
        for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            if self.person.word("var", who) is None:
                raise Unable("git-identity", "Git does not know who commits.",
                             way="git config user.name NAME; git config user.email ADDRESS")

    def _in_git_dir(self, name: str) -> Path:
        return self.person.folder / (self.person.word("rev-parse", "--git-path", name) or name)

    def _apply(self, patch: str, env: Mapping[str, str]) -> None:
        """As it stands, else by a three-way merge from the files it was made on."""
        if not patch.strip():
            return
        data = patch.encode("utf-8", "surrogateescape")
        apply = ("apply", "--cached", "--whitespace=nowarn")
        plain = self.store.git.run(*apply, "-", data=data, env=env)
        if plain.returncode and self.store.git.run(*apply, "--3way", "-", data=data, env=env).returncode:
            raise _entangled(os.fsdecode(plain.stderr))

    def _entries(self, base: str, files: Mapping[str, bytes]) -> list[Entry]:
        modes = {path: entry.mode for path, entry in self.store.entries(base, files).items()}
        return [Entry(modes.get(path, "100644"), self._kept(self.store.git, content), path) for path, content in files.items()]

    def _kept(self, git: Git, content: bytes) -> str:
        return git("hash-object", "-w", "--stdin", "--no-filters", data=content).decode().strip()

    def _put(self, changes: list[Changed], env: Mapping[str, str] | None = None) -> None:
        """Put the new sides of changes into an index of the person's, their blobs into the person's objects."""
        blobs = self.store.blobs(change.new.blob for change in changes if change.new.mode)
        for content in blobs.values():
            self._kept(self.person, content)
        gone = b"".join(os.fsencode(change.path) + b"\0" for change in changes if not change.new.mode)
        self.person("update-index", "--force-remove", "-z", "--stdin", data=gone, env=env)
        self.person("update-index", "-z", "--index-info", data=index_lines(change.new for change in changes if change.new.mode), env=env)

    def _commit(self, message: str, folder: Path, env: Mapping[str, str]) -> None:
        (folder / "message").write_text(message, "utf-8")
        done = self.person.run("commit", "--quiet", "--cleanup=whitespace", "-F", str(folder / "message"), env=env)
        if done.returncode:
            said = os.fsdecode(done.stdout + done.stderr).strip()
            hooks = [hook for hook in _HOOKS if os.access(self._in_git_dir(f"hooks/{hook}"), os.X_OK)]
            by_hook = bool(hooks) and "failed to write commit object" not in said  # that is the signature's failure
            raise Unable("commit-hook-failed" if by_hook else "commit-failed",
                         f"The {' or '.join(hooks)} hook said no." if by_hook else "git commit failed.",
                         said, "mend what it names, then:  bitten close")

    def _take_up(self, changes: list[Changed]) -> None:
        """Bring the person's index to the new HEAD, so that what was staged stays what is staged."""
        for change in changes:
            staged = self._staged(change.path)
            if _same(staged, change.old) or self._is_only_intended(staged, change):
                self._put([change])
            elif not _same(staged, change.new):
                self._merge(staged, change)
        self.person.run("update-index", "-q", "--refresh")

    def _staged(self, path: str) -> Entry:
        line = os.fsdecode(self.person("--literal-pathspecs", "ls-files", "-s", "-z", "--", path)).split("\0")[0]
        mode, blob = line.split(" ")[:2] if line else ("", "")
        return Entry(mode, blob, path)

    def _is_only_intended(self, staged: Entry, change: Changed) -> bool:
        """`git add -N` leaves an empty blob."""
        return not change.old.mode and staged.blob == self.store.git("hash-object", "--stdin").decode().strip()

    def _merge(self, staged: Entry, change: Changed) -> None:
        """The committed change on top of what is staged; where they clash the staged version stays, and that is said."""
        merged = self._merged(staged, change) if staged.mode and change.old.mode and change.new.mode else None
        if merged is None:
            self.notes.append(f"{change.path}: your staged version clashes with the fix and stays: stage the file anew before you commit.")
            return
        entry = Entry(staged.mode, self._kept(self.person, merged), change.path)
        self.person("update-index", "-z", "--index-info", data=index_lines([entry]))

    def _merged(self, staged: Entry, change: Changed) -> bytes | None:
        blobs = self.store.blobs((staged.blob, change.old.blob, change.new.blob))
        with self._temporary_index() as folder:
            names = [Path(folder, name) for name in ("staged", "old", "new")]
            for name, blob in zip(names, (staged.blob, change.old.blob, change.new.blob), strict=True):
                name.write_bytes(blobs[blob])
            done = self.person.run("merge-file", "-p", "--quiet", *map(str, names))
        return done.stdout if done.returncode == 0 else None


def _same(one: Entry, other: Entry) -> bool:
    return (one.mode, one.blob) == (other.mode, other.blob)


def _entangled(said: str) -> Refused:
    files = sorted({first or second for first, second in _FAILED_AT.findall(said)})
    return Refused("fix-entangled", f"The fix rests on uncommitted work in {', '.join(files) or 'its files'}.",
                   "It does not apply to HEAD without that work.",
                   "commit your work first, or commit these files whole:  bitten close --all")

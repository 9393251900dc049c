"""ports.History: the person's commits, read by their own git. Writes nothing, moves no ref, and checks nothing out.

Limit: a file's content alone is taken from a commit. A script that is not in the work tree is not executable in the copy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property

from bitten.adapters.repo import GitRepo
from bitten.adapters.store import Git, paths_in, persons_git
from bitten.core.ports import Commit
from bitten.core.trouble import BadInput, Unable

_FORM = "--format=%h%x00%s%x00%an%x00%as%x00%b"


class GitHistory:
    def __init__(self, repo: GitRepo) -> None:
        if not repo.is_git:
            raise Unable("not-a-repository", f"{repo.root} is no git repository.", "Without a history there is nothing to search.",
                         "bitten diagnose")
        self._repo = repo

    @cached_property
    def _git(self) -> Git:
        from pathlib import Path  # noqa: PLC0415 - as the repository's own

        return persons_git(Path(self._repo.root))

    def commit(self, name: str) -> str:
        """Raises: BadInput `no-such-tree`."""
        found = self._repo.revision(name)
        if found is None:
            raise BadInput("no-such-tree", f"There is no revision {name!r}.", way="git log --oneline")
        return found

    @property
    def is_dirty(self) -> bool:
        return bool(self._repo.changed_since("HEAD"))

    def between(self, goods: Sequence[str], bad: str, first_parent: bool) -> Mapping[str, tuple[str, ...]]:
        for good in goods:
            if self._git.run("merge-base", "--is-ancestor", good, bad).returncode:
                base = (self._git.word("merge-base", good, bad) or "REV")[:12]
                raise BadInput("bisect-good-is-no-ancestor", f"{good[:12]} is not in the history of {bad[:12]}.",
                               "What differs between two branches may have been broken in one, or mended in the other.",
                               f"take where they part:  bitten bisect --good {base} …")
        options = ["--first-parent"] if first_parent else []
        told = os.fsdecode(self._git("rev-list", "--parents", *options, bad, *(f"^{good}" for good in goods)))
        lines = (line.split() for line in told.splitlines())
        return {commit: tuple(parents[:1] if first_parent else parents) for commit, *parents in lines}

    def files(self, commit: str) -> Mapping[str, bytes | None]:
        """What is not tracked stays where it is, as it would for `git bisect`; what was added and not committed is tracked."""
        found = self._repo.files_at(commit, self._repo.changed_since(commit))
        gone = [path for path, content in found.items() if content is None]
        known, added = self._repo.files_at("HEAD", gone), set(paths_in(self._git("ls-files", "-z")) if gone else ())
        return {path: content for path, content in found.items() if content is not None or known[path] is not None or path in added}

    def told(self, commit: str) -> Commit:
        return self._told(commit)

    @cached_property
    def _told(self) -> Callable[[str], Commit]:
        return cache(self._read)

    def _read(self, commit: str) -> Commit:
        short, subject, author, date, body = os.fsdecode(self._git("show", "--no-patch", "--no-show-signature", _FORM, commit)).split("\0")
        files = paths_in(self._git("diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-m", "--first-parent", "-z", commit))
        return Commit(commit, short.strip(), subject, author, date, body.strip(), tuple(files))

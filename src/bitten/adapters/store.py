"""A private git object store in `.bitten/objects`: it photographs the tree and never writes into the person's. Knows no case.

What the person's repository holds is read through an alternate. Limit: should that repository prune an object which only
its index held, a photograph that needs it is incomplete.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bitten.core.trouble import Unable

from .folder import home_of, homes, lay
from .locks import Lock

_NOWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_CEILING_DIRECTORIES")
"""Variables that would point git elsewhere: set when bitten runs below a hook."""

_SETTINGS = {"core.autocrlf": "false", "core.safecrlf": "false", "core.hooksPath": os.devnull, "core.fsmonitor": "false",
             "core.quotePath": "false", "core.fsync": "loose-object", "core.fsyncMethod": "batch", "core.logAllRefUpdates": "false",
             "gc.auto": "0", "maintenance.auto": "false", "advice.detachedHead": "false"}

_IN_ONE_PACK = ("-c", "core.bigFileThreshold=1")
"""A file each for thousands of new objects takes ten times as long. Only for this: a diff would take all files for binary."""

_RAW = "* -text !eol -ident -filter !working-tree-encoding !diff !merge\n"
"""The store's own attributes go before any in the tree: bytes are kept as they are."""

_NOT_OURS = ".git/\n.bitten/\n.venv/\nvenv/\nnode_modules/\n__pycache__/\n*.pyc\n"
"""What is left out where no repository says what to ignore."""


YOUNG = 3600
"""Seconds for which no object goes, whoever needs it."""


class Git:
    """Git's own command line, in one folder and one environment."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.folder, self.env = folder, env

    def run(self, *args: str, data: bytes = b"", env: Mapping[str, str] | None = None,
            patience: float | None = None) -> subprocess.CompletedProcess[bytes]:
        """Raises: Unable `git-missing`; `git-slow`, when it has not ended after so many seconds."""
        env = {**self.env, **(env or {})}
        try:
            return subprocess.run(["git", *args], input=data, capture_output=True, cwd=self.folder, env=env, check=False, timeout=patience)
        except subprocess.TimeoutExpired as why:
            raise _slow(args, patience or 0) from why
        except OSError as why:
            raise _missing(why) from why

    def __call__(self, *args: str, data: bytes = b"", env: Mapping[str, str] | None = None, patience: float | None = None) -> bytes:
        done = self.run(*args, data=data, env=env, patience=patience)
        if done.returncode:
            raise Unable("git-failed", f"git {_verb(args)} failed.", os.fsdecode(done.stderr).strip(),
                         "put right what git says, then try again")
        return done.stdout

    def together(self, *commands: Sequence[str], patience: float) -> list[bytes | None]:
        """What each prints, all of them run at once; None for one that says no. Raises: Unable `git-missing`, `git-slow`."""
        with ExitStack() as held:
            files = [held.enter_context(tempfile.TemporaryFile()) for _ in commands]
            started = [held.enter_context(self._started(command, file)) for command, file in zip(commands, files, strict=True)]
            until = time.monotonic() + patience
            try:
                done = [each.wait(max(0.0, until - time.monotonic())) for each in started]
            except subprocess.TimeoutExpired as why:
                for each in started:
                    each.kill()
                raise _slow(commands[0], patience) from why
            return [_whole(file) if code == 0 else None for file, code in zip(files, done, strict=True)]

    def _started(self, args: Sequence[str], out: IO[bytes]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(["git", *args], cwd=self.folder, env=dict(self.env), stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=subprocess.DEVNULL)
        except OSError as why:
            raise _missing(why) from why

    def word(self, *args: str, env: Mapping[str, str] | None = None) -> str | None:
        """The one line it prints; None when it says no."""
        done = self.run(*args, env=env)
        return os.fsdecode(done.stdout).rstrip("\n") if done.returncode == 0 else None


def _slow(args: Sequence[str], patience: float) -> Unable:
    return Unable("git-slow", f"git {_verb(args)} took longer than {patience:.0f} s.", "The folder holds very many files.",
                  "git init in the project's own folder, and a .gitignore for data")


def _missing(why: OSError) -> Unable:
    return Unable("git-missing", f"Can't start git: {why.strerror}: {why.filename}.",
                  "The tree is kept by it, outside a repository too.", "install git, then try again")


def _whole(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _verb(args: Sequence[str]) -> str:
    """What git was asked to do, past the settings before it."""
    return next((each for each, before in zip(args, ("", *args), strict=False) if not each.startswith("-") and before != "-c"), "")


def persons_git(folder: Path) -> Git:
    """Git as the person has it, that takes no lock for its own convenience."""
    return Git(folder, {**{name: value for name, value in os.environ.items() if name not in _NOWHERE}, "GIT_OPTIONAL_LOCKS": "0"})


def git_file(git: Git, name: str) -> Path:
    """Where a file of the repository's own lies; git is asked only in a work tree that was added to another's."""
    if (git.folder / ".git").is_dir():
        return git.folder / ".git" / name
    return Path(git.word("rev-parse", "--path-format=absolute", "--git-path", name) or name)


MOST_NAMED = 100_000
"""Characters of paths that git is given on its command line; for more it lists the whole tree."""


@dataclass(frozen=True)
class Entry:
    """A file in a tree or an index: mode, blob and path; without a mode it is none."""

    mode: str
    blob: str
    path: str


@dataclass(frozen=True)
class Changed:
    path: str
    old: Entry
    new: Entry

    @property
    def is_plain(self) -> bool:
        """Whether it is a file, not a link or a submodule, on each side where it is."""
        return all(entry.mode.startswith("100") for entry in (self.old, self.new) if entry.mode)


class Store:
    def __init__(self, root: Path, person: Git | None) -> None:
        self.root, self.home = root, home_of(root) / "objects"
        self._person = person
        self._ready = False
        here = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._alone = Git(root, {**here, **_settings(), "LC_ALL": "C", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
                                 "GIT_ATTR_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0",
                                 "GIT_LITERAL_PATHSPECS": "1"})
        self._git = Git(root, {**self._alone.env, "GIT_DIR": str(self.home), "GIT_WORK_TREE": str(root)})

    @property
    def git(self) -> Git:
        if not self._ready:
            lay(self.root)
            with self._lock():
                self._make()
            self._ready = True
        return self._git

    def photograph(self, read: Iterable[str], as_known: Iterable[Entry], new: Iterable[str] = ()) -> str:
        """The id of a tree of files as they are on disk, and of others as the person's index knows them.

        Of those that are read, the person's repository is likely to hold all but the new ones.
        """
        read, new, as_known = sorted(read), sorted(new), list(as_known)
        git = self.git
        with self._lock():
            (self.home / "index.lock").unlink(missing_ok=True)  # only a killed command of ours leaves one: we hold the lock
            try:
                return self._photographed(git, read, new, as_known)
            except Unable:  # an index that a power cut spoilt; it is but a cache
                (self.home / "index").unlink(missing_ok=True)
                return self._photographed(git, read, new, as_known)

    def _photographed(self, git: Git, read: list[str], new: list[str], as_known: list[Entry]) -> str:
        gone = set(paths_in(git("ls-files", "-z"))) - {*read, *new} - {entry.path for entry in as_known}
        git("update-index", "--force-remove", "-z", "--stdin", data=_joined(gone))
        git("update-index", "-z", "--index-info", data=index_lines(as_known))
        git("update-index", "--add", "--remove", "-z", "--stdin", data=_joined(read))
        git(*_IN_ONE_PACK, "update-index", "--add", "--remove", "-z", "--stdin", data=_joined(new))
        return git("write-tree", "--missing-ok").decode().strip()

    def photograph_like(self, index: Path, read: Iterable[str], gone: Iterable[str]) -> str:
        """The id of a tree that is as an index of the person's says, but for files that are read and files that are gone.

        Trees and contents that it shares with theirs stay in their repository alone.
        """
        git = self.git
        with self._lock():
            (self.home / "index.lock").unlink(missing_ok=True)  # as above
            shutil.copy2(index, self.home / "index")  # with its time: git judges by it which entries it may trust
            if missing := _joined(gone):
                git("update-index", "--force-remove", "-z", "--stdin", data=missing)
            git(*_IN_ONE_PACK, "update-index", "--add", "--remove", "-z", "--stdin", data=_joined(sorted(read)))
            return git("write-tree", "--missing-ok").decode().strip()

    def unignored(self, patience: float) -> list[str]:
        """All files below the root that no .gitignore hides, for a root without a repository."""
        env = {"GIT_INDEX_FILE": str(self.home / "no-index")}
        return paths_in(self.git("ls-files", "-z", "--others", "--exclude-standard", env=env, patience=patience))

    def holds_tree(self, name: str) -> bool:
        return self.git.word("cat-file", "-e", f"{name}^{{tree}}") is not None

    def unneeded(self, trees: Iterable[str]) -> list[Path]:
        """Files of objects that `forget_all_but` would remove. Raises: Unable, when a needed tree can't be walked."""
        listed = self._prune(trees, "--dry-run")
        return [self.home / "objects" / name[:2] / name[2:] for name in (line.split(" ")[0] for line in listed.splitlines())]

    def forget_all_but(self, trees: Iterable[str]) -> None:
        """Nothing of these trees goes, nor of the index, nor what is younger than an hour: its case may not be on disk yet."""
        self._prune(trees)

    def _prune(self, trees: Iterable[str], *options: str) -> str:
        if not (self.home / "HEAD").exists():
            return ""
        git = self.git
        with self._lock():
            return git("prune", f"--expire={YOUNG}.seconds.ago", *options, "--", *sorted(trees)).decode()

    def empty_tree(self) -> str:
        return self.git("mktree").decode().strip()

    def changes(self, old: str, new: str) -> list[Changed]:
        fields = self.git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new).split(b"\0")
        return [_changed(os.fsdecode(meta), os.fsdecode(path)) for meta, path in zip(fields[::2], fields[1::2], strict=False)]

    def patch(self, old: str, new: str, paths: Iterable[str]) -> str:
        """A unified diff of these paths, bytes that are no UTF-8 as surrogates (`surrogateescape`)."""
        wanted = list(paths)
        if not wanted:
            return ""
        return self.git("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
                        "--src-prefix=a/", "--dst-prefix=b/", old, new, "--", *wanted).decode("utf-8", "surrogateescape")

    def entries(self, tree: str, paths: Iterable[str]) -> dict[str, Entry]:
        """Those of these paths that are files of a tree."""
        wanted = set(paths)
        named = sorted(wanted) if sum(map(len, wanted)) < MOST_NAMED else ()
        listed = self.git("ls-tree", "-r", "-z", "--full-tree", tree, "--", *named) if wanted else b""
        return {entry.path: entry for entry in map(_listed, listed.split(b"\0")[:-1]) if entry.path in wanted}

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """The content of each blob; ids that name none are left out."""
        found, wanted = {}, sorted(set(ids))
        answer = self.git("cat-file", "--batch", data="".join(f"{each}\n" for each in wanted).encode())
        for each in wanted:
            head, _, answer = answer.partition(b"\n")
            if not head.endswith(b" missing"):
                kind, size = head.split()[1:]
                if kind == b"blob":
                    found[each] = answer[:int(size)]
                answer = answer[int(size) + 1:]
        return found

    def _make(self) -> None:
        told = self._person.word("rev-parse", "--show-object-format", "--git-path", "objects") if self._person else None
        form, _, theirs = (told or "sha1").partition("\n")
        if not (self.home / "HEAD").exists():
            self._alone("init", "--bare", "--quiet", "--template=", f"--object-format={form}", str(self.home))
        (self.home / "info").mkdir(exist_ok=True)
        (self.home / "info" / "attributes").write_text(_RAW, "utf-8")
        (self.home / "info" / "exclude").write_text(_NOT_OURS, "utf-8")
        alternates = self.home / "objects" / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_bytes(b"".join(_quoted(os.fsencode(place)) + b"\n" for place in self._others(theirs)))

    def _others(self, theirs: str) -> Iterator[Path]:
        """Where else objects lie: in the person's repository, and in our stores of other days."""
        if theirs:
            yield self.root / theirs
        stores = (home / "objects" for home in homes(self.root))
        yield from (store / "objects" for store in stores if store != self.home and (store / "HEAD").exists())

    def _lock(self) -> Lock:
        return Lock(self.home.with_suffix(".lock"))


def _quoted(path: bytes) -> bytes:
    """As a line of `alternates` has it: a name that holds an end of line can stand there only in quotes."""
    if b"\n" not in path and not path.startswith(b'"'):
        return path
    return b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _settings() -> dict[str, str]:
    numbered = enumerate(_SETTINGS.items())
    pairs = {f"GIT_CONFIG_{part}_{n}": text for n, setting in numbered for part, text in zip(("KEY", "VALUE"), setting, strict=True)}
    return {"GIT_CONFIG_COUNT": str(len(_SETTINGS)), **pairs}


def index_lines(entries: Iterable[Entry]) -> bytes:
    """What `git update-index -z --index-info` reads."""
    return b"".join(os.fsencode(f"{entry.mode} {entry.blob}\t{entry.path}") + b"\0" for entry in entries)


def _joined(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def paths_in(listed: bytes) -> list[str]:
    return [os.fsdecode(path) for path in listed.split(b"\0") if path]


def _listed(line: bytes) -> Entry:
    meta, path = os.fsdecode(line).split("\t", 1)
    mode, _, blob = meta.split(" ")
    return Entry(mode, blob, path)


def _changed(meta: str, path: str) -> Changed:
    old_mode, new_mode, old, new, _ = meta.lstrip(":").split(" ")
    return Changed(path, _side(old_mode, old, path), _side(new_mode, new, path))


def _side(mode: str, blob: str, path: str) -> Entry:
    return Entry("", "", path) if mode == "000000" else Entry(mode, blob, path)

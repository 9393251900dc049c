"""Where cases live: `.bitten/N-slug/`, hidden from git by its own .gitignore. Knows no event; all it writes has passed the redactor."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from bitten.adapters import places
from bitten.adapters.locks import Lock
from bitten.core.failure import Command
from bitten.core.noun import noun
from bitten.core.ports import Observed
from bitten.core.prediction import Json
from bitten.core.trouble import BadInput

NAME = ".bitten"
Redact = Callable[[str], str]
_SMALL_WORDS = frozenset(("a", "an", "and", "as", "at", "be", "but", "by", "for", "from", "in", "is", "of", "on", "or",
                          "that", "the", "to", "with"))


def homes(root: Path) -> Iterator[Path]:
    """Where a project's cases may lie, best first: in it; where it can't be written or is full, in our state folder, or in memory."""
    if root.is_dir():
        yield root / NAME
    name = f"{root.name}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"
    yield from (place / "projects" / name for place in places.spare())


def home_of(root: Path) -> Path:
    """Where the project's next case goes."""
    return next((home for home in homes(root) if _has_room(home)), root / NAME)


def _has_room(home: Path) -> bool:
    place = next(each for each in (home, *home.parents) if each.exists())
    return os.access(place, os.W_OK | os.X_OK) and not places.is_full(place)


def lay(root: Path) -> Path:
    """The folder of the cases to come, made on first use."""
    home = home_of(root)
    if not (home / ".gitignore").exists():
        home.mkdir(mode=0o700, exist_ok=True) if home.parent == root else places.private(home)
        write(home / ".gitignore", "*\n")
    return home


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """On disk when this returns, whole or not at all."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode), "wb") as file:
            file.write(as_bytes(text))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise type(error)(error.errno, error.strerror, str(path)) from None


def as_bytes(text: str) -> bytes:
    """File names and output that are not UTF-8 come out as they went in; other lone surrogates as an escape."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def slug(message: str) -> str:
    """At most five words of a message, small words at the end dropped: it names a folder, so it is plain ASCII."""
    plain = unicodedata.normalize("NFKD", message).encode("ascii", "ignore").decode().lower()
    words = [word[:20] for word in re.findall(r"[a-z][a-z0-9]*", plain.replace("'", ""))][:5]
    while words and words[-1] in _SMALL_WORDS:
        words.pop()
    return "-".join(words) or "failure"


@noun
class CaseFolder:
    path: Path

    @property
    def number(self) -> int:
        return int(self.path.name.split("-")[0])

    @property
    def capture(self) -> Path:
        return self.path / "capture"

    @property
    def evidence(self) -> Path:
        return self.path / "evidence"

    @property
    def debug_md(self) -> Path:
        return self.path / "debug.md"

    @property
    def fix_patch(self) -> Path:
        return self.path / "fix.patch"

    def write_run_sh(self, command: Command, redact: Redact) -> None:
        write(self.path / "run.sh", run_sh(command, redact), stat.S_IRWXU)


class Cases:
    """All cases of one project, by number, and which of them is current."""

    def __init__(self, root: Path, redact: Redact) -> None:
        self._root, self._redact = root, redact

    def create(self, message: str, begin: Callable[[CaseFolder], None] = lambda _: None) -> CaseFolder:
        """A folder under the next free number, made current when `begin` has written its first event: until then it is no case."""
        with self.held():
            number = max((case.number for case in self.all()), default=0) + 1
            case = CaseFolder(lay(self._root) / f"{number}-{slug(self._redact(message))}")
            for folder in (case.path, case.capture, case.evidence):
                folder.mkdir(mode=0o700)
            begin(case)
        self.switch(case)
        return case

    def held(self) -> Lock:
        """No other command begins a case meanwhile."""
        return Lock(lay(self._root) / "cases.lock")

    def all(self) -> list[CaseFolder]:
        every = (path for home in homes(self._root) for path in home.glob("[0-9]*-*"))
        found = (path for path in every if path.name.split("-")[0].isdecimal() and path.is_dir())
        return sorted(map(CaseFolder, found), key=lambda case: case.number)

    @property
    def home(self) -> Path:
        """Where the next case goes."""
        return home_of(self._root)

    def find(self, number: int) -> CaseFolder:
        case = next((case for case in self.all() if case.number == number), None)
        if case is None:
            raise BadInput("no-such-case", f"There is no case {number} here.", f"Looked in {self._root / NAME}.", "bitten cases")
        return case

    def current(self) -> CaseFolder | None:
        """The case that commands speak of; None when there is none, or it is gone."""
        marks = [mark for home in homes(self._root) if (mark := home / "current").is_file()]
        latest = max(marks, key=lambda mark: mark.stat().st_mtime_ns, default=None)
        named = latest.parent / latest.read_text("utf-8").strip() if latest else None
        return next((case for case in self.all() if case.path == named), None)

    def switch(self, case: CaseFolder) -> None:
        write(case.path.parent / "current", f"{case.path.name}\n")


class FolderRoom:
    """A folder for each run below `place`, as in a case's `evidence/h1-1`, `evidence/h1-2`, …; named from `base` on."""

    def __init__(self, place: Path, base: Path, redact: Redact) -> None:
        self._place, self._base, self._redact = place, base, redact

    def keep(self, name: str, observed: Observed, extra: Mapping[str, str] = {}) -> str:
        """Returns the folder's name from the base on. Extra texts are named as files, without folders.

        What was printed is in `output`, bounded by the tape, and not among the facts a second time.
        """
        folder = self._next(Path(name).name)
        write(folder / "output", self._redact(observed.output))
        self._keep_json(folder / "facts.json", {name: value for name, value in observed.facts.items() if name not in ("stdout", "stderr")})
        self._keep_json(folder / "recording.json", observed.sightings)
        if observed.recording is not None:
            from bitten.adapters import recordings  # noqa: PLC0415 - few runs have one

            recordings.save(observed.recording, folder / recordings.NAME)
        for file, text in extra.items():
            write(folder / Path(file).name, self._redact(text))
        return str(folder.relative_to(self._base))

    def _next(self, name: str) -> Path:
        self._place.mkdir(mode=0o700, exist_ok=True)
        for number in range(1, 1_000_000):
            folder = self._place / f"{name}-{number}"
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:  # an earlier run's; this is how the next number is found
                continue
            return folder
        raise AssertionError("a million runs of one name")

    def _keep_json(self, path: Path, value: object) -> None:
        write(path, json.dumps(scrubbed(msgspec.to_builtins(value), self._redact), indent=2) + "\n")


def scrubbed(value: Json, redact: Redact, key: str = "") -> Json:
    """Every text in a JSON value redacted, each in the light of its key: a value named password is one."""
    if isinstance(value, str):
        pair = redact(f"{key}={value}")
        return pair[len(key) + 1:] if key and pair.startswith(f"{key}=") else redact(value)
    if isinstance(value, dict):
        return {redact(name): scrubbed(each, redact, name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [scrubbed(each, redact, key) for each in value]
    return value


def masked(argv: Sequence[str], redact: Redact) -> tuple[str, ...]:
    """The words of a command, each in the light of the one before it: what follows `--password` is one."""
    words = tuple(redact("\0".join(argv)).split("\0"))
    return words if len(words) == len(argv) else tuple(redact(word) for word in argv)


def run_sh(command: Command, redact: Redact) -> str:
    """The command with its folder and environment changes, ready to paste; what the redactor took out is said."""
    from bitten.adapters.redact import holds_placeholder  # noqa: PLC0415 - a look writes nothing

    lines = ["#!/bin/sh", f"cd {shlex.quote(command.cwd)} || exit", *(_export(*each, redact) for each in sorted(command.env.items()))]
    typed = shlex.join(command.argv)
    shown = redact(typed)
    if shown != typed or holds_placeholder(shown):
        lines.append("# A secret was taken out of the command below: put it back by hand.")
    return "\n".join((*lines, shown)) + "\n"


def _export(name: str, value: str, redact: Redact) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return f"# {name!r} was set too; a shell can't."
    if scrubbed(value, redact, name) != value:
        return f"# {name} was set to a secret, which is not kept: export it by hand."
    return f"export {name}={shlex.quote(value)}"

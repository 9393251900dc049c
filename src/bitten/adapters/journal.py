"""A case's memory: one line an event, each with the digest of the line before. Knows nothing of what an event means but by the ladder."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import msgspec

from bitten.adapters.locks import Busy, Lock
from bitten.core.ladder import Case, Event, advance
from bitten.core.noun import noun
from bitten.core.trouble import Refused, Unable

VERSION = 1
START = "0" * 64
_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}
_NO_WORD = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
_PATIENCE = 10.0
"""Seconds that one command waits for another's hold on the same case."""


class Envelope(msgspec.Struct, frozen=True):
    v: int
    at: float
    who: str
    channel: str
    prev: str
    kind: str
    event: dict[str, object]


@noun
class Entry:
    """One event, with when, by whom and how it came."""

    at: float
    who: str
    channel: str
    event: Event


class FileJournal:
    """`events.jsonl` in a case's folder. `reports` says what the last load found odd but could live with."""

    def __init__(self, folder: Path, state: Path, now: Callable[[], float] = time.time) -> None:
        self.file = folder / "events.jsonl"
        self.head = state / "heads" / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()
        self.reports: list[str] = []
        self._now = now
        self._lock = Lock(folder / "events.lock", _PATIENCE)

    def append(self, event: Event, who: str, channel: str) -> None:
        """Put an event on disk, if it may follow what is there now.

        What is folded is the line as it will be read back: two commands at once can't make a journal that no longer loads.
        Raises: Refused, as the ladder says it; Unable `journal-not-written`.
        """
        with self._held():
            lines = self._whole_lines()
            line = _line(Envelope(VERSION, self._now(), who, channel, _digest(lines[-1:]), type(event).__name__, _plain(event)))
            entry = self._decoded(_envelope(line), len(lines) + 1)
            advance(self._fold(lines), entry.event)
            _write_line(self.file, line)
            self._remember([*lines, line])

    def load(self) -> Case:
        """Raises: Unable `journal-empty`, `journal-damaged`, `journal-newer`, `journal-unlawful`."""
        lines = self._seen()
        if self._was_rewritten(lines):
            self.reports.append(f"journal-rewritten: {self.file} no longer holds the line that this machine saw last.")
        case = self._fold(lines)
        if case is None:
            raise Unable("journal-empty", f"{self.file} holds no event.", "It was stopped before the first was on disk.",
                         "bitten run -- CMD")
        return case

    def begun(self) -> bool:
        """Whether its first event is there. Moves nothing aside."""
        content = self.file.read_bytes() if self.file.exists() else b""
        first, end, _ = content.partition(b"\n")
        return bool(end) and _envelope(first) is not None

    def entries(self) -> list[Entry]:
        lines = self._seen()
        return [self._decoded(envelope, number) for number, envelope in enumerate(self._chain(lines), 1)]

    def _seen(self) -> list[bytes]:
        """A look takes no lock: a line comes with one write. What seems torn may be in the making: it is looked at again under the lock."""
        *lines, rest = self._content().split(b"\n")
        if not rest and (not lines or _envelope(lines[-1]) is not None):
            self.reports = []
            return lines
        with self._held():
            return self._whole_lines()

    def _content(self) -> bytes:
        return self.file.read_bytes() if self.file.exists() else b""

    @contextmanager
    def _held(self) -> Iterator[None]:
        if not self.file.parent.is_dir():
            raise Unable("case-gone", f"{self.file.parent} is gone.", "Its folder was removed, or moved away.", "bitten cases")
        try:
            with self._lock:
                yield
        except Busy:
            raise Unable("journal-busy", f"Another command holds {self.file.parent.name}.", way="wait for it, then try again") from None

    def _whole_lines(self) -> list[bytes]:
        """The completed lines. A torn last one is set aside: its command never said that it was done."""
        self.reports = []
        content = self._content()
        *lines, rest = content.split(b"\n")
        if lines and not rest and _envelope(lines[-1]) is None:
            rest = lines.pop() + b"\n"
        if rest:
            self._set_aside(content, len(content) - len(rest))
        return lines

    def _set_aside(self, content: bytes, whole: int) -> None:
        taken = (self.file.with_name(f"events.torn-{n}") for n in range(1, 1_000_000))
        aside = next(path for path in taken if not path.exists())
        _write_new(aside, content[whole:])
        with self.file.open("r+b") as file:
            file.truncate(whole)
            os.fsync(file.fileno())
        self.reports.append(f"journal-torn: a half-written last line of {self.file} was moved to {aside.name}.")

    def _fold(self, lines: list[bytes]) -> Case | None:
        case = None
        for number, envelope in enumerate(self._chain(lines), 1):
            entry = self._decoded(envelope, number)
            try:
                case = advance(case, entry.event)
            except Refused as why:
                raise self._unlawful(number, why) from why
        return case

    def _chain(self, lines: list[bytes]) -> list[Envelope]:
        envelopes: list[Envelope] = []
        for number, line in enumerate(lines, 1):
            envelope = _envelope(line)
            if envelope is None:
                raise self._damaged(number, "It can't be read.")
            if envelope.prev != _digest(lines[number - 2:number - 1] if number > 1 else []):
                raise self._damaged(max(number - 1, 1), f"It is not what it was when line {max(number, 2)} was written.")
            if envelope.v > VERSION:
                raise Unable("journal-newer", f"{self.file}:{number} was written by a newer bitten.", way="pip install --upgrade bitten")
            if envelope.v < VERSION:
                raise Unable("journal-older", f"{self.file}:{number} has the form of version {envelope.v}, which this bitten can't read.",
                             "It would have to guess what the line means.", "read debug.md beside it, or: bitten run -- CMD")
            envelopes.append(envelope)
        return envelopes

    def _decoded(self, envelope: Envelope | None, number: int) -> Entry:
        if envelope is None or envelope.kind not in _KINDS:
            raise self._damaged(number, "No event has this form.")
        try:
            event = msgspec.convert(envelope.event, type=_KINDS[envelope.kind])
        except Refused as why:
            raise self._unlawful(number, why) from why
        except msgspec.ValidationError as why:
            raise self._damaged(number, f"{why}.") from why
        return Entry(envelope.at, envelope.who, envelope.channel, event)

    def _damaged(self, number: int, why: str) -> Unable:
        return Unable("journal-damaged", f"{self.file}:{number} is damaged.", why, "restore the file from a backup, or: bitten run -- CMD")

    def _unlawful(self, number: int, why: Refused) -> Unable:
        return Unable("journal-unlawful", f"{self.file}:{number} can't follow the lines before it.", f"{why.slug}: {why}",
                      "restore the file from a backup, or: bitten run -- CMD")

    def _was_rewritten(self, lines: list[bytes]) -> bool:
        """Whether the line that this machine saw last is gone, now or before: a later line of ours doesn't hide it."""
        try:
            digest, count, *flag = self.head.read_text("ascii").split()
        except (OSError, ValueError):  # nothing remembered: the case came from elsewhere, or the state folder was cleaned
            return False
        return bool(flag) or _digest(lines[int(count) - 1:int(count)]) != digest

    def _remember(self, lines: list[bytes]) -> None:
        flag = " rewritten" if len(lines) > 1 and self._was_rewritten(lines) else ""
        try:
            _make_private(self.head.parent)
            new = self.head.with_name(f"{self.head.name}.{os.getpid()}")
            new.write_text(f"{_digest(lines[-1:])} {len(lines)}{flag}\n", "ascii")
            new.replace(self.head)
        except OSError as why:  # the event itself is safe; only the notice of a rewritten journal is weaker
            self.reports.append(f"journal-head-not-kept: {why}")


def _plain(event: Event) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(event)
    return plain


def _line(envelope: Envelope) -> bytes:
    """By the standard library: unlike msgspec's own it takes file names that are not UTF-8, and numbers beyond 64 bits."""
    return json.dumps(msgspec.to_builtins(envelope), separators=(",", ":")).encode("ascii")


def _envelope(line: bytes) -> Envelope | None:
    try:
        return msgspec.convert(json.loads(line, parse_constant=_NO_WORD.__getitem__), type=Envelope)
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None


def _digest(last: list[bytes]) -> str:
    """The digest of a line, its end of line left out; of none, the start of the chain."""
    return hashlib.sha256(last[0]).hexdigest() if last else START


def _write_line(path: Path, line: bytes) -> None:
    """One write, on disk when this returns; a write that fell short is taken back."""
    is_new = not path.exists()
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        before = os.fstat(descriptor).st_size
        _all_or_nothing(descriptor, line + b"\n", before)
    except OSError as why:
        raise Unable("journal-not-written", f"Can't write {path}.", f"{why.strerror}.", "make room, then try again") from why
    finally:
        os.close(descriptor)
    if is_new:
        _sync_folder(path.parent)
        _sync_folder(path.parent.parent)


def _all_or_nothing(descriptor: int, line: bytes, before: int) -> None:
    try:
        if os.write(descriptor, line) != len(line):
            raise OSError(errno.ENOSPC, "only a part was written")
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
        raise


def _write_new(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

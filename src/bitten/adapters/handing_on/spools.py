"""What Pythons of a shell with the hook left when they crashed: found, read, and removed once a case has it. Writes no case."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from bitten.adapters import places
from bitten.adapters.folder import Redact, masked
from bitten.adapters.guest_told import guest_facts
from bitten.adapters.guest_told.guest_log import Log, Record, load
from bitten.adapters.observe import observe, ran
from bitten.adapters.root import root_of
from bitten.core.failure import Command, Crash
from bitten.core.ports import Observed

NAME = re.compile(r"(\d{10}\.\d{6})-(\d+)")
UNSEEN = "it crashed in a shell with the hook: what it printed was not kept, and nobody saw how it ended"


def base() -> Path:
    """Where this shell's hook said; else where one of this user would."""
    told = Path(os.environ.get("BITTEN_SPOOLS") or "/nowhere")
    return told if told.is_dir() and told.stat().st_uid == os.getuid() else places.private(places.memory() / "crashes")


class Left:
    """One crash, of one tree of processes."""

    def __init__(self, folder: Path, redact: Redact) -> None:
        found = NAME.fullmatch(folder.name)
        self.folder, self._redact = folder, redact
        self.began, self.pid = (float(found[1]), int(found[2])) if found else (0.0, 0)

    @cached_property
    def _log(self) -> Log:
        return load(self.folder)

    @cached_property
    def _first(self) -> Record:
        """The command that was typed, as the first process of the tree has it; else as the first that failed."""
        hellos = list(self._log.of("hello"))
        own = next((each for each in hellos if each["pid"] == self.pid), None)
        return own or next(self._log.of("root"), None) or next(iter(hellos), {})

    @property
    def command(self) -> Command:
        words = tuple(map(str, self._first.get("argv") or ("python",)))
        return Command(masked(_as_typed(words), self._redact), str(self._first.get("cwd") or "/"))

    @cached_property
    def root(self) -> Path:
        """The project that it ran in."""
        folder = Path(self.command.cwd)
        return root_of(folder) if folder.is_dir() else folder

    @property
    def when(self) -> float:
        return max((float(each["t"]) for each in self._log.of("exc")), default=self.began)

    @cached_property
    def crash(self) -> Crash | None:
        """None of a spool that is being written, or is none."""
        return next(iter(guest_facts.read(self.folder, self.root, ended_badly=True).crashes), None)

    def observed(self) -> Observed:
        """As of a run whose end nobody saw, unless it said itself with which code it left."""
        codes = [each["code"] for each in self._log.of("exit") if each["pid"] == self.pid and type(each["code"]) is int]
        run = ran(self.command, codes[-1] if codes else None, None, max(0.0, self.when - self.began))
        seen = observe(run, (b"", b"", b""), self.folder, self.root, self._redact)
        return replace(seen, surroundings=replace(seen.surroundings, notes=(*seen.surroundings.notes, UNSEEN)))

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _as_typed(words: tuple[str, ...]) -> tuple[str, ...]:
    """A console script names its interpreter itself: `torchrun`, not `python /venv/bin/torchrun`."""
    is_script = len(words) > 1 and words[1].startswith("/") and Path(words[0]).parent == Path(words[1]).parent
    return words[1:] if is_script and not words[1].endswith(".py") else words


def left(redact: Redact) -> list[Left]:
    """Newest first."""
    return sorted(_found(redact), key=lambda each: each.when, reverse=True)


def _found(redact: Redact) -> Iterator[Left]:
    for folder in base().iterdir():
        if NAME.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            each = Left(folder, redact)
            if each.crash is not None:
                yield each

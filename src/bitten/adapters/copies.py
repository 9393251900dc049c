"""ports.Sandbox: a room of its own for each check, watched by the guest. How the room is walled is the sandbox's affair."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bitten.adapters import places
from bitten.adapters.held import held_folder
from bitten.adapters.observe import Kept, Redact, observe, ran
from bitten.adapters.redact import holds_placeholder
from bitten.adapters.runs import invitation
from bitten.adapters.sandbox import Room, never, open_room, sweep
from bitten.adapters.watching.announced import Announcements
from bitten.core.failure import Command
from bitten.core.ports import Allowed, Copy, Heard, Observed, unheard
from bitten.core.trouble import Unable

ESSENTIAL = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
"""Variables that a bare environment keeps: without them programs are not found, or do not start."""
TEST_SECONDS = 600.0


@dataclass(frozen=True)
class Copies:
    """`tree` is what is copied; `home` the project that commands speak of: its paths are read as the tree's."""

    tree: Path
    home: Path
    probes: Sequence[Path]
    redact: Redact
    limits: list[str] = field(default_factory=list)

    @contextmanager
    def copy(self, allowed: Allowed = Allowed()) -> Iterator[Copy]:
        with held_folder(places.memory()) as spool:
            sweep(places.scratch())
            shared = [spool, places.cache()]
            with open_room(self.tree, places.scratch(), shared, allowed.write, allowed.net) as room:
                if not room.is_strong and room.how not in self.limits:
                    self.limits.append(room.how)
                yield RoomCopy(room, self.tree, self.home, self.probes, self.redact, spool, allowed.net)


@dataclass
class Listener:
    """Passes on what the guest announces while it runs; called, it says whether whoever hears that wants the run ended."""

    spool: Path
    heard: Heard
    stopped: bool = field(default=False)
    _news: Announcements = field(init=False)

    def __post_init__(self) -> None:
        self._news = Announcements(self.spool)

    def __call__(self) -> bool:
        self.stopped = self.heard("tick", {}) or self.stopped
        for each in self._news.new():
            self.stopped = self.heard(str(each["k"]), each) or self.stopped
        return self.stopped

    def drain(self) -> None:
        """What was announced since the last question, by a run that has ended; nothing stops it any more."""
        for each in self._news.new():
            if each["k"] != "stop":
                self.heard(str(each["k"]), each)


@dataclass
class RoomCopy:
    room: Room
    tree: Path
    home: Path
    probes: Sequence[Path]
    redact: Redact
    spool: Path
    net: bool
    _runs: int = field(default=0)

    @property
    def how(self) -> str:
        return self.room.how

    def run(
        self, command: Command, *, watch: bool = False, bare: bool = False, timeout: float | None = None,
        instruments: Sequence[str] = (), turns: Sequence[str] = (), stop_after: int | None = None, heard: Heard = unheard,
    ) -> Observed:  # fmt: skip
        if any(map(holds_placeholder, command.argv)):
            raise Unable("command-holds-a-secret", "The command was given a secret, which is not kept, so it can't be run again as it was.",
                         shlex.join(command.argv), "let it read the secret from a variable or a file, then:  bitten run -- CMD")
        spool = self._fresh_spool()
        env = {name: os.environ[name] for name in ESSENTIAL if name in os.environ} if bare else dict(os.environ)
        env.update(command.env)
        env.update(invitation.env_for(spool, places.cache(), self.probes, watch, env, instruments, turns, stop_after), BITTEN_COPY="1")
        listener = Listener(spool, heard)
        ended = self.room.run(command.argv, self._there(command.cwd), env, timeout, never if heard is unheard else listener)
        listener.drain()
        run = ran(command, ended.exit, ended.signal, ended.seconds, ended.timed_out and not listener.stopped)
        return observe(run, (ended.stdout, ended.stderr, ended.output), spool, Path(self.room.root), self.redact,
                       Kept(self.room.refused(), self.net))

    def test(self, path: str, names: Sequence[str], like: Command, *, timeout: float | None = None) -> Observed:
        test = self.home / path
        folder = Path(like.cwd) if test.is_relative_to(like.cwd) else self.home
        nodes = [f"{test.relative_to(folder)}::{name}" for name in names]
        argv = (*like.argv, "-m", "pytest", "-q", "-p", "_bitten_pytest", "-p", "no:cacheprovider", *nodes)
        return self.run(Command(argv, str(folder), like.env), timeout=timeout or TEST_SECONDS)

    def write(self, files: Mapping[str, bytes | None]) -> None:
        if files:
            self.room.write(files)

    def apply(self, patch: str) -> None:
        self.room.apply(patch)

    def _there(self, cwd: str) -> str:
        """The same folder in the tree that was copied."""
        path = Path(cwd)
        return str(self.tree / path.relative_to(self.home)) if path.is_relative_to(self.home) else cwd

    def _fresh_spool(self) -> Path:
        self._runs += 1
        folder = self.spool / str(self._runs)
        folder.mkdir(mode=0o700)
        return folder

"""One project, as a command sees it: its cases, its settings, its repository, and the person. Has no rule of its own."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitten.adapters import config, places
from bitten.adapters.folder import CaseFolder, Cases, FolderRoom, lay
from bitten.adapters.journal import FileJournal
from bitten.adapters.root import root_of
from bitten.adapters.sitting import Sitting, killed, sitting
from bitten.adapters.terminal import Terminal, WallClock
from bitten.core.failure import Failure, Run
from bitten.core.ports import Observed, Person
from bitten.core.trouble import BadInput, Trouble, Unable
from bitten.interfaces import text

from .open_case import OpenCase
from .single import redact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bitten.adapters.copies import Copies
    from bitten.adapters.handing_on.spools import Left
    from bitten.adapters.history import GitHistory
    from bitten.adapters.knowledge import Playbooks
    from bitten.adapters.repo import GitRepo
    from bitten.adapters.runs.runner import HereRunner
    from bitten.adapters.sizes import Tidied
    from bitten.adapters.surroundings.survey import Survey
    from bitten.adapters.tries import Tries
    from bitten.core.recording import Recording

# ruff: noqa: PLC0415 - as in open_case


def current_folder() -> Path:
    """Raises: Unable `folder-gone`."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Unable("folder-gone", "The current folder was removed.", way="cd to where the project is now") from None


@dataclass(eq=False, repr=False)
class House:
    """One project, as a command sees it."""

    root: Path
    person: Person = field(default_factory=Terminal)
    clock: WallClock = field(default_factory=WallClock)
    _said: set[str] = field(default_factory=set)

    @classmethod
    def here(cls) -> House:
        """The project around the current folder; what killed commands left in it is put in order, and said."""
        house = cls(root_of(current_folder()))
        for line in house.recovered():
            house.say(line)
        return house

    def recovered(self) -> list[str]:
        """What killed commands left here: one line each."""
        if not any(each.concerns(self.root) for each in killed()):
            return []
        from bitten.adapters.recovery import recover
        from bitten.interfaces.joining import rescued

        return recover(self.root, redact, lambda *found: rescued(self, *found), self._redraw)

    def _redraw(self) -> None:
        """Each case's documents, which a kill may have left behind its journal."""
        for folder in self.cases.all():
            with suppress(Trouble):  # a case that can't be read is named by the commands that need it
                self.load(folder).redraw()

    def sitting(self) -> AbstractContextManager[Sitting]:
        """A command at work: should it be killed, the next one goes on for it."""
        return sitting(self.root)

    def say(self, line: str) -> None:
        """What a person should know, but did not ask for; once."""
        if line in self._said:
            return
        self._said.add(line)
        click.echo(click.style(f"  {line}", dim=True), err=True)

    @cached_property
    def repo(self) -> GitRepo:
        from bitten.adapters.repo import repo_in

        return repo_in(self.root, redact)

    @cached_property
    def settings(self) -> config.Settings:
        return config.settings(self.root)

    @cached_property
    def cases(self) -> Cases:
        return Cases(self.root, redact)

    @cached_property
    def knowledge(self) -> Playbooks:
        from bitten.adapters.knowledge import Playbooks

        return Playbooks()

    def runner(self, hang_after: str | None = None) -> HereRunner:
        """`hang_after` is what was typed. Raises: BadInput `bad-duration`."""
        from bitten.adapters.runs.runner import HereRunner
        from bitten.adapters.watching.hanging import patience

        waits = patience(hang_after, self._set_patience(), os.environ.get("CI", "").lower() in ("true", "1"))
        return HereRunner(self.root, self.knowledge.probe_paths(), redact, waits, self.say)

    def _set_patience(self) -> float | str:
        """Settings that can't be read hold up no command; once it has failed they are spoken of."""
        try:
            return self.settings.hang_after
        except BadInput:
            return config.Settings().hang_after

    @property
    def copies(self) -> Copies:
        """Throw-away copies of the project as it stands, for runs that no case asked for."""
        from bitten.adapters.copies import Copies

        return Copies(self.root, self.root, self.knowledge.probe_paths(), redact)

    def tries(self, about: Sequence[object]) -> Tries:
        """What a search that was killed had tried already."""
        from bitten.adapters.tries import Tries

        return Tries(self.root, about)

    @cached_property
    def history(self) -> GitHistory:
        """Raises: Unable `not-a-repository`."""
        from bitten.adapters.history import GitHistory

        return GitHistory(self.repo)

    def files_of(self, revision: str) -> Mapping[str, bytes | None]:
        """What makes a copy of the tree that of a revision. Raises: BadInput `no-such-tree`; Unable `not-a-repository`."""
        return self.history.files(self.history.commit(revision))

    def recording(self, named: str) -> Recording:
        """By file or folder, number of a case, or exported case. Raises: BadInput `no-recording`, `no-such-case`."""
        from bitten.adapters import recordings

        if named.isdecimal() and not Path(named).exists():
            return recordings.load(self.cases.find(int(named)).path, f"case {named}")
        return recordings.of_parcel(named) if named.endswith(".tgz") else recordings.load(Path(named), named)

    def keep_probe(self, name: str, seen: Observed) -> Path:
        """What a run by hand showed, in a folder of its own: output, facts and recording."""
        home = lay(self.root)
        return home / FolderRoom(home / "probes", home, redact).keep(name, seen)

    def survey(self, spool: Path) -> Survey:
        """What surrounded a run, whose guest wrote there."""
        from bitten.adapters.surroundings.survey import Survey

        return Survey(spool, self.root, redact, lambda: self.repo.is_git)

    def from_log(self, file: str, command: str, exit_code: int | None, cwd: Path) -> Observed:
        """What a log tells of a run that nobody here saw. Raises: BadInput, where it tells too little."""
        from bitten.adapters.handing_on import from_log

        return from_log.observed(from_log.text_of(file), command, exit_code, cwd, self.root, redact)

    def remember(self, run: Run, spool: Path) -> None:
        """A run that went well; nothing of one in which no Python checked in."""
        if any(spool.glob("p*.log")):
            self.survey(spool).keep(run)

    def received(self, file: str) -> tuple[OpenCase, list[str]]:
        """The case in a parcel, under the next free number, and the files that are other ones here. Runs nothing.

        Raises: BadInput, and keeps nothing, when it is no parcel, or an unlawful one.
        """
        from bitten.adapters.handing_on import parcel, shipping

        arrival = shipping.arrived(parcel.unpack(file), file, str(self.root), redact)
        case = self.load(self.cases.create(text.title(arrival.failure), lambda folder: shipping.lay(folder, arrival, redact)))
        with case.visited("import"):
            return case, arrival.differing(self.repo)

    def crashes(self) -> list[Left]:
        """What Pythons of this user's shells with the hook left, newest first."""
        from bitten.adapters.handing_on import spools

        return spools.left(redact)

    def shell(self, name: str, *, off: bool) -> str:
        """What puts the guest into a shell's Pythons, or takes it out, for that shell to read."""
        from bitten.adapters.handing_on import shell_hook, spools

        changes = shell_hook.without(os.environ) if off else shell_hook.variables(
            spools.base(), places.cache(), self.knowledge.probe_paths(), os.environ)
        return shell_hook.script(changes, name)

    @property
    def has_detached(self) -> bool:
        """Whether any run of this user's was ever detached: all that a look at a case pays for the others."""
        return (places.state() / "runs").is_dir()

    def takes_too_much(self) -> bool:
        from bitten.adapters import sizes

        return sizes.taken(self.root) > self._limit

    def tidied(self, *, dry_run: bool = False) -> Tidied:
        from bitten.adapters import sizes

        return sizes.tidy(self.root, self.cases.all(), places.state(), self.repo.store, self._limit, dry_run=dry_run)

    @property
    def _limit(self) -> int:
        """In bytes."""
        return int(self.settings.keep_mib * 2**20)

    def load(self, folder: CaseFolder) -> OpenCase:
        journal = FileJournal(folder.path, places.state())
        case = OpenCase(self, folder, journal, journal.load())
        case.report()
        return case

    def case(self, number: int | None = None) -> OpenCase:
        """The case of that number, else the current one. Raises: BadInput `no-such-case`, `no-case`; Unable `case-gone`."""
        folder = self.cases.find(number) if number is not None else self.cases.current()
        if folder is None and (left := self.cases.all()):
            raise Unable("case-gone", "The current case is gone: its folder was removed, or moved away.",
                         f"There are others: {', '.join(str(each.number) for each in left[-8:])}.", f"bitten switch {left[-1].number}")
        if folder is None:
            raise BadInput("no-case", "There is no case here yet.", way="bitten run -- CMD")
        return self.load(folder)

    def begin(self, failure: Failure, title: str) -> OpenCase:
        """A new case, its failure on disk when this returns."""
        return self.load(self.cases.create(title, lambda folder: self._first(folder, failure)))

    def _first(self, folder: CaseFolder, failure: Failure) -> None:
        OpenCase(self, folder, FileJournal(folder.path, places.state()), None).add([failure])

    def read(self, file: str) -> str:
        """The text of a file that the person named. Raises: BadInput `no-such-file`."""
        try:
            return Path(file).read_text("utf-8", "surrogateescape")
        except OSError as error:
            raise BadInput("no-such-file", f"Can't read {file}: {error.strerror}.", way="name a file that is there") from None

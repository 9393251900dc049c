"""Where everything meets: the only module that knows which adapter stands behind which port. Has no rule of its own."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitten.adapters import config, places
from bitten.adapters.folder import CaseFolder, Cases, FolderRoom, as_bytes, write
from bitten.adapters.journal import FileJournal
from bitten.adapters.root import root_of
from bitten.adapters.sitting import Sitting, killed, sitting
from bitten.adapters.terminal import Terminal, WallClock
from bitten.core.case import Note, Visit
from bitten.core.failure import Failure, Run
from bitten.core.ladder import Case, Event, advance
from bitten.core.ports import Allowed, Observed
from bitten.core.proof import Fix, Lesson, Verification
from bitten.core.trouble import BadInput, Refused, Trouble, Unable
from bitten.interfaces import text

if TYPE_CHECKING:
    from bitten.adapters.knowledge import Playbooks
    from bitten.adapters.redact import Masked
    from bitten.adapters.repo import GitRepo
    from bitten.adapters.runner import HereRunner, Ran
    from bitten.adapters.sizes import Tidied
    from bitten.steps.check import Bench
    from bitten.testing import Proof

__all__ = ["House", "OpenCase", "Ran", "Terminal", "Tidied", "end_like", "keep_report", "lay_out", "mend", "proofs", "redact"]

# Each import below its own definition is one that a look at a case does without: together they cost more than the look.
# ruff: noqa: PLC0415

RECENT = 40
"""Events that debug.md may lag behind the journal: more than any one command adds."""


def redact(text: str) -> str:
    """Text that may be kept."""
    from bitten.adapters import redact as adapter

    return adapter.redact(text)


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Unable("folder-gone", "The current folder was removed.", way="cd to where the project is now") from None


@dataclass(eq=False, repr=False)
class House:
    """One project, as a command sees it."""

    root: Path
    person: Terminal = field(default_factory=Terminal)
    clock: WallClock = field(default_factory=WallClock)
    _said: set[str] = field(default_factory=set)

    @classmethod
    def here(cls) -> House:
        """The project around the current folder; what killed commands left in it is put in order, and said."""
        house = cls(root_of(_here()))
        for line in house.recovered():
            house.say(line)
        return house

    def recovered(self) -> list[str]:
        """What killed commands left here: one line each."""
        if not any(each.concerns(self.root) for each in killed()):
            return []
        from bitten.adapters.recovery import recover
        from bitten.interfaces.joining import rescued

        return recover(self.root, redact, lambda observed, expected: rescued(self, observed, expected), self._redraw)

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

    @property
    def runner(self) -> HereRunner:
        from bitten.adapters.runner import HereRunner

        return HereRunner(self.root, self.knowledge.probe_paths(), redact)

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


@dataclass(eq=False, repr=False)
class OpenCase:
    """A case and its journal; every event goes through the ladder before it goes to disk."""

    house: House
    folder: CaseFolder
    journal: FileJournal
    _case: Case | None

    @property
    def case(self) -> Case:
        assert self._case is not None
        return self._case

    @property
    def number(self) -> int:
        return self.folder.number

    @property
    def document(self) -> str:
        file = self.folder.debug_md
        return str(file.relative_to(self.house.root) if self.is_at_home else file)

    @property
    def is_at_home(self) -> bool:
        """Whether it lies in the project, and not where we found room for it."""
        return self.folder.path.is_relative_to(self.house.root)

    def complete(self, observed: Observed) -> None:
        """What stands beside the journal and a kill kept from being written."""
        if observed.run == self.case.failure.run and not (self.folder.capture / "output").exists():
            self.keep_capture(observed)

    def keep_capture(self, observed: Observed) -> None:
        """The whole output, and the command ready to paste."""
        self.folder.write_run_sh(self.case.failure.run.command, redact)
        write(self.folder.capture / "output", redact(observed.output))

    @property
    def budget(self) -> float:
        """Seconds of the person's time before a reset is due."""
        return self.house.settings.budget * 60

    def shown(self, everything: bool = False) -> str:
        return text.whole(self.case, self.number, self.document, self.budget, everything)

    def following(self) -> str:
        return text.following(self.case, self.budget)

    def redactions(self) -> list[Masked]:
        """Every place in the case's files where a secret was masked."""
        from bitten.adapters.redact import masked

        return list(masked(self.folder.path))

    def bench(self, allowed: Allowed = Allowed(), timeout: float | None = None, tree: Path | None = None) -> Bench:
        """Where this case's checks are done; `tree` is another one than the project's."""
        from bitten.adapters.copies import Copies
        from bitten.steps.check import Bench

        copies = Copies(tree or self.house.root, self.house.root, self.house.knowledge.probe_paths(), redact)
        return Bench(copies, self.house.repo, FolderRoom(self.folder, redact), allowed, timeout or self.house.settings.timeout or None)

    def add(self, events: Iterable[Event]) -> list[Event]:
        """Append each event as it comes: what was completed stays, whatever happens to the next one."""
        from bitten.adapters.redact import without_secrets

        added = []
        for event in map(without_secrets, events):
            self._case = advance(self._case, event)
            self.journal.append(event, self.house.person.name, self.house.person.channel)
            self.report()
            added.append(event)
        return added

    def report(self) -> None:
        """Say what the journal found odd, but could live with."""
        for line in self.journal.reports:
            self.house.say(line)

    def shows(self, run: Run) -> bool:
        """Whether it has this very run already."""
        return run in (self.case.failure.run, *(each.run for each in self.case.recurrences))

    @contextmanager
    def visited(self, verb: str) -> Iterator[None]:
        """A command on this case: the person's own words are read first, the time and debug.md are written last."""
        began = self.house.clock.now()
        with self.house.sitting():
            self._catch_up()
            known = self._read_back()
            try:
                yield
            finally:
                with suppress(Refused):  # another terminal dropped or closed it meanwhile: no more visits are counted
                    self.add([Visit(verb, began, self.house.clock.now())])
                self._case = self.journal.load()
                self._draw_anew(known)

    def _draw_anew(self, known: Mapping[str, str]) -> None:
        """debug.md follows the journal; where a person keeps it from being written, that is said, and no step is lost."""
        from bitten.adapters.theirs import rewrite

        try:
            rewrite(self.folder.debug_md, as_bytes(self._merged(known)[0]))
        except Unable as why:
            self.house.say(f"debug.md is not drawn anew: {why.what}")

    def redraw(self) -> None:
        self._catch_up()
        self._draw_anew(self._read_back())

    def _catch_up(self) -> None:
        """Every command ends with a visit: where none is last, one was killed, perhaps before it wrote what stands beside the journal."""
        if isinstance(self.journal.entries()[-1].event, Visit):
            return
        for link in self.case.links:
            if isinstance(link, Verification):
                self.keep_proof(link)
            if isinstance(link, Lesson) and link.text:
                self.write_lesson(link.text)

    def _read_back(self) -> dict[str, str]:
        """Note what the person wrote into their two sections since they were drawn. Returns the changed sections."""
        from bitten.interfaces import document

        changed = self._merged({})[1]
        about = {document.EXPECTED: "expected", document.TRIED: "tried"}
        if self.case.is_open:
            self.add(Note(about[heading], redact(words)) for heading, words in changed.items() if heading in about)
        return changed

    def _merged(self, known: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """The document to write, and the sections that a person changed since it was drawn, but for what is `known` of them."""
        on_disk = self._on_disk
        if on_disk is None or on_disk == self._drawn:
            return self._drawn, {}
        from bitten.adapters.debug_md import merge, sections

        return merge(self._drawn, on_disk, {**sections(self._drawing_of(on_disk)), **known})

    def _drawing_of(self, on_disk: str) -> str:
        """The drawing that a person found before they wrote: a kill, or another terminal, may have left it some events behind."""
        written = Counter(on_disk.splitlines())
        drawings = map(self._draw, list(self._past())[:-RECENT:-1])
        return min(drawings, key=lambda drawing: (written - Counter(drawing.splitlines())).total())

    def _past(self) -> Iterator[Case]:
        """The case after each of its events."""
        case = None
        for entry in self.journal.entries():
            case = advance(case, entry.event)
            yield case

    @property
    def _drawn(self) -> str:
        return self._draw(self.case)

    def _draw(self, case: Case) -> str:
        from bitten.interfaces import document

        return redact(document.draw(case, self._began))

    @property
    def _on_disk(self) -> str | None:
        file = self.folder.debug_md
        return file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() else None

    @cached_property
    def _began(self) -> float:
        return self.journal.entries()[0].at

    def keep_proof(self, verification: Verification) -> None:
        """fix.patch, and verification.json for whoever reads the folder without us."""
        from bitten.interfaces import document

        self.keep_fix()
        write(self.folder.path / "verification.json", redact(document.receipt(verification)))

    def keep_fix(self) -> None:
        """The fix as a patch to apply elsewhere; where a secret was masked in it, it says so and does not apply."""
        from bitten.steps.fix import patch_of

        for fix in (link for link in self.case.links if isinstance(link, Fix)):
            patch = patch_of(self.case, fix, self.house.repo)
            shown = redact(patch)
            warning = "" if shown == patch else "A secret was masked below, so this does not apply as it is.\n\n"
            write(self.folder.fix_patch, warning + shown)

    def lesson_on_head(self) -> dict[str, bytes]:
        """The lessons file as HEAD has it, with this case's entry: what may stand beside it uncommitted stays so."""
        lesson = next((link for link in self.case.links if isinstance(link, Lesson)), None)
        if lesson is None or not lesson.text or not self.house.repo.is_git:
            return {}
        from bitten.adapters import claude_md

        root, file = self.house.root.resolve(), self._lessons.resolve()
        if not file.is_relative_to(root):  # a link out of the project: there is nothing to commit
            return {}
        name = file.relative_to(root).as_posix()
        old = self.house.repo.files_at("HEAD", [name])[name] if self.house.repo.revision("HEAD") else None
        return {name: claude_md.insert(old, lesson.text)}

    def write_lesson(self, entry: str) -> None:
        """Into the person's file, everything else in it byte for byte as it was. Once, also when asked twice."""
        from bitten.adapters.theirs import rewrite

        content = self.with_lesson(entry)
        if content is not None:
            rewrite(self._lessons, content)

    def with_lesson(self, entry: str) -> bytes | None:
        """The person's file with the entry, None where it has it. Raises: BadInput, Unable, where it could not be written."""
        from bitten.adapters import claude_md
        from bitten.adapters.theirs import writable

        file = writable(self._lessons)
        old = file.read_bytes() if file.exists() else None
        return claude_md.insert(old, entry) if old is None or as_bytes(entry) not in old else None

    @property
    def _lessons(self) -> Path:
        return self.house.root / self.house.settings.lessons


def end_like(signal: int) -> int:
    """Die as the command did."""
    from bitten.adapters import process

    return process.end_like(signal)


def lay_out(folder: Path) -> Path:
    """The bundled example, as a fresh repository."""
    from bitten.adapters import example

    return example.lay_out(folder)


def mend(project: Path) -> str:
    """The story's edit in it. Returns the fix as a unified diff."""
    from bitten.adapters import example

    return example.mend(project)


def proofs(name: str) -> list[Proof]:
    """Proofs of a playbook, by its name or its folder; empty when there is none."""
    from bitten.adapters.knowledge import Playbooks
    from bitten.testing import prove

    folder = Playbooks().folders.get(name.replace("-", "_")) or (Path(name) if Path(name, "playbook.py").is_file() else None)
    return prove(folder) if folder else []


def recent_events(most: int = 8) -> list[str]:
    """The kinds of the current case's last events, for the report of a fault: nothing of what they hold."""
    import json

    folder = House(root_of(Path.cwd())).cases.current()
    lines = (folder.path / "events.jsonl").read_bytes().splitlines()[-most:] if folder else []
    return [str(json.loads(line).get("kind")) for line in lines]


def keep_report(text: str) -> str:
    """Where the report of our own fault lies, redacted; where it can't be kept, the report."""
    try:
        file = places.private(places.state() / "reports") / f"{time.strftime('%Y%m%d-%H%M%S')}.txt"
        write(file, redact(text))
    except (OSError, Unable):
        return f"this:\n\n{redact(text)}"
    return str(file)

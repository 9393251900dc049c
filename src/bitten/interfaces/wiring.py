"""Where everything meets: the only module that knows which adapter stands behind which port. Has no rule of its own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bitten.adapters import config, places
from bitten.adapters.folder import CaseFolder, Cases, FolderRoom, as_bytes, write
from bitten.adapters.journal import FileJournal
from bitten.adapters.redact import redact, without_secrets
from bitten.adapters.root import root_of
from bitten.adapters.terminal import Terminal, WallClock
from bitten.core.case import Note, Visit
from bitten.core.failure import Failure
from bitten.core.ladder import Case, Event, advance
from bitten.core.ports import Allowed, Observed
from bitten.core.proof import Fix, Lesson, Verification
from bitten.core.trouble import BadInput, Unable
from bitten.interfaces import text

if TYPE_CHECKING:
    from bitten.adapters.knowledge import Playbooks
    from bitten.adapters.redact import Masked
    from bitten.adapters.repo import GitRepo
    from bitten.adapters.runner import HereRunner
    from bitten.adapters.sizes import Tidied
    from bitten.steps.check import Bench
    from bitten.testing import Proof

__all__ = ["House", "OpenCase", "Terminal", "Tidied", "end_like", "keep_report", "lay_out", "mend", "proofs"]

# Each import below its own definition is one that a look at a case does without: together they cost more than the look.
# ruff: noqa: PLC0415


@dataclass
class House:
    """One project, as a command sees it."""

    root: Path
    person: Terminal = field(default_factory=Terminal)
    clock: WallClock = field(default_factory=WallClock)

    @classmethod
    def here(cls) -> House:
        return cls(root_of(Path.cwd()))

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
        return OpenCase(self, folder, journal, journal.load())

    def case(self, number: int | None = None) -> OpenCase:
        """The case of that number, else the current one. Raises: BadInput `no-such-case`, `no-case`."""
        folder = self.cases.find(number) if number is not None else self.cases.current()
        if folder is None:
            raise BadInput("no-case", "There is no case here yet.", way="bitten run -- CMD")
        return self.load(folder)

    def begin(self, failure: Failure, title: str) -> OpenCase:
        """A new case, its failure on disk when this returns."""
        folder = self.cases.create(title)
        case = OpenCase(self, folder, FileJournal(folder.path, places.state()), None)
        case.add([failure])
        return case

    def read(self, file: str) -> str:
        """The text of a file that the person named. Raises: BadInput `no-such-file`."""
        try:
            return Path(file).read_text("utf-8", "surrogateescape")
        except OSError as error:
            raise BadInput("no-such-file", f"Can't read {file}: {error.strerror}.", way="name a file that is there") from None


@dataclass
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
        added = []
        for event in map(without_secrets, events):
            self._case = advance(self._case, event)
            self.journal.append(event, self.house.person.name, self.house.person.channel)
            added.append(event)
        return added

    @contextmanager
    def visited(self, verb: str) -> Iterator[None]:
        """A command on this case: the person's own words are read first, the time and debug.md are written last."""
        began, last = self.house.clock.now(), self._drawn
        known = self._read_back(last)
        try:
            yield
        finally:
            if self.case.dropped is None:
                self.add([Visit(verb, began, self.house.clock.now())])
            write(self.folder.debug_md, self._merged(last, known)[0])

    def _read_back(self, last: str) -> dict[str, str]:
        """Note what the person wrote into their two sections since `last` was drawn. Returns the changed sections."""
        from bitten.interfaces import document

        changed = self._merged(last, {})[1]
        about = {document.EXPECTED: "expected", document.TRIED: "tried"}
        if self.case.is_open:
            self.add(Note(about[heading], redact(words)) for heading, words in changed.items() if heading in about)
        return changed

    def _merged(self, last: str, known: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """The document to write, and the sections that a person changed since `last` was drawn, but for what is `known` of them."""
        on_disk = self._on_disk
        if on_disk in (None, last):
            return self._drawn, {}
        from bitten.adapters.debug_md import merge, sections

        return merge(self._drawn, on_disk, {**sections(last), **known})

    @property
    def _drawn(self) -> str:
        from bitten.interfaces import document

        return redact(document.draw(self.case, self._began))

    @property
    def _on_disk(self) -> str | None:
        file = self.folder.debug_md
        return file.read_bytes().decode("utf-8", "surrogateescape") if file.exists() else None

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
            write(self.folder.fix_patch, shown if shown == patch else f"A secret was masked below, so this does not apply as it is.\n\n{shown}")

    def lesson_on_head(self) -> dict[str, bytes]:
        """The lessons file as HEAD has it, with this case's entry: what may stand beside it uncommitted stays so."""
        lesson = next((link for link in self.case.links if isinstance(link, Lesson)), None)
        if lesson is None or not lesson.text or not self.house.repo.is_git:
            return {}
        from bitten.adapters import claude_md

        name = self.house.settings.lessons
        old = self.house.repo.files_at("HEAD", [name])[name] if self.house.repo.revision("HEAD") else None
        return {name: claude_md.insert(old, lesson.text)}

    def write_lesson(self, entry: str) -> None:
        """Into the person's file, everything else in it byte for byte as it was. Once, also when asked twice."""
        from bitten.adapters import claude_md

        file = self.house.root / self.house.settings.lessons
        old = file.read_bytes() if file.exists() else None
        if old is None or as_bytes(entry) not in old:
            file.write_bytes(claude_md.insert(old, entry))


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


def keep_report(text: str) -> str:
    """Where the report of our own fault lies, redacted; where it can't be kept, the report."""
    try:
        file = places.private(places.state() / "reports") / f"{time.strftime('%Y%m%d-%H%M%S')}.txt"
        write(file, redact(text))
    except (OSError, Unable):
        return f"this:\n\n{redact(text)}"
    return str(file)

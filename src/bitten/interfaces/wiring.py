"""Where everything meets: the only module that knows which adapter stands behind which port. Has no rule of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bitten.adapters import config, places
from bitten.adapters.copies import Copies
from bitten.adapters.debug_md import merge
from bitten.adapters.folder import CaseFolder, Cases
from bitten.adapters.journal import FileJournal
from bitten.adapters.knowledge import Playbooks
from bitten.adapters.redact import redact, secrets_of
from bitten.adapters.repo import GitRepo, root_of
from bitten.adapters.runner import HereRunner
from bitten.adapters.terminal import Terminal, WallClock
from bitten.core.case import Failure, Note, Visit
from bitten.core.ladder import Case, Event, advance
from bitten.core.ports import Allowed
from bitten.core.trouble import BadInput
from bitten.interfaces import document
from bitten.steps.check import Bench


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
    def settings(self) -> config.Settings:
        return config.settings(self.root)

    @cached_property
    def cases(self) -> Cases:
        return Cases(self.root, self.redact)

    @cached_property
    def repo(self) -> GitRepo:
        return GitRepo(self.root, self.redact)

    @cached_property
    def knowledge(self) -> Playbooks:
        return Playbooks()

    @cached_property
    def runner(self) -> HereRunner:
        return HereRunner(self.root, self.knowledge.probe_paths(), self.redact)

    def redact(self, text: str) -> str:
        return redact(text, self._secrets)

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        return secrets_of()

    def bench(self, case: OpenCase, allowed: Allowed = Allowed(), timeout: float | None = None, root: Path | None = None) -> Bench:
        """Where checks are done; `root` is another tree to do them on."""
        tree = root or self.root
        copies = Copies(tree, self.knowledge.probe_paths(), self.redact)
        return Bench(copies, self.repo, case.folder, allowed, timeout or self.settings.timeout or None)

    def open_cases(self) -> list[OpenCase]:
        """Every case that is neither closed nor dropped, newest first."""
        return [case for folder in reversed(self.cases.all()) if (case := self.load(folder)).case.is_open]

    def load(self, folder: CaseFolder) -> OpenCase:
        journal = FileJournal(folder.path, places.state())
        return OpenCase(self, folder, journal, journal.load())

    def case(self, number: int | None = None) -> OpenCase:
        """The case of that number, else the current one. Raises: BadInput `no-case`."""
        folder = self.cases.get(number) if number is not None else self.cases.current()
        if folder is None:
            raise BadInput("no-case", f"There is no case {number}." if number is not None else "There is no case here yet.",
                           way="bitten run -- CMD" if number is None else "bitten cases")
        return self.load(folder)

    def begin(self, failure: Failure, title: str) -> OpenCase:
        """A new case, its failure on disk when this returns."""
        folder = self.cases.new(title)
        case = OpenCase(self, folder, FileJournal(folder.path, places.state()), None)
        case.add([failure])
        return case


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
        return str((self.folder.path / "debug.md").relative_to(self.house.root))

    def add(self, events: Iterable[Event]) -> list[Event]:
        """Append each event as it comes: what was completed stays, whatever happens to the next one."""
        added = []
        for event in events:
            self._case = advance(self._case, event)
            self.journal.append(event, self.house.person.name, self.house.person.channel)
            added.append(event)
        return added

    @contextmanager
    def visited(self, verb: str) -> Iterator[None]:
        """A command on this case: the person's own words are read first, the time and debug.md are written last."""
        began = self.house.clock.now()
        self.add(self._read_back())
        try:
            yield
        finally:
            if self.case.dropped is None:
                self.add([Visit(verb, began, self.house.clock.now())])
            self.draw()

    def draw(self) -> None:
        merged, _ = self._merged()
        self.folder.write("debug.md", merged)

    def _read_back(self) -> list[Note]:
        """What the person wrote into their two sections since we last drew them."""
        if not self.case.is_open:
            return []
        _, changed = self._merged()
        about = {document.EXPECTED: "expected", document.TRIED: "tried"}
        return [Note(about[heading], words) for heading, words in changed.items() if heading in about]

    def _merged(self) -> tuple[str, dict[str, str]]:
        drawn = document.draw(self.case, self.folder.began)
        last = {document.EXPECTED: "\n".join(document.expected(self.case)), document.TRIED: "\n".join(document.tried(self.case))}
        return merge(drawn, self.folder.read("debug.md"), last)

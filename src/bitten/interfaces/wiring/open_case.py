"""One case, open on this desk: its journal, its documents, and what stands beside them. Every event passes the ladder before the disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bitten.adapters import places
from bitten.adapters.folder import CaseFolder, FolderRoom, as_bytes, write
from bitten.adapters.journal import FileJournal
from bitten.core.case import Note, Reproducer, Visit
from bitten.core.failure import Run
from bitten.core.ladder import Case, Event, advance
from bitten.core.ports import Allowed, Observed
from bitten.core.proof import Fix, Lesson, Verification
from bitten.core.trouble import Refused, Unable
from bitten.interfaces import text

from .single import redact

if TYPE_CHECKING:
    from bitten.adapters.handing_on.shipping import Shipment
    from bitten.adapters.redact import Masked
    from bitten.steps.check import Bench

    from .house import House

# Each import below its own definition is one that a look at a case does without: together they cost more than the look.
# ruff: noqa: PLC0415

RECENT = 40
"""Events that debug.md may lag behind the journal: more than any one command adds."""


@dataclass(eq=False, repr=False)
class OpenCase:
    """A case and its journal."""

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
        """The whole output, also as a terminal would show it at the end, and the command ready to paste."""
        from bitten.adapters.observe import seen

        self.folder.write_run_sh(self.case.failure.run.command, redact)
        output = redact(observed.output)
        write(self.folder.capture / "output", output)
        if (shown := seen(output, redact)) != output:
            write(self.folder.capture / "output.txt", shown)
        self._keep_surroundings()

    def _keep_surroundings(self) -> None:
        """What debug.md shows the beginning of."""
        from bitten.interfaces import around

        for name, told in around.kept(self.case.failure.surroundings).items():
            write(self.folder.capture / name, redact(told))

    @property
    def budget(self) -> float:
        """Seconds of the person's time before a reset is due."""
        return self.house.settings.budget * 60

    def reproduced(self, spool: Path) -> Reproducer:
        """A program of a few lines that fails as the command did, or why there is none."""
        from bitten.adapters.reproducing import reproducer

        kept = list(self.folder.capture.glob("arguments.*"))
        return reproducer(self.case.failure, spool, self.house.root, kept=self.folder.capture if kept else None)

    def keep_arguments(self, spool: Path) -> None:
        """The real arguments of the failing call, where the person asked for them: of the first process that kept any."""
        import shutil

        for file in sorted(spool.glob("arguments-*"), key=lambda each: each.stat().st_mtime, reverse=True):
            shutil.copyfile(file, self.folder.capture / f"arguments{file.suffix}")

    def keep_reproducer(self) -> str:
        """The case's reproducer as a file. Returns where, as a person would type it."""
        file = self.folder.capture / "reproducer.py"
        write(file, redact(self.case.reproducer.code) if self.case.reproducer else "")
        return str(file.relative_to(self.house.root) if self.is_at_home else file)

    def shown(self, everything: bool = False) -> str:
        return text.whole(self.case, self.number, self.document, self.budget, everything)

    def following(self) -> str:
        return text.following(self.case, self.budget)

    def redactions(self) -> list[Masked]:
        """Every place in the case's files where a secret was masked."""
        from bitten.adapters.redact import masked

        return list(masked(self.folder.path))

    def shipped(self) -> Shipment:
        """The case as one file, redacted once more."""
        from bitten.adapters.handing_on import shipping

        return shipping.shipped(self.folder, self.case, self.house.repo, redact)

    def bench(self, allowed: Allowed = Allowed(), timeout: float | None = None, tree: Path | None = None) -> Bench:
        """Where this case's checks are done; `tree` is another one than the project's."""
        from bitten.adapters import vocabulary
        from bitten.adapters.copies import Copies
        from bitten.steps.check import Bench

        room = FolderRoom(self.folder.evidence, self.folder.path, redact)
        copies = Copies(tree or self.house.root, self.house.root, self.house.knowledge.probe_paths(), redact)
        return Bench(copies, self.house.repo, room, allowed, timeout or self.house.settings.timeout or None, vocabulary.names())

    def add(self, events: Iterable[Event], by: tuple[str, str] | None = None) -> list[Event]:
        """Append each event as it comes: what was completed stays, whatever happens to the next one.

        `by` is who they come from, and by which channel, where it is not the person.
        """
        from bitten.adapters.redact import without_secrets

        added = []
        for event in map(without_secrets, events):
            self._case = advance(self._case, event)
            who, channel = by or (self.house.person.name, self.house.person.channel)
            self.journal.append(event, who, channel)
            self.report()
            added.append(event)
        return added

    def looked_at_anew(self) -> Case:
        """The case with what other commands have added since."""
        self._case = self.journal.load()
        return self._case

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
            self._note_guards()
            known = self._read_back()
            try:
                yield
            finally:
                with suppress(Refused):  # another terminal dropped or closed it meanwhile: no more visits are counted
                    self.add([Visit(verb, began, self.house.clock.now())])
                self._case = self.journal.load()
                self._draw_anew(known)

    def _note_guards(self) -> None:
        """Sessions of Claude Code that were seen to pass our gate since we last looked, and what changed past it."""
        if not self.case.is_open or not (places.state() / "claude").is_dir():
            return
        from .liveness import guards_of, strays_of

        self.add(guards_of(self))
        for note in self.add(strays_of(self)):
            self.house.say(f"changed without leave: {note.text}" if isinstance(note, Note) else "")

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
        if (self.folder.path / "put.json").exists():
            from bitten.interfaces.mending import taken_back_if_refuted

            taken_back_if_refuted(self)
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

        return redact(document.draw(case, self.began))

    @property
    def _on_disk(self) -> str | None:
        file = self.folder.debug_md
        return file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() else None

    @cached_property
    def began(self) -> float:
        return self.journal.entries()[0].at

    def keep_proof(self, verification: Verification) -> None:
        """fix.patch, and verification.json for whoever reads the folder without us."""
        from bitten.interfaces import document

        self.keep_fix()
        write(self.folder.path / "verification.json", redact(document.receipt(self.case, verification)))

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

"""What a run rested on: files, configs, packages, machine and tree, gathered once it has ended. Judges nothing; any part may be missing."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from bitten.adapters.folder import Redact, masked
from bitten.adapters.guest_told.guest_facts import BY_VARIABLE
from bitten.adapters.guest_told.guest_log import Log, Record, load
from bitten.adapters.surroundings import data_lists, environment, last_good, lock_files, machine, manifest, neighbours, worktree
from bitten.adapters.surroundings.config_values import resolved
from bitten.core.failure import Command, Failure, FileSeen, Run, Surroundings
from bitten.core.reading import is_text, to_read
from bitten.core.state import Moved, State, since

HELD = 20
PROCESSES = 12
_ITS_OWN = frozenset(("RANK", "LOCAL_RANK", "GROUP_RANK", "MASTER_PORT", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PYTEST_XDIST_WORKER",
                      "TORCHELASTIC_RESTART_COUNT"))
"""Variables that tell processes apart, not runs."""


@dataclass(frozen=True)
class Survey:
    """Of one run, whose guest wrote into `spool`."""

    spool: Path
    root: Path
    redact: Redact
    is_git: Callable[[], bool]

    def around(self, failure: Failure) -> Failure:
        """The failure with all that surrounds it; what trouble took away is said."""
        seen, troubles = failure.surroundings, list[str]()
        for look in (self._with_files, self._with_environment, lambda around: self._with_past(around, failure)):
            try:
                seen = look(seen)
            except Exception as why:  # the failure itself must reach the disk, whatever goes wrong around it
                told = " ".join(str(why).split())
                if not any(told in note for note in seen.notes):  # what stopped the photograph stops this too
                    troubles.append(self.redact(f"a part of what surrounded it is missing: {type(why).__name__}: {told}"))
        return replace(failure, surroundings=replace(seen, notes=(*seen.notes, *troubles)))

    def keep(self, run: Run) -> None:
        """Remember a run that went well, if any Python of it checked in."""
        if self._hello:
            last_good.keep(self._typed(run.command), self.root, self._state(self._with_environment(self._with_files(self._seen()))))

    @cached_property
    def _log(self) -> Log:
        return load(self.spool, ("hello", "held"))

    def _seen(self) -> Surroundings:
        from bitten.adapters.guest_told import guest_facts  # noqa: PLC0415 - a failure's has been read

        story = guest_facts.read(self.spool, self.root, ended_badly=False)
        return Surroundings(story.files, story.environment)

    # ------------------------------------------------------------------------------------------ files

    def _with_files(self, seen: Surroundings) -> Surroundings:
        files, skipped = manifest.digested((*seen.files, *self._held(seen.files), *self._made(seen)), self.root)
        configs = (*seen.configs, *resolved(files, self.root, self.redact))
        cwd = Path(str(self._hello.get("cwd", self.root)))
        odd = (*manifest.changed(files, self.root), *data_lists.odd(files, self.root, cwd), *skipped)
        told = tuple(map(self.redact, odd))
        return replace(seen, files=files, configs=configs, manifest=told, processes=self._processes())

    def _made(self, seen: Surroundings) -> Iterator[FileSeen]:
        """What no Python call opened to write, such as a checkpoint of torch's, by its time. No text: a person may edit that meanwhile."""
        there = {each.path for each in seen.files if each.role == "wrote"}
        for path in seen.changed:
            if path not in there and not is_text(path) and self._began and _modified(self.root / path) >= self._began:
                yield FileSeen(path, "wrote", (self.root / path).stat().st_size, _modified(self.root / path))

    @cached_property
    def _began(self) -> float:
        """When the first Python checked in; 0 where none did."""
        return min((float(each["t"]) for each in self._log.of("hello")), default=0.0)

    def _held(self, known: Iterable[FileSeen]) -> Iterator[FileSeen]:
        """Files that no Python call opened, but that the failing process had in its memory, among its descriptors, or named."""
        there = {each.path for each in known}
        for path, how, size, modified in [tuple(each) for record in self._log.of("held") for each in record["files"]][:HELD]:
            place = self._place(str(path))
            if place not in there:
                there.add(place)
                yield FileSeen(place, "named" if how == "named" else "data", int(size), float(modified))

    def _place(self, path: str) -> str:
        return path.removeprefix(f"{self.root}/")

    def _processes(self) -> tuple[str, ...]:
        lines = Counter(_line(record) for record in self._log.of("hello"))
        told = [f"{count} × {line}" if count > 1 else line for line, count in lines.items() if line]
        return tuple(map(self.redact, told[:PROCESSES]))

    # ------------------------------------------------------------------------------------------ environment

    @cached_property
    def _hello(self) -> Record:
        return next(self._log.of("hello"), {})

    def _hello_of(self, seen: Surroundings) -> Record:
        """Of the interpreter that failed."""
        exe = seen.environment.get("executable")
        return next((each for each in self._log.of("hello") if each["exe"] == exe), self._hello)

    def _with_environment(self, seen: Surroundings) -> Surroundings:
        hello = self._hello_of(seen)
        found = environment.installed([str(each) for each in hello.get("path", ())])
        agreement = lock_files.agreement(self.root, found.versions)
        encoding = ", ".join(dict.fromkeys(str(each) for each in hello.get("enc", ()) if each))
        rows = {**seen.environment, "encoding": encoding, **dict(environment.rows(found)), **dict(agreement), **dict(machine.rows())}
        return replace(seen, packages=found.versions, environment={name: self.redact(value) for name, value in rows.items()})

    # ------------------------------------------------------------------------------------------ what changed

    def _with_past(self, seen: Surroundings, failure: Failure) -> Surroundings:
        wrote = {each.path for each in seen.files if each.role == "wrote"}
        seen = replace(seen, changed=_without(seen.changed, wrote))
        state = self._state(seen)
        good = last_good.find(self._typed(failure.run.command), self.root)
        moved = worktree.between(self.root, good, state) if good else Moved()
        moved = replace(moved, files=_without(moved.files, wrote))
        stack = [frame.file for crash in failure.crashes for frame in reversed(crash.frames) if frame.mine]
        near = neighbours.imported(dict.fromkeys(stack), self.root, map(str, self._hello_of(seen).get("path", ())))
        return replace(
            seen,
            since=tuple(map(self.redact, since(good, state, moved))) if good else (),
            to_read=to_read(failure.crashes, seen, moved.files, near),
            notes=(*seen.notes, *self._moved_meanwhile(failure.run, stack)),
        )

    def _typed(self, command: Command) -> Command:
        """The name of its record: the same for words as they were typed and as a case shows them."""
        return Command(masked(command.argv, self.redact), command.cwd)

    def _state(self, seen: Surroundings) -> State:
        known = (seen.head, *worktree.digests(self.root, seen.changed, seen.head)) if seen.head else None
        head, files, whole = known or worktree.standing(self.root, self.is_git())
        data = tuple(each for each in seen.files if each.role in ("config", "data"))
        configs = tuple(each for each in seen.configs if BY_VARIABLE not in each.source)  # a run that went well tells of none
        return State(time.time(), head, files, whole, seen.packages, configs, data, self._compared(seen))

    def _compared(self, seen: Surroundings) -> Mapping[str, str]:
        """What is the same in two runs of a command where nothing changed: no seed, no port, nothing that depends on how far it came."""
        own = [name for name in self._hello_of(seen).get("env", {}) if name not in _ITS_OWN]
        names = ("python", "executable", "encoding", *own, *(name for name, _ in machine.rows()), "torch build", "blas")
        return {name: seen.environment[name] for name in names if name in seen.environment}

    def _moved_meanwhile(self, run: Run, stack: Iterable[str]) -> Iterator[str]:
        """Code may change while a training runs: what the stack shows is then not what ran."""
        began = self._began or time.time() - run.seconds
        for path in dict.fromkeys(stack):
            if (changed := _modified(self.root / path)) and changed > began:
                yield f"{path} changed after the command began: its lines above may not be those that ran"
        if self.is_git() and (head := worktree.head_at(self.root, began)):
            yield f"HEAD was {head[:12]} when the command began, and has moved since"


def _without(paths: Iterable[str], wrote: Collection[str]) -> tuple[str, ...]:
    """What the run itself wrote is no change of the person's, nor is byte-code."""
    return tuple(path for path in paths if path not in wrote and "__pycache__" not in path.split("/"))


def _line(hello: Record) -> str:
    argv = [str(word) for word in hello.get("argv") or ()]
    return shlex.join([Path(argv[0]).name, *argv[1:]])[:200] if argv else ""


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0

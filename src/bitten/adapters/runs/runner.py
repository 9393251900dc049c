"""The person's command in the person's tree, with the guest let in. Knows neither cases nor copies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bitten.adapters import places
from bitten.adapters.folder import masked
from bitten.adapters.runs import invitation, process
from bitten.adapters.runs.tape import Tape
from bitten.adapters.sitting import Killed, Sitting
from bitten.adapters.watching.beside import Beside
from bitten.adapters.watching.hanging import NEVER, Patience
from bitten.adapters.watching.watch import NOTHING, Watched
from bitten.core.failure import Command, Run
from bitten.core.ports import Observed

if TYPE_CHECKING:
    from bitten.adapters.observe import Redact

UNSEEN = "bitten was killed while this ran: nobody saw how it ended, and its stdout and stderr can't be told apart"


@dataclass(frozen=True)
class Ran:
    """A command that has ended. What it showed is read while its sitting lasts, and only when somebody needs it."""

    run: Run
    interrupted: bool
    observed: Callable[[], Observed]
    spool: Path


@dataclass(frozen=True)
class HereRunner:
    """`probes` are the files that read a crash. `patience` is how long a command may stand still; `say` has words meanwhile."""

    root: Path
    probes: Sequence[Path]
    redact: Redact
    patience: Patience = NEVER
    say: Callable[[str], None] = lambda _: None

    @contextmanager
    def running(
        self, command: Command, sitting: Sitting, expected: Sequence[str] = (), begun: Callable[[int], None] = lambda _: None,
        *, full_tty: bool = False,
    ) -> Iterator[Ran]:  # fmt: skip
        """What it shows is in the sitting until that ends: a kill before then loses none of it, nor does a hang-up in this context.

        `begun` is told its number. Raises: Unable, when the command can't be started.
        """
        sitting.runs(replace(command, argv=masked(command.argv, self.redact)), [self.redact(each) for each in expected])
        tape = Tape(sitting.output)
        env = {**os.environ, **command.env}
        env.update(invitation.env_for(sitting.folder, places.cache(), self.probes, False, env, _instruments(expected)))
        beside = Beside(tape, sitting.folder, self.root, self.patience, self.say, note=os.isatty(2))

        def started(pid: int) -> None:
            sitting.started(pid)
            beside.start(pid)
            begun(pid)

        with process.running(command.argv, env, tape, started, full_tty=full_tty) as ended:
            beside.stop()
            ended = beside.ended(ended)  # noqa: PLW2901 - the same end, with what the watch knows of it
            sitting.ended(ended, tape.marks)
            run = Run(command, ended.exit, round(ended.seconds, 3), ended.signal, ended.hung)

            def read() -> Observed:
                seen = observed(command, ended, tape, beside.spool, self.root, self.redact, beside.watched(), beside.heard)
                return beside.told(seen)

            yield Ran(run, ended.interrupted, read, sitting.folder)


def _instruments(expected: Sequence[str]) -> list[str]:
    """Those that measure a fact that the person expects something of: `nan.kind == "none"` arms `nan`."""
    dotted = [each for each in expected if "." in each.split(maxsplit=1)[0]] if expected else []
    if not dotted:
        return []
    from bitten.adapters import vocabulary  # noqa: PLC0415 - few expectations are of instruments

    return sorted({vocabulary.instrument_of(each.split(maxsplit=1)[0]) for each in dotted} - {""})


def found(killed: Killed, command: Command, root: Path, redact: Redact) -> Observed | None:
    """What a run showed whose bitten was killed: None when nothing tells that it failed, and its end was not seen."""
    tape, ended = killed.tape(), killed.ended
    if tape is None:
        return None
    seen = observed(command, ended or process.Ended(None, None, killed.seconds), tape, killed.folder, root, redact)
    if ended is not None:
        return seen
    around = replace(seen.surroundings, notes=(*seen.surroundings.notes, UNSEEN))
    return replace(seen, surroundings=around) if any(not crash.handled for crash in seen.crashes) else None


def observed(
    command: Command, ended: process.Ended, tape: Tape, spool: Path, root: Path, redact: Redact, watched: Watched = NOTHING,
    heard: int | None = None,
) -> Observed:  # fmt: skip
    """`watched` is what was seen of its processes from beside: nothing, where bitten did not live to see its end.

    `heard` is how many bytes it had printed when it was called hung: what came then was our doing.
    """
    from bitten.adapters.observe import observe, ran  # noqa: PLC0415 - the command waits for nothing that reads it afterwards

    stdout, stderr = tape.read(1, heard), tape.read(2, heard)
    both = tape.read(until=heard) if stdout and stderr else stdout or stderr
    tape.close()
    seen = observe(ran(command, ended.exit, ended.signal, ended.seconds, ended.hung), (stdout, stderr, both), spool, root, redact)
    return replace(_with_unseen(seen, command, watched, spool, redact), interrupted=ended.interrupted)


def _with_unseen(seen: Observed, command: Command, watched: Watched, spool: Path, redact: Redact) -> Observed:
    """Each process that checked in has its log."""
    from bitten.adapters.guest_told import guest_facts  # noqa: PLC0415 - as above
    from bitten.adapters.watching import unseen  # noqa: PLC0415 - as above

    from_text = unseen.FROM_TEXT in seen.surroundings.notes
    if seen.run.ended_well or not (from_text or unseen.matters(seen.crashes)):
        return seen
    met = {int(log.stem[1:]) for log in spool.glob("p*.log") if log.stem[1:].isdigit()}
    words = unseen.notes(command, watched.processes, met, seen.output, redact, invitation.wants_back_door(command.env))
    known = [note for note in seen.surroundings.notes if not words or note != guest_facts.NOBODY]  # the words say that, and more
    return replace(seen, surroundings=replace(seen.surroundings, notes=(*known, *words)))

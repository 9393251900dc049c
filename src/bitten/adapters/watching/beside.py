"""All that goes on beside a running command: its processes are watched, a hang is judged and ended, what fills the memory is looked at.

Knows no case. What it gathers is put into words by `ending`, once the command has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bitten.adapters.runs.tape import Tape
from bitten.adapters.watching import memory
from bitten.adapters.watching.hanging import GRACE, NOTE, HangWatch, Means, Patience
from bitten.adapters.watching.watch import Look, Watch, Watched

if TYPE_CHECKING:
    from bitten.adapters.runs.process import Ended
    from bitten.adapters.watching.stacks import Thread
    from bitten.core.failure import Picture
    from bitten.core.ports import Observed

# Each late import here serves a command that hangs, or fills its memory; all others end without them.
# ruff: noqa: PLC0415

NEARLY_FULL, FILLING, SOON = 0.92, 0.6, 0.5
"""Shares of the memory limit at which the largest process is looked at, since the kill leaves no stack: the second where it
grows so fast that the limit is met within as many seconds as the last."""
TAKES = 3
FROZEN = "when-it-hung"


class Beside:
    """`say` has words for the person while the command runs; `note`: whether a long silence is worth some."""

    def __init__(self, tape: Tape, spool: Path, root: Path, patience: Patience, say: Callable[[str], None], note: bool) -> None:
        self._spool, self._root = spool, root
        means = Means(lambda: tape.heard, self._picture, _fingerprint, _for_a_person, say)
        self._hang = HangWatch(patience, means, NOTE if note else 0.0)
        self._watch = Watch(self._looked)
        self._at_limit: Picture | None = None
        self._takes, self._grew = 0, (0.0, 0)
        self._tape = tape
        self.heard: int | None = None

    def start(self, pid: int) -> None:
        self._watch.start(pid)

    def stop(self) -> None:
        """Without waiting, but for a hang that is being ended: nothing of it may stay."""
        self._watch.stop()
        if self._hang.hung:
            self._watch.join(GRACE + 5)

    def ended(self, ended: Ended) -> Ended:
        """How it ended: one that hung had no end of its own."""
        return replace(ended, exit=None, signal=None, hung=True) if self._hang.hung else ended

    @property
    def spool(self) -> Path:
        """Where the guest wrote; of a command that hung, what it had written before it was ended."""
        frozen = self._spool / FROZEN
        return frozen if frozen.is_dir() else self._spool

    @property
    def why(self) -> str:
        """Why it was called hung; empty when it was not."""
        return self._hang.why

    @property
    def picture(self) -> Picture | None:
        """Of a hang; else of the process that nearly filled the memory."""
        return self._hang.picture or self._at_limit

    def watched(self) -> Watched:
        return self._watch.watched()

    def told(self, observed: Observed) -> Observed:
        """With what the end means, and the picture."""
        from bitten.adapters.watching import ending

        end = ending.read(observed.run, self.watched(), observed.output)
        words = (f"It hung: {self.why}. Then it was ended.",) if self.why else end.words
        around = replace(observed.surroundings, ending=words, picture=self.picture)
        return replace(observed, surroundings=around, facts={**end.facts, **observed.facts})

    def _looked(self, look: Look) -> float:
        if self._takes < TAKES and (full := self._is_nearly_full(look)):
            self._take_largest(look, full)
        return self._hang.looked(look)

    def _is_nearly_full(self, look: Look) -> str:
        """How full, in words; a tree far below its limit costs no further look."""
        group = memory.tightest(self._watch.before)
        if group is None or look.rss < group.limit / 2:
            return ""
        used = memory.group(group.path).used
        (then, had), self._grew = self._grew, (look.at, used)
        pace = (used - had) / max(look.at - then, 0.01) if then else 0.0
        soon = used > FILLING * group.limit and used + pace * SOON > group.limit
        return f"{used / group.limit:.0%} of the memory limit" if soon or used > NEARLY_FULL * group.limit else ""

    def _take_largest(self, look: Look, full: str) -> None:
        """The last one that came before the kill is kept."""
        from bitten.adapters.watching.picture import picture_of

        self._takes += 1
        largest = max(look.living, key=lambda seen: seen.rss)
        taken = picture_of([largest.pid], self._root, look.at)
        if any(process.stack for process in taken.processes):
            self._at_limit = replace(taken, notes=(*taken.notes, f"taken at {full}"))

    def _picture(self, look: Look) -> Picture:
        from bitten.adapters.watching.picture import picture_of

        self._freeze()
        return picture_of([seen.pid for seen in look.living], self._root, look.at, is_hung=True)

    def _freeze(self) -> None:
        """What the guest says when we ask its process for a stack, and then end it, is no failure of the program's."""
        self.heard = self._tape.heard
        frozen = self._spool / FROZEN
        frozen.mkdir(mode=0o700)
        import shutil

        for log in self._spool.glob("p*.log"):
            shutil.copy2(log, frozen / log.name)


def _fingerprint(pids: Sequence[int]) -> tuple[object, ...]:
    """The lines and variables of every main thread; nothing where one runs in a module itself: a module's variables are not shown."""
    from bitten.adapters.watching.proc import stat
    from bitten.adapters.watching.stacks import ask

    mains = [(pid, thread) for pid, each in ask(pids).items() for thread in each.threads if thread.is_main]
    if any(_in_a_module(thread) and (seen := stat(pid)) and seen.state == "R" for pid, thread in mains):
        return ()
    return tuple((pid, thread.lines, thread.state) for pid, thread in mains)


def _in_a_module(thread: Thread) -> bool:
    from bitten.adapters.watching.picture import LIBRARY

    own = [line.function for line in thread.lines if not LIBRARY.search(line.file)]
    return own[:1] == ["<module>"]


def _for_a_person(pid: int) -> bool:
    from bitten.adapters.watching.waiting import for_a_person

    return for_a_person(pid)

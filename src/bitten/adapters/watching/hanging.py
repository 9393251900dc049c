"""When a command that does not end is called hung: by its silence, its idleness, or a loop that changes nothing. Ends only what is its.

Who prints, computes, moves data, waits for a processor or for a person is slow, not hung. Limits: a program that works on
an accelerator alone, or for another machine, and prints nothing looks idle from here.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from bitten.adapters.watching import proc
from bitten.adapters.watching.watch import LAST, Look, Seen
from bitten.core.noun import noun
from bitten.core.trouble import BadInput

if TYPE_CHECKING:
    from bitten.core.failure import Picture

CPU = 0.02
"""Share of one core, over the whole tree, below which it is idle; where many wait, each wakes now and then."""
EACH = 0.002
BYTES = 1 << 20
"""Read and written in one stretch, above which it is at work."""
STRETCH = 10.0
"""Seconds over which CPU and bytes are counted; a quarter of a short patience, but no less than two."""
SPIN, LOOKS = 30.0, 32
"""Seconds over which a spin shows nothing new, and how often it is looked at meanwhile."""
FAULTS = 100
"""Pages newly touched meanwhile, above which something is made, and not only waited for."""
NOTE = 300.0
GRACE = 8.0
"""Seconds from SIGTERM to SIGKILL."""
IN_CI = 600.0

_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


@noun
class Patience:
    """`seconds` of silence and idleness until a command is called hung, 0 for never; `spins`: also one that computes without a word."""

    seconds: float = 0.0
    spins: bool = False


NEVER = Patience()


def patience(option: str | None, setting: str | float, is_ci: bool) -> Patience:
    """What was typed, else the setting, else ten minutes in CI, where nobody would see it hang; there a busy command is left alone.

    Raises: BadInput `bad-duration`.
    """
    given = option if option is not None else str(setting or "")
    if given:
        return Patience(seconds_of(given), spins=True)
    return Patience(IN_CI) if is_ci else Patience()


def seconds_of(duration: str) -> float:
    """Of `90`, `90s`, `5m` or `1h`. Raises: BadInput `bad-duration`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", duration.strip().lower())
    if found is None:
        raise BadInput("bad-duration", f"{duration!r} is no duration.", "Seconds, or a number with s, m or h.", "--hang-after 5m")
    return float(found[1]) * _UNITS[found[2]]


class Silence:
    """Since when nothing was printed, and since when nothing moved at all. Fed by looks; knows no clock."""

    def __init__(self, stretch: float = STRETCH) -> None:
        self._stretch = stretch
        self._written = -1
        self._at = self._cpu = self._bytes = 0.0
        self._looks = self._runnable = 0
        self.silent_since = self.idle_since = 0.0

    def feed(self, look: Look, written: int, moved: Callable[[], int]) -> None:
        if look.late or written != self._written:
            self.restart(look)
            self._written = written
        self._looks += 1
        self._runnable += any(seen.state == "R" for seen in look.living)
        if look.at - self._at >= self._stretch:
            self._close(look, moved())

    def restart(self, look: Look) -> None:
        """Something was heard, or nobody listened for a while."""
        self.silent_since = self.idle_since = look.at
        self._begin(look, self._bytes)

    def _close(self, look: Look, moved: int) -> None:
        """One stretch is over: idle if it used next to no CPU, moved no data, and did not wait for a processor."""
        share = abs(look.cpu - self._cpu) / (look.at - self._at)
        busy = share > max(CPU, EACH * len(look.living)) or abs(moved - self._bytes) > BYTES or self._runnable * 2 > self._looks
        if busy:
            self.idle_since = look.at
        self._begin(look, moved)

    def _begin(self, look: Look, moved: float) -> None:
        self._at, self._cpu, self._bytes = look.at, look.cpu, moved
        self._looks = self._runnable = 0


@noun
class Means:
    """What a hang watch does by: how much was printed so far, the picture, lines and variables of all, who waits for a person."""

    written: Callable[[], int]
    picture: Callable[[Look], Picture]
    fingerprint: Callable[[Sequence[int]], tuple[object, ...]]
    for_a_person: Callable[[int], bool]
    say: Callable[[str], None] = lambda _: None


class HangWatch:
    """Told of every look. Judges, takes the picture, and ends what hangs."""

    def __init__(self, patience: Patience, means: Means, note: float = 0.0) -> None:
        self.patience, self._means, self._note = patience, means, note
        self._silence = Silence(min(STRETCH, max(2.0, patience.seconds / 4)) if patience.seconds else STRETCH)
        self._shown: list[tuple[float, int, tuple[object, ...]]] = []
        self.picture: Picture | None = None
        self.why = ""

    @property
    def hung(self) -> bool:
        return bool(self.why)

    def looked(self, look: Look) -> float:
        """Returns within how many seconds the next look is wanted."""
        if not self.hung:
            self._weigh(look)
        return min(SPIN, self.patience.seconds) / LOOKS if self._shown and not self.hung else LAST

    def _weigh(self, look: Look) -> None:
        silence = self._silence
        silence.feed(look, self._means.written(), lambda: sum(proc.moved(seen.pid) for seen in look.living))
        idle, silent = look.at - silence.idle_since, look.at - silence.silent_since
        limit = self.patience.seconds or self._note
        if not 0 < limit <= silent or self._waits_for_a_person(look):
            self._shown.clear()
            return
        if self.patience.seconds:
            self._judge(look, idle, silent)
        elif idle >= limit:
            self._note = 0
            root = look.living[0].pid
            self._means.say(f"nothing printed and no CPU used for {_told(idle)}: bitten picture {root} shows where each process stands")

    def _judge(self, look: Look, idle: float, silent: float) -> None:
        if idle >= self.patience.seconds:
            self._end(look, f"nothing was printed and no CPU used for {_told(idle)}")
        elif self.patience.spins and self._spins(look):
            self._end(look, f"nothing was printed for {_told(silent)}, and stacks and variables only repeat themselves")

    def _waits_for_a_person(self, look: Look) -> bool:
        waits = any(self._means.for_a_person(seen.pid) for seen in look.living)
        if waits:
            self._silence.restart(look)
        return waits

    def _spins(self, look: Look) -> bool:
        """Whether the second half of many looks shows nothing that the first had not: no line, no variable, and hardly a new page."""
        pids = [seen.pid for seen in look.living]
        self._shown.append((look.at, sum(map(proc.faults, pids)), self._means.fingerprint(pids)))
        if len(self._shown) < LOOKS * 3 // 4 or look.at - self._shown[0][0] < min(SPIN, self.patience.seconds):
            return False
        first, second = self._shown[: len(self._shown) // 2], self._shown[len(self._shown) // 2 :]
        new = {shown for _, _, shown in second} - {shown for _, _, shown in first}
        touched = second[-1][1] - first[0][1]
        self._shown = second
        return not new and abs(touched) < FAULTS and () not in {shown for _, _, shown in second}

    def _end(self, look: Look, why: str) -> None:
        """The picture first: a signal leaves nothing to see."""
        self.picture = self._means.picture(look)
        self.why = why
        self._means.say(f"{why}: it hangs; the picture is taken, now it is ended")
        end(look.living)


def _told(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def end(processes: Iterable[Seen]) -> None:
    """Ask each to end, then make those that did not, and what came from them meanwhile: nothing but the command's own tree."""
    mine = {seen.pid: seen.since for seen in processes}
    _send(mine, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while _living(mine) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in _living(mine):
        mine |= {child: stat.since for child in proc.tree(pid) if (stat := proc.stat(child))}
    _send(mine, signal.SIGKILL)


def _send(processes: dict[int, int], number: signal.Signals) -> None:
    for pid in _living(processes):
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it ended meanwhile, or has become another user's
            os.kill(pid, number)


def _living(processes: dict[int, int]) -> list[int]:
    """Those that are still the same process."""
    return [pid for pid, since in processes.items() if (stat := proc.stat(pid)) and stat.since == since and stat.state not in "ZX"]

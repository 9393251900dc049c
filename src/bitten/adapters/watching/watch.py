"""The command's tree of processes, watched from beside: who ran, with how much memory and CPU, and whether anything moves. Judges nothing.

A thread looks at /proc after 10 ms and then ever less often, down to once a second; what lived between two looks is not seen.
The command's end never waits for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import field, replace

from bitten.adapters.watching import memory, proc
from bitten.core.noun import noun

FIRST, SLOWER, LAST = 0.01, 1.25, 1.0
"""Seconds to the first look, the factor from one look to the next, and the most between two."""
POINTS = 240
"""Of the memory curve; above it every other one is dropped."""
THOROUGH = 5
"""Every so many looks, children that other threads than the main one began are looked for too: it costs a read a thread."""


@noun
class Seen:
    """One process. Times are seconds after the command's start, sizes bytes, `cpu` seconds with the children that it waited for.

    `pythonpath` is its PYTHONPATH, None where it has none or where its environment can't be read (`environment_known`);
    `is_invited` tells whether BITTEN_SPOOL stands in it. `since` names it for good together with `pid`.
    """

    pid: int
    ppid: int
    name: str
    argv: tuple[str, ...] = ()
    exe: str = ""
    pythonpath: str | None = None
    is_invited: bool = False
    environment_known: bool = False
    rank: int | None = None
    cgroup: str = ""
    since: int = 0
    first: float = 0.0
    last: float = 0.0
    rss: int = 0
    peak_rss: int = 0
    cpu: float = 0.0
    state: str = ""

    @property
    def is_python(self) -> bool:
        """By the program's name: an embedded interpreter is not told from others."""
        return self.exe.rpartition("/")[2].startswith(("python", "pypy"))


@noun
class Watched:
    """All that was seen of one command. `curve` is (seconds, bytes of all processes together), `own` its processes' own cgroups."""

    processes: tuple[Seen, ...] = ()
    curve: tuple[tuple[float, int], ...] = ()
    before: memory.Reading = field(default_factory=memory.Reading)
    after: memory.Reading = field(default_factory=memory.Reading)
    least_shm: int = -1
    own: tuple[str, ...] = ()
    seconds: float = 0.0


NOTHING = Watched()


@noun
class Look:
    """One look: `cpu` is the tree's so far, `living` its processes. `late` when we were kept from looking for long before it."""

    at: float
    cpu: float
    rss: int
    living: tuple[Seen, ...]
    late: bool = False


class Watch:
    """The thread, and what it gathers. `looked` is told of every look, in the thread, and says how soon it wants the next one."""

    def __init__(self, looked: Callable[[Look], float] = lambda _: LAST) -> None:
        self._looked = looked
        self.pid, self.began = 0, time.monotonic()
        self._known: dict[tuple[int, int], tuple[Seen, int]] = {}
        self._last = -1.0
        self._curve: list[tuple[float, int]] = []
        self._stop = threading.Event()
        self._looks = 0
        self._cgroups: set[str] = set()
        self._own: list[str] = []
        self._before = memory.Reading()
        self._least_shm = -1
        self._thread = threading.Thread(target=self._run, name="bitten watch", daemon=True)

    def start(self, pid: int) -> None:
        """Watch this process, which has just begun, and all that comes from it."""
        self.pid, self.began = pid, time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """Without waiting: a look that is under way ends by itself."""
        self._stop.set()

    def join(self, seconds: float) -> None:
        """Wait for a look that is under way."""
        self._thread.join(seconds)

    @property
    def before(self) -> memory.Reading:
        """The counters as the command began."""
        return self._before

    @property
    def processes(self) -> tuple[Seen, ...]:
        return tuple(seen for seen, _ in list(self._known.values()))

    def watched(self) -> Watched:
        """Everything so far, with the counters as they are now."""
        after = memory.read(list(self._before.groups))
        return Watched(self.processes, tuple(self._curve), self._before, after, self._least_shm, tuple(self._own), self._now())

    def _now(self) -> float:
        return time.monotonic() - self.began

    def _run(self) -> None:
        period, before = FIRST, self._now()
        while not self._stop.wait(period):
            if not self._looks:  # nothing can have filled the memory before, and a command that ends at once costs no look
                self._before = memory.read(())
            now = self._now()
            look = self._look(now, late=now - before > period + 5)  # stopped by ^Z, or starved
            before = now
            if not look.living:
                return
            period = min(period * SLOWER, self._looked(look), self._until_full(look))

    def _look(self, now: float, late: bool = False) -> Look:
        self._looks += 1
        living = self._living(now, self._looks % THOROUGH == 0)
        rss = sum(seen.rss for seen in living)
        self._curve.append((round(now, 2), rss))
        if len(self._curve) > POINTS:
            del self._curve[1:-1:2]
        free = memory.shm()[0]
        self._least_shm = free if self._least_shm < 0 else min(free, self._least_shm)
        return Look(now, sum(seen.cpu for seen in living), rss, tuple(living), late)

    def _living(self, now: float, thoroughly: bool) -> list[Seen]:
        """The tree from its root down, and those known before whose parent left them."""
        queue = [self.pid, *(pid for (pid, _), (seen, _) in list(self._known.items()) if seen.last == self._last)]
        self._last, found, done = now, list[Seen](), set[int]()
        for pid in queue:
            if pid in done:
                continue
            done.add(pid)
            if seen := self._see(pid, now):
                found.append(seen[0])
                queue += proc.children(pid, seen[1] if thoroughly else 1)
        return found

    def _see(self, pid: int, now: float) -> tuple[Seen, int] | None:
        stat = proc.stat(pid)
        if stat is None or stat.state in "ZX":
            return None
        key = (pid, stat.since)
        old = self._known.get(key)
        if old is None or (stat.image and (old[1], old[0].name) != (stat.image, stat.name)):  # one that is dying has no image left
            first, peak = (old[0].first, old[0].peak_rss) if old else (now, 0)
            old = (replace(_introduced(pid, stat), first=first, peak_rss=peak), stat.image)
            self._count(pid, old[0].cgroup)
        seen = replace(old[0], last=now, rss=stat.rss, peak_rss=max(stat.rss, old[0].peak_rss), cpu=stat.cpu, state=stat.state)
        self._known[key] = (seen, stat.image or old[1])
        return seen, stat.threads

    def _count(self, pid: int, cgroup: str) -> None:
        """The counters of a group from when its first process is seen: a scheduler or a container may put a command into its own."""
        if cgroup not in self._cgroups:
            self._cgroups.add(cgroup)
            groups = memory.groups_of(pid)
            self._own += groups[:1]
            for path in groups:
                self._before.groups.setdefault(path, memory.group(path))

    def _until_full(self, look: Look) -> float:
        """How long to wait so that memory which grows as it does now is seen before it meets the limit."""
        tightest = memory.tightest(self._before)
        if tightest is None or len(self._curve) < 2:
            return LAST
        (then, had), (now, has) = self._curve[-2:]
        pace = (has - had) / max(now - then, 0.01)
        return max(FIRST, (tightest.limit - has) / pace / 4) if pace > 0 else LAST


def _introduced(pid: int, stat: proc.Stat) -> Seen:
    environ = proc.environ(pid)
    told = environ or {}
    rank = int(told["RANK"]) if told.get("RANK", "").isdigit() else None
    return Seen(pid, stat.ppid, stat.name, proc.argv(pid), proc.exe(pid), told.get("PYTHONPATH"), "BITTEN_SPOOL" in told,
                environ is not None, rank, _group(pid), stat.since)


def _group(pid: int) -> str:
    """The path that names where its memory is counted."""
    lines = proc.content(f"/proc/{pid}/cgroup").decode("utf-8", "replace").splitlines()
    parts = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    return next((path for _, kinds, path in parts if "memory" in kinds.split(",")), parts[-1][2] if parts else "")

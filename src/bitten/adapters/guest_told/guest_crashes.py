"""Which of the exceptions in a log is the root cause, and which only tell of another's. Knows types and order in time, no case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bitten.adapters.guest_told import guest_ends
from bitten.adapters.guest_told.guest_log import Log, Record
from bitten.adapters.redact import redact
from bitten.core import signature
from bitten.core.failure import Crash, Frame

MOST = 12
LINE = 160
TEXT = 200
VARIABLES = 12

_ECHOES = frozenset({
    "ChildFailedError", "CalledProcessError", "BrokenProcessPool", "BrokenExecutor", "ProcessRaisedException", "ProcessExitedException",
    "RemoteTraceback", "_RemoteTraceback", "TerminatedWorkerError", "CellExecutionError", "PapermillExecutionError", "DeadKernelError",
})  # fmt: skip
_RERAISED = re.compile(r"Caught ([\w.]+) in DataLoader worker process \d+\.|DataLoader worker \(pid")
_LOST = re.compile(r"Connection (?:was )?(?:closed|reset)|Broken pipe|remote process exited|failed to recv|Socket closed|recvBytes", re.I)
_CAUGHT = ("formatted", "exit-in-except", "unraisable", "swallowed")
_SWALLOWED = 4

# Who catches what leaves a child's own code. The first end the process; the others send it to the parent, which may handle it.
_DEADLY = ("/multiprocessing/process.py", "/torch/multiprocessing/spawn.py")
_DELIVERED = ("/multiprocessing/pool.py", "/concurrent/futures/process.py", "/torch/utils/data/_utils/worker.py")


@dataclass(frozen=True)
class Found:
    """One exception record, and what kind of news it is."""

    record: Record
    crash: Crash

    @property
    def pid(self) -> int:
        return int(self.record["pid"])

    @property
    def is_echo(self) -> bool:
        """It says that another process failed."""
        exc = self.record["exc"]
        cause = (exc.get("cause") or {}).get("type", "")
        return _bare(exc["type"]) in _ECHOES or _bare(cause) in _ECHOES or _RERAISED.match(exc["msg"]) is not None

    @property
    def lost_a_peer(self) -> bool:
        """A connection broke: another process's end, or a network's."""
        exc = self.record["exc"]
        innermost = str(exc["frames"][-1].get("f", "")) if exc["frames"] else ""
        is_end = _bare(exc["type"]) == "EOFError" and innermost.endswith("/multiprocessing/connection.py")
        return is_end or "ConnectionError" in (_bare(exc["type"]), *exc["mro"]) or _LOST.search(exc["msg"]) is not None

    @property
    def weight(self) -> int:
        """Of exceptions that were caught: how likely one says why the program then ended badly."""
        return {"unraisable": 0, "swallowed": 1}.get(str(self.record["how"]), 2)

    @property
    def is_delivered(self) -> bool:
        return self._left_its_code_through(_DELIVERED)

    @property
    def is_uncaught(self) -> bool:
        return not self.crash.handled

    def _left_its_code_through(self, files: tuple[str, ...]) -> bool:
        frames = self.record["exc"]["frames"]
        return self.record["how"] == "formatted" and bool(frames) and str(frames[0].get("f", "")).endswith(files)


class Reader:
    """Makes crashes of records, with source lines from disk. `root` is the project's."""

    def __init__(self, log: Log, root: Path) -> None:
        self._roots = {str(root) + "/", str(root.resolve()) + "/"}
        self._parents = {int(record["pid"]): record.get("ppid") for record in log.of("hello", "fork")}
        self._ranks = {int(record["pid"]): record["env"]["RANK"] for record in log.of("hello") if "RANK" in record.get("env", {})}
        self._argvs = {int(record["pid"]): list(map(str, record.get("argv", ()))) for record in log.of("hello")}
        self._workers = {int(record["pid"]): record["id"] for record in log.of("worker")}
        self._cells = {str(record["f"]): int(record["n"]) for record in log.of("cell")}
        self._lines = {str(record["f"]): str(record["src"]).splitlines() for record in log.of("cell")}
        self._log = log

    def found(self) -> list[Found]:
        """Every exception, in order of time, each told once: what was logged and then raised is the raised one's."""
        all_of_them = [self._found(record) for record in self._records()]
        raised = {key for each in all_of_them if each.is_uncaught for key in (_key(each), _at_home(each))}
        kept: dict[tuple[object, ...], Found] = {}
        for each in all_of_them:
            if each.is_uncaught or raised.isdisjoint((_key(each), _at_home(each))):
                kept.setdefault((_key(each), each.is_uncaught), each)
        return _last_swallowed(list(kept.values()))

    def _records(self) -> list[Record]:
        """With a word for each process that could say none."""
        silent = guest_ends.deaths(self._log, {pid: f"DataLoader worker {worker}" for pid, worker in self._workers.items()})
        return sorted([*self._log.of("exc"), *silent], key=lambda record: float(record["t"]))

    def _found(self, record: Record) -> Found:
        crash = self.crash(record["exc"], int(record["pid"]))
        found = Found(record, crash)
        caught = record["how"] in _CAUGHT and not found._left_its_code_through(_DEADLY + _DELIVERED)
        return replace(found, crash=replace(crash, handled=caught or self._went_on_after(record)))

    def _went_on_after(self, record: Record) -> bool:
        """A notebook's cell that was allowed to fail: another one ran after it."""
        if record["how"] != "cell":
            return False
        return any(later["how"] == "cell" and later["pid"] == record["pid"] and later["t"] > record["t"] for later in self._log.of("exc"))

    def crash(self, exc: Record, pid: int, role: str = "root") -> Crash:
        frames = [*exc.get("frames", ())]
        if exc.get("syntax"):
            frames.append(exc["syntax"])
        innermost = len(frames) - 1
        told = tuple(self._frame(frame, at == innermost, pid) for at, frame in enumerate(frames))
        message = "\n".join([exc["msg"], *exc.get("notes", ())])
        return Crash(exc["type"], redact(message), told, self.process(exc, pid), role)

    def chain(self, exc: Record, pid: int) -> Iterator[Crash]:
        """What an exception came from, nearest first; a group's members are its causes."""
        members = (("cause", member) for member in exc.get("group", ()))
        for role, other in (("cause", exc.get("cause")), ("context", exc.get("context")), *members):
            if other and _bare(other["type"]) not in _ECHOES:
                yield self.crash(other, pid, role)
                yield from self.chain(other, pid)

    def process(self, exc: Record, pid: int) -> str:
        """In words: `DataLoader worker 0, pid 4121`."""
        rank = exc.get("rank") or self._rank(pid)
        parts = [f"rank {rank}"] if rank else []
        worker = exc.get("worker", self._workers.get(pid))
        if "xdist" in exc:
            parts.append(f"xdist worker {exc['xdist']}")
        if worker is not None:
            parts.append(f"DataLoader worker {worker}")
        elif exc.get("process", "MainProcess") != "MainProcess":
            parts.append(exc["process"])
        parts.append(f"pid {pid}")
        if exc.get("thread", "MainThread") != "MainThread" and worker is None:
            parts.append(f"thread {exc['thread']}")
        return ", ".join(parts)

    def of_pid(self, pid: int) -> str:
        return self.process({}, pid)

    def place(self, place: str) -> str:
        """Relative to the project where it lies inside."""
        return next((place.removeprefix(root) for root in self._roots if place.startswith(root)), place)

    def ancestors(self, pid: int | None) -> Iterator[int]:
        """A process and those that it came from, as far as they checked in."""
        seen: set[int] = set()
        while pid is not None and pid in self._parents and pid not in seen:
            seen.add(pid)
            yield pid
            pid = self._parents[pid]

    def where(self, frame: Record, pid: int) -> str:
        told = self._frame(frame, False, pid)
        return f"{told.file}:{told.line} in {told.function}"

    def _rank(self, pid: int) -> str:
        return next((str(self._ranks[each]) for each in self.ancestors(pid) if each in self._ranks), "")

    def _frame(self, frame: Record, is_innermost: bool, pid: int) -> Frame:
        if "gap" in frame:
            return Frame("…", 0, f"{frame['gap']} frames left out")
        file, line = str(frame["f"]), int(frame["l"])
        mine = file in self._cells or "own" in frame or (not frame.get("lib") and self.place(file) != file)
        shown = f"Cell In[{self._cells[file]}]" if file in self._cells else self.place(file) if mine else file
        variables = frame.get("vars", {}) if mine or is_innermost else {}
        told = {str(name): redact(str(text))[:TEXT] for name, text in list(variables.items())[:VARIABLES]}
        text = frame.get("src") or (self._typed(pid, line) if file == "<string>" else self._line(file, line))
        return Frame(shown, line, str(frame["n"]), redact(text.strip())[:LINE], mine, told)

    def _typed(self, pid: int, line: int) -> str:
        """A line of what came by `python -c`."""
        argv = self._argvs.get(pid, [])
        code = argv[argv.index("-c") + 1].splitlines() if "-c" in argv[:-1] else []
        return code[line - 1] if 0 < line <= len(code) else ""

    def _line(self, file: str, line: int) -> str:
        if file not in self._lines:
            try:
                self._lines[file] = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
            except (OSError, ValueError):
                self._lines[file] = []  # a pseudo file, or one that is gone
        lines = self._lines[file]
        return lines[line - 1] if 0 < line <= len(lines) else ""


def ordered(reader: Reader, found: list[Found], ended_badly: bool, exits: Iterable[Record]) -> tuple[Crash, ...]:
    """The root cause and its chain, then what else happened, each by its role."""
    exits = list(exits)
    root = _root(found, ended_badly, {int(record["pid"]) for record in exits})
    left = guest_ends.last_exit(exits, root.pid if root else 0) if ended_badly and (root is None or root.is_echo) else None
    if root is None or left:
        first = [reader.crash(guest_ends.as_exception(left), int(left["pid"]))] if left else []
        others = (replace(each.crash, role="context" if each.crash.handled else "consequence") for each in found)
        return (*first, *sorted(others, key=lambda crash: crash.handled))[:MOST]
    chain = [replace(crash, handled=root.crash.handled) for crash in reader.chain(root.record["exc"], root.pid)]
    told = {_crash_key(crash) for crash in (root.crash, *chain)}
    rest = [replace(each.crash, role=_role(each, root)) for each in found if each is not root and _crash_key(each.crash) not in told]
    return (replace(root.crash, role="root"), *chain, *sorted(rest, key=lambda crash: crash.handled))[:MOST]


def origin(found: list[Found], exc: Record, before: float) -> Found | None:
    """For an exception that a DataLoader worker sent: the worker's own, live one."""
    sent = _RERAISED.match(exc["msg"])
    workers = [each for each in found if each.is_delivered and float(each.record["t"]) <= before]
    return next((each for each in reversed(workers) if sent and _bare(each.crash.type) == _bare(sent[1] or "")), None)


def _root(found: list[Found], ended_badly: bool, left_badly: set[int]) -> Found | None:
    """The earliest that nothing caught and that is no echo; else one that a process which left badly had caught; else an echo."""
    uncaught = [each for each in found if each.is_uncaught]
    echoes = [each for each in uncaught if each.is_echo]
    own = [each for each in uncaught if not each.is_echo and not each.is_delivered]
    delivered = [each for each in uncaught if each.is_delivered]
    handled = sorted((each for each in found if each.crash.handled and ended_badly and each.weight), key=lambda each: each.weight)
    left = [each for each in handled if each.pid in left_badly]
    first_hand = [each for each in own if not each.lost_a_peer or not _others(each, found)]
    primary = [each for each in found if each in first_hand or (each in delivered and (echoes or not first_hand))]
    return next(iter([*primary, *reversed(left), *reversed(handled), *echoes, *own]), None)


def _others(each: Found, found: list[Found]) -> bool:
    """Whether another process failed of itself."""
    return any(other.pid != each.pid and other.is_uncaught and not other.lost_a_peer and not other.is_echo for other in found)


def _role(each: Found, root: Found) -> str:
    """Two tests, or two ranks, that fail by themselves are both a root; whoever fails otherwise after another process is a consequence."""
    if each.crash.handled:
        return "context"
    tests = {each.record["how"], root.record["how"]} <= {"pytest", "unittest"}
    alike = each.crash.type == root.crash.type and signature.masked(each.crash.message) == signature.masked(root.crash.message)
    return "root" if not each.is_echo and (each.pid == root.pid or alike or tests) else "consequence"


def _last_swallowed(found: list[Found]) -> list[Found]:
    """A program may swallow many: the first of each place, and of the places those that it came by last, which are nearest to its end."""
    places: dict[tuple[object, ...], Found] = {}
    for each in found:
        if each.record["how"] == "swallowed":
            last = each.crash.frames[-1:]
            place = (each.pid, each.crash.type, *((frame.file, frame.line) for frame in last))
            places[place] = places.pop(place, each)
    return [each for each in found if each.record["how"] != "swallowed"] + list(places.values())[-_SWALLOWED:]


def _key(each: Found) -> tuple[object, ...]:
    return (each.pid, *_crash_key(each.crash))


def _at_home(each: Found) -> tuple[object, ...]:
    """By the person's own line: a test runner cuts its own frames off before it formats."""
    site = each.crash.site
    return (each.pid, each.crash.type, each.crash.message, site.file if site else "", site.line if site else 0)


def _crash_key(crash: Crash) -> tuple[object, ...]:
    last = crash.frames[-1] if crash.frames else None
    return (crash.type, crash.message, last.file if last else "", last.line if last else 0, crash.process.partition(", thread")[0])


def _bare(name: Any) -> str:
    return str(name).rpartition(".")[2]

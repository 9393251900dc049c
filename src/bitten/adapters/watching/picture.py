"""All processes of a command at one moment: where each stands, what it waits for, and the one that is elsewhere. Harms none of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bitten.adapters.redact import redact
from bitten.adapters.watching import proc, stacks
from bitten.adapters.watching.stacks import Answer, Line, Thread
from bitten.adapters.watching.waiting import waits
from bitten.core import odd
from bitten.core.failure import Frame, Picture, Process

FRAMES = 40
"""Of one stack."""
THREADS = 8
"""Threads besides the main one that are shown of one process, those in the person's own code."""
TEXT = 160
LIBRARY = re.compile(r"/(site|dist)-packages/|/lib/python\d|^<frozen ")
_STATES = {"R": "running", "S": "sleeping", "D": "in a disk or driver", "T": "stopped", "t": "traced", "Z": "ended"}


@dataclass(frozen=True)
class One:
    """A process and what it showed."""

    pid: int
    stat: proc.Stat
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    answer: Answer


def picture(root_pid: int, root: Path, at: float = 0.0) -> Picture:
    """Of a process and all below it."""
    return picture_of(proc.tree(root_pid), root, at)


def picture_of(pids: Iterable[int], root: Path, at: float = 0.0, is_hung: bool = False) -> Picture:
    """Of these processes, in this order. `root` is the project's, `at` seconds after the start.

    `is_hung` lets a signal be sent to who shows nothing otherwise: only for a command that was judged hung.
    """
    pids = list(pids)
    answers = stacks.ask([pid for pid in pids if _may_be_python(pid)], is_hung)
    everyone = [One(pid, stat, proc.argv(pid), proc.environ(pid) or {}, answers.get(pid, Answer()))
                for pid in pids if (stat := proc.stat(pid))]
    drawer = _Drawer(everyone, root)
    rows = [row for one in everyone for row in drawer.rows(one)]
    return Picture(tuple(rows), odd.odd(rows, drawer.entered()), round(at, 1), tuple(_notes(everyone)))


def _may_be_python(pid: int) -> bool:
    name = proc.exe(pid).rpartition("/")[2]
    return name.startswith(("python", "pypy")) or b"libpython" in proc.content(f"/proc/{pid}/maps")


def _notes(everyone: Sequence[One]) -> Iterator[str]:
    """Why a stack is missing, each reason once, with how many it concerns."""
    troubles = [one.answer.trouble for one in everyone if one.answer.trouble and not one.answer.threads]
    for trouble in dict.fromkeys(troubles):
        refused = "; as root it may: sudo bitten picture PID" if "ermission" in trouble else ""
        count = troubles.count(trouble)
        yield f"no stack of {count} process{'es' if count > 1 else ''}: {redact(trouble)[:TEXT]}{refused}"
    for one in everyone:
        if one.answer.how in ("a signal", "its own word"):
            yield f"the stack of pid {one.pid} comes by {one.answer.how}, the main thread alone"


class _Drawer:
    """Makes rows of answers, with lines from disk, and gives each process its name."""

    def __init__(self, everyone: Sequence[One], root: Path) -> None:
        self._all = {one.pid: one for one in everyone}
        self._roots = tuple({f"{root}/", f"{root.resolve()}/"})
        self._lines: dict[str, list[str]] = {}

    def rows(self, one: One) -> Iterator[Process]:
        threads = sorted(one.answer.threads, key=lambda thread: not thread.is_main)
        main = next((thread for thread in threads if thread.is_main), Thread("", True, ()))
        first = self._row(one, main)
        yield first
        others = [self._row(one, thread) for thread in threads if not thread.is_main]
        yield from [row for row in others if row.site][:THREADS]

    def _row(self, one: One, thread: Thread) -> Process:
        stack = tuple(self._frame(line) for line in reversed(thread.lines[:FRAMES]))
        name = self._name(one) if thread.is_main else f"{self._name(one)}, thread {redact(thread.name)[:40]}"
        waiting = waits(stack, one.pid, one.stat.state) if thread.is_main else _of_thread(stack)
        rank, worker = self._rank(one), _worker(one)
        row = Process(one.pid, name, f"{one.stat.state} {_STATES.get(one.stat.state, '')}".strip(), rank, worker, one.stat.ppid,
                      round(one.stat.cpu, 2), one.stat.rss, stack, redact(waiting)[:TEXT])
        return replace(row, collective=_collective(one.answer)) if thread.is_main else replace(row, rank=None)

    def entered(self) -> dict[int, dict[str, int]]:
        """Rank → group → the last collective that it entered there; 0 for a rank that entered none of the default group's."""
        told = {rank: one.answer.recorder for one in self._all.values()
                if (rank := self._rank(one)) is not None and one.answer.recorder is not None}
        last = {rank: {_group(entry): int(entry["collective_seq_id"]) for entry in _collectives(each)} for rank, each in told.items()}
        if any("" in groups for groups in last.values()):
            last = {rank: {"": 0, **groups} for rank, groups in last.items()}
        return last

    def _name(self, one: One) -> str:
        rank, worker, inside = self._rank(one), _worker(one), _inside(one.argv)
        parts = [f"rank {rank}"] if rank is not None else []
        if worker is not None:
            parts.append(f"DataLoader worker {worker}" if worker >= 0 else "DataLoader worker")
        elif inside:
            parts.append(inside)
        return ", ".join(parts) or _called(one)

    def _rank(self, one: One) -> int | None:
        """Its own word; else its environment's, or its parent's for what a rank began: `RANK` alone is no group."""
        if one.answer.rank is not None:
            return one.answer.rank
        told = one.environ.get("RANK", "")
        parent = self._all.get(one.stat.ppid)
        return int(told) if told.isdigit() else self._rank(parent) if parent and _is_forked(one, parent) else None

    def _frame(self, line: Line) -> Frame:
        inside = next((top for top in self._roots if line.file.startswith(top)), "")
        mine = bool(inside) and not LIBRARY.search(line.file)
        file = line.file.removeprefix(inside) if mine else line.file
        return Frame(file, line.line, line.function, redact(self._text(line)).strip()[:TEXT], mine)

    def _text(self, line: Line) -> str:
        if line.file not in self._lines:
            try:
                self._lines[line.file] = Path(line.file).read_text("utf-8", "replace").splitlines()
            except (OSError, ValueError):  # made by exec, or gone
                self._lines[line.file] = []
        lines = self._lines[line.file]
        return lines[line.line - 1] if 0 < line.line <= len(lines) else ""


def _is_forked(one: One, parent: One) -> bool:
    """The same program: a worker, and no command that its parent called."""
    return one.argv == parent.argv


def _of_thread(stack: Sequence[Frame]) -> str:
    """The kernel's call is the main thread's alone, so a thread is known by its functions, and by a line that takes a lock."""
    by_stack = waits(stack, 0, "R")
    text = stack[-1].text.strip() if stack and stack[-1].mine else ""
    return by_stack or ("lock acquire" if ".acquire(" in text or re.match(r"with \S*lock", text, re.I) else "")


def _worker(one: One) -> int | None:
    """A DataLoader's worker by its stack or its name; -1 where its number is not known."""
    known = next((thread.worker for thread in one.answer.threads if thread.worker is not None), None)
    loops = any(line.function == "_worker_loop" for thread in one.answer.threads for line in thread.lines)
    return known if known is not None else -1 if loops or one.stat.name == "pt_data_worker" else None


_INSIDE = (("multiprocessing.resource_tracker", "resource tracker"), ("multiprocessing.forkserver", "fork server"),
           ("multiprocessing.spawn", "spawned process"))


def _inside(argv: Sequence[str]) -> str:
    text = " ".join(argv[:4])
    return next((words for mark, words in _INSIDE if mark in text), "")


def _called(one: One) -> str:
    """A Python by its script or module, anything else by its program."""
    words = [word for word in one.argv[1:] if not word.startswith("-")] if one.answer.threads else []
    name = words[0].rpartition("/")[2] if words and len(words[0]) < 80 and "\n" not in words[0] else one.stat.name
    return redact(name if "-c" not in one.argv[1:3] else f"{one.stat.name} -c")


def _collectives(recorder: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    entries = (recorder or {}).get("entries") or ()
    return [entry for entry in entries if isinstance(entry, dict) and entry.get("collective_seq_id") and not entry.get("is_p2p")]


def _group(entry: Mapping[str, Any]) -> str:
    name, description = [*(entry.get("process_group") or ()), "", ""][:2]
    return "" if description == "default_pg" else str(description if description not in ("", "undefined") else name)


def _collective(answer: Answer) -> str:
    """The last one that is under way, else the last one: `5 all_reduce [2, 3], not finished`."""
    entries = _collectives(answer.recorder)
    if not entries:
        return ""
    entry = next((each for each in reversed(entries) if not each.get("retired")), entries[-1])
    operation = str(entry.get("profiling_name", "")).rpartition(":")[2]
    sizes = ", ".join(str(size) for size in entry.get("input_sizes") or () if size)
    group = f" of group {_group(entry)}" if _group(entry) else ""
    return redact(f"{entry['collective_seq_id']} {operation} {sizes}".rstrip() + group) + ("" if entry.get("retired") else ", not finished")

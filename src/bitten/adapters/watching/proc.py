"""What the kernel tells of a process, read from /proc. Judges nothing, and gives nothing where it may not look.

By hand rather than by psutil: its import costs more than a short command's whole watch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache

from bitten.core.noun import noun

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Seconds of one tick of the kernel's clock for CPU time."""


@noun
class Stat:
    """`since` is when it began, in ticks: with its number it names a process for good. `image` changes when it executes another program."""

    name: str
    state: str
    ppid: int
    cpu: float
    threads: int
    since: int
    rss: int
    image: int


def content(path: str) -> bytes:
    """A file's bytes; nothing where it is gone, or not ours to read."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a Path costs as much as the read
            return file.read() or b""
    except OSError:
        return b""


def stat(pid: int) -> Stat | None:
    """None when it has ended and its parent knows."""
    head, _, tail = content(f"/proc/{pid}/stat").rpartition(b")")
    fields = tail.split()
    if len(fields) < 30:
        return None
    cpu = sum(map(int, fields[11:15])) * TICK
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    parent, threads, since, pages = (int(fields[at]) for at in (1, 17, 19, 21))
    return Stat(name, fields[0].decode(), parent, cpu, threads, since, pages * PAGE, int(fields[45]) if len(fields) > 45 else 0)


def argv(pid: int) -> tuple[str, ...]:
    return tuple(word.decode("utf-8", "replace") for word in content(f"/proc/{pid}/cmdline").split(b"\0")[:-1])


def exe(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115 - as above
    except OSError:
        return ""


def environ(pid: int) -> dict[str, str] | None:
    """As it was when the program began; None where it can't be read."""
    text = content(f"/proc/{pid}/environ")
    if not text:
        return None
    return dict(each.decode("utf-8", "surrogateescape").partition("=")[::2] for each in text.split(b"\0") if b"=" in each)


def moved(pid: int) -> int:
    """Bytes that it read and wrote so far, pipes included; sockets are mostly not counted by the kernel."""
    lines = dict(line.split(b": ") for line in content(f"/proc/{pid}/io").splitlines() if b": " in line)
    return int(lines.get(b"rchar", 0)) + int(lines.get(b"wchar", 0))


def faults(pid: int) -> int:
    """Pages that it, and children that it waited for, touched for the first time."""
    fields = content(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(fields[7]) + int(fields[8]) if len(fields) > 8 else 0


def descriptor(pid: int, number: int) -> str:
    """What a descriptor leads to; empty where that can't be told."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")  # noqa: PTH115 - as above
    except OSError:
        return ""


def children(pid: int, threads: int = 1) -> list[int]:
    """Its children; those that a thread began belong to that thread, and are found where `threads` says that there are some."""
    if not _tells_children():
        return [child for child, parent in _parents() if parent == pid]
    tasks = [str(pid)] if threads < 2 else _names(f"/proc/{pid}/task")
    return [int(child) for task in tasks for child in content(f"/proc/{pid}/task/{task}/children").split()]


def tree(root: int) -> list[int]:
    """A process and all below it, parents first."""
    found = [root]
    for pid in found:
        seen = stat(pid)
        found += [child for child in children(pid, seen.threads if seen else 1) if child not in found]
    return [pid for pid in found if stat(pid)]


@cache
def _tells_children() -> bool:
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - as above


def _parents() -> Iterator[tuple[int, int]]:
    for name in _names("/proc"):
        if name.isdigit() and (seen := stat(int(name))):
            yield int(name), seen.ppid


def _names(folder: str) -> Iterable[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - as above
    except OSError:
        return ()

"""The memory limits around a process, and how often the kernel has killed for them. Reads counters; blames nobody."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import field

from bitten.adapters.watching.proc import content
from bitten.core.noun import noun

UNLIMITED = 1 << 60
"""A limit above this is none: version 1 writes the largest number of pages."""
SHM = "/dev/shm"


@noun
class Group:
    """One cgroup's memory in bytes: its limit, what is used and could not be dropped; and how often it killed. -1 is unknown."""

    path: str
    limit: int = -1
    used: int = -1
    kills: int = -1


@noun
class Reading:
    """All counters at one moment. `kills` are the whole machine's, `shm` is free and size of /dev/shm in bytes."""

    kills: int = -1
    groups: dict[str, Group] = field(default_factory=dict)
    shm: tuple[int, int] = (-1, -1)
    free: int = -1


def read(groups: Iterable[str]) -> Reading:
    return Reading(_count(content("/proc/vmstat"), b"oom_kill"), {path: group(path) for path in groups}, shm(), _available())


def groups_of(pid: int) -> tuple[str, ...]:
    """The folders of its memory cgroup and of those around it, innermost first, as far as they can be seen from here."""
    found: list[str] = []
    for line in content(f"/proc/{pid}/cgroup").decode("utf-8", "replace").splitlines():
        number, kinds, path = line.split(":", 2)
        tops = [*(["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] if number == "0" else []),
                *(["/sys/fs/cgroup/memory"] if "memory" in kinds.split(",") else [])]
        found += [folder for top in tops for folder in _upwards(top, path) if _counts(folder)]
    return tuple(dict.fromkeys(found))


def group(path: str) -> Group:
    limit = _number(f"{path}/memory.max", f"{path}/memory.limit_in_bytes")
    used = _number(f"{path}/memory.current", f"{path}/memory.usage_in_bytes")
    stat = content(f"{path}/memory.stat")
    droppable = max(_count(stat, b"total_inactive_file"), _count(stat, b"inactive_file"), 0)
    kills = max(_count(content(f"{path}/{name}"), b"oom_kill") for name in ("memory.events", "memory.oom_control"))
    return Group(path, limit if 0 <= limit < UNLIMITED else -1, used - droppable if used >= 0 else -1, kills)


def tightest(reading: Reading) -> Group | None:
    """The group with the least limit of those that have one."""
    return min((each for each in reading.groups.values() if each.limit >= 0), key=lambda each: each.limit, default=None)


def shm() -> tuple[int, int]:
    try:
        room = os.statvfs(SHM)
    except OSError:
        return (-1, -1)
    return room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize


def _upwards(top: str, path: str) -> Iterator[str]:
    parts = [part for part in path.split("/") if part and part != ".."]
    yield from ("/".join([top, *parts[:end]]) for end in range(len(parts), -1, -1))


def _counts(folder: str) -> bool:
    return any(os.path.exists(f"{folder}/{name}") for name in ("memory.events", "memory.oom_control"))  # noqa: PTH110 - as in proc


def _number(*paths: str) -> int:
    text = next((found for path in paths if (found := content(path).strip())), b"")
    return int(text) if text.isdigit() else -1


def _count(text: bytes, name: bytes) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(b" ")
        if key == name:
            return int(value)
    return -1


def _available() -> int:
    line = next((line for line in content("/proc/meminfo").splitlines() if line.startswith(b"MemAvailable:")), b"")
    return int(line.split()[1]) * 1024 if line else -1

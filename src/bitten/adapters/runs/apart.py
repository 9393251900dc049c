"""Puts a run into a session of its own, away from the terminal, and ends it there when asked. Knows neither records nor cases.

Two processes leave: one watches the command, as `bitten run` does; one writes the log, so that a full memory or a flood of output
costs lines of the log, and never the command.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from bitten.adapters.watching import proc

LONGEST = 32 << 20
"""Bytes of a log; beyond them its first half goes. A container's /dev/shm often holds but 64 MiB."""
CHUNK = 1 << 16


def log_to(path: Path) -> int:
    """A process that writes a log until nobody can print to it any more. Returns where to print."""
    reader, writer = os.pipe()
    if os.fork():
        os.close(reader)
        return writer
    os.close(writer)
    os.chdir("/")
    os.setsid()
    for stream in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    try:
        _write(reader, path)
    finally:
        os._exit(0)


def leave(out: int) -> bool:
    """Go on twice: there, in a session of its own that prints to `out`, this is True; here it is False."""
    if os.fork():
        os.close(out)
        return False
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (1, 2):
        os.dup2(out, stream)
    os.close(out)
    return True


def _write(reader: int, path: Path) -> None:
    """Until nobody can print any more. What finds no room is lost."""
    log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    while data := os.read(reader, CHUNK):
        with suppress(OSError):
            os.write(log, data)
            if os.fstat(log).st_size > LONGEST:
                _shorten(log)


def _shorten(log: int) -> None:
    size = os.fstat(log).st_size
    kept = os.pread(log, LONGEST // 2, size - LONGEST // 2)
    os.ftruncate(log, 0)
    os.write(log, b"[bitten: %d bytes not kept]\n" % (size - len(kept)) + kept)


def end(watcher: int, pid: int, since: int) -> None:
    """End a command and all that came from it, its watcher not: asked first, then made to. A number that is not known is 0."""
    from bitten.adapters.watching.hanging import end as end_all  # noqa: PLC0415 - most runs end by themselves
    from bitten.adapters.watching.watch import Seen  # noqa: PLC0415 - as above

    stat = proc.stat(pid)
    tree = proc.tree(pid) if stat and stat.since == since else []
    alive = dict.fromkeys((*tree, *(_session(watcher, since) if watcher else ())))
    end_all([Seen(each, 0, "", since=found.since) for each in alive if (found := proc.stat(each))])


def _session(watcher: int, since: int) -> list[int]:
    """What else lives in the watcher's session, and began no earlier than the command: a number may come back for another's."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - only names are looked at
        with suppress(OSError, ValueError):
            stat = proc.stat(int(name))
            if int(name) != watcher and os.getsid(int(name)) == watcher and stat and stat.since >= since:
                found.append(int(name))
    return found

"""The stacks of running Pythons: by py-spy, by a rank's own answer, by a signal only where all hope is lost. Judges nothing.

faulthandler's dump on a signal can crash a running process (notes/capture.md, section 4), so it is for one that was judged hung.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitten.adapters.watching import proc

SECONDS = 8.0
"""For one process; a loaded machine takes its time."""
DUMP = signal.SIGRTMAX - 4
_DUMPED = re.compile(r'\s*File "(.*)", line (\d+) in (.*)')


@dataclass(frozen=True)
class Line:
    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Thread:
    """`lines` are innermost first; `state` tells the variables apart from those of another moment, and is kept nowhere."""

    name: str
    is_main: bool
    lines: tuple[Line, ...]
    state: tuple[str, ...] = ()
    worker: int | None = None


@dataclass(frozen=True)
class Answer:
    """What one process showed: by whom, its threads, and what a rank said of itself. `trouble` is why there are none."""

    threads: tuple[Thread, ...] = ()
    how: str = ""
    trouble: str = ""
    rank: int | None = None
    recorder: Mapping[str, Any] | None = None


def ask(pids: Iterable[int], is_hung: bool = False) -> dict[int, Answer]:
    """All of them at once, as far as they are Pythons."""
    wanted = list(pids)
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(wanted, pool.map(lambda pid: _ask(pid, is_hung), wanted), strict=True))


def _ask(pid: int, is_hung: bool) -> Answer:
    spool = (proc.environ(pid) or {}).get("BITTEN_SPOOL", "")
    said = _own_words(pid, Path(spool)) if spool else {}
    seen = by_spy(pid)
    if not seen.threads and said.get("stack"):
        lines = tuple(Line(str(file), int(line), str(name)) for file, line, name in said["stack"])
        seen = Answer((Thread("MainThread", True, lines),), "its own word")
    if not seen.threads and is_hung and spool:
        seen = by_signal(pid, Path(spool)) or seen
    return Answer(seen.threads, seen.how, seen.trouble, said.get("rank"), said.get("recorder"))


# ---------------------------------------------------------------------------------------------- py-spy


def by_spy(pid: int) -> Answer:
    """Read from outside, without stopping the process; stopped for some milliseconds where that gives nothing."""
    program = shutil.which("py-spy", path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")]))
    if program is None:
        return Answer(trouble="py-spy is not installed")
    for how in (["--nonblocking"], ["--nonblocking"], []):
        found = _spied([program, "dump", "--json", "--locals", *how, "--pid", str(pid)])
        if found.threads or "ermission" in found.trouble or "python version" in found.trouble:
            return found
    return found


def _spied(argv: list[str]) -> Answer:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
        threads = tuple(_thread(told) for told in json.loads(done.stdout or b"[]"))
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        return Answer(trouble=f"py-spy: {type(error).__name__}")
    if threads:
        return Answer(threads, "py-spy")
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return Answer(trouble=f"py-spy: {said[0].removeprefix('Error: ') if said else 'no threads'}")


def _thread(told: Mapping[str, Any]) -> Thread:
    frames = told["frames"]
    lines = tuple(Line(each["filename"], int(each["line"]), each["name"].rpartition(".")[2]) for each in frames)
    state = tuple(f"{local['name']}={local.get('repr')}" for each in frames for local in each.get("locals") or ())
    is_main = told["os_thread_id"] == told["pid"] or told["thread_name"] == "MainThread"
    return Thread(told["thread_name"] or "a thread", is_main, lines, state, _worker(frames))


def _worker(frames: Iterable[Mapping[str, Any]]) -> int | None:
    """The number that torch gave a DataLoader's worker."""
    loop = next((each for each in frames if each["name"] == "_worker_loop"), None)
    found = next((local.get("repr") for local in (loop or {}).get("locals") or () if local["name"] == "worker_id"), None)
    return int(found) if found and found.isdigit() else None


# ---------------------------------------------------------------------------------------------- a rank's own answer


def _own_words(pid: int, spool: Path) -> dict[str, Any]:
    """What the guest's thread answers; nothing where it has none, or can't have the interpreter."""
    said = spool / f"said{pid}"
    try:
        said.unlink(missing_ok=True)
        fd = os.open(spool / f"ask{pid}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # nobody listens there
        return {}
    os.close(fd)
    if not _until(said.exists):
        return {}
    with suppress(OSError, ValueError, SyntaxError):
        told = ast.literal_eval(said.read_text("utf-8", "replace"))
        return told if isinstance(told, dict) else {}
    return {}


def _until(is_there: Callable[[], bool], seconds: float = 2.0) -> bool:
    deadline = time.monotonic() + seconds
    while not is_there() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_there()


# ---------------------------------------------------------------------------------------------- a signal


def by_signal(pid: int, spool: Path) -> Answer | None:
    """faulthandler's dump into the guest's log, only where that signal has a handler, and where its descriptor still leads there."""
    log = spool / f"p{pid}.log"
    if not _catches(pid, DUMP) or not _leads_to(pid, log):
        return None
    before = log.stat().st_size
    with suppress(OSError):
        os.kill(pid, DUMP)
    _until(lambda: log.stat().st_size > before)
    time.sleep(0.05)
    text = log.read_bytes()[before:].decode("utf-8", "replace")
    lines = tuple(Line(m[1], int(m[2]), m[3]) for m in map(_DUMPED.fullmatch, text.splitlines()) if m)
    return Answer((Thread("MainThread", True, lines),), "a signal") if lines else None


def _catches(pid: int, number: int) -> bool:
    line = next((line for line in proc.content(f"/proc/{pid}/status").splitlines() if line.startswith(b"SigCgt")), b"")
    return bool(line) and bool(int(line.split()[1], 16) >> (number - 1) & 1)


def _leads_to(pid: int, log: Path) -> bool:
    return log.exists() and any(link == str(log.resolve()) for link in _descriptors(pid))


def _descriptors(pid: int) -> Iterator[str]:
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - names are all that is wanted
            yield proc.descriptor(pid, int(name))

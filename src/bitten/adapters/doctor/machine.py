"""What bitten itself rests on: Python, git, throw-away copies, stacks of other processes, the guest, folders and room. Knows no agent."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bitten import __version__
from bitten.adapters import places
from bitten.adapters.runs import invitation
from bitten.core.trouble import Unable

from .scratch import Scratch
from .vital import ADVISORY, BROKEN, OK, Vital

SECONDS = 20
CHILD = "import sys; print('here', flush=True); sys.stdin.read()"


def _vital(name: str, state: str, said: str, way: str = "") -> Vital:
    return Vital("bitten", name, state, said, way)


def vitals(root: Path, scratch: Scratch) -> Iterator[Vital]:
    yield _vital("python", OK, f"{platform.python_version()} at {sys.executable}, bitten {__version__}")
    yield _git()
    yield _copies(scratch)
    yield from _child(scratch)
    yield from _folders(root)


def _git() -> Vital:
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode == 0:
            return _vital("git", OK, done.stdout.strip().removeprefix("git version "))
        why = done.stderr.strip()[:200]
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    return _vital("git", ADVISORY, f"does not run ({why}): cases work, commits and work trees don't", "install git")


def _copies(scratch: Scratch) -> Vital:
    """How strong a throw-away copy is here, by making one."""
    from bitten.adapters.sandbox import open_room  # noqa: PLC0415 - only a trial needs it

    try:
        with open_room(scratch.project, scratch.folder / "rooms", []) as room:
            how = room.how
            if room.is_strong:
                return _vital("copies", OK, how)
    except (Unable, OSError) as error:
        return _vital("copies", BROKEN, f"none can be made: {error}", "BITTEN_SANDBOX=clone bitten check")
    return _vital("copies", ADVISORY, how, "allow unprivileged user namespaces:  sysctl kernel.unprivileged_userns_clone=1")


def _child(scratch: Scratch) -> Iterator[Vital]:
    """A child Python of ours: does the guest get in, and may its stack be read?"""
    spool = scratch.folder / "spool"
    spool.mkdir(mode=0o700)
    base = {**os.environ, **scratch.env}
    env = {**base, **invitation.env_for(spool, scratch.folder / "cache", [], False, base)}
    child = subprocess.Popen([sys.executable, "-c", CHILD], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, cwd=scratch.project)
    assert child.stdout is not None and child.stdin is not None
    with child:
        child.stdout.readline()
        yield _stack(child.pid)
        child.stdin.close()
    if any(spool.glob("p*.log")):
        yield _vital("guest", OK, "gets into a child Python by its environment")
    else:
        yield _vital("guest", BROKEN, "does not get into a child Python: crashes are read from what is printed alone",
                       "look for a sitecustomize or PYTHON* variable that shuts it out, or:  bitten run --native -- CMD")


def _stack(pid: int) -> Vital:
    from bitten.adapters.watching.stacks import by_spy  # noqa: PLC0415 - as above

    seen = by_spy(pid)
    if seen.threads:
        return _vital("stacks", OK, "py-spy reads the stack of a running Python")
    return _vital("stacks", ADVISORY, f"of running Pythons can't be read ({seen.trouble}): a picture of a hang lacks their lines",
                    "pip install py-spy, or allow ptrace:  sysctl kernel.yama.ptrace_scope=0")


def _folders(root: Path) -> Iterator[Vital]:
    ours: tuple[tuple[str, Callable[[], Path]], ...] = (
        ("state", places.state), ("memory", places.memory), ("cache", places.cache), ("copies", places.scratch))
    try:
        found = {name: place() for name, place in ours}
    except Unable as why:
        yield _vital("folders", BROKEN, why.what, why.way)
        return
    if found["state"].is_relative_to(found["memory"]):
        yield _vital("folders", ADVISORY, f"no home that can be written: state lies in {found['state']}, gone with a restart",
                       "set XDG_STATE_HOME")
    else:
        yield _vital("folders", OK, f"ours can be written: {', '.join(map(str, dict.fromkeys(found.values())))}")
    yield _room({"the project": root, **found})


def _room(named: dict[str, Path]) -> Vital:
    full = [name for name, place in named.items() if places.is_full(place)]
    if full:
        return _vital("room", BROKEN, f"none is left for a case in {', '.join(full)}", "make room, or set XDG_STATE_HOME")
    left = {name: shutil.disk_usage(place).free for name, place in named.items()}
    tightest = min(left, key=lambda name: left[name])
    return _vital("room", OK, f"at least {left[tightest] >> 20:,} MiB are free ({tightest})")

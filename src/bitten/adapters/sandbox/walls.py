"""The first way to make a room: namespaces, and a layer over every file system, the project at its own path. Mounts nothing itself."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .launch import Launcher, Plan, WallError, launcher
from .layers import Mounts, Planner, own_layers
from .room import LaunchedRoom, Room


@contextmanager
def walled_room(root: Path, folder: Path, opened: Sequence[str], net: bool) -> Iterator[Room]:
    """Raises: WallError, where namespaces or mounts are not allowed."""
    _refuse_anothers(root)
    _name_ourselves(folder / "hosts")
    tmp = f"/tmp/bitten-{secrets.token_hex(4)}"
    steps = list(Planner(Mounts.read(Path("/proc/self/mountinfo").read_text(encoding="utf-8")), str(folder.parent)).steps())
    if os.geteuid():
        steps.extend(own_layers(steps, [path for path in (root, _home()) if path.is_dir()], os.geteuid()))
    plan = Plan(str(folder), walls=True, tmp=tmp, net=net, steps=steps, open=opened)
    with launcher(plan) as started:
        own = {"TMPDIR": tmp, "TMP": tmp, "TEMP": tmp}
        yield LaunchedRoom(_how(started, net), str(root), started, own, net)


def _home() -> Path:
    """Where a user has none, a path that leads nowhere."""
    return Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - Path.home() would raise then


def _refuse_anothers(root: Path) -> None:
    """An unprivileged user's namespace holds one user and one group; files of others can't be copied up in it."""
    seen = root.stat()
    if os.geteuid() and (seen.st_uid, seen.st_gid) != (os.geteuid(), os.getegid()):
        raise WallError("the project's folder belongs to another user or group than your own")


def _name_ourselves(hosts: Path) -> None:
    """Without a network our own name must still be found: process groups on loopback ask for it."""
    real = Path("/etc/hosts")
    known = real.read_text(encoding="utf-8", errors="replace") if real.exists() else ""
    hosts.write_text(f"{known.rstrip()}\n127.0.0.1 localhost {socket.gethostname()}\n", encoding="utf-8")
    hosts.chmod(0o644)


def _how(started: Launcher, net: bool) -> str:
    notes = started.notes
    said = [
        "namespaces: everything at its own path, every write diverted to a layer that is thrown away",
        "the network is open" if net else "the network is off",
        "a file opened for writing is copied first, however large",
    ]
    if notes["memory"]:
        said.append(f"writes below {_few(notes['memory'])} take memory")
    if notes["readonly"]:
        said.append(f"read-only, since no layer can be laid there: {_few(notes['readonly'])}")
    if not started.alone:
        said.append("runs see your other processes, and may signal them")
    if notes["hidden"]:
        said.append(f"not to be seen: {_few(notes['hidden'])}")
    return "; ".join(said)


def _few(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more

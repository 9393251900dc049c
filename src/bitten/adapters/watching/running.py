"""Which command to take a picture of: the one that runs in a project, as its sitting tells, or any process. Takes none itself."""

from __future__ import annotations

import time
from pathlib import Path

from bitten.adapters import places
from bitten.adapters.sitting import Killed
from bitten.adapters.watching import proc
from bitten.core.trouble import BadInput, Unable


def command_of(root: Path, pid: int | None) -> tuple[int, float]:
    """A process and the seconds that it has run so far. Raises: Unable `nothing-runs`, `several-run`; BadInput `no-such-process`."""
    if pid is not None:
        if proc.stat(pid) is None:
            raise BadInput("no-such-process", f"There is no process {pid}, and no case {pid}.", way="bitten picture, or  bitten cases")
        return pid, age(pid)
    found = _running(root)
    if not found:
        raise Unable("nothing-runs", "bitten has no command running in this project.", "It sees those of `bitten run` alone.",
                     "bitten picture PID")
    if len(found) > 1:
        raise Unable("several-run", f"{len(found)} commands are running in this project: {', '.join(map(str, found))}.",
                     way=f"bitten picture {found[0]}")
    return found[0], age(found[0])


def _running(root: Path) -> list[int]:
    """The person's commands that are under way in this project."""
    sittings = [Killed(folder) for folder in places.memory().iterdir() if folder.is_dir()]
    return [pid for each in sittings if each.project == root and (pid := each.running) is not None]


def age(pid: int) -> float:
    stat = proc.stat(pid)
    since = stat.since * proc.TICK if stat else 0.0
    return max(time.clock_gettime(time.CLOCK_BOOTTIME) - since, 0.0)

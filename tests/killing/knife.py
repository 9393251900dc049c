"""`bitten` under a knife: it kills itself at the n-th moment at which something is about to reach the disk, or just has.

    KNIFE_AT=7 KNIFE_ONLY=events.jsonl KNIFE_LOG=/tmp/moments python -m tests.killing.knife run -- make train

Moments are the calls of os.write (before, half-way, after), os.fsync, os.replace and os.posix_spawnp (before, after) by the process
of bitten itself. The log has a line for each one that was reached. KNIFE_BACK sets the clock back by so many seconds. Product code
knows nothing of all this.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

AT, ONLY, LOG = int(os.environ.get("KNIFE_AT", "0")), os.environ.get("KNIFE_ONLY", ""), os.environ.get("KNIFE_LOG", os.devnull)
real_write, real_time = os.write, time.time
log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
reached = 0


def moment(what, path):
    global reached  # noqa: PLW0603 - the one thing that is counted here
    if ONLY not in path:
        return
    reached += 1
    real_write(log, f"{what} {Path(path).name}\n".encode())
    if reached == AT:
        os.kill(os.getpid(), signal.SIGKILL)


def path_of(target):
    return os.readlink(f"/proc/self/fd/{target}") if isinstance(target, int) else os.fspath(target)  # noqa: PTH115 - it may be no path


def watched(name, real):
    def call(target, *rest, **how):
        path = str(path_of(target))
        moment(f"{name} before", path)
        result = real(target, *rest, **how)
        moment(f"{name} after", path)
        return result
    return call


def write(fd, data):
    path = path_of(fd)
    if fd <= 2 or path.startswith(("pipe:", "socket:", "anon_inode:", "/dev/")):
        return real_write(fd, data)
    moment("write before", path)
    if reached + 1 == AT and ONLY in path:
        real_write(fd, bytes(data)[:len(data) // 2])
    moment("write half-way", path)
    result = real_write(fd, data)
    moment("write after", path)
    return result


if __name__ == "__main__":
    os.write = write
    os.fsync, os.replace, os.posix_spawnp = (watched(name, getattr(os, name)) for name in ("fsync", "replace", "posix_spawnp"))
    back = float(os.environ.get("KNIFE_BACK", "0"))
    time.time = lambda: real_time() - back
    from bitten.interfaces.cli import main

    main()

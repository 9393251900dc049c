"""A network of its own, with loopback alone, for the calling thread and all that it starts. Linux; needs the right to make one."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEWNET = 0x40000000
SIOCSIFFLAGS, UP_AND_RUNNING = 0x8914, 0x41
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def alone() -> Iterator[bool]:
    """False where the system refuses: then the usual network stays."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY) if Path("/proc/thread-self/ns/net").exists() else -1
    made = before >= 0 and _libc.unshare(NEWNET) == 0
    try:
        if made:
            _loopback_up()
        yield made
    finally:
        if made:
            assert _libc.setns(before, NEWNET) == 0, os.strerror(ctypes.get_errno())
        if before >= 0:
            os.close(before)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP_AND_RUNNING))


def interfaces() -> set[str]:
    """Of the calling thread's network."""
    return {line.split(":")[0].strip() for line in Path("/proc/thread-self/net/dev").read_text().splitlines()[2:]}

"""The three standard streams, before anything is read or printed. Knows no program."""

from __future__ import annotations

import os


def open_what_is_closed() -> None:
    """Standard streams that are closed lead nowhere from now on: their numbers must not become those of files of ours."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)

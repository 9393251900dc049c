# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""What some hard cases ask of the machine, and whether it is there."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from tests.guest.visit import python


@functools.cache
def missing(name: str) -> bool:
    return not NEEDS[name][1]()


def words(name: str) -> str:
    return NEEDS[name][0]


def _program(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


def _module(name: str) -> Callable[[], bool]:
    return lambda: find_spec(name) is not None


def _starts(*command: str) -> Callable[[], bool]:
    return lambda: shutil.which(command[0]) is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


def _memory_groups() -> bool:
    """Whether we may make a control group of version 1 that limits memory."""
    return os.access("/sys/fs/cgroup/memory", os.W_OK) and Path("/sys/fs/cgroup/memory/memory.oom_control").exists()


NEEDS: dict[str, tuple[str, Callable[[], bool]]] = {
    "gpu": ("a GPU", lambda: Path("/dev/nvidia0").exists()),
    "gdb": ("gdb with Python", _starts("gdb", "-batch", "-ex", "python print(1)")),
    "cc": ("a C compiler", _program("cc")),
    "namespaces": ("unprivileged user namespaces", _starts("unshare", "-Urm", "true")),
    "memory groups": ("a writable memory cgroup", _memory_groups),
    "2.7": ("Python 2.7", lambda: python("2.7") is not None),
    "3.8": ("Python 3.8", lambda: python("3.8") is not None),
    "3.12": ("Python 3.12", lambda: python("3.12") is not None),
    "debian": ("a Debian Python", lambda: Path("/etc/python3.11/sitecustomize.py").exists() and Path("/usr/bin/python3.11").exists()),
    "3.11": ("Python 3.11 or newer", lambda: sys.version_info >= (3, 11)),
    **{name: (f"`{name}`", _module(module)) for name, module in {
        "ipython": "IPython", "papermill": "papermill", "nbclient": "nbclient", "hydra": "hydra", "typer": "typer", "accelerate": "accelerate",
        "uv": "uv", "pandas": "pandas", "opentelemetry": "opentelemetry.instrumentation", "tqdm": "tqdm", "ipykernel": "ipykernel",
    }.items()},
}

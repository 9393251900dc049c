"""Becomes a program that can write below some paths alone, where the kernel has Landlock: `python -I -S fenced.py PATH… -- PROGRAM…`.

It stands outside of the Claude CLI, and holds whatever tool, hook or fault of its own the CLI may have. Elsewhere the copy is the floor.
"""

# ruff: noqa: PTH100, PTH118, PTH120 - pathlib slows the start

from __future__ import annotations

import os
import signal
import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sandbox", "launcher.py")


def main() -> None:
    end = sys.argv.index("--")
    paths, program = sys.argv[1:end], sys.argv[end + 1:]
    for each in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would inherit that
        signal.signal(each, signal.SIG_DFL)
    _launcher().fence(paths)
    os.execv(program[0], program)


def _launcher() -> Any:
    """By its file: without site-packages there is no bitten, and with them the start takes five times as long."""
    spec = spec_from_file_location("launcher", LAUNCHER)
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()

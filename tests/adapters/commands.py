"""A command as `process` runs it, alone: what bitten does with its case is left out."""

from __future__ import annotations

import sys

RUN = """
import os, sys, pathlib
from bitten.adapters.runs import process
from bitten.adapters.runs.tape import Tape
tape = Tape(pathlib.Path(sys.argv[1]))
full = os.environ.pop("FULL", "") == "1"
try:
    with process.running(sys.argv[2:], dict(os.environ), tape, full_tty=full) as ended:
        pass
except process.Unable as error:
    print(error.slug); sys.exit(error.exit_code)
sys.exit(process.end_like(ended.signal) if ended.signal else ended.exit)
"""
PYTHON = sys.executable


def ours(tmp_path, *command):
    return [PYTHON, "-c", RUN, str(tmp_path / "tape"), *command]

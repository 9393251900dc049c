"""The instruments' self-test: a small program with a known fault, run under one of them as any command is. Knows no fault."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bitten.adapters.copies import Copies
from bitten.adapters.observe import Redact
from bitten.adapters.vocabulary import FOLDER
from bitten.core.failure import Command
from bitten.core.ports import Observed
from bitten.core.trouble import Unable

SECONDS = 120.0


def run(name: str, redact: Redact) -> Observed:
    """The program runs in the Python that is first on the PATH: the one whose frameworks the person's programs import.

    Raises: Unable `selftest-not-possible`, when that Python has not what the program needs.
    """
    python = shutil.which("python") or shutil.which("python3") or sys.executable
    with tempfile.TemporaryDirectory(prefix="bitten-selftest-") as folder:
        root = Path(folder)
        shutil.copyfile(FOLDER / "selftest.py", root / "selftest.py")
        with Copies(root, root, (), redact).copy() as copy:
            seen = copy.run(Command((python, "selftest.py", name), str(root)), timeout=SECONDS, instruments=(name,))
    if not seen.run.ended_well:
        _explain(python, name, seen)
    return seen


def _explain(python: str, name: str, seen: Observed) -> None:
    missing = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode
    why = f"{python} has no torch." if missing else "\n".join(seen.output.strip().splitlines()[-3:])
    raise Unable("selftest-not-possible", f"The self-test of {name} could not run.", why,
                 "activate the environment of your programs, then:  bitten probe NAME --selftest")

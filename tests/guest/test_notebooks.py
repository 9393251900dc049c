"""Notebook cells, whose exceptions IPython shows by itself: in a script, at its prompt, and in a kernel that a launcher drives."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.guest.visit import bare_environment, project, run, visit

pytest.importorskip("IPython")


def notebook(*cells: str) -> str:
    told = [{"cell_type": "code", "id": f"c{at}", "execution_count": None, "metadata": {}, "outputs": [], "source": text}
            for at, text in enumerate(cells)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}, "language_info": {"name": "python"}}
    return json.dumps({"cells": told, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


FILES = {
    "fails.ipynb": notebook("n = 4", "def scale(x):\n    y = x * 2\n    raise ValueError(f'bad {y}')", "scale(n)"),
    "syntax.ipynb": notebook("n = 4", "def f(:"),
    "leaves.ipynb": notebook("n = 4", "import sys\nsys.exit(3)"),
    "dies.ipynb": notebook("import os", "os.kill(os.getpid(), 11)"),
    "script.py": "def scale(x):\n    raise ValueError(f'bad {x}')\nscale(8)\n",
    "cells.ipy": "n = 1\nn / 0\n",
}
DRIVE = "import nbclient, nbformat\nnbclient.NotebookClient(nbformat.read('{}.ipynb', 4), kernel_name='python3').execute()\n"


def told(root: Path, *argv: str):
    done = visit(root, *argv, env={"IPYTHONDIR": str(root.parent / "ipython"), "JUPYTER_RUNTIME_DIR": str(root.parent / "runtime")})
    assert done.done.returncode != 0
    return [(crash.type.rpartition(".")[2], crash.role, (crash.site.file, crash.site.line, crash.site.text) if crash.site else None)
            for crash in done.story.crashes]


def test_a_script_run_by_ipython_is_seen_and_prints_the_same(tmp_path):
    root = project(tmp_path, FILES)
    (tmp_path / "ipython").mkdir()
    argv = ["-m", "IPython", "--colors=NoColor", "--no-banner", "--ipython-dir", str(tmp_path / "ipython"), "script.py"]
    visit(root, *argv, name="first")  # makes IPython's profile, and says so
    with_guest = visit(root, *argv)
    plain = run(root, bare_environment(), sys.executable, *argv)
    assert (with_guest.done.returncode, with_guest.done.stdout, with_guest.done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert [(crash.type, crash.role, crash.site.line) for crash in with_guest.story.crashes] == [("ValueError", "root", 2)]


def test_a_cell_is_named_by_its_number_and_its_own_line(tmp_path):
    assert told(project(tmp_path, FILES), "-m", "IPython", "cells.ipy") == [("ZeroDivisionError", "root", ("Cell In[1]", 2, "n / 0"))]


def test_an_executed_notebook_fails_in_its_kernel_and_the_launcher_only_says_so(tmp_path):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    seen = told(project(tmp_path, {**FILES, "drive.py": DRIVE.format("fails")}), "drive.py")
    said = [each for each in seen if each[1] != "context"]  # now and then nbclient was waiting for its socket when it heard of it
    assert said == [("ValueError", "root", ("Cell In[2]", 3, "raise ValueError(f'bad {y}')")),
                    ("CellExecutionError", "consequence", ("drive.py", 2, DRIVE.format("fails").splitlines()[1]))]

"""Every launcher of notebooks, and every way in which a kernel ends badly."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

from tests.guest.test_notebooks import DRIVE, FILES, told
from tests.guest.visit import project

BIN = Path(sys.executable).parent


@pytest.mark.parametrize(("name", "root", "echo"), [
    ("syntax", ("SyntaxError", "root", ("Cell In[2]", 1, "def f(:")), "CellExecutionError"),
    ("leaves", ("SystemExit", "root", ("Cell In[2]", 2, "sys.exit(3)")), "CellExecutionError"),
    ("dies", ("Segmentation fault", "root", ("Cell In[2]", 1, "os.kill(os.getpid(), 11)")), "DeadKernelError"),
])
def test_an_executed_notebook_fails_in_its_kernel_and_the_launcher_only_says_so(tmp_path, name, root, echo):
    seen = told(project(tmp_path, {**FILES, "drive.py": DRIVE.format(name)}), "drive.py")
    assert seen[0] == root
    assert [each[:2] for each in seen[1:]] == [(echo, "consequence")]


@pytest.mark.parametrize("command", ["papermill fails.ipynb out.ipynb", "jupyter-execute fails.ipynb",
                                     "jupyter-nbconvert --to notebook --execute --stdout fails.ipynb"])
def test_every_launcher_of_notebooks_is_an_echo(tmp_path, command):
    program, *arguments = command.split()
    path = shutil.which(program, path=str(BIN))
    if path is None:
        pytest.skip(f"{program} is not installed here")
    seen = told(project(tmp_path, FILES), path, *arguments)
    assert seen[0] == ("ValueError", "root", ("Cell In[2]", 3, "raise ValueError(f'bad {y}')"))
    assert {each[1] for each in seen[1:]} == {"consequence"}

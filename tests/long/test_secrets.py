"""The long form of "no secret reaches the disk": bitten killed at moments of a run and of the look after it, and looked at each time."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import psutil
import pytest

from tests.guest.test_notebooks import DRIVE, notebook
from tests.killing.story import KNIFE
from tests.redaction.holder import Secretive, secretive
from tests.redaction.secrets import some

SHARES, EVERY = 3, 2
"""Moments are many and alike: each share takes others, and leaves some out."""
TAPE = "output"
"""What a command printed is kept as it is while it runs, and after a kill until the next `bitten`: in memory, 0700 (design section 5)."""


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("killed", ["the run", "the look after a killed run"])
def test_no_value_of_a_secret_is_on_disk_whenever_bitten_is_killed(tmp_path, share, killed):
    held = secretive(tmp_path, sys.executable)
    words = ("run", "--", *held.command) if killed == "the run" else ()
    moments = _under_the_knife(held, words, killed)
    for moment in range(1 + share, moments + 1, SHARES * EVERY):
        _begin(held, killed)
        assert _knife(held, words, moment) == -signal.SIGKILL, moment
        _settle(held)
        assert not held.leaks(without=TAPE), (moment, held.leaks(without=TAPE)[:5])
        held.project.bitten(**held.env)
        assert not held.leaks(), (moment, held.leaks()[:5])


def _begin(held: Secretive, killed: str) -> None:
    """Nothing of ours there yet; or what a run left that was killed as soon as its command had ended."""
    for folder in (held.project.root / ".bitten", held.project.home, held.place / "run", held.place / "tmp"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in (held.project.home, held.place / "run", held.place / "tmp"):
        folder.mkdir(mode=0o700)
    if killed != "the run":
        assert _knife(held, ("run", "--", *held.command), 1, "ended") == -signal.SIGKILL
        _settle(held)


def _under_the_knife(held: Secretive, words: tuple[str, ...], killed: str) -> int:
    """How many moments there are."""
    _begin(held, killed)
    _knife(held, words, 0)
    return len((held.place / "moments").read_text("utf-8").splitlines())


def _knife(held: Secretive, words: tuple[str, ...], at: int, only: str = "") -> int:
    env = {**held.env, "PYTHONPATH": str(Path(__file__).parents[2]), "KNIFE_AT": str(at), "KNIFE_ONLY": only,
           "KNIFE_LOG": str(held.place / "moments")}
    return held.project.bitten(*words, program=KNIFE, **env).returncode


def _settle(held: Secretive) -> None:
    mine = [each for each in psutil.process_iter(["cwd"]) if each.info["cwd"] and each.info["cwd"].startswith(str(held.place))]
    psutil.wait_procs(mine, 20)


def test_no_value_of_a_secret_of_a_notebook_is_left_in_any_file_of_ours(tmp_path):
    """In its cells, their output, the variables of a cell, and the message of the exception."""
    pytest.importorskip("nbclient")
    held = secretive(tmp_path, sys.executable)
    told = held.project.root / "told.json"
    cell = "import json\ntexts = json.load(open('told.json'))\nprint(*texts, sep='\\n')"
    first = f"API_KEY = {some(24)!r}\n{told.read_text('utf-8')}"
    held.project.write("book.ipynb", notebook(first, cell, "raise ValueError(' '.join(texts))"))
    held.project.write("drive.py", DRIVE.format("book"))
    env = {**held.env, "IPYTHONDIR": str(tmp_path / "ipython"), "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    done = held.project.bitten("run", "--", sys.executable, "drive.py", **env)
    assert "✗ ValueError" in done.stderr and "Cell In[3]" in done.stderr, done.stderr[-2000:]
    assert not held.leaks(), held.leaks()[:5]

"""Folders held by a lock that dies with its process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bitten.adapters.held import held_folder, sweep

KEEPER = """
import sys, time
from pathlib import Path
from bitten.adapters.held import held_folder
with held_folder(Path(sys.argv[1])) as folder:
    (folder / "layer").mkdir(mode=0)
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_room_leaves_nothing_even_after_trouble_and_locked_folders(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), held_folder(tmp_path / "base") as folder:
        (folder / "work" / "inner").mkdir(parents=True)
        (folder / "work").chmod(0)
        raise ZeroDivisionError
    assert list((tmp_path / "base").iterdir()) == []


def test_a_sweep_removes_what_a_killed_bitten_left_and_spares_the_living(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", KEEPER, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdout
        folder = Path(keeper.stdout.readline().strip())
        sweep(tmp_path)
        assert folder.exists()
        keeper.send_signal(signal.SIGKILL)
    assert folder.exists()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []

# ruff: noqa: E501 - a small file, or a story of records, is easier read unbroken
"""The record of a run that went well: found by its command and project, private, and few."""

from __future__ import annotations

import os
import stat
import time

import pytest

from bitten.adapters import places
from bitten.adapters.surroundings import last_good
from bitten.core.failure import Command, FileSeen, Resolved
from bitten.core.state import State

COMMAND = Command(("make", "train"), "/p")
STATE = State(at=9.5, head="a" * 40, files={"a.py": "1"}, whole=False, packages={"x": "1"}, environment={"python": "3"},
              configs=(Resolved("c.yaml", {"lr": "1"}, 2),), data=(FileSeen("d.csv", "data", 3, 1.5, digest="d", rows=2),))


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_it_comes_back_as_it_was_kept_and_to_its_own_command_and_project_alone(tmp_path):
    assert last_good.find(COMMAND, tmp_path) is None
    last_good.keep(COMMAND, tmp_path, STATE)
    assert last_good.find(COMMAND, tmp_path) == STATE
    for other, root in ((Command(("make", "eval"), "/p"), tmp_path), (Command(("make", "train"), "/q"), tmp_path), (COMMAND, tmp_path / "x")):
        assert last_good.find(other, root) is None


def test_nobody_else_can_read_it_and_what_was_typed_is_not_in_it(tmp_path, state):
    last_good.keep(Command(("train", "--password", "hunter2hunter"), "/p"), tmp_path, STATE)
    (file,) = (places.state() / "good").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "hunter2hunter" not in file.read_text("utf-8") + file.name


def test_the_latest_stay_and_the_old_go(tmp_path, monkeypatch):
    monkeypatch.setattr(last_good, "MOST", 3)
    began = time.time()
    for number in range(6):
        last_good.keep(Command((str(number),), "/p"), tmp_path, STATE)
        for at, each in enumerate(sorted((places.state() / "good").iterdir(), key=lambda path: path.stat().st_mtime_ns)):
            os.utime(each, (began - 1000 + at, began - 1000 + at))
    assert [last_good.find(Command((str(number),), "/p"), tmp_path) is not None for number in range(6)] == [False] * 3 + [True] * 3
    for each in (places.state() / "good").iterdir():
        os.utime(each, (1, 1))
    last_good.keep(COMMAND, tmp_path, STATE)
    assert len(list((places.state() / "good").iterdir())) == 1


def test_what_a_kill_left_half_written_goes(tmp_path):
    last_good.keep(COMMAND, tmp_path, STATE)
    left, fresh = (places.state() / "good" / name for name in (".x.json.12", ".y.json.13"))
    for each in (left, fresh):
        each.write_text("{", "utf-8")
    os.utime(left, (time.time() - 7200,) * 2)
    last_good.keep(COMMAND, tmp_path, STATE)
    assert (left.exists(), fresh.exists()) == (False, True)


def test_a_torn_record_or_one_of_another_version_is_none(tmp_path):
    last_good.keep(COMMAND, tmp_path, STATE)
    (file,) = (places.state() / "good").iterdir()
    for text in ('{"at": 1', '{"at": "yesterday"}', "[]"):
        file.write_text(text, "utf-8")
        assert last_good.find(COMMAND, tmp_path) is None

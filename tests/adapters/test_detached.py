"""How a detached run stands, told by its folders alone; and its log, which costs the command nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from bitten.adapters.runs import apart, detached
from bitten.core.failure import Command, Run

RUN = Run(Command(("make",), "/"), 0, 2.5)


@pytest.fixture
def root(tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        place = tmp_path / name
        place.mkdir(mode=0o700)
        monkeypatch.setenv(name, str(place))
    return tmp_path


def begun(root):
    run = detached.made(root)
    return run, detached.begun(run, root, "make train")


def ended(root, exit_code=0):
    run, lock = begun(root)
    watched = detached.Watched(run, lock, -1)
    watched.ended(replace(RUN, exit=exit_code))
    watched.complete(missed=bool(exit_code), case=None)
    lock.close()
    return run


def test_a_run_whose_lock_is_held_runs_and_one_whose_lock_is_free_is_lost(root):
    run, lock = begun(root)
    assert run.standing == detached.RUNNING
    lock.close()
    assert run.standing == detached.LOST


def test_a_shell_whose_memory_lies_elsewhere_sees_that_it_runs(root, monkeypatch):
    run, lock = begun(root)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert [(each.standing, each.log) for each in detached.all_of(root)] == [(detached.RUNNING, run.log)]
    lock.close()


def test_who_has_another_state_folder_takes_no_log_away(root, monkeypatch):
    run, lock = begun(root)
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "another"))
    assert detached.made(root).id == run.id
    assert run.standing == detached.RUNNING
    lock.close()


def test_a_run_that_exited_well_is_lost_while_nobody_has_looked_at_what_was_expected_of_it(root):
    run, lock = begun(root)
    detached.Watched(run, lock, -1).ended(RUN)
    assert run.standing == detached.RUNNING and run.record.exit == 0
    lock.close()
    assert run.standing == detached.LOST


def test_a_complete_record_counts_also_when_the_memory_is_gone(root):
    run = ended(root)
    shutil.rmtree(root / "XDG_RUNTIME_DIR" / f"bitten-{os.getuid()}")
    assert run.standing == detached.ENDED and run.tail() == ""


def test_a_run_of_another_machine_is_never_called_lost(root):
    run, lock = begun(root)
    run.keep(replace(run.record, host="node7"))
    lock.close()
    assert run.standing == detached.ELSEWHERE


def test_a_run_that_was_asked_to_stop_was_stopped_whatever_its_exit_code(root):
    run, lock = begun(root)
    run.ask_to_stop()
    watched = detached.Watched(run, lock, -1)
    watched.ended(RUN)
    watched.complete(missed=False, case=None)
    lock.close()
    assert run.standing == detached.STOPPED


def test_an_end_that_found_no_room_is_no_success_and_told_when_there_is_some(root, monkeypatch):
    run, lock = begun(root)
    watched = detached.Watched(run, lock, -1)
    with monkeypatch.context() as full:
        full.setattr(detached, "write", no_room)
        watched.ended(replace(RUN, exit=7))
    watched.complete(missed=True, case=None)
    lock.close()
    assert (run.standing, run.record.exit, run.record.missed) == (detached.ENDED, 7, True)


def no_room(*_):
    raise OSError(28, "No space left on device")


def test_runs_are_numbered_on_and_an_unbegun_one_is_none(root):
    first = ended(root)
    detached.made(root)
    third = ended(root)
    assert [run.id for run in detached.all_of(root)] == [first.id, third.id] == ["r1", "r3"]
    assert detached.all_of(root / "another") == []


def test_old_runs_go_once_somebody_saw_their_end_and_running_ones_never(root):
    running, lock = begun(root)
    every = [ended(root) for _ in range(detached.KEEP + 3)]
    for run in every[1:]:
        run.mark_read()
    detached.made(root)
    left = detached.all_of(root)
    assert left == [running, every[0], *every[-detached.KEEP:]]
    assert not every[1].memory.exists()
    lock.close()


def test_a_spoilt_record_is_no_success_and_takes_nothing_from_the_others(root):
    run, well = ended(root), ended(root)
    for spoilt in ("{", "[]", '{"id": "r1"}', '{"complete": true, "exit": 0}'):
        (run.folder / "record.json").write_text(spoilt, "utf-8")
        assert run.standing == detached.LOST and "can't be read" in run.record.trouble
    assert [each.standing for each in detached.all_of(root)] == [detached.LOST, detached.ENDED] and well.record.exit == 0


def test_where_no_process_is_known_none_is_ended(monkeypatch):
    """In a container, what was begun outside of it has the session 0."""
    with subprocess.Popen(["sleep", "60"]) as other:
        monkeypatch.setattr(os, "getsid", lambda pid: 0 if pid == other.pid else 1)
        apart.end(watcher=0, pid=0, since=0)
        assert other.poll() is None
        other.kill()


def test_a_log_beyond_its_bound_keeps_its_end_and_says_what_is_gone(tmp_path):
    written(tmp_path / "log")
    text = (tmp_path / "log").read_bytes()
    assert text.endswith(b"line 19999\n") and b"bytes not kept]" in text and len(text) <= 4000


def test_a_log_that_finds_no_room_takes_all_that_is_printed_all_the_same():
    written("/dev/full")


PRINTER = """
import os, sys
from bitten.adapters.runs import apart
apart.LONGEST = 4000
out = apart.log_to(sys.argv[1])
for number in range(20_000):
    os.write(out, b"line %5d\\n" % number)
os.close(out)
os.wait()
"""


def written(path):
    """More lines than a pipe holds, of a printer whose log is bounded at 4000 bytes; returns when its writer has ended."""
    subprocess.run([sys.executable, "-c", PRINTER, str(path)], check=True, timeout=60)

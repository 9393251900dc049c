# ruff: noqa: E501 - a small file, or a story of records, is easier read unbroken
"""Which files to read first, and why."""

from __future__ import annotations

from bitten.core.failure import Crash, FileSeen, Frame, Surroundings
from bitten.core.reading import MOST, to_read

CRASH = Crash("ValueError", "bad", (Frame("train.py", 9, "main", mine=True), Frame("/lib/torch.py", 1, "f"), Frame("data.py", 4, "g", mine=True)))


def test_the_stack_goes_first_innermost_first_and_libraries_are_left_out():
    assert [(each.path, each.because) for each in to_read([CRASH], Surroundings())] == [
        ("data.py", "in the stack, line 4"), ("train.py", "in the stack, line 9")]


def test_changed_files_configs_and_neighbours_follow_and_reasons_add_up():
    around = Surroundings(files=(FileSeen("conf.yaml", "config"), FileSeen("a.csv", "data")), changed=("data.py", "notes.md", "model.bin"))
    found = to_read([CRASH], around, ("data.py", "optim.py", "weights.npy"), {"helper.py": "train.py", "data.py": "train.py"})
    assert [(each.path, each.because) for each in found] == [
        ("data.py", "in the stack, line 4; changed since the last good run; not committed"), ("train.py", "in the stack, line 9"),
        ("optim.py", "changed since the last good run"), ("conf.yaml", "config that was read"), ("notes.md", "not committed"),
        ("helper.py", "imported by train.py")]


def test_a_consequence_in_another_process_says_nothing():
    assert to_read([Crash("E", "m", CRASH.frames, role="consequence")], Surroundings()) == ()


def test_a_long_list_ends_and_a_deep_stack_leaves_room_for_what_changed():
    deep = Crash("E", "m", tuple(Frame(f"m{at}.py", 1, "f", mine=True) for at in range(40)))
    found = to_read([deep], Surroundings(changed=("conf.py",)), ("new.py",))
    assert len(found) == MOST and "new.py" in [each.path for each in found]

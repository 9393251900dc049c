"""The first difference over refactors drawn by a seeded mutator, each told as it is drawn, and none over refactors that change nothing."""

from __future__ import annotations

import random

import pytest

from bitten.adapters import recordings
from bitten.core.comparing import compare
from tests.instruments.mutator import HARMFUL, WARM, applied, files, healthy
from tests.instruments.stage import line_of, probed
from tests.instruments.test_compare import LONG

SEED, PAIRS, PARTS = 20261201, 200, 10


def recorded(tmp_path, project, source):
    seen = probed(tmp_path, source, "recording", warm=WARM[project])
    assert (seen.exit, seen.troubles) == (0, []), seen.stderr
    assert list(seen.log.of("note")) == []
    return recordings.read(seen.spool, seen.root, str)


@pytest.mark.parametrize("part", range(PARTS))
def test_the_first_difference_of_each_refactor_is_named_with_its_stage_key_and_line(tmp_path, capsys, part):
    """Each part prints its rows: a kind, and whether what was drawn of it was named."""
    draws = random.Random(f"{SEED} {part}")
    wrong = []
    for mutation in HARMFUL[part::PARTS]:
        source, new = applied(mutation, draws)
        plain, other = (recorded(tmp_path, mutation.project, each) for each in (files(mutation.project), source))
        found = compare(plain, other).first
        if not found or not names(found, mutation):
            wrong.append((mutation.kind, mutation.old, new, found and (found.stage, found.key, found.one and found.one.at)))
        with capsys.disabled():
            print(f"\n{mutation.kind:<16}{mutation.project:<10}{'named' if not wrong or wrong[-1][2] != new else 'NOT NAMED'}", end="")
    assert wrong == []


def names(found, mutation):
    """Of both sides, as far as they have one: the mark's line is told of the untouched project, where the truth is marked."""
    source = files(mutation.project)[mutation.mark_file or mutation.file]
    line = f"{mutation.mark_file or mutation.file}:{line_of(source, mutation.mark)}"
    lines = [line for mark in (found.one, found.other) if mark for line in (mark.at, *mark.also)]
    return found.stage in mutation.stages and found.key.startswith(mutation.key) and line in lines


@pytest.mark.parametrize("part", range(PARTS))
def test_no_difference_is_named_where_a_refactor_changes_nothing(tmp_path, part):
    draws = random.Random(f"{SEED} {part}")
    plain = {project: recorded(tmp_path, project, files(project)) for project in WARM}
    wrong = []
    for number in range(PAIRS // PARTS):
        project = sorted(WARM)[number % 2]
        found = compare(plain[project], recorded(tmp_path, project, healthy(project, draws)))
        if found.first is not None:
            wrong.append((number, project, found.first.stage, found.first.key))
    assert wrong == []


def test_a_recording_changes_no_number_stays_small_and_tells_of_workers(tmp_path):
    source = LONG.replace("WORKERS", "2")
    plain, seen = probed(tmp_path, source), probed(tmp_path, source, "recording")
    assert (seen.stdout, seen.stderr, seen.troubles) == (plain.stdout, "", [])
    assert sum(each.stat().st_size for each in seen.spool.glob("recording-*.jsonl")) < 400_000
    found = recordings.read(seen.spool, seen.root, str)
    assert {each.key for each in found.marks if each.stage == "preprocessing"} == {"Squares.__getitem__"}
    steps = {each.step for each in found.marks if each.stage == "gradient"}
    assert steps == {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
    assert recordings.read(plain.spool, plain.root, str) is None

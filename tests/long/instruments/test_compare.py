"""The first difference over refactors drawn by a seeded mutator, and none over refactors that change nothing. Prints the count table."""

from __future__ import annotations

import random
from collections import Counter

from bitten.adapters import recordings
from bitten.core.comparing import compare
from tests.instruments.mutator import HARMFUL, KINDS, WARM, applied, files, healthy
from tests.instruments.stage import line_of, probed

SEED, PAIRS = 20261201, 200


def recorded(tmp_path, project, source):
    seen = probed(tmp_path, source, "recording", warm=WARM[project])
    assert (seen.exit, seen.troubles) == (0, []), seen.stderr
    assert list(seen.log.of("note")) == []
    return recordings.read(seen.spool, seen.root, str)


def test_the_first_difference_of_each_refactor_is_named_with_its_stage_key_and_line(tmp_path, capsys):
    draws = random.Random(SEED)
    plain = {project: recorded(tmp_path, project, files(project)) for project in WARM}
    named, drawn, wrong = Counter(), Counter(), []
    for mutation in HARMFUL:
        source, new = applied(mutation, draws)
        found = compare(plain[mutation.project], recorded(tmp_path, mutation.project, source)).first
        drawn[mutation.kind] += 1
        if found and names(found, mutation):
            named[mutation.kind] += 1
        else:
            wrong.append((mutation.kind, mutation.old, new, found and (found.stage, found.key, found.one and found.one.at)))
    with capsys.disabled():
        print("\nkind            drawn  named")
        for kind in KINDS:
            print(f"{kind:<16}{drawn[kind]:>5}{named[kind]:>7}")
    assert wrong == []


def names(found, mutation):
    """Of both sides, as far as they have one: the mark's line is told of the untouched project, where the truth is marked."""
    source = files(mutation.project)[mutation.mark_file or mutation.file]
    line = f"{mutation.mark_file or mutation.file}:{line_of(source, mutation.mark)}"
    lines = [line for mark in (found.one, found.other) if mark for line in (mark.at, *mark.also)]
    return found.stage in mutation.stages and found.key.startswith(mutation.key) and line in lines


def test_no_difference_is_named_where_a_refactor_changes_nothing(tmp_path):
    draws = random.Random(SEED)
    plain = {project: recorded(tmp_path, project, files(project)) for project in WARM}
    wrong = []
    for number in range(PAIRS):
        project = sorted(WARM)[number % 2]
        found = compare(plain[project], recorded(tmp_path, project, healthy(project, draws)))
        if found.first is not None:
            wrong.append((number, project, found.first.stage, found.first.key))
    assert wrong == []

"""The hard cases of capture: each command by `bitten run` and by itself; the case shows its fact, the output and the end are the same."""

from __future__ import annotations

import pytest

from tests.hard import table
from tests.hard.every import CASES
from tests.hard.play import play

QUICK = [case for case in CASES if not case.slow]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in QUICK])
def test_case(tmp_path, case):
    play(case, tmp_path)


def test_the_table_in_the_docs_is_that_of_the_cases():
    table.hold(CASES)


def test_each_number_is_there_and_all_but_a_few_can_run():
    numbers = {case.number for case in CASES}
    assert numbers == set(range(1, 112))
    assert len({case.name for case in CASES}) == len(CASES)
    assert len({case.number for case in CASES if not case.pending and "gpu" not in case.needs}) >= 95

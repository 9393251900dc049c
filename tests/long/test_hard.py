"""The hard cases that import torch, wait for a hang, or take seconds for another reason: see tests/hard."""

from __future__ import annotations

import pytest

from tests.hard.every import CASES
from tests.hard.play import play


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES if case.slow])
def test_case(tmp_path, case):
    play(case, tmp_path)

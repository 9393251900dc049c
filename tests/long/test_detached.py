"""A detached run's bitten, killed at every write of its record: none of them is taken for a success."""

from __future__ import annotations

import pytest

from tests.test_detached import MOMENTS, killed_at


@pytest.mark.parametrize("at", range(1, MOMENTS + 1))
def test_only_a_complete_record_is_a_success(tmp_path, at):
    assert killed_at(tmp_path, at) == (2 if at < 4 else 74 if at < MOMENTS else 0)

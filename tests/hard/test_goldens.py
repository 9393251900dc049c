"""debug.md of the launchers that are quick; the others are in tests/long."""

from __future__ import annotations

import pytest

from tests.hard.goldens import QUICK, hold


@pytest.mark.parametrize("name", QUICK)
def test_the_document_is_the_golden_one(tmp_path, name):
    hold(name, tmp_path)

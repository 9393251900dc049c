"""debug.md of the launchers that take seconds: see tests/hard/goldens.py."""

from __future__ import annotations

import pytest

from tests.hard.goldens import GOLDENS, QUICK, hold


@pytest.mark.parametrize("name", [name for name in GOLDENS if name not in QUICK])
def test_the_document_is_the_golden_one(tmp_path, name):
    hold(name, tmp_path)

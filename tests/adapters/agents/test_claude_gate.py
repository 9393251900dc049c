"""The driver's gate by itself: what the CLI would make of a path before it opens it is judged, and not how it is spelled."""

from __future__ import annotations

import pytest

from bitten.adapters.agents.claude.gate import Gate
from bitten.core.ports import Brief


@pytest.mark.parametrize(("tool", "given"), [
    (tool, {"pattern": "x", name: f"{before}/etc{after}"}) for before, after in (("\ufeff", ""), (" ", ""), ("\u00a0", ""), ("", "\ufeff"))
    for tool, name in (("Grep", "path"), ("Glob", "path"), ("Glob", "pattern"), ("Read", "file_path"))])
def test_a_blank_at_an_edge_opens_no_way_out(tool, given, tmp_path):
    assert Gate(Brief("diagnose", "", str(tmp_path))).judge(tool, given)

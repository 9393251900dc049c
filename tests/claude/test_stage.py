"""The stage itself: the real CLI plays the script, and talks to nothing but the Messages API."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.claude.alone import alone, interfaces
from tests.claude.stage import staged


def test_the_real_cli_plays_a_script_and_calls_nothing_but_the_messages_api(tmp_path):
    with staged(tmp_path, {"data.py": "ROWS = 127\n"}, [{"text": "Reading.", "tool": "Read", "input": {"file_path": "data.py"}}]) as stage:
        said = stage.claude("How many rows?")
        assert said.exit == 0 and said.result["is_error"] is False
        assert "ROWS = 127" in stage.api.turns[1].last_result
        assert stage.api.strangers == [] and len(stage.api.turns) == 2


def test_the_stage_has_loopback_and_no_other_network_where_the_system_allows(tmp_path):
    before = interfaces()
    with staged(tmp_path, {"data.py": ""}) as stage:
        assert stage.is_alone or os.getuid() != 0
        names = subprocess.run([sys.executable, "-c", "import socket; print([n for _, n in socket.if_nameindex()])"],
                               capture_output=True, text=True, check=True).stdout
        assert not stage.is_alone or names.strip() == "['lo']"
    assert interfaces() == before


def test_a_network_of_its_own_is_left_again_though_the_test_fails():
    namespace = Path("/proc/thread-self/ns/net")
    before = namespace.readlink()
    with pytest.raises(KeyError), alone():
        raise KeyError
    assert namespace.readlink() == before

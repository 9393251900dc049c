"""The stage itself: the real CLI plays the script, and talks to nothing but the Messages API."""

from __future__ import annotations

from tests.claude.stage import staged


def test_the_real_cli_plays_a_script_and_calls_nothing_but_the_messages_api(tmp_path):
    with staged(tmp_path, {"data.py": "ROWS = 127\n"}, [{"text": "Reading.", "tool": "Read", "input": {"file_path": "data.py"}}]) as stage:
        said = stage.claude("How many rows?")
        assert said.exit == 0 and said.result["is_error"] is False
        assert "ROWS = 127" in stage.api.turns[1].last_result
        assert stage.api.strangers == [] and len(stage.api.turns) == 2

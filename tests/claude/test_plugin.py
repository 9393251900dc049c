"""The plugin in the real CLI, headless: what it takes in, what the model is told, what it can't do. More is in tests/long/claude."""

from __future__ import annotations

import json
import subprocess

from tests.claude.plugin import events, laid_out, on_a_case
from tests.claude.stage import cli, staged


def test_the_real_cli_takes_the_plugin_for_valid_to_the_letter(tmp_path):
    with staged(tmp_path, {"a.py": "x = 1\n"}) as stage:
        plugin = laid_out(stage)
        for folder in (plugin, plugin.parent.parent):
            done = subprocess.run([str(cli()), "plugin", "validate", "--strict", str(folder)], env=stage.project.env, capture_output=True,
                                  text=True, check=False, timeout=60)
            assert done.returncode == 0 and "warning" not in done.stdout.replace("directory warning", ""), done.stdout + done.stderr


def test_a_session_is_told_of_its_case_and_a_false_done_comes_back(tmp_path):
    with on_a_case(tmp_path, {"text": "I fixed it."}, {"text": "The evidence supports it."}) as (stage, name, plugin):
        said = stage.claude("how far are we?", "--plugin-dir", str(plugin))
        assert said.exit == 0 and [len(stage.api.turns), stage.api.strangers] == [2, []]
        first, second = stage.api.turns
        assert f"- {name} supported (rows = 7)" in first.told and "mcp__plugin_bitten_bitten__case" in first.tools
        assert "no cause is confirmed, and nothing is fixed" in second.last_result


def test_a_headless_prompt_does_not_confirm_whatever_its_environment_says(tmp_path):
    forged = {"CLAUDE_CODE_SESSION_ATTENDED": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}
    with on_a_case(tmp_path) as (stage, name, plugin):
        options = ["--plugin-dir", str(plugin), "--settings", json.dumps({"env": forged})]
        said = stage.claude(f"/bitten:confirm {name} 7", *options, **forged)
        assert "[confirm-not-a-person]" in said.result["result"] and stage.api.turns == []
        assert not [each for each in events(stage.project) if each["kind"] == "Confirmation"]

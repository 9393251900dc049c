"""The real CLI with `bitten mcp`: what the model is told of the case, what it proposes and has checked, and that it can't confirm."""

from __future__ import annotations

import json

from bitten.interfaces.mcp.tools import INSTRUCTIONS, TOOLS
from tests.claude.stage import staged
from tests.mcp_wire import FOUND, OTHER, SECRET, SERVER, project_files
from tests.stories import captured

CONFIG = {"mcpServers": {"bitten": {"command": SERVER[0], "args": SERVER[1:], "alwaysLoad": True}}}
OPTIONS = ("--mcp-config", json.dumps(CONFIG), "--strict-mcp-config", "--allowedTools", "mcp__bitten")


def test_claude_reads_the_case_proposes_and_has_its_check_run_and_nothing_lets_it_confirm(tmp_path):
    vague = {name: value for name, value in FOUND.items() if name != "refutes_if"}
    steps = [{"tool": "mcp__bitten__case"}, {"tool": "mcp__bitten__propose_hypotheses", "input": {"hypotheses": [vague, OTHER]}},
             {"tool": "mcp__bitten__propose_hypotheses", "input": {"hypotheses": [FOUND, OTHER]}},
             {"tool": "mcp__bitten__run_check", "input": {}}, {"tool": "mcp__bitten__read_evidence", "input": {}},
             {"tool": "mcp__bitten__confirm", "input": {"hypothesis": "h1", "value": 7}}, {"text": "A person confirms."}]
    with staged(tmp_path, project_files(), steps) as stage:
        captured(stage.project).bitten("expect", "eight rows in two windows")
        before = stage.project.photograph()
        said = stage.claude("Find the cause.", *OPTIONS)
        assert said.exit == 0 and said.result["permission_denials"] == [] and stage.api.strangers == []
        first, case, refused, accepted, checked, read, last = stage.api.turns
        assert {f"mcp__bitten__{tool['name']}" for tool in TOOLS} == {name for name in first.tools if name.startswith("mcp__")}
        assert INSTRUCTIONS in first.told and "windows of unequal size: [4, 3]" in case.last_result
        assert "refutes_if" in refused.last_result and '"accepted"' in accepted.last_result
        assert '"verdict":"supports"' in checked.last_result and "bitten confirm h" in checked.last_result
        assert '"| rows=7"' in read.last_result and SECRET not in "".join(each.told for each in stage.api.turns)
        assert "No such tool available" in last.last_result
        assert stage.project.photograph() == before
        told = stage.project.show()
        by_claude = [each for each in told["hypotheses"] if each["source"] == "agent:claude-code"]
        assert [each["verdict"] for each in by_claude] == ["supports", "refutes"] and told["step"] == "tested"
        assert told["gating"] == "advisory" and told["sessions"][0]["session"] == said.result["session_id"]

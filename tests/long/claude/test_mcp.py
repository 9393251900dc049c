"""Bad weather around `bitten mcp` and the real CLI: a session that is killed amid a check, and two sessions on one case."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest

from bitten.testing.scripted_api import ScriptedAPI
from tests.claude.plugin import laid_out
from tests.claude.stage import cli, staged
from tests.claude.test_mcp import OPTIONS
from tests.mcp_wire import FOUND, OTHER, project_files, running, until
from tests.stories import Project, captured

PLUGIN = "mcp__plugin_bitten_bitten__"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_session_that_is_ended_amid_a_check_leaves_nothing_that_runs_and_the_case_as_it_was(tmp_path, number):
    word = f"waits-{uuid.uuid4().hex}"
    waits = {**FOUND, "look": f"{sys.executable} waits.py {word}"}
    steps = [{"tool": "mcp__bitten__propose_hypotheses", "input": {"hypotheses": [waits, OTHER]}}, {"tool": "mcp__bitten__run_check"}]
    with staged(tmp_path, project_files(**{"waits.py": "import time\ntime.sleep(600)\n"}), steps) as stage:
        captured(stage.project).bitten("expect", "eight rows in two windows")
        session = subprocess.Popen([str(cli()), "-p", "Find the cause.", *OPTIONS], cwd=stage.project.root, env=stage.project.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: running(f"waits.py {word}".replace(" ", "\0")), "the check did not start")
        session.send_signal(number)
        session.wait(60)
        until(lambda: not running(word), "a process of the copy lives on")
        server = "bitten.interfaces.mcp"
        until(lambda: not any(_is_of(stage.project, pid) for pid in running(server)), "a server lives on")
        shown = stage.project.show()
        assert [each["verdict"] for each in shown["hypotheses"] if each["source"] == "agent:claude-code"] == [None, "refutes"]
        assert stage.api.strangers == []


def _is_of(project: Project, pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == project.root
    except OSError:  # it has ended
        return False


def test_two_sessions_on_one_case_lose_nothing_of_each_other(tmp_path):
    def proposal(name: str) -> dict[str, object]:
        return {"hypotheses": [{**FOUND, "claim": f"{FOUND['claim']}, says {name}", "look": f"{FOUND['look']} {name}"},
                               {**OTHER, "claim": f"{OTHER['claim']}, says {name}", "look": f"{FOUND['look']} other {name}"}]}

    said = {}
    with staged(tmp_path, project_files()) as stage:
        captured(stage.project).bitten("expect", "eight rows in two windows")

        def session(name: str) -> None:
            proposes = {"tool": "mcp__bitten__propose_hypotheses", "input": proposal(name)}
            steps = [proposes, {"tool": "mcp__bitten__run_check"}, {"text": "done"}]
            with ScriptedAPI(steps) as api:
                env = {**stage.project.env, "ANTHROPIC_BASE_URL": api.url}
                words = [str(cli()), "-p", "Find the cause.", "--output-format", "json", *OPTIONS]
                done = subprocess.run(words, cwd=stage.project.root, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                      timeout=200, check=False)
                said[name] = json.loads(done.stdout), [each.last_result for each in api.turns], api.strangers

        threads = [threading.Thread(target=session, args=(name,)) for name in ("one", "two")]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        for result, heard, strangers in said.values():
            assert result["is_error"] is False and '"accepted"' in heard[1] and '"supports"' in heard[2] and strangers == []
        shown = stage.project.show()
        claims = {each["claim"].rpartition(" ")[2]: each for each in shown["hypotheses"] if each["source"] == "agent:claude-code"}
        assert set(claims) == {"one", "two"} and len(shown["hypotheses"]) == len({each["id"] for each in shown["hypotheses"]})
        assert len(shown["sessions"]) == 2


def test_inside_a_session_whose_gate_is_alive_the_tools_keep_the_case_gated(tmp_path):
    steps = [{"tool": "Write", "input": {"file_path": str(tmp_path / "project" / "windows.py"), "content": "x = 1\n"}},
             {"tool": f"{PLUGIN}propose_hypotheses", "input": {"hypotheses": [FOUND, OTHER]}}, {"tool": f"{PLUGIN}run_check", "input": {}},
             {"text": "A person confirms."}, {"text": "A person confirms."}]
    with staged(tmp_path, project_files(), steps) as stage:
        captured(stage.project).bitten("expect", "eight rows in two windows")
        before = stage.project.photograph()
        stage.claude("Find the cause.", "--plugin-dir", str(laid_out(stage)), "--allowedTools", "mcp__plugin_bitten_bitten",
                     "--permission-mode", "acceptEdits")
        _, refused, accepted, checked, *_ = stage.api.turns
        assert "no cause is confirmed" in refused.last_result.lower() and '"accepted"' in accepted.last_result
        assert '"supports"' in checked.last_result and stage.project.photograph() == before and stage.api.strangers == []
        shown = stage.project.show()
        assert shown["gating"] == "gated" and len(shown["sessions"]) == 1


def test_what_the_page_says_to_put_into_a_project_works_as_it_stands(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "mcp.md").read_text("utf-8")
    snippet = page.partition("```json\n")[2].partition("```")[0]
    steps = [{"tool": "mcp__bitten__case"}, {"text": "ok"}]
    with staged(tmp_path, project_files(**{".mcp.json": snippet}), steps) as stage:
        captured(stage.project)
        said = stage.claude("Where are we?", "--allowedTools", "mcp__bitten", MCP_CONNECTION_NONBLOCKING="0")
        [server] = next(each["mcp_servers"] for each in said.messages if each.get("subtype") == "init")
        assert server["name"] == "bitten" and '"case":1' in stage.api.turns[1].last_result and stage.api.strangers == []

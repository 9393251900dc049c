"""What a session of the Claude driver costs beside the model: its imports, its processes, its requests. The model is a script on loopback.

`python benchmarks/driver.py [--rounds N]`
"""

from __future__ import annotations

import json
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness import Cost, cost, first_line, interval, lockstep, options, section, table, workplace

from bitten.adapters.agents.claude import cli
from bitten.testing.scripted_api import ScriptedAPI

PASS = [sys.executable, "-c", "pass"]
IMPORT = [sys.executable, "-c", "import claude_agent_sdk"]
ASK = """
import sys
from bitten.adapters.agents.claude import ClaudeAgent
from bitten.core.ports import Brief
class Ear:
    def says(self, words): pass
    def spent(self, spent): pass
    def proposes(self, proposal): return "kept"
assert ClaudeAgent().ask(Brief(sys.argv[1], "Why?", sys.argv[2], ("data.py", "test_data.py")), Ear()).ended == "done"
"""
GUESS = {"claim": "the last window is short", "because": "127 rows came", "likelihood": "likely", "look": "captured",
         "supports_if": "rows < 128", "refutes_if": "rows == 128", "scope": ["data.py"]}
READ = {"tool": "Read", "input": {"file_path": "data.py"}}
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "diagnose": [READ, {"tool": "mcp__bitten__propose_hypotheses", "input": {"hypotheses": [GUESS, GUESS]}}, {"text": "Done."}],
    "fix": [READ, {"tools": [["Edit", {"file_path": "data.py", "old_string": "127", "new_string": "128"}],
                             ["Write", {"file_path": "test_data.py", "content": "def test_rows(): pass\n"}]]}, {"text": "Done."}],
}


def main() -> None:
    given = options(rounds=9)
    with workplace() as project:
        sent: dict[str, list[int]] = {}
        sessions = {f"a session of {phase}": partial(session, project, phase, sent) for phase in SCRIPTS}
        plain = {"`python -c pass`": partial(cost, PASS), "`import claude_agent_sdk`": partial(cost, IMPORT)}
        runs = lockstep({**plain, **sessions}, given.rounds)
    rows = [[name, f"{interval([each.wall for each in found]):.2f}", f"{interval([each.cpu for each in found]):.2f}",
             *sent.get(name.rpartition(" ")[2], ["", ""])] for name, found in runs.items()]
    versions = {"claude-agent-sdk": version("claude-agent-sdk"), "CLI": first_line([cli.found(None, {}), "--version"])}
    section("A session of the Claude driver", versions,
            table(["", "seconds [95 %]", "CPU seconds [95 %]", "requests", "bytes of the first request"], rows))


def session(project: Path, phase: str, sent: dict[str, list[int]]) -> Cost:
    """From the start of a Python process to its end; the CLI is counted with it."""
    (project / "data.py").write_text("ROWS = 127\n", "utf-8")
    (project / "test_data.py").unlink(missing_ok=True)
    with ScriptedAPI(SCRIPTS[phase]) as api:
        own = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "dummy", "CLAUDE_CONFIG_DIR": str(project.parent / "claude")}
        found = cost([sys.executable, "-c", ASK, phase, str(project)], own)
        assert found.code == 0 and not api.strangers
        sent[phase] = [len(api.requests), len(json.dumps(api.requests[0].body))]
    return found


if __name__ == "__main__":
    main()

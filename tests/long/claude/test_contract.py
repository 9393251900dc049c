"""The driver of Claude keeps the contract that every agent is held to."""

from __future__ import annotations

import pytest

from bitten.adapters.agents.claude import ClaudeAgent
from bitten.testing import RULES, Trial
from tests.claude.driving import PROPOSE, left
from tests.claude.stage import staged


def played(step, folder):
    """A step of a script as what a model says."""
    ((kind, given),) = step.items()
    forms = {
        "says": lambda: {"text": told(given), "tool": "Read", "input": {"file_path": f"{folder}/source.py"}},
        "reads": lambda: {"tool": "Read", "input": {"file_path": f"{folder}/{given}"}},
        "proposes": lambda: {"tool": PROPOSE, "input": given},
        "writes": lambda: {"tool": "Write", "input": {"file_path": f"{folder}/{given[0]}", "content": given[1]}},
        "runs": lambda: {"tool": "Bash", "input": {"command": given}},
        "sleeps": lambda: {"hang": given, "text": ""},
        "ends": lambda: {"text": told(given) or "."},
    }
    return forms[kind]()


def told(words):
    return words.replace("$told", "$last_result")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_claude_keeps(rule, tmp_path):
    with staged(tmp_path, {"a.py": "x\n"}) as stage:

        def make(steps, folder):
            stage.api.steps[:] = [played(step, folder) for step in steps]
            return ClaudeAgent(env=stage.project.env)

        rule(Trial(make, tmp_path / "copy"))
        assert left(stage) == [] and stage.api.strangers == []

"""The gate in the real CLI, every permission check switched off: what the model tries, what it is told, and what is on disk afterwards."""

from __future__ import annotations

import json
from contextlib import contextmanager

from tests.claude.plugin import laid_out
from tests.claude.stage import staged
from tests.claude_plugin.cases import AFTER_FAILURE, SOURCE, add, failure

FILES = {"src/data.py": SOURCE, "src/other.py": "x = 1\n", ".claude/settings.json": "{}\n", ".gitignore": ".bitten/\n",
         ".claude/commands/make.md": "Make it.\n!`touch made`\n"}


@contextmanager
def played(place, state, steps, bashrc=""):
    """A session with the plugin in a project whose case is as far; yields the stage and what the model was told, call by call."""
    with staged(place, FILES, [*steps, {"text": "done"}]) as stage:
        root = stage.project.root
        if state != "none":
            add(root, [failure(root), *AFTER_FAILURE[state]])
        (stage.project.home / ".bashrc").write_text(bashrc)
        done = stage.claude("go on", "--plugin-dir", str(laid_out(stage)), "--dangerously-skip-permissions", SHELL="/bin/bash")
        assert done.exit == 0, done.stderr
        assert stage.api.strangers == []
        yield stage, [turn.last_result for turn in stage.api.turns[1:]]


def call(tool, **told):
    return {"tool": tool, "input": told}


def test_before_a_confirmed_cause_no_tool_of_the_real_cli_changes_a_file(tmp_path):
    tries = [
        call("Read", file_path="src/data.py"), call("Bash", command="git status --short"),
        call("Edit", file_path="src/data.py", old_string="ROWS - 1", new_string="ROWS"), call("Write", file_path="new.py", content="x"),
        call("Bash", command="sed -i s/7/8/ src/data.py"), call("Bash", command="echo x > new.py"), call("Skill", skill="make"),
        call("Skill", skill="bitten:confirm", args="h1 127"), call("Write", file_path=".claude/settings.json", content="{}"),
        call("Agent", description="d", prompt="write it", subagent_type="general-purpose", run_in_background=False),
        call("Write", file_path="new.py", content="by an agent"), {"text": "the agent is done"}]
    with played(tmp_path, "tested", tries) as (stage, told):
        assert "ROWS - 1" in told[0] and "no cause" not in told[1].lower()
        for number in (2, 3, 4, 5, 6):
            assert "No cause is confirmed" in told[number] and "bitten check" in told[number], number
        assert "cannot be used" in told[7] or "only a person confirms" in told[7], "the command's own front matter refuses it first"
        assert "not written by an agent" in told[8]
        assert any("new.py" not in each and "No cause is confirmed" in each for each in told[10:])
        assert stage.project.git("status", "--short") == ""


def test_a_confirmed_cause_opens_its_function_and_its_test(tmp_path):
    tries = [
        call("Read", file_path="src/data.py"), call("Edit", file_path="src/data.py", old_string="return 1", new_string="return 2"),
        call("Edit", file_path="src/data.py", old_string="ROWS - 1", new_string="ROWS"),
        call("Write", file_path="tests/test_data.py", content="def test_last():\n    assert 1\n"),
        call("Write", file_path="tests/test_more.py", content=""), call("Bash", command="git commit -am x")]
    with played(tmp_path, "confirmed", tries) as (stage, told):
        assert "outside of Loader.__iter__" in told[1] and "`return 2`" in told[1]
        assert "updated" in told[2] and "created" in told[3] and "not in it" in told[4] and "git commit" in told[5]
        assert stage.project.read("src/data.py") == SOURCE.replace("ROWS - 1", "ROWS")
        assert sorted(stage.project.git("status", "--short", "-uall").split()) == ["??", "M", "src/data.py", "tests/test_data.py"]
        remembered = next((stage.project.home / "state" / "bitten" / "claude").glob("*.json"))
        assert json.loads(remembered.read_text())["alive"] is True


def test_what_the_shell_makes_of_a_name_is_seen_in_the_tree(tmp_path):
    with played(tmp_path, "tested", [call("Bash", command="ls")], bashrc="ls() { touch made; command ls; }\n") as (stage, told):
        assert (stage.project.root / "made").exists()
        assert told == ["made\nsrc"] and "made changed without leave" in stage.api.turns[1].told
        noted = next((stage.project.home / "state" / "bitten" / "claude").glob("*.noted.jsonl"))
        assert json.loads(noted.read_text())["paths"] == ["made"]

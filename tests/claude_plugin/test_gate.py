# ruff: noqa: E501 - a table of commands and paths is easier read unbroken
"""The gate's answers, row by row: every tool, before and after a confirmed cause, by every path that a file can be named by."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitten.adapters.scope import touched, units
from bitten.core.case import IMPORTED, Note
from bitten.core.failure import Command, Run
from bitten.interfaces.claude_plugin.hooks import gate, ours, places, protected, tools
from bitten.interfaces.claude_plugin.hooks.functions import Broken, strays
from tests import nouns
from tests.claude_plugin.cases import HOOKS, SOURCE, add, event, failure, hook, project

STATES = ("none", "open", "suspected", "tested", "confirmed", "fixed", "verified", "learned", "closed", "dropped")
OPEN = STATES[1:8]
MEND = {"file_path": "src/data.py", "old_string": "ROWS - 1", "new_string": "ROWS"}


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    return {state: project(tmp_path_factory.mktemp(state), state) for state in STATES}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_CONFIG_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "home"


def reason(root, tool, told, **more):
    return gate.refusal(event(root, tool, told, **more))


# --- before a cause is confirmed, and after it is proven ---

WRITES = {"Edit": {"file_path": "src/other.py", "old_string": "x", "new_string": "y"}, "Write": {"file_path": "new.py", "content": ""},
          "MultiEdit": {"file_path": "src/data.py", "edits": []}, "NotebookEdit": {"notebook_path": "a.ipynb", "new_source": ""},
          "mcp__files__write_file": {"path": "x"}, "PowerShell": {"command": "ls"}, "Monitor": {"command": "ls"}, "Workflow": {"script": ""},
          "CronCreate": {}, "EnterWorktree": {}, "ExitWorktree": {}, "ScheduleWakeup": {}, "SomethingNew": {}, "mcp__bitten__confirm": {},
          "mcp__bittenx__case": {}, "mcp__plugin_bitten_bitten__confirm_cause": {}, "edit": {"file_path": "x"}, "Bash": {"command": "touch x"},
          "Skill": {"skill": "commit"}, "SlashCommand": {"command": "/commit"}, "Agent": {"prompt": "x", "isolation": "worktree"}}


@pytest.mark.parametrize("state", [state for state in OPEN if state != "confirmed"])
def test_with_an_open_case_nothing_is_written_but_in_a_confirmed_scope(roots, state):
    for tool, told in WRITES.items():
        said = reason(roots[state], tool, told)
        assert "case 1" in said and "bitten" in said.split("Next:")[1], tool


def test_a_confirmed_cause_opens_the_scope_and_nothing_else(roots):
    for tool, told in WRITES.items():
        assert "src/data.py:Loader.__iter__" in reason(roots["confirmed"], tool, told) or tool == "MultiEdit"


@pytest.mark.parametrize("state", ["none", "closed", "dropped"])
def test_without_an_open_case_a_session_is_as_free_as_ever(roots, state):
    for tool, told in WRITES.items():
        assert not reason(roots[state], tool, told), tool


@pytest.mark.parametrize("state", STATES)
def test_readers_ours_and_subagents_are_let_through_at_any_time(roots, state):
    for tool in (*tools.READERS, "Agent", "Task", "mcp__bitten__case", "mcp__plugin_bitten_bitten__run_check"):
        assert not reason(roots[state], tool, {"file_path": ".claude/settings.json", "prompt": "x"}), tool


@pytest.mark.parametrize("mode", ["default", "plan", "acceptEdits", "dontAsk", "auto", "bypassPermissions"])
def test_the_permission_mode_changes_no_answer(roots, mode):
    assert reason(roots["tested"], "Edit", MEND, permission_mode=mode)
    assert not reason(roots["confirmed"], "Edit", MEND, permission_mode=mode)


def test_a_subagent_is_held_like_its_session(roots):
    assert reason(roots["tested"], "Edit", MEND, agent_id="a1", agent_type="general-purpose")


def test_each_state_names_its_next_command(roots):
    words = {"open": "bitten check", "confirmed": "bitten verify", "fixed": "bitten verify", "verified": "bitten close", "learned": "bitten close"}
    for state, word in words.items():
        assert word in reason(roots[state], "Write", {"file_path": "new.py", "content": ""})


# --- the scope: its files, by their real place ---

def in_scope(root, tool="Edit", **told):
    return reason(root, tool, {**MEND, **told} if tool == "Edit" else told)


def test_scope_and_test_are_written_by_any_name_that_leads_there(roots, tmp_path):
    root = roots["confirmed"]
    (tmp_path / "alias").symlink_to(root)
    for path in ("src/data.py", str(root / "src" / "data.py"), "./src/data.py", "src//data.py", str(tmp_path / "alias" / "src" / "data.py")):
        assert not in_scope(root, file_path=path), path
    assert not in_scope(root, "Write", file_path="tests/test_data.py", content="def test_it():\n    assert 1\n")
    assert not reason(root, "Edit", {**MEND, "file_path": "data.py"}, cwd=str(root / "src"))


@pytest.mark.parametrize("path", [
    "src/other.py", "tests/test_old.py", "tests/test_data2.py", "src/new.py", "src/data.py/x", "../project/src/data.py", "src/../src/data.py",
    "SRC/data.py", "src/DATA.py", "src/data.pу", "src/data.py ", " src/data.py", "src/data.py\u200b", "src/d\u00adata.py", "src/data.py\n", "src/data.py\r",
    "src/data.py\u202e", "\ufeffsrc/data.py", "src", "src/", ".", "/", "/etc/passwd", "~/x", "pyproject.toml", ".github/workflows/ci.yml", "conftest.py",
    "tests/conftest.py", "Makefile", "sitecustomize.py", ".bitten.toml", "CLAUDE.md", "file:///x", "\\src\\data.py", "src\\data.py", "data.py"])
def test_anything_but_the_scope_is_refused(roots, path):
    assert in_scope(roots["confirmed"], file_path=path)
    assert in_scope(roots["confirmed"], "Write", file_path=path, content="")


def test_what_is_no_path_at_all_shuts_the_gate(roots):
    for path in (None, 7, "", [], {}, "a\0b"):
        with pytest.raises(ValueError, match="names no file"):
            in_scope(roots["confirmed"], file_path=path)


def test_links_and_special_files_in_the_place_of_the_scope_are_refused(tmp_path):
    root = project(tmp_path, "confirmed")
    data, test = root / "src" / "data.py", root / "tests" / "test_data.py"
    test.symlink_to(root / "src" / "other.py")
    assert "link" in in_scope(root, "Write", file_path=str(test), content="")
    test.unlink()
    os.link(root / "src" / "other.py", test)
    assert "hard link" in in_scope(root, "Write", file_path=str(test), content="")
    test.unlink()
    os.mkfifo(test)
    assert "special" in in_scope(root, "Write", file_path=str(test), content="")
    (root / "away").mkdir()
    data.rename(root / "away" / "data.py")
    (root / "src" / "other.py").unlink()
    (root / "src").rmdir()
    (root / "src").symlink_to(root / "away")
    assert "not in it" in in_scope(root)


# --- the scope: its functions ---

INSIDE = [
    ("ROWS - 1", "ROWS"), ("        return iter(range(ROWS - 1))\n", "        import math\n\n        return iter(range(math.ceil(ROWS)))\n"),
    ("    # how it goes round\n", "    # how it goes round: whole\n"), ("    def __iter__(self):", "    @property\n    def __iter__(self):"),
    ("return iter(range(ROWS - 1))", "def inner():\n            return ROWS\n        return iter(range(inner()))"),
    ("    # how it goes round\n    def __iter__(self):\n        return iter(range(ROWS - 1))\n\n", ""), ("range(ROWS - 1)", "range(\n            ROWS)"),
    ("ROWS - 1))\n", "ROWS))\n\n\n")]
OUTSIDE = [
    ("ROWS = 7", "ROWS = 8"), ("import os", "import os, sys"), ("size = 2", "size = 3"), ("return 1", "return 2"), ("return ROWS\n", "return 6\n"),
    ("import os\n", "import os\nimport re\n"), ("ROWS - 1))\n", "ROWS))\n\n    def more(self):\n        return 1\n"), ("class Loader:", "class Other:"),
    ("    def __iter__(self):", "    def __next__(self):"), ("ROWS - 1))\n", "ROWS))\n    extra = 1\n"), ("def helper():\n    return 1\n", ""),
    ("ROWS - 1))\n", "ROWS))\nROWS = 9\nclass X:\n"), ("ROWS - 1))\n", "ROWS))\n\n    @property\n")]


def fits(new):
    """As `verify` holds it, by a parser that knows syntax and not lines."""
    return all(nouns.SCOPE.covers(each) for each in touched("src/data.py", SOURCE.encode(), new.encode()))


@pytest.mark.parametrize(("old", "new"), INSIDE)
def test_a_change_within_the_function_is_let_through(roots, old, new):
    assert SOURCE.count(old) == 1 and fits(SOURCE.replace(old, new))
    assert not in_scope(roots["confirmed"], old_string=old, new_string=new)
    assert not in_scope(roots["confirmed"], "Write", file_path="src/data.py", content=SOURCE.replace(old, new))


@pytest.mark.parametrize(("old", "new"), OUTSIDE)
def test_a_change_outside_of_the_function_is_refused(roots, old, new):
    assert SOURCE.count(old) == 1 and not fits(SOURCE.replace(old, new))
    said = in_scope(roots["confirmed"], old_string=old, new_string=new)
    assert "outside of Loader.__iter__" in said or "parse" in said
    assert in_scope(roots["confirmed"], "Write", file_path="src/data.py", content=SOURCE.replace(old, new))


LINES = st.sampled_from(["", "# a note", "ROWS = 7", "    size = 2", "    def __iter__(self):", "        return ROWS", "class Loader:", "def helper():",
                         "    @property", "    return 1", "'\"\"", '    """', "\\", "        def inner():", "            pass", "if ROWS:", "\x0c", "x = 1; y = 2"])


@given(st.lists(st.tuples(st.integers(0, 18), st.booleans(), LINES), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_gate_takes_for_inside_verify_does_too(changes):
    lines = SOURCE.split("\n")
    for at, instead, line in changes:
        lines[at:at + 1] = [line] if instead else [line, *lines[at:at + 1]]
    new = "\n".join(lines)
    try:
        inside = not strays(SOURCE, new, ["Loader.__iter__"])
    except Broken:
        return
    blank_lines_alone = [line.rstrip() for line in new.splitlines() if line.strip()] == [line for line in SOURCE.splitlines() if line]
    assert not inside or fits(new) or blank_lines_alone or units(new.encode()) is None  # what its parser alone can't read it takes whole


def test_an_edit_that_can_not_be_followed_is_refused(roots):
    root = roots["confirmed"]
    for told in ({"old_string": "absent"}, {"old_string": "return"}, {"old_string": ""}, {"old_string": 7}, {"new_string": None}):
        assert in_scope(root, **told)
    assert "parse" in in_scope(root, new_string="ROWS))(")
    assert in_scope(root, old_string="return", new_string="yield", replace_all=True)
    assert in_scope(root, "NotebookEdit", notebook_path="src/data.py", new_source="x")
    many = [{"old_string": "ROWS - 1", "new_string": "ROWS"}, {"old_string": "size = 2", "new_string": "size = 3"}]
    assert in_scope(root, "MultiEdit", file_path="src/data.py", edits=many)
    assert not in_scope(root, "MultiEdit", file_path="src/data.py", edits=many[:1])


def test_an_edit_that_takes_a_line_s_end_along_is_seen_as_claude_code_does_it(roots):
    """What deletes to the end of a line joins it with the next: here the class's own line would become part of the function."""
    assert in_scope(roots["confirmed"], old_string="import os\n\nROWS = 7", new_string="")


def test_a_file_that_does_not_parse_here_is_held_as_a_file(tmp_path):
    root = project(tmp_path, "confirmed")
    (root / "src" / "data.py").write_text("def broken(:\n    ROWS - 1\n")
    assert not in_scope(root)
    (root / "src" / "data.py").write_bytes(b"\xff\xfe broken ROWS - 1")
    assert not in_scope(root)


def test_windows_line_ends_and_marks_of_order_change_no_answer(tmp_path):
    root = project(tmp_path, "confirmed")
    (root / "src" / "data.py").write_bytes(b"\xef\xbb\xbf" + SOURCE.replace("\n", "\r\n").encode())
    assert not in_scope(root, old_string="    def __iter__(self):\n        return iter(range(ROWS - 1))\n", new_string="    def __iter__(self):\n        pass\n")
    assert in_scope(root, old_string="ROWS = 7\n", new_string="ROWS = 8\n")


# --- what is never written ---

@pytest.mark.parametrize("path", [
    ".bitten/1-failed/events.jsonl", ".bitten", ".bitten/current", "sub/.bitten/x", "/elsewhere/.bitten/x", ".BITTEN/x", ".Bitten/x", ".bitt\u200ben/x",
    ".ｂitten/x", ".bitten./x", "src/../.bitten/x", "./.bitten/x", ".//.bitten//x", ".claude/settings.json", ".claude/settings.local.json",
    ".claude/commands/x.md", ".claude/skills/x/SKILL.md", ".CLAUDE/settings.json", "~/.claude/settings.json", "~/.claude.json", "~/.claude/plugins/x",
    ".mcp.json", "sub/.mcp.json", ".MCP.json", ".git/hooks/pre-commit", ".git/config", ".git", ".GIT/config", ".git/index", "sub/.git/HEAD",
    ".claude/worktrees/w", ".claude/worktrees/w/.bitten/x", ".claude/worktrees/w/.claude/settings.json", "~/.claude/projects/p/settings.json",
    "~/.claude/plans/../settings.json", "~/.claude/plans/x.py"])
def test_cases_settings_and_git_s_own_are_never_written(roots, path):
    for state in ("none", "confirmed"):
        assert "not written by an agent" in reason(roots[state], "Write", {"file_path": path, "content": ""})
        assert reason(roots[state], "Edit", {"file_path": path, "old_string": "a", "new_string": "b"})
        assert reason(roots[state], "mcp__files__write", {"where": [{"path": path}], "content": "x"})


@pytest.mark.parametrize("path", [" .mcp.json", "\t.claude/settings.json", ".mcp.json\n", "\ufeff.git/config", "\u00a0.mcp.json", " /home/x.py", "\n~/x.py"])
def test_a_path_whose_edges_claude_code_cuts_off_is_refused_with_or_without_a_case(roots, path):
    for state in ("none", "confirmed"):
        assert "begins or ends with a blank" in reason(roots[state], "Write", {"file_path": path, "content": ""})


@pytest.mark.parametrize("path", ["src/data.py", "README.md", ".gitignore", ".github/x.yml", "claude/settings.json", "bitten/x.py", ".claude-x/y", "mcp.json",
                                  ".claude/worktrees/w/src/data.py", "~/.claude/plans/plan.md", "~/.claude/projects/p/memory/MEMORY.md", "/tmp/x"])
def test_what_is_near_but_is_none_of_it_is_free_without_a_case(roots, path):
    assert not reason(roots["none"], "Write", {"file_path": path, "content": ""})


def test_the_gate_its_state_and_claude_s_folder_are_kept_wherever_they_lie(roots, tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "conf"))
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", str(tmp_path / "plugin"))
    for path in (HOOKS / "gate.py", tmp_path / "plugin" / "hooks" / "gate.py", tmp_path / "conf" / "settings.json",
                 Path(places.states()[0]) / "claude" / "s.json", Path(places.data()) / "x"):
        assert reason(roots["none"], "Write", {"file_path": str(path), "content": ""}), path


def test_a_link_to_what_is_kept_is_no_way_around(tmp_path):
    root = project(tmp_path, "none")
    (root / ".claude").mkdir()
    (root / ".claude" / "settings.json").write_text("{}")
    (root / "innocent").symlink_to(root / ".claude")
    (root / "plain.json").symlink_to(root / ".claude" / "settings.json")
    os.link(root / ".claude" / "settings.json", root / "hard.json")
    os.link(root / "src" / "other.py", root / "twin.py")
    (root / "away").symlink_to(tmp_path)
    (root / ".claude" / "sub").mkdir()
    (root / "into").symlink_to(root / ".claude" / "sub")
    for path in ("innocent/settings.json", "innocent/new.json", "plain.json", "hard.json", "into/../settings.json", "away/../innocent/x"):
        assert reason(root, "Write", {"file_path": path, "content": ""}), path
    assert not reason(root, "Write", {"file_path": "twin.py", "content": ""})


# --- the shell ---

RUN = "bitten run -- make train 'RUN=a b'"
IN_CASE = ["bitten", "bitten --version", "bitten show", "bitten show h1", "bitten show --json", "bitten cases", "bitten check", "bitten check h1 h2 --json",
           "bitten check --timeout 60 h1", "bitten diagnose --all", "bitten prompt fix", "bitten picture", "bitten wait", "bitten verify", "bitten doctor",
           "bitten fix", "bitten fix --help", RUN, "bitten run --detach -- make train 'RUN=a b'", "ls", "git diff",
           "bitten suspect 'it is short' --check 'python n.py' --supports-if 'rows < 8' --refutes-if 'rows == 8' --scope a.py:f"]
PERSONAL = ["bitten confirm h1", "bitten reject h1 'no'", "bitten drop x", "bitten reset", "bitten switch 2", "bitten learn", "bitten close",
            "bitten expect 'x == 1'", "bitten hook PreToolUse", "bitten plugin uninstall", "bitten import x", "bitten gc"]
NOT_IN_CASE = [
    *PERSONAL, "bitten fix --scope src/other.py", "bitten fix --with claude", "bitten diagnose --with claude", "bitten check --yes",
    "bitten check --allow-write /x", "bitten verify --allow-net", "bitten check h1 --on x", "bitten show ../x", "bitten mcp", "bitten capture --log x",
    "bitten shell-hook", "bitten demo", "bitten export", "bitten prove x", "bitten unknown", "bitten run -- make train RUN=a", "bitten run -- make",
    "bitten run -- make train 'RUN=a b' x", "bitten run make train 'RUN=a b'", "bitten run --expect x -- make train 'RUN=a b'", "bitten run -- bash -c x",
    "bitten run -- make train RUN=a?b", "bitten run", "bitten run --", f"{RUN}; touch x", f"{RUN} > x", "cd src && bitten", "./bitten show",
    "/tmp/bitten show", "python -m bitten show", "script -c 'bitten confirm h1' /dev/null", "expect -c 'spawn bitten confirm h1'", "BITTEN=1 bitten",
    "make train 'RUN=a b'", "python x.py", "git commit -am x"]


@pytest.mark.parametrize("state", OPEN)
def test_with_an_open_case_a_shell_reads_and_runs_bitten(roots, state):
    for command in IN_CASE:
        assert not reason(roots[state], "Bash", {"command": command}), command
    for command in NOT_IN_CASE:
        assert "case 1" in reason(roots[state], "Bash", {"command": command}), command


def test_the_list_of_our_commands_names_none_and_no_option_that_bitten_has_not():
    from bitten.interfaces.cli import COMMANDS, HIDDEN, cli  # noqa: PLC0415 - only here

    assert {*COMMANDS, *HIDDEN} >= ours.PERSONS and not ours.PERSONS & set(ours.VERBS)
    for name, verb in ours.VERBS.items():
        command = cli.get_command(None, name) if name in COMMANDS else None
        assert command, name
        flags = {word: each.is_flag for each in command.params if isinstance(each, click.Option) for word in each.opts}
        assert all(flags.get(word) is True for word in verb.flags) and all(flags.get(word) is False for word in verb.options), name


def test_the_bitten_beside_our_own_python_may_be_named_in_full(roots):
    assert not reason(roots["open"], "Bash", {"command": f"{Path(sys.executable).parent}/bitten show"})


def test_the_failing_command_is_run_where_it_failed_and_never_a_stranger_s(roots, tmp_path):
    assert "not in" in reason(roots["open"], "Bash", {"command": RUN}, cwd=str(roots["open"] / "src"))
    root = project(tmp_path, "none")
    add(root, [failure(root), Note("linked", f"{IMPORTED}case.tgz: x")])
    assert "stranger" in reason(root, "Bash", {"command": RUN})
    assert not reason(root, "Bash", {"command": "bitten check"})


def test_a_command_with_a_glob_is_taken_quoted_alone(tmp_path):
    root = project(tmp_path, "none")
    add(root, [dataclasses.replace(failure(root), run=Run(Command(("ls", "src/*.py"), str(root)), 2, 1.0))])
    assert not reason(root, "Bash", {"command": "bitten run -- ls 'src/*.py'"})
    assert "'src/*.py'" in reason(root, "Bash", {"command": "bitten run -- ls src/*.py"})


def test_a_long_argument_with_quotes_is_quoted_so_that_it_is_taken():
    argv = ("sh", "-c", "a 'b' | \"c\" $d", "é", "")
    from bitten.interfaces.claude_plugin.hooks.bash import words_of  # noqa: PLC0415 - only here

    assert tuple(map(str, words_of(ours.quoted(argv)))) == argv


FREE = ["git add .claude/settings.json", "git commit -m 'keep .claude, and bitten close'", "cat docs/claude/plugin.md > x", "touch x", "make train | tee log", "python -c 'x'", "cat .bitten/1-x/debug.md", "ls .claude", "git commit -m 'bitten: a fix'", "bitten run -- x",
        "git status", "rm -rf build", "grep -r confirm .", "echo claude > x", "cat .claude/settings.json", "ls .claude/worktrees/w/src > x"]
SAID = ["echo x > .bitten/current", "rm -rf .bitten", "rm -r .bit''ten", "sed -i s/a/b/ .claude/settings.json", "cp x .mcp.json", "echo > .git/hooks/pre-commit",
        "git config core.hooksPath x", "git config core.fsmonitor x", "rm .claude.json", "cd .claude && touch x", "tee ~/.claude/settings.json",
        "bash -c 'bitten confirm h1'", "script -c 'bitten confirm h1'", "bitten hook PreToolUse < x", "python -m bitten confirm h1", "bitten plugin uninstall",
        "claude plugin disable bitten", "claude mcp add bitten -- evil", "git commit -m x; rm -rf .bitten", "bitten --x switch 2", "echo y | bitten close"]


@pytest.mark.parametrize("state", ["none", "closed", "dropped"])
def test_without_a_case_a_shell_is_free_but_for_what_its_words_say(roots, state):
    for command in FREE:
        assert not reason(roots[state], "Bash", {"command": command}), command
    for command in SAID:
        assert reason(roots[state], "Bash", {"command": command}), command


# --- confirming ---

@pytest.mark.parametrize(("tool", "told"), [
    ("Skill", {"skill": "bitten:confirm", "args": "h1 127"}), ("Skill", {"skill": "/bitten:confirm"}), ("Skill", {"skill": "confirm"}),
    ("Skill", {"skill": "Bitten:CONFIRM"}), ("Skill", {"skill": "bitten:ｃonfirm"}), ("Skill", {"skill": "bitten:confirm h1 127"}),
    ("SlashCommand", {"command": "/bitten:confirm h1 127"}), ("SlashCommand", {"command": "  /bitten:confirm"})])
def test_no_call_of_a_model_confirms(roots, tool, told):
    assert all("only a person confirms" in reason(roots[state], tool, told) for state in STATES)


@pytest.mark.parametrize("state", ["none", "tested"])
@pytest.mark.parametrize(("tool", "told"), [
    ("SendMessage", {"to": "main", "message": "/bitten:confirm h1 127"}), ("SendMessage", {"to": "a", "message": "x\n/bitten:confirm h1"}),
    ("CronCreate", {"cron": "* * * * *", "prompt": "/bitten:confirm h1 127"}), ("ScheduleWakeup", {"prompt": "/bitten:confirm h1 127"}),
    ("SendMessage", {"to": "a", "message": f"{'so it goes. ' * 400}\n/bitten:confirm h1"}), ("SendMessage", {"to": "a", "message": "\0/bitten:confirm h1"}),
    ("CronCreate", {"cron": "* * * * *", "prompt": f"{'so it goes. ' * 400}\n/bitten:confirm h1"}),
    ("mcp__chat__post", {"text": "please type bitten confirm h1"})])
def test_no_text_that_another_session_or_a_later_hour_would_read_confirms(roots, state, tool, told):
    assert reason(roots[state], tool, told)
    assert not reason(roots[state], "SendMessage", {"to": "a", "message": "read src/data.py"})


@pytest.mark.parametrize("state", STATES)
def test_our_other_skills_are_called_at_any_time(roots, state):
    for name in ("bitten:start", "bitten:fix", "bitten:status", "bitten:bitten-debug"):
        assert not reason(roots[state], "Skill", {"skill": name})


# --- which case binds a call ---

def test_a_case_binds_the_session_that_began_in_its_project_and_whoever_writes_there(roots, tmp_path, home, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    told = {"file_path": str(roots["open"] / "src" / "other.py"), "content": ""}
    assert "case 1" in reason(elsewhere, "Write", told)
    assert not reason(elsewhere, "Write", {**told, "file_path": "x.py"})
    session(home, root=str(roots["open"]))
    assert "case 1" in reason(elsewhere, "Write", {**told, "file_path": "x.py"})
    session(home)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(roots["open"]))
    assert "case 1" in reason(elsewhere, "Write", {**told, "file_path": "x.py"})
    assert "case 1" in reason(elsewhere, "Bash", {"command": "touch x"})


def test_a_case_that_found_no_room_in_its_project_binds_too(tmp_path, monkeypatch):
    root = project(tmp_path, "open")
    home = next(each for each in list(places.homes(str(root)))[:1])
    import hashlib  # noqa: PLC0415 - only here

    spare = Path(places.spare()[0]) / "projects" / f"project-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"
    spare.parent.mkdir(parents=True)
    Path(home).rename(spare)
    assert "case 1" in reason(root, "Write", {"file_path": "x.py", "content": ""})


def test_a_journal_that_can_not_be_read_shuts_the_gate_and_says_so(tmp_path):
    root = project(tmp_path, "confirmed")
    file = next((root / ".bitten").glob("1-*/events.jsonl"))
    file.write_bytes(file.read_bytes().replace(b'"prev"', b'"prov"', 1))
    said = reason(root, "Edit", MEND)
    assert "can't be read" in said and "bitten show" in said
    assert not reason(root, "Bash", {"command": "bitten show"})


# --- the session, its settings, and the script itself ---

def session(home, **told):
    file = home / "state" / "bitten" / "claude" / "session-1.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(told))
    return file


def test_the_first_call_of_a_session_with_a_nonce_marks_it_alive(roots, home):
    file = session(home, nonce="abc", alive=False, began=1.0, shown={"1/h1": "d"})
    assert gate.decide(event(roots["none"], "Read", {})) == {}
    told = json.loads(file.read_text())
    assert told["alive"] is True and abs(told["alive_at"] - time.time()) < 60 and told["shown"] == {"1/h1": "d"}
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.stat().st_ino
    assert gate.decide(event(roots["none"], "Read", {})) == {} and file.stat().st_ino == before


def test_without_a_nonce_the_answers_are_the_same_and_nothing_is_alive(roots, home):
    told = event(roots["open"], "Write", {"file_path": "x", "content": ""})
    outside = session(home, nonce="abc").rename(home / "state" / "bitten" / "outside.json")
    denied = gate.decide({**told, "session_id": "../outside"})
    assert denied["hookSpecificOutput"]["permissionDecision"] == "deny" and json.loads(outside.read_text()) == {"nonce": "abc"}
    file = session(home, nonce="", alive=False)
    assert gate.decide(told) == denied
    assert json.loads(file.read_text())["alive"] is False
    file.write_text("{half")
    assert gate.decide(told) == denied


def test_settings_stay_as_they_are_while_a_case_is_open(roots):
    def changed(state, source):
        return gate.decide({"hook_event_name": "ConfigChange", "cwd": str(roots[state]), "session_id": "s", "source": source})

    assert all(changed("open", source)["decision"] == "block" for source in ("user_settings", "project_settings", "local_settings"))
    assert not changed("open", "policy_settings") and not changed("none", "project_settings") and not changed("closed", "user_settings")


def test_the_script_denies_by_json_and_is_silent_where_it_has_nothing_to_say(roots):
    done = hook("gate.py", event(roots["open"], "Write", {"file_path": "x.py", "content": "é\ud800"}))
    told = json.loads(done.stdout)["hookSpecificOutput"]
    assert (done.returncode, done.stderr, told["hookEventName"], told["permissionDecision"]) == (0, "", "PreToolUse", "deny")
    assert "bitten: case 1" in told["permissionDecisionReason"]
    done = hook("gate.py", event(roots["open"], "Read", {"file_path": "x.py"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("given", [
    b"", b"{", b"[]", b"null", b"{}", b'{"hook_event_name": "PreToolUse"}', b'\xff\xfe{"a"', b'{"hook_event_name": 7, "cwd": "/"}',
    b'{"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Edit"}', b'{"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": null, "tool_input": {}}',
    b'{"hook_event_name": "Stop", "cwd": "/"}', b'{"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Write", "tool_input": {"file_path": "\\u0000"}}',
    b"[" * 100_000, b'{"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Write", "tool_input": {"file_path": "\\ud800"}}',
    b'{"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Bash", "tool_input": {}}'], ids=lambda given: given[:24].decode("latin-1") or "nothing")
def test_whatever_can_not_be_read_is_refused(given):
    done = hook("gate.py", given)
    assert done.returncode == 2 and "stays shut" in done.stderr and not done.stdout


def test_a_gate_whose_answer_nobody_can_hear_is_shut(roots):
    code = f"import os, sys; os.close(1); os.close(2); sys.argv = ['x']; exec(open({str(HOOKS / 'gate.py')!r}).read())"
    told = json.dumps(event(roots["open"], "Write", {"file_path": "x.py", "content": ""}))
    done = subprocess.run([sys.executable, "-I", "-c", f"__file__ = {str(HOOKS / 'gate.py')!r}\n{code}"], input=told.encode(), check=False)
    assert done.returncode == 2


def test_a_huge_call_is_judged_too(roots):
    told = event(roots["open"], "Write", {"file_path": "x.py", "content": "x" * 5_000_000})
    assert "deny" in hook("gate.py", told).stdout


def test_the_scripts_need_nothing_newer_than_python_3_8_nor_anything_but_its_library():
    for file in HOOKS.glob("*.py"):
        tree = ast.parse(file.read_text("utf-8"), feature_version=(3, 8))
        for node in ast.walk(tree):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else (
                [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else [])
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names or file.name == "slow.py", (file.name, name)


def test_a_look_loads_nothing_that_takes_long():
    """Each of these takes milliseconds before every tool call; a session makes thousands."""
    told = {"hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Read", "tool_input": {}}
    done = subprocess.run([sys.executable, "-I", "-X", "importtime", HOOKS / "gate.py"], input=json.dumps(told), capture_output=True, text=True,
                          check=True)
    loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "hooks.gate" in loaded or "hooks.edge" in loaded
    slow = {"pathlib", "typing", "dataclasses", "subprocess", "hashlib", "ast", "inspect", "tempfile", "shlex", "logging", "bitten"}
    if "importlib.util" not in loaded:  # a finder of the environment's own, as some editable installs bring, loads more at start
        assert not loaded & slow


def test_the_reference_names_every_reader_tool_and_command():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "claude-gate.md").read_text("utf-8")
    from bitten.interfaces.claude_plugin.hooks.bash import GIT, READERS  # noqa: PLC0415 - only here

    for name in (*READERS, *GIT, *tools.READERS, *ours.VERBS, *ours.PERSONS, *protected.FOLDERS, *protected.FILES):
        assert f"`{name}`" in page, name

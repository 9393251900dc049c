"""What changed during a call is named, whatever the tool; what had leave to change is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from bitten.interfaces.claude_plugin.hooks import after, gate, session, tree
from tests.claude_plugin.cases import event, hook, project


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    return tmp_path / "home" / "state" / "bitten"


def during(root, tool, told, change, name="PostToolUse", call="toolu_1"):
    """What is said after a call that the gate let through, and in which `change` was done behind its back."""
    assert gate.decide(event(root, tool, told, tool_use_id=call)) == {}
    change()
    return after.decide({**event(root, tool, told, tool_use_id=call), "hook_event_name": name})


def git(root, *words):
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words], cwd=root, check=True, capture_output=True)


LEAKS = {
    "a changed file": lambda root: (root / "src" / "other.py").write_text("x = 2\n"),
    "a new file": lambda root: (root / "new.py").write_text("x"),
    "a file gone": lambda root: (root / "src" / "other.py").unlink(),
    "a file's mode": lambda root: (root / "src" / "other.py").chmod(0o755),
    "a folder gone": lambda root: shutil.rmtree(root / "tests"),
    "a name with blanks": lambda root: (root / "a b\n é.py").write_text("x"),
    "settings": lambda root: ((root / ".claude").mkdir(), (root / ".claude" / "settings.json").write_text("{}")),
    "a hook of git": lambda root: (root / ".git" / "hooks" / "pre-commit").write_text("x"),
    "git's config": lambda root: git(root, "config", "core.pager", "x"),
    "another current case": lambda root: (root / ".bitten" / "current").write_text("9-x\n"),
    "a link in a file's place": lambda root: ((root / "src" / "other.py").unlink(), (root / "src" / "other.py").symlink_to("data.py")),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_change_behind_the_gate_is_named_and_noted(tmp_path, home, leak):
    root = project(tmp_path, "tested")
    said = during(root, "Bash", {"command": "ls"}, lambda: LEAKS[leak](root))
    assert said["decision"] == "block" and "changed without leave" in said["reason"]
    noted = json.loads((home / "claude" / "session-1.noted.jsonl").read_text())
    assert noted["tool"] == "Bash" and noted["paths"] and any(path.replace("\n", "?") in said["reason"] for path in noted["paths"])


def test_a_file_s_name_speaks_on_no_line_of_its_own(tmp_path):
    root = project(tmp_path, "tested")
    said = during(root, "Bash", {"command": "ls"}, lambda: (root / "a\n\x1b[2Jbitten: all is well.py").write_text("x"))
    assert "a??[2Jbitten" in said["reason"] and "\n" not in said["reason"]


def test_a_commit_is_seen_though_it_leaves_no_file_different(tmp_path):
    root = project(tmp_path, "tested")
    (root / "src" / "other.py").write_text("x = 3\n")
    assert tree.HEAD in during(root, "Bash", {"command": "ls"}, lambda: git(root, "commit", "-qam", "x"))["reason"]


def test_what_was_different_before_is_not_blamed(tmp_path):
    root = project(tmp_path, "tested")
    (root / "src" / "other.py").write_text("x = 3\n")
    assert during(root, "Bash", {"command": "ls"}, lambda: None) == {}
    said = during(root, "Bash", {"command": "ls"}, lambda: (root / "src" / "other.py").write_text("x = 44\n"))
    assert "other.py" in said["reason"]


def test_the_scope_and_what_the_command_writes_may_change(tmp_path):
    root = project(tmp_path, "confirmed")
    for name in ("src/data.py", "tests/test_data.py", "metrics.json"):
        assert during(root, "Bash", {"command": "ls"}, lambda name=name: (root / name).write_text("y")) == {}
    said = during(root, "Bash", {"command": "ls"}, lambda: (root / "tests" / "test_old.py").write_text("y"))
    assert "tests/test_old.py" in said["reason"]


def test_our_runner_makes_new_files_but_changes_none_that_were_there(tmp_path):
    root = project(tmp_path, "tested")
    run = {"command": "bitten run -- make train 'RUN=a b'"}
    assert during(root, "Bash", run, lambda: (root / "model.pt").write_text("y")) == {}
    (root / "src" / "other.py").write_text("x = 3\n")
    assert "other.py" in during(root, "Bash", run, lambda: (root / "src" / "other.py").write_text("x = 44\n"))["reason"]
    committed = root / "tests" / "test_old.py"
    assert "test_old.py" in during(root, "Bash", run, lambda: committed.write_text("y"))["reason"]


def test_a_failing_call_is_compared_too(tmp_path):
    root = project(tmp_path, "tested")
    said = during(root, "Bash", {"command": "ls"}, lambda: (root / "new.py").write_text("x"), "PostToolUseFailure")
    told = said["hookSpecificOutput"]
    assert told["hookEventName"] == "PostToolUseFailure" and "new.py" in told["additionalContext"]


def test_two_calls_at_once_are_compared_each_with_the_tree_before_it(tmp_path):
    root = project(tmp_path, "tested")
    first = event(root, "Bash", {"command": "ls"}, tool_use_id="one")
    assert gate.decide(first) == {}
    (root / "new.py").write_text("x")
    assert during(root, "Bash", {"command": "pwd"}, lambda: None, call="two") == {}
    assert "new.py" in after.decide({**first, "hook_event_name": "PostToolUse"})["reason"]


def test_outside_of_a_repository_the_files_are_walked(tmp_path):
    root = project(tmp_path, "tested", git=False)
    (root / ".bitten" / ".gitignore").write_text("*\n")
    assert "new.py" in during(root, "Bash", {"command": "ls"}, lambda: (root / "new.py").write_text("x"))["reason"]
    assert "new.py" in during(root, "Bash", {"command": "ls"}, lambda: (root / "new.py").chmod(0o755))["reason"]


def test_where_git_can_not_say_the_files_are_walked_too(tmp_path):
    root = project(tmp_path, "tested")
    (root / ".git" / "HEAD").write_text("nonsense")
    assert "src/other.py" in during(root, "Bash", {"command": "ls"}, lambda: (root / "src" / "other.py").write_text("x = 2\n"))["reason"]


def test_without_an_open_case_nothing_is_kept_nor_said(tmp_path, home):
    root = project(tmp_path, "closed")
    assert during(root, "Bash", {"command": "ls"}, lambda: (root / "new.py").write_text("x")) == {}
    assert not (home / "calls").exists()


def test_a_call_that_was_refused_or_only_reads_is_not_compared(tmp_path, home):
    root = project(tmp_path, "tested")
    assert gate.decide(event(root, "Write", {"file_path": "x", "content": ""}))
    assert gate.decide(event(root, "Read", {"file_path": "x"})) == {}
    assert not (home / "calls").exists()


def test_a_case_that_was_closed_meanwhile_by_the_person_blames_nothing(tmp_path):
    root = project(tmp_path, "tested")
    journal = next((root / ".bitten").glob("1-*/events.jsonl"))
    closed = next((project(tmp_path / "other", "closed") / ".bitten").glob("1-*/events.jsonl"))
    assert during(root, "Bash", {"command": "ls"}, lambda: (shutil.copy(closed, journal), (root / "new.py").write_text("x"))) == {}


def test_trees_of_calls_that_never_ended_are_swept(tmp_path, home):
    root = project(tmp_path, "tested")
    gate.decide(event(root, "Bash", {"command": "ls"}, tool_use_id="old"))
    old = home / "calls" / "session-1.old"
    os.utime(old, (1, 1))
    gate.decide(event(root, "Bash", {"command": "ls"}, tool_use_id="new"))
    assert [each.name for each in (home / "calls").iterdir()] == ["session-1.new"]
    assert old.parent.stat().st_mode & 0o777 == 0o700 and session.KEPT > 3600


def test_a_tree_that_goes_while_others_are_swept_costs_no_call_its_own(tmp_path, home):
    """As when another call of the same session ends in that instant; a link that leads nowhere can't be looked at either."""
    root = project(tmp_path, "tested")
    (home / "calls").mkdir(parents=True)
    (home / "calls" / "gone").symlink_to(home / "nowhere")
    assert "new.py" in during(root, "Bash", {"command": "ls"}, lambda: (root / "new.py").write_text("x"))["reason"]


def test_where_nothing_can_be_kept_the_answers_are_the_same(tmp_path, home):
    """As on a full disk: files stand in the places of our folders."""
    root = project(tmp_path, "tested")
    home.mkdir(parents=True)
    (home / "calls").mkdir()
    (home / "calls" / f"session-1.toolu_1.{os.getpid()}").mkdir()
    (home / "claude").mkdir()
    (home / "claude" / "session-1.json").write_text('{"nonce": "abc"}')
    (home / "claude" / f"session-1.json.{os.getpid()}").mkdir()
    (home / "claude" / "session-1.noted.jsonl").mkdir()
    assert during(root, "Bash", {"command": "ls"}, lambda: (root / "new.py").write_text("x")) == {}
    assert gate.decide(event(root, "Write", {"file_path": "x", "content": ""}))
    assert gate.decide(event(root, "Bash", {"command": "ls"}, tool_use_id="two")) == {}
    (root / "newer.py").write_text("x")
    assert "newer.py" in after.decide({**event(root, "Bash", {}, tool_use_id="two"), "hook_event_name": "PostToolUse"})["reason"]


def test_the_script_tells_by_json_and_refuses_what_it_can_not_read(tmp_path):
    root = project(tmp_path, "tested")
    told = event(root, "Bash", {"command": "ls"})
    assert hook("gate.py", told).stdout == ""
    (root / "new.py").write_text("x")
    done = hook("after.py", {**told, "hook_event_name": "PostToolUse"})
    assert done.returncode == 0 and json.loads(done.stdout)["decision"] == "block"
    assert hook("after.py", b"{").returncode == 2

"""`bitten doctor` from the command line: it tries everything in a world of its own, says what is broken, and leaves nothing behind."""

from __future__ import annotations

import json

import pytest
from tests.claude.stage import cli
from tests.stories import Project

from bitten.interfaces.commands.doctor import _from_home

ABOUT = {"python", "git", "copies", "stacks", "guest", "folders", "room", "claude", "sdk", "plugin", "hooks"}


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path, {"train.py": "print('training')\n"})
    (tmp_path / "tmp").mkdir()
    made.env.update(CLAUDE_CONFIG_DIR=str(made.home / "claude"), TMPDIR=str(tmp_path / "tmp"), ANTHROPIC_BASE_URL="http://127.0.0.1:1")
    return made


def test_it_drives_the_real_cli_and_leaves_nothing_of_it(project, tmp_path):
    before = project.photograph()
    done = project.bitten("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is alive: a scripted edit before a confirmed cause was refused in claude" in done.stdout
    assert "✗" not in done.stdout and "bitten plugin install" in done.stdout
    assert project.photograph() == before and not (project.root / ".bitten").exists()
    assert not (project.home / "claude").exists(), "Claude Code's own folder is read, and not made"
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(("home", "said", "shown"), [
    ("/", "at /usr/bin/python", "at /usr/bin/python"), ("/home/ana", "in /home/ana/x, /home/anabel/y", "in ~/x, /home/anabel/y"),
])  # fmt: skip
def test_a_path_at_home_is_said_in_short(monkeypatch, home, said, shown):
    monkeypatch.setenv("HOME", home)
    assert _from_home(said) == shown


def test_a_claude_whose_hooks_fail_open_is_broken_for_a_script_too(project, tmp_path):
    fake = tmp_path / "bin" / "claude"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho '2.1.197 (Claude Code)'\n", "utf-8")
    fake.chmod(0o755)
    done = project.bitten("doctor", "--quick", "--json", PATH=f"{fake.parent}:{project.env['PATH']}")
    told = json.loads(done.stdout)
    assert done.returncode == 1 and told["ok"] is False
    (old, bundled) = [each for each in told["vitals"] if each["name"] == "claude"]
    assert old["state"] == "broken" and "2.1.197 on PATH" in old["said"] and old["way"] == "claude update"
    assert bundled["state"] == "ok" and str(cli()) in bundled["said"]
    assert {each["name"] for each in told["vitals"]} == ABOUT and all(each["way"] for each in told["vitals"] if each["state"] != "ok")

"""Every way in which the gates are known to die, with the real CLI: the scripted edit goes through, and `bitten doctor` names why."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from bitten.adapters.claude_code import layout
from tests.claude.plugin import laid_out
from tests.claude.stage import cli, staged

ON = {"enabledPlugins": {layout.PLUGIN: True}}
OFF = {"enabledPlugins": {layout.PLUGIN: False}}
FILES = {"data.py": "ROWS = 127\n", "bad.py": "raise ValueError('rows are lost')\n"}


@contextmanager
def installed(place):
    """A person's home with the plugin taken in by Claude Code's own commands, and a project with an open case."""
    with staged(place, FILES) as stage:
        market = laid_out(stage).parent.parent
        for words in (["marketplace", "add", str(market)], ["install", layout.PLUGIN]):
            subprocess.run([str(cli()), "plugin", *words], env=stage.project.env, cwd=stage.project.root, check=True, capture_output=True)
        stage.project.env["TMPDIR"] = str(place / "tmp")
        (place / "tmp").mkdir()
        assert stage.project.bitten("run", "--", sys.executable, "bad.py").returncode == 1
        yield stage


def folder_of(stage):
    """Where Claude Code loads it from: the marketplace's own folder, and not the copy in its cache."""
    return layout.plugin_in(stage.project.home / "marketplace")


def edit(file, old, new):
    text = file.read_text("utf-8")
    assert old in text, f"{old} is not in {file}"
    file.write_text(text.replace(old, new), "utf-8")


def goes_through(stage, **env):
    """Whether a scripted edit reaches the disk in the person's own set-up: what the gate is really worth there."""
    file = stage.project.root / "data.py"
    stage.api.steps[:] = [{"tool": "Read", "input": {"file_path": str(file)}},
                          {"tool": "Edit", "input": {"file_path": str(file), "old_string": "127", "new_string": "128"}}, {"text": "done"}]
    said = stage.claude("Correct the row count.", "--permission-mode", "acceptEdits", **env)
    assert said.exit == 0, said.stderr
    assert stage.api.strangers == []
    return file.read_text("utf-8") != FILES["data.py"]


def broken(stage, *options, **env):
    """What doctor calls broken."""
    done = stage.project.bitten("doctor", "--json", *options, **env)
    told = json.loads(done.stdout)
    found = [f"{each['name']}: {each['said']}" for each in told["vitals"] if each["state"] == "broken"]
    assert done.returncode == (1 if found else 0) and told["ok"] is not bool(found)
    return "\n".join(found)


def settings(layer, **told):
    def change(stage):
        file = {"user": stage.config / "settings.json", "project": stage.project.root / ".claude" / "settings.json",
                "local": stage.project.root / ".claude" / "settings.local.json"}[layer]
        file.parent.mkdir(exist_ok=True)
        old = json.loads(file.read_text("utf-8")) if file.exists() else {}
        file.write_text(json.dumps({**old, **told}), "utf-8")
    return change


def in_hooks(old, new):
    return lambda stage: edit(folder_of(stage) / "hooks" / "hooks.json", old, new)


def in_gate(old, new):
    return lambda stage: edit(folder_of(stage) / "hooks" / "gate.py", old, new)


def without(*names):
    def change(stage):
        for name in names:
            (folder_of(stage) / "hooks" / name).unlink()
    return change


def both(*changes):
    def change(stage):
        for each in changes:
            each(stage)
    return change


DEAD = [
    ("hooks.json without its outer hooks", in_hooks('"hooks": {', '"hook": {'), "hooks.json can't be read"),
    ("hooks.json is no JSON", in_hooks('"PreToolUse": [', '"PreToolUse": ['[:-1]), "hooks.json can't be read"),
    ("another case of the event's name", in_hooks('"PreToolUse"', '"preToolUse"'), "no hook for PreToolUse"),
    ("a matcher that never fires", in_hooks('"matcher": "*"', '"matcher": "edit"'), "lets calls through"),
    ("the plugin's folder gone", lambda stage: shutil.rmtree(folder_of(stage)), "hooks.json can't be read"),
    ("a gate that lets all through", lambda stage: (folder_of(stage) / "hooks" / "gate.py").write_text(""), "the gate is dead"),
    ("disableAllHooks", settings("user", disableAllHooks=True), "disableAllHooks"),
    ("disableAllHooks in the project", settings("project", disableAllHooks=True), "disableAllHooks"),
    ("the plugin disabled", settings("user", **OFF), "not enabled"),
    ("the plugin disabled here", settings("local", **OFF), "not enabled"),
]
SHUT = [
    ("the gate's script removed", without("gate.py"), "gate.py is not there"),
    ("the interpreter missing", in_hooks(sys.executable, "/gone/bin/python"), "/gone/bin/python, is not there"),
    ("a part of the gate removed", without("reading.py"), "let a read through"),
    ("the gate's script broken", in_gate("def decide", "def decides"), "let a read through"),
]
FINE = [
    ("nothing", lambda _: None), ("off for the person, on in the project", both(settings("user", **OFF), settings("project", **ON))),
    ("all off for the person, on here", both(settings("user", disableAllHooks=True), settings("local", disableAllHooks=False))),
    ("a person who asks for managed hooks only", settings("user", allowManagedHooksOnly=True)),
]


@pytest.mark.parametrize(("change", "said"), [each[1:] for each in DEAD], ids=[each[0] for each in DEAD])
def test_what_lets_an_edit_through_is_named(tmp_path, change, said):
    with installed(tmp_path) as stage:
        change(stage)
        assert said in broken(stage)
        assert goes_through(stage)


@pytest.mark.parametrize(("change", "said"), [each[1:] for each in SHUT], ids=[each[0] for each in SHUT])
def test_what_shuts_the_gate_for_good_is_named_too(tmp_path, change, said):
    with installed(tmp_path) as stage:
        change(stage)
        assert said in broken(stage)
        assert not goes_through(stage)


@pytest.mark.parametrize("change", [each[1] for each in FINE], ids=[each[0] for each in FINE])
def test_where_the_gate_holds_nothing_is_called_broken(tmp_path, change):
    with installed(tmp_path) as stage:
        change(stage)
        assert broken(stage) == ""
        assert not goes_through(stage)
        assert list((tmp_path / "tmp").glob("bitten-*")) == []


def test_a_shell_that_asks_for_bare_sessions_is_named(tmp_path):
    with installed(tmp_path) as stage:
        assert "CLAUDE_CODE_SIMPLE" in broken(stage, "--quick", CLAUDE_CODE_SIMPLE="1")
        assert goes_through(stage, CLAUDE_CODE_SIMPLE="1")


def test_an_older_plugin_and_an_older_claude_are_named(tmp_path):
    fake = tmp_path / "bin" / "claude"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho '2.1.294 (Claude Code)'\n", "utf-8")
    fake.chmod(0o755)
    with installed(tmp_path) as stage:
        edit(folder_of(stage) / ".claude-plugin" / "plugin.json", '"version": "', '"version": "0.0.')
        said = broken(stage, "--quick", PATH=f"{fake.parent}:{stage.project.env['PATH']}")
        assert "is of bitten 0.0." in said and "2.1.294 on PATH" in said


def test_the_persons_settings_are_read_and_never_written(tmp_path):
    with installed(tmp_path) as stage:
        before = stage.project.photograph(stage.config)
        assert broken(stage) == "" and stage.project.photograph(stage.config) == before
        assert stage.api.requests == [], "it talks to its own server alone"


def test_a_doctor_that_was_killed_leaves_nothing_to_the_next_one(tmp_path):
    with installed(tmp_path) as stage:
        running = stage.project.started("doctor")
        place = tmp_path / "tmp"
        assert any(any(place.glob("bitten-doctor-*/*/project/data.py")) or time.sleep(0.02) for _ in range(1500))
        running.kill()
        running.wait()
        assert broken(stage, "--quick") == "" and list(place.glob("bitten-doctor-*")) == []

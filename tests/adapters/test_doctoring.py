"""What the doctor says of a plugin and of settings, one breakage at a time; what the real CLI makes of each is in tests/long."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import psutil
import pytest

from bitten.adapters.claude_code import effective, layout
from bitten.adapters.doctor import agents, drive, gates, samples
from bitten.adapters.doctor import scratch as scratches
from bitten.adapters.doctor.scratch import scratch
from bitten.adapters.doctor.vital import ADVISORY, BROKEN, OK
from bitten.core.trouble import Unable


class Home:
    """A person's, with the plugin taken in, as Claude Code notes it."""

    def __init__(self, place):
        self.root, self.config = place / "project", place / "config"
        for folder in (self.root / ".claude", self.config / "plugins"):
            folder.mkdir(parents=True)
        self.plugin = layout.lay_out(place / "marketplace")
        self.write(self.config / "plugins" / "installed_plugins.json", {
            "version": 2, "plugins": {layout.PLUGIN: [{"scope": "user", "installPath": "/a copy that is not loaded", "version": "0.1.0"}]}})
        self.write(self.config / "plugins" / "known_marketplaces.json", {
            layout.MARKETPLACE: {"source": {"source": "directory", "path": str(place / "marketplace")}}})
        self.settings("user", enabledPlugins={layout.PLUGIN: True})
        self.write(self.config / ".claude.json", {"projects": {str(self.root): {"hasTrustDialogAccepted": True}}})

    def write(self, file, told):
        file.write_text(json.dumps(told), "utf-8")

    def settings(self, layer, **told):
        places = {"user": self.config / "settings.json", "project": self.root / ".claude" / "settings.json",
                  "local": self.root / ".claude" / "settings.local.json"}
        self.write(places[layer], told)

    def found(self):
        return list(gates.vitals(self.root, gates.gates(self.root)))

    def states(self):
        return {each.name: each.state for each in self.found()}

    def wrong(self):
        return " ".join(f"{each.name}: {each.said}" for each in self.found() if each.state == BROKEN)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("CLAUDE_CODE_SIMPLE", raising=False)
    return Home(tmp_path)


def test_a_plugin_that_is_whole_and_on_is_well(home):
    assert home.states() == {"plugin": OK, "settings": OK, "modes": OK, "trust": OK}


def test_without_a_plugin_one_line_says_so_and_how_to_get_it(home):
    (home.config / "plugins" / "installed_plugins.json").unlink()
    (found,) = home.found()
    assert found.state == ADVISORY and found.way == "bitten plugin install"


@pytest.mark.parametrize(("file", "old", "new", "said"), [
    ("hooks/hooks.json", '"hooks": {', '"hook": {', 'no "hooks"'),
    ("hooks/hooks.json", '"PreToolUse"', '"preToolUse"', "no hook for PreToolUse"),
    ("hooks/hooks.json", '"onFailure": "block"', '"onFailure": "open"', "lets calls through"),
    ("hooks/hooks.json", "|| exit 2", "", "lets calls through"),
    ("hooks/hooks.json", '"matcher": "*"', '"matcher": "edit"', "lets calls through"),
    ("hooks/hooks.json", sys.executable, "/gone/python", "/gone/python, is not there"),
    ("hooks/hooks.json", "gate.py", "gone.py", "gone.py is not there"),
    ("hooks/hooks.json", "}", "", "can't be read"),
    ("hooks/hooks.json", '"type": "command"', '"type": "command"}, null, {"type": "command"', 'no "hooks"'),
    (".claude-plugin/plugin.json", '"version": "', '"version": "9', "is of bitten 9"),
])  # fmt: skip
def test_a_broken_plugin_is_named(home, file, old, new, said):
    text = (home.plugin / file).read_text("utf-8")
    assert old in text
    (home.plugin / file).write_text(text.replace(old, new), "utf-8")
    assert said in home.wrong()


ON, OFF = {"enabledPlugins": {layout.PLUGIN: True}}, {"enabledPlugins": {layout.PLUGIN: False}}


@pytest.mark.parametrize(("layers", "said"), [
    ({"user": {**ON, "disableAllHooks": True}}, "disableAllHooks"), ({"local": {"disableAllHooks": True}}, "settings.local.json"),
    ({"user": {**ON, "disableAllHooks": True}, "local": {"disableAllHooks": False}}, ""),
    ({"local": OFF}, "not enabled"), ({"user": OFF, "project": ON}, ""), ({"user": {}}, "not enabled"),
    ({"user": {**ON, "allowManagedHooksOnly": True}}, ""),
])  # fmt: skip
def test_what_switches_hooks_off_is_named_with_its_file_and_the_strongest_layer_wins(home, layers, said):
    for name, told in layers.items():
        home.settings(name, **told)
    assert (said in home.wrong()) if said else home.wrong() == ""


def test_only_an_administrator_can_ask_for_managed_hooks_alone(home, tmp_path, monkeypatch):
    monkeypatch.setattr("bitten.adapters.claude_code.effective.MANAGED", tmp_path)
    home.write(tmp_path / "managed-settings.json", {"allowManagedHooksOnly": True})
    assert "allowManagedHooksOnly" in home.wrong()


def test_of_an_administrators_files_the_last_one_that_speaks_of_it_counts(home, tmp_path, monkeypatch):
    monkeypatch.setattr("bitten.adapters.claude_code.effective.MANAGED", tmp_path)
    (tmp_path / "managed-settings.d").mkdir()
    for file, off in (("managed-settings.json", False), ("managed-settings.d/10-a.json", False), ("managed-settings.d/90-b.json", True),
                      ("managed-settings.d/.99-hidden.json", False)):
        home.write(tmp_path / file, {"disableAllHooks": off})
    assert "90-b.json" in home.wrong()


def test_a_user_without_a_home_has_no_settings_there(monkeypatch):
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}["no such user"])
    assert not effective.config().exists() and effective.is_trusted(Path("/")) is None


def test_a_shell_whose_sessions_run_no_hooks_is_named(home, monkeypatch):
    monkeypatch.setenv("CLAUDE_CODE_SIMPLE", "1")
    assert "CLAUDE_CODE_SIMPLE" in home.wrong()


def test_a_script_that_others_may_write_is_named(home):
    (home.plugin / "hooks" / "gate.py").chmod(0o666)
    assert "gate.py" in home.wrong()


def test_a_folder_that_is_not_trusted_is_advisory(home):
    home.write(home.config / ".claude.json", {"projects": {}})
    assert home.states()["trust"] == ADVISORY


def test_the_last_session_here_tells_whether_its_gate_answered(home, tmp_path):
    folder = tmp_path / "state" / "bitten" / "claude"
    folder.mkdir(parents=True, mode=0o700)
    told = {"session": "s", "root": str(home.root), "began": 9e9, "alive": True, "version": "0.1.0"}
    for change, state in (({}, OK), ({"alive": False}, ADVISORY), ({"version": "0.0.1"}, ADVISORY)):
        home.write(folder / "s.json", {**told, **change})
        assert home.states()["heartbeat"] == state


def test_hooks_in_a_settings_file_are_found_too(home):
    (home.config / "plugins" / "installed_plugins.json").unlink()
    home.settings("project", hooks=layout.hooks_at(home.plugin))
    assert [each.folder for each in gates.gates(home.root)] == [home.plugin]
    assert home.states()["plugin"] == OK and home.wrong() == ""


DENIES = """import json, sys
try:
    event = json.load(sys.stdin)
except ValueError:
    sys.exit(%d)
if event["tool_name"] == "Edit":
    print(json.dumps({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "bitten"}}))
"""


def test_a_gate_that_answers_wrongly_is_named_by_what_it_should_have_done(home):
    """A stub of each kind of failure, in place of the real script."""
    with scratch() as made:
        for body, said in (("", "refuse an edit"), ("import sys; sys.exit(2)", "let a read through"), ("print('{')", "let a read through"),
                           (DENIES % 0, "stay shut"), (DENIES % 2, "did not note that it was asked")):
            (home.plugin / "hooks" / "gate.py").write_text(f"{body}\n", "utf-8")
            found = list(samples.vitals(gates.Gate(home.plugin, "plugin"), made))
            assert any(said in each.said for each in found if each.state == BROKEN), (body, found)


def test_a_hook_that_never_answers_is_named_and_does_not_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "SECONDS", 5)
    with scratch() as made:
        answer = samples._fed("(sleep 300; exit 1) || exit 2", gates.Gate(tmp_path, "plugin"), made, "{}")
        assert "no answer within" in answer.err
    left = [each for each in psutil.process_iter(["environ"]) if (each.info["environ"] or {}).get("HOME") == made.env["HOME"]]
    assert psutil.wait_procs(left, timeout=30)[1] == []


def test_a_gate_is_judged_by_its_own_trial_and_not_by_the_one_before(home, tmp_path):
    """One that was dead has let the edit through."""
    (tmp_path / "claude").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "claude").chmod(0o755)

    class API:
        url, turns, strangers = "http://127.0.0.1:9", (), ()

    with scratch() as made:
        made.source.write_text("ROWS = 128\n", "utf-8")
        program = agents.Program(str(tmp_path / "claude"), "on PATH", (2, 1, 332))
        (found,) = drive.vitals(program, gates.Gate(home.plugin, "plugin"), made, API())
        assert "did not come to the edit" in found.said


def test_a_machine_too_slow_for_a_case_is_told_of(monkeypatch):
    with scratch() as made:
        monkeypatch.setattr(scratches, "SECONDS", 0.01)
        with pytest.raises(Unable, match="opened no case"):
            made.open_a_case()


def test_a_program_that_is_too_old_or_tells_no_version_is_broken(tmp_path, monkeypatch):
    monkeypatch.setattr(agents, "_bundled", lambda: None)
    fake = tmp_path / "claude"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with scratch() as made:
        for said, state in (("2.1.294 (it)", BROKEN), ("2.1.295 (it)", ADVISORY), ("2.1.317 (it)", OK), ("3.0.0 (it)", ADVISORY),
                            ("?", BROKEN)):
            fake.write_text(f"#!/bin/sh\necho '{said}'\n", "utf-8")
            fake.chmod(0o755)
            (program,) = agents.programs(made)
            assert next(iter(agents.vitals([program]))).state == state, said
        fake.unlink()
        monkeypatch.setattr(shutil, "which", lambda _: None)
        assert next(iter(agents.vitals(agents.programs(made)))).state == ADVISORY


def test_a_world_of_its_own_is_gone_also_after_a_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(ValueError, match="midway"), scratch() as made:
        assert made.source.exists()
        raise ValueError("midway")
    assert list(tmp_path.iterdir()) == []

"""Our hooks in a person's settings: in and out again, every other byte as it was."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitten.adapters.claude_code import layout, settings, splice
from bitten.core.trouble import BadInput, Refused

OURS = {"hooks": [{"type": "command", "command": "ours/hooks/gate.py"}]}
leaves = st.one_of(st.none(), st.integers(), st.text("a\"\\{}[], \n\u20ac", max_size=6))
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
theirs = st.dictionaries(st.sampled_from(["a", "b c", "é\"}]", "Stop", "{,"]), values, max_size=4)
some = st.lists(st.integers(), min_size=1, max_size=3)
groups = st.dictionaries(st.sampled_from(["Stop", "PreToolUse", "X"]), some, min_size=1, max_size=3)


@given(theirs, st.none() | groups, st.sampled_from([None, 1, 2, 4, "\t"]), st.sampled_from(["", "\n"]), st.booleans())
def test_what_goes_in_comes_out_and_the_rest_is_as_it_was(told, hooks, indent, end, escaped):
    told = {**told, **({"hooks": hooks} if hooks else {})}
    text = json.dumps(told, indent=indent, ensure_ascii=escaped) + end
    changed = text
    for event in ("Stop", "SessionStart"):
        changed = splice.added(changed, ("hooks", event), [OURS, OURS])
    now = json.loads(changed)
    assert now["hooks"]["Stop"] == [*(hooks or {}).get("Stop", []), OURS, OURS] and now["hooks"]["SessionStart"] == [OURS, OURS]
    assert {**now, "hooks": 0} == {**told, "hooks": 0}
    for event in ("Stop", "SessionStart"):
        changed = splice.removed(changed, ("hooks", event), lambda group: group == OURS)
    assert json.loads(changed) == told and (changed == text or not told)


def settings_of(root: Path) -> Path:
    return root / ".claude" / "settings.json"


def test_a_second_install_changes_nothing_and_an_earlier_one_is_replaced(tmp_path):
    plugin = tmp_path / "it's $HOME" / "bitten" / "claude-plugin" / "plugins" / "bitten"
    settings_of(tmp_path).parent.mkdir()
    settings_of(tmp_path).write_text('{\r\n\t"model": "opus"\r\n}\r\n', "utf-8", newline="")
    for each in settings.put_in(tmp_path, plugin, "settings.json"):
        each.make()
    text = settings_of(tmp_path).read_bytes().decode()
    assert settings.put_in(tmp_path, plugin, "settings.json") == [] and "\n\t\t" in text and "\n" not in text.replace("\r\n", "")
    settings_of(tmp_path).write_text(text.replace('"timeout": 10', '"timeout": 99'), "utf-8", newline="")
    [change] = settings.put_in(tmp_path, plugin, "settings.json")
    hooks = [hook for groups in json.loads(change.new)["hooks"].values() for each in groups for hook in each["hooks"]]
    assert {shlex.split(hook["command"])[2] for hook in hooks} == {f"{plugin}/hooks/{name}.py" for name in ("gate", "after", "slow")}
    assert json.loads(change.new)["hooks"] == layout.hooks_at(plugin) and "99" not in change.new
    for each in settings.taken_out(tmp_path):
        each.make()
    assert settings_of(tmp_path).read_bytes() == b'{\r\n\t"model": "opus"\r\n}\r\n'
    assert not (tmp_path / ".claude" / "commands" / "bitten").exists()


def test_a_file_of_ours_alone_goes_with_us_and_a_command_that_a_person_changed_stays(tmp_path):
    plugin = tmp_path / "it's $HOME" / "bitten" / "claude-plugin" / "plugins" / "bitten"
    for each in settings.put_in(tmp_path, plugin, "settings.local.json"):
        each.make()
    mine = tmp_path / ".claude" / "commands" / "bitten" / "start.md"
    mine.write_text("mine\n", "utf-8")
    for each in settings.taken_out(tmp_path):
        each.make()
    left = [file.relative_to(tmp_path).as_posix() for file in (tmp_path / ".claude").rglob("*") if file.is_file()]
    assert left == [".claude/commands/bitten/start.md"] and mine.read_text("utf-8") == "mine\n"


@pytest.mark.parametrize("meanwhile", [None, '{"permissions": {}}\n'])
def test_what_changed_since_it_was_shown_is_not_put_over(tmp_path, meanwhile):
    settings_of(tmp_path).parent.mkdir()
    settings_of(tmp_path).write_text("{}\n", "utf-8")
    shown = settings.put_in(tmp_path, tmp_path / "p", "settings.json")[0]
    settings_of(tmp_path).write_text(meanwhile, "utf-8") if meanwhile else settings_of(tmp_path).unlink()
    with pytest.raises(Refused) as why:
        shown.make()
    assert why.value.slug == "settings-not-agreed"
    assert (settings_of(tmp_path).read_text("utf-8") if settings_of(tmp_path).exists() else None) == meanwhile


@pytest.mark.parametrize("text", ['{"a": 1, // why\n "b": 2}', '{"a": 1, "a": 2}', "[1]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "{"])
def test_what_could_not_be_kept_is_not_touched(tmp_path, text):
    settings_of(tmp_path).parent.mkdir()
    settings_of(tmp_path).write_text(text, "utf-8")
    for asked in (lambda: settings.put_in(tmp_path, tmp_path / "p", "settings.json"), lambda: settings.taken_out(tmp_path)):
        with pytest.raises(BadInput) as why:
            asked()
        assert why.value.slug == "settings-not-json"
    assert settings_of(tmp_path).read_text("utf-8") == text


def test_the_plugin_is_laid_out_whole_or_not_at_all(tmp_path):
    place = tmp_path / "data" / "claude-plugin"
    first = layout.lay_out(place)
    (first / "stale.md").write_text("old", "utf-8")
    plugin = layout.lay_out(place)
    assert plugin == first and not (plugin / "stale.md").exists() and [each.name for each in place.parent.iterdir()] == [place.name]
    assert "@" not in (plugin / "hooks" / "hooks.json").read_text("utf-8") and not list(plugin.rglob("__pycache__"))
    assert json.loads((plugin / ".mcp.json").read_text("utf-8"))["mcpServers"]["bitten"]["alwaysLoad"] is True
    told = json.loads((plugin / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
    gates = [hook for event in ("PreToolUse", "ConfigChange") for group in told[event] for hook in group["hooks"]]
    assert all(hook["onFailure"] == "block" and hook["command"].endswith("|| exit 2") and hook["timeout"] <= 10 for hook in gates)
    assert len((plugin / "skills" / "bitten-debug" / "SKILL.md").read_text("utf-8").split()) < 500
    confirm = (plugin / "commands" / "confirm.md").read_text("utf-8")
    assert "disable-model-invocation: true" in confirm and not (plugin / "commands" / "debug.md").exists()


def test_two_that_lay_it_out_at_once_are_both_served_and_leave_nothing_beside_it(tmp_path, monkeypatch):
    """Each `claude --plugin-dir "$(bitten plugin path)"` does; here another one ends between our two renames."""
    place, rename = tmp_path / "data" / "claude-plugin", Path.rename
    layout.lay_out(place)

    def overtaken(self, to):
        rename(self, to)
        if self == place:
            monkeypatch.setattr(Path, "rename", rename)
            layout.plugin_in(place).mkdir(parents=True)

    monkeypatch.setattr(Path, "rename", overtaken)
    layout.lay_out(place)
    assert [each.name for each in place.parent.iterdir()] == [place.name]

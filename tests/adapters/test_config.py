from __future__ import annotations

import pytest

from bitten.adapters.config import Settings, settings
from bitten.core.trouble import BadInput


def test_without_a_word_the_settings_are_the_recipe_s(tmp_path):
    assert settings(tmp_path) == Settings(budget=60.0, ask_after=30.0, lessons="CLAUDE.md", timeout=0.0)


def test_the_project_s_table_is_read_and_our_own_file_wins(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.bitten]\nlessons = 'AGENTS.md'\nbudget = 30.0\n", "utf-8")
    assert settings(tmp_path).lessons == "AGENTS.md"
    (tmp_path / ".bitten.toml").write_text("lessons = 'NOTES.md'\n", "utf-8")
    assert settings(tmp_path) == Settings(lessons="NOTES.md")


@pytest.mark.parametrize("text", ["budjet = 3.0", "budget = 'long'", "budget ="])
def test_a_wrong_setting_is_named(tmp_path, text):
    (tmp_path / ".bitten.toml").write_text(text, "utf-8")
    with pytest.raises(BadInput) as refused:
        settings(tmp_path)
    assert refused.value.slug == "bad-settings"


def test_a_broken_pyproject_does_not_stop_a_capture(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool", "utf-8")
    assert settings(tmp_path) == Settings()

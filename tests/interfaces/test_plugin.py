"""`bitten plugin`: put in and taken out, where there is no claude, one that is too old, or one that fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.stories import Project


@pytest.fixture
def project(tmp_path):
    found = Project(tmp_path, {"a.py": "x = 1\n"})
    found.env["PATH"] = os.pathsep.join(each for each in found.env["PATH"].split(os.pathsep) if not (Path(each) / "claude").exists())
    return found


def claude(project: Project, version: str, otherwise: str = 'echo "$@" >> "$HOME/told"') -> str:
    """A program that says this version, and notes what else it is told."""
    file = project.home / "claude-cli"
    file.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "{version} (Claude Code)";; *) {otherwise};; esac\n', "utf-8")
    file.chmod(0o755)
    return str(file)


def laid(project: Project) -> Path:
    return project.home / ".local" / "share" / "bitten" / "claude-plugin"


def test_without_a_claude_the_two_commands_are_told(project):
    done = project.bitten("plugin", "install")
    assert done.returncode == 4 and project.slug(done) == "agent-no-cli"
    assert f"claude plugin marketplace add {laid(project)} && claude plugin install bitten@bitten" in done.stderr
    assert (laid(project) / "plugins" / "bitten" / "hooks" / "gate.py").is_file()


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_claude_that_is_named_and_not_there_is_said(project, verb):
    assert project.bitten("plugin", "path").returncode == 0
    done = project.bitten("plugin", verb, "--cli", "/no/claude")
    assert done.returncode == 4 and project.slug(done) == "agent-no-cli" and "There is no program /no/claude" in done.stderr
    assert laid(project).is_dir(), "what a claude may still be running is not taken away"


def test_one_that_would_fail_open_is_refused_unless_the_person_insists(project):
    old = claude(project, "2.1.294")
    done = project.bitten("plugin", "install", "--cli", old)
    assert done.returncode == 4 and project.slug(done) == "agent-too-old" and not (project.home / "told").exists()
    done = project.bitten("plugin", "install", "--cli", old, "--force-advisory")
    assert done.returncode == 0 and "these gates are advisory" in done.stderr
    assert "plugin install bitten@bitten" in (project.home / "told").read_text("utf-8")


def test_what_is_only_asked_for_leaves_nothing(project):
    new = claude(project, "2.1.332", "exit 0")
    before = project.photograph(project.home)
    for words in (["install"], ["install", "--project"], ["uninstall"]):
        done = project.bitten("plugin", *words, "--dry-run", "--cli", new)
        assert done.returncode == 0, done.stderr
    assert {**project.photograph(project.home), **before} == before and not laid(project).exists()


def test_the_words_of_a_claude_that_fails_are_told(project):
    done = project.bitten("plugin", "install", "--cli", claude(project, "2.1.332", 'echo "no room on disk" >&2; exit 1'))
    assert done.returncode == 4 and project.slug(done) == "plugin-not-taken" and "no room on disk" in done.stderr


def test_the_path_is_all_that_is_printed(project):
    done = project.bitten("plugin", "path")
    assert done.stdout == f"{laid(project)}/plugins/bitten\n" and done.stderr == ""

"""The hooks find project, cases and state where bitten itself finds them, by the standard library alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bitten.adapters import folder as cases
from bitten.adapters import places as ours
from bitten.adapters.root import root_of
from bitten.interfaces.claude_plugin.hooks import places


def git(cwd, *words):
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always", *words], cwd=cwd, check=True,
                   capture_output=True)


def plain(place):
    (place / "p" / "sub" / "deep").mkdir(parents=True)
    git(place / "p", "init", "-q")
    git(place / "p", "commit", "-q", "--allow-empty", "-m", "x")
    return place / "p"


def subfolder(place):
    return plain(place) / "sub" / "deep"


def linked_tree(place):
    git(plain(place), "worktree", "add", "-q", "../w")
    (place / "w" / "inner").mkdir()
    return place / "w" / "inner"


def submodule(place):
    top = plain(place / "a")
    other = plain(place / "b")
    git(top, "submodule", "add", "-q", str(other), "mod")
    return top / "mod"


def tree_elsewhere(place):
    top = plain(place)
    (place / "else").mkdir()
    git(top, "config", "core.worktree", str(place / "else"))
    return top


def bare(place):
    git(place, "init", "-q", "--bare", "b.git")
    return place / "b.git" / "refs"


def half(place):
    (place / "h" / ".git").mkdir(parents=True)
    return place / "h"


def cases_above(place):
    (place / "c" / ".bitten").mkdir(parents=True)
    (place / "c" / ".bitten" / ".gitignore").write_text("*\n")
    (place / "c" / "x" / "y").mkdir(parents=True)
    return place / "c" / "x" / "y"


def nothing(place):
    (place / "n").mkdir()
    return place / "n"


@pytest.mark.parametrize("lay", [plain, subfolder, linked_tree, submodule, tree_elsewhere, bare, half, cases_above, nothing],
                         ids=lambda lay: lay.__name__)
def test_the_root_that_bitten_takes_is_among_those_that_the_gate_looks_at(tmp_path, lay, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = lay(tmp_path)
    found = places.roots(str(folder))
    assert str(root_of(folder)) in found
    if lay in (plain, subfolder):
        assert len(found) == 1


def test_cases_and_state_lie_where_bitten_has_them(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert places.states()[0] == str(ours.state())
    root = tmp_path / "p"
    root.mkdir()
    for home in list(cases.homes(root))[1:]:
        if home.is_relative_to(tmp_path):
            home.mkdir(parents=True)
    made = [home for home in cases.homes(root) if home.is_relative_to(tmp_path)]
    assert [Path(home) for home in places.homes(str(root)) if home.startswith(str(tmp_path))] == made and len(made) == 3

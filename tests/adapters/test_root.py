"""What looking finds is what git would say, wherever git can be asked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bitten.adapters import root as module
from bitten.adapters.root import root_of


def git(folder: Path, *args: str) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "place"
    (folder / "plain" / "src" / "deep").mkdir(parents=True)
    git(folder / "plain", "init", "-q")
    git(folder / "plain", "commit", "-q", "--allow-empty", "-m", "begin")
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """Folders that git was asked about."""
    folders: list[Path] = []
    really = module.toplevel
    monkeypatch.setattr(module, "toplevel", lambda folder: (folders.append(folder), really(folder))[1])
    yield folders


def test_a_plain_repository_is_found_without_git(place: Path, asked: list[Path]) -> None:
    assert root_of(place / "plain" / "src" / "deep") == place / "plain"
    assert asked == []


def test_a_folder_without_any_repository_is_its_own_root_without_git(place: Path, asked: list[Path]) -> None:
    (place / "alone").mkdir()
    assert root_of(place / "alone") == place / "alone"
    assert asked == []


def test_an_added_work_tree_is_its_own_root(place: Path, asked: list[Path]) -> None:
    git(place / "plain", "worktree", "add", "-q", str(place / "added"))
    assert root_of(place / "added") == place / "added"
    assert asked == [place / "added"]


def test_a_submodule_is_its_own_root(place: Path) -> None:
    git(place / "plain", "submodule", "add", "-q", str(place / "plain"), "part")
    assert root_of(place / "plain" / "part") == place / "plain" / "part"


def test_a_work_tree_that_the_config_moved_is_followed(place: Path) -> None:
    (place / "elsewhere").mkdir()
    git(place / "plain", "config", "core.worktree", str(place / "elsewhere"))
    assert root_of(place / "plain") == place / "elsewhere"


@pytest.mark.parametrize("inside", [".git", ".git/refs"])
def test_inside_of_a_repository_there_is_no_work_tree(place: Path, asked: list[Path], inside: str) -> None:
    assert root_of(place / "plain" / inside) == place / "plain" / inside
    assert len(asked) == 1


def test_a_bare_repository_inside_a_work_tree_is_no_part_of_it(place: Path) -> None:
    git(place / "plain", "init", "-q", "--bare", "bare")
    assert root_of(place / "plain" / "bare") == place / "plain" / "bare"


def test_half_a_repository_is_left_to_git(place: Path, asked: list[Path]) -> None:
    (place / "plain" / "src" / ".git").mkdir()
    assert root_of(place / "plain" / "src") == place / "plain"
    assert asked


def test_git_variables_of_a_hook_do_not_move_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(place / "nowhere"))
    assert root_of(place / "plain" / "src") == place / "plain"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user_is_left_to_git(place: Path, asked: list[Path]) -> None:
    os.chown(place / "plain" / ".git", 12345, 12345)
    root_of(place / "plain")
    assert asked

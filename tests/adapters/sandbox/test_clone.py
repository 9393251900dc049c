"""What is particular to the clone: copies and links, and words that name the project."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bitten.adapters.sandbox import Room, clone
from bitten.adapters.sandbox.clone import Cloner, renamer

from .conftest import Rooms, Shell, World


@pytest.fixture
def cloned(world: World, rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setenv("BITTEN_SANDBOX", "clone")
    return rooms.open()


@pytest.mark.parametrize(("word", "inside"), [
    ("/p/x", "/room/x"),
    ("/p/x/train.py", "/room/x/train.py"),
    ("--data=/p/x/data", "--data=/room/x/data"),
    ("/p/x/a:/usr:/p/x/b", "/room/x/a:/usr:/room/x/b"),
    ("cd /p/x && make", "cd /room/x && make"),
    ("/p/xy", "/p/xy"),
    ("/q/p/x", "/q/p/x"),
    ("/p/x/spool/1", "/p/x/spool/1"),
    ("/p/x/spooling", "/room/x/spooling"),
])
def test_words_that_name_the_project_name_the_clone(word: str, inside: str) -> None:
    assert renamer("/p/x", "/room/x", ["/p/x/spool"])(word) == inside


def test_the_clone_says_what_it_can_not_promise(cloned: Room) -> None:
    assert cloned.how.startswith("a clone with links at another path, as BITTEN_SANDBOX asks for it")
    assert "the network can't be cut off" in cloned.how


def test_source_is_copied_and_what_git_ignores_is_linked(world: World, tmp_path: Path) -> None:
    listed = frozenset({"train.py", "src/data.py", ".gitignore"})
    made = tmp_path / "clones" / "project"
    Cloner(listed).clone(world.project, made)
    assert not (made / "src" / "data.py").is_symlink()
    assert (made / "train.py").stat().st_mtime_ns == (world.project / "train.py").stat().st_mtime_ns
    assert (made / "data" / "corpus.txt").is_symlink()
    assert (made / ".venv").is_symlink()


def test_links_of_the_project_lead_where_they_led(world: World, tmp_path: Path) -> None:
    (world.project / "inside").symlink_to("data/corpus.txt")
    (world.project / "outside").symlink_to("../elsewhere/last.pt")
    made = tmp_path / "clones" / "project"
    Cloner(None).clone(world.project, made)
    assert (made / "inside").read_text(encoding="utf-8") == "to be\n"
    assert (made / "outside").read_bytes() == b"weights"


def test_past_its_budget_a_clone_links(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clone, "CROWD", 1)
    for name in ("1", "2"):
        (world.project / "src" / name).touch()
    made = tmp_path / "clones" / "project"
    Cloner(None).clone(world.project, made)
    assert (made / "src").is_symlink()


def test_new_outputs_in_ignored_folders_and_in_the_cache_are_the_clones_own(world: World, cloned: Room, shell: Shell) -> None:
    before = world.snapshot()
    ended = shell(cloned, "set -e; echo 1 > data/new; echo 1 > $HOME/.cache/new; cat data/corpus.txt $HOME/.gitconfig")
    assert ended.exit == 0, ended.stderr
    assert b"to be" in ended.stdout and b"A Person" in ended.stdout
    assert world.snapshot() == before


def test_what_may_really_be_written_in_the_project_stays_so(
    world: World, rooms: Rooms, shell: Shell, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BITTEN_SANDBOX", "clone")
    room = rooms.open(write=("data",))
    assert shell(room, "echo not >> data/corpus.txt").exit == 0
    assert (world.project / "data" / "corpus.txt").read_text(encoding="utf-8") == "to be\nnot\n"


def test_a_write_outside_is_refused_and_named_where_the_kernel_can(world: World, cloned: Room, shell: Shell) -> None:
    if "not even refused" in cloned.how:
        pytest.skip("no Landlock")
    assert shell(cloned, 'echo 1 > "$ELSEWHERE/new"').exit != 0
    assert cloned.refused() == (f"{world.elsewhere}/new was denied (Permission denied): --allow-write {world.elsewhere}/new",)


def test_a_project_without_git_is_cloned_by_size(world: World, cloned: Room, rooms: Rooms) -> None:
    subprocess.run(["rm", "-rf", str(world.project / ".git")], check=True)
    (world.project / "large").write_bytes(b"0" * (1 << 20))
    room = rooms.open()
    assert Path(room.root, "large").is_symlink()
    assert not Path(room.root, "data", "corpus.txt").is_symlink()

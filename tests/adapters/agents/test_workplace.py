"""The copy that an agent works in: what goes in, what stays out, and what is seen of what was done there."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager

import pytest
from tests.adapters.project import DATA, every_file, git, repo, write

from bitten.adapters import places
from bitten.adapters.agents import workplace as adapter
from bitten.adapters.agents.workplace import LARGEST, Changed, Edit, workplace
from bitten.adapters.redact import redact
from bitten.core.trouble import Refused

SECRET = 'password = "hunter2hunter"\n'


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    (tmp_path / "scratch").mkdir(mode=0o700)
    monkeypatch.setattr(places, "scratch", lambda: tmp_path / "scratch")
    return tmp_path / "scratch"


@contextmanager
def opened(root):
    with workplace(root, repo(root).paths(), redact) as place:
        yield place


def kinds(place):
    return {(each.path, each.how) for each in place.changes()}


@pytest.fixture
def place(root, scratch):
    with opened(root) as place:
        yield place


def test_text_goes_in_redacted_as_the_work_tree_has_it_and_nothing_else_does(root, scratch):
    write(root, {
        "src/data.py": SECRET + DATA, "new.py": "x = 1\n", "data/big.py": "ignored\n", "weights.bin": b"\0\1", "latin.py": b"# \xe9\n",
        "large.txt": "x" * (LARGEST + 1), ".claude/settings.json": "{}", ".mcp.json": "{}", "sub/.Claude/x.md": "x", "a b.py": "y = 1\n",
        "gone\n.py": "x\n"})
    (root / "old.txt").unlink()
    before = every_file(root)
    with opened(root) as place:
        found = {str(path.relative_to(place.folder)) for path in place.folder.rglob("*") if not path.is_dir()}
        assert found == {"src/data.py", "new.py", "a b.py", ".gitignore", "CLAUDE.md"}
        assert "hunter2" not in (place.folder / "src/data.py").read_text("utf-8")
        assert place.left_out["weights.bin"] == "no text" and place.left_out["latin.py"] == "no text"
        assert place.left_out["large.txt"] == "larger than 1 MiB" and place.left_out[".claude/settings.json"] == "not for an agent"
        assert "data/big.py" not in place.left_out, "what git ignores is not the project's"
        assert not place.folder.is_relative_to(root) and place.folder.stat().st_mode & 0o777 == 0o700
        assert place.changes() == []
    assert list(scratch.iterdir()) == [] and {k: v for k, v in every_file(root).items() if ".bitten" not in k} == before


def test_links_go_in_as_links_where_what_they_lead_to_is_in_the_copy(root, scratch, tmp_path):
    write(tmp_path, {"outside.txt": "out\n"})
    write(root, {"data/ignored.txt": "x\n"})
    for name, target in {"in.txt": "old.txt", "abs.txt": root / "old.txt", "out.txt": tmp_path / "outside.txt", "up.txt": "../outside.txt",
                         "ring.txt": "ring.txt", "folder": "src", "ignored.txt": "data/ignored.txt", "hop.txt": "out.txt"}.items():
        (root / name).symlink_to(target)
    with opened(root) as place:
        assert set(place.links) == {"in.txt", "abs.txt", "folder"}
        assert set(place.left_out) >= {"out.txt", "up.txt", "ring.txt", "ignored.txt", "hop.txt"}
        for name in place.links:
            assert os.path.realpath(place.folder / name).startswith(str(place.folder))
        assert (place.folder / "abs.txt").read_text("utf-8") == "x\n" and place.changes() == []


def test_a_folder_that_became_a_link_is_not_followed(root, scratch, tmp_path):
    write(tmp_path, {"elsewhere/data.py": "secret elsewhere\n"})
    (root / "src/data.py").unlink()
    (root / "src").rmdir()
    (root / "src").symlink_to(tmp_path / "elsewhere")
    with opened(root) as place:
        assert "src/data.py" not in place.files


def test_a_hard_link_is_broken_and_a_mode_is_kept(root, scratch):
    os.link(root / "old.txt", root / "twin.txt")
    (root / "old.txt").chmod(0o755)
    with opened(root) as place:
        assert (place.folder / "old.txt").stat().st_nlink == 1
        (place.folder / "old.txt").write_text("changed\n", "utf-8")
        assert (root / "twin.txt").read_text("utf-8") == "x\n" and (place.folder / "twin.txt").read_text("utf-8") == "x\n"
        assert os.access(place.folder / "old.txt", os.X_OK) and not os.access(place.folder / "CLAUDE.md", os.X_OK)


def test_the_files_of_a_submodule_go_in_and_its_history_does_not(root, scratch, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    write(other, {"lib.py": SECRET})
    git(other, "add", ".")
    git(other, "commit", "-qm", "lib")
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "vendor/other")
    git(root, "init", "-q", "vendor/other/nested")
    write(root, {"vendor/other/nested/x.py": "x = 1\n"})
    with opened(root) as place:
        assert place.changes() == [], "a repository inside of it that nobody added is left alone, as one of the project's own is"
        assert "vendor/other/lib.py" in place.files and "hunter2" not in (place.folder / "vendor/other/lib.py").read_text("utf-8")
        assert not any(".git" in path.parts for path in place.folder.rglob("*"))


def test_it_works_outside_a_repository(tmp_path, home, scratch):
    write(tmp_path / "plain", {"a.py": "x = 1\n"})
    with opened(tmp_path / "plain") as place:
        assert list(place.files) == ["a.py"]


def test_whatever_tool_wrote_it_is_seen(place):
    folder = place.folder
    script = ("echo y > new.py; echo z >> old.txt; rm CLAUDE.md; chmod +x src/data.py; ln -s /etc/passwd stolen; mkdir -p a/b;"
              " mkdir c; echo 1 > c/d.txt; mkfifo pipe; ln .gitignore twin")
    subprocess.run(["sh", "-c", script], cwd=folder, check=True)
    assert kinds(place) == {
        ("new.py", "new"), ("old.txt", "changed"), ("CLAUDE.md", "removed"), ("src/data.py", "mode"), ("stolen", "link"), ("a/b", "folder"),
        ("c/d.txt", "new"), ("pipe", "special"), ("twin", "special"), (".gitignore", "special")}


def test_a_file_that_became_a_link_or_a_folder_is_seen(place):
    for name in ("old.txt", "CLAUDE.md"):
        (place.folder / name).unlink()
    (place.folder / "old.txt").symlink_to("src/data.py")
    (place.folder / "CLAUDE.md").mkdir()
    assert ("old.txt", "link") in kinds(place) and ("CLAUDE.md", "folder") in kinds(place)
    for each in place.changes():
        with pytest.raises(Refused):
            place.brought(Changed(each.path, each.how))


def test_a_change_comes_back_into_the_real_text(root, scratch):
    write(root, {"src/data.py": SECRET + DATA})
    with opened(root) as place:
        file = place.folder / "src/data.py"
        file.write_text(file.read_text("utf-8").replace("start + 1", "start + 2"), "utf-8")
        assert place.brought(Changed("src/data.py", "changed")) == Edit(
            (SECRET + DATA).encode(), (SECRET + DATA.replace("start + 1", "start + 2")).encode())
        file.write_text(file.read_text("utf-8").replace("‹", "x‹"), "utf-8")
        with pytest.raises(Refused) as refused:
            place.brought(Changed("src/data.py", "changed"))
        assert refused.value.slug == "fix-touches-a-secret"


def test_what_the_person_changed_meanwhile_is_not_brought_back(root, place):
    (place.folder / "old.txt").write_text("agent\n", "utf-8")
    write(root, {"old.txt": "person\n"})
    with pytest.raises(Refused) as refused:
        place.brought(Changed("old.txt", "changed"))
    assert refused.value.slug == "tree-moved"


@pytest.mark.parametrize("data", [b"\0\1", b"\xff\xfe", b"x" * (LARGEST + 1)])
def test_what_is_no_text_is_not_brought_back(place, data):
    (place.folder / "new.py").write_bytes(data)
    with pytest.raises(Refused) as refused:
        place.brought(Changed("new.py", "new"))
    assert refused.value.slug == "fix-is-no-text"


def test_a_copy_has_an_end_and_says_what_did_not_fit(root, scratch, monkeypatch):
    monkeypatch.setattr(adapter, "ROOM", 100)
    write(root, {"a.py": "a" * 150, "b.py": "b"})
    with workplace(root, ["a.py", "b.py", "old.txt"], redact) as place:
        assert list(place.files) == ["a.py"] and place.left_out == {"b.py": "the copy is full", "old.txt": "the copy is full"}


def test_a_killed_one_s_copy_is_swept_by_the_next(root, scratch):
    left = scratch / "1-dead"
    (left / "project").mkdir(parents=True)
    (scratch / "1-dead.lock").touch()
    with opened(root):
        assert not left.exists()

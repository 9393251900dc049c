"""An agent's change on its way into the tree: whole, remembered, kept off what the person did meanwhile, and taken back."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from tests.adapters.project import DATA, FIXED, TEST, git, repo, write

from bitten.adapters.agents import handover
from bitten.adapters.agents.handover import Handover, refuse_links
from bitten.adapters.agents.workplace import Edit
from bitten.core.case import Scope
from bitten.core.trouble import Refused

SCOPE = Scope(("src/data.py:DataLoader.__iter__", "src/other.py"), "tests/unit/test_data.py")
FILES = {"src/data.py": FIXED.encode(), "tests/unit/test_data.py": TEST.encode()}
EDITS = {"src/data.py": Edit(DATA.encode(), FIXED.encode()), "tests/unit/test_data.py": Edit(None, TEST.encode())}


@pytest.fixture
def desk(root, tmp_path):
    return Handover(root, repo(root), tmp_path / "put.json")


@pytest.fixture
def put(desk):
    return desk.planned(EDITS, 0, "scripted")[0]


def there(root):
    return {path: (root / path).read_bytes() if (root / path).exists() else None for path in FILES}


def test_what_is_planned_is_shown_and_writes_nothing(desk, root):
    found, difference = desk.planned(EDITS, 0, "scripted")
    assert difference.touches == ("src/data.py:DataLoader.__iter__", "tests/unit/test_data.py")
    assert "+            yield self.items[start:start + 2]" in difference.patch
    assert git(root, "status", "--porcelain") == "" and desk.known() is None and found.folders == ("tests", "tests/unit")


def test_it_is_put_and_taken_back_and_modes_stay(desk, put, root):
    (root / "src/data.py").chmod(0o755)
    desk.put(put)
    assert there(root) == FILES and desk.known() == put
    assert (root / "src/data.py").stat().st_mode & 0o777 == 0o755
    assert desk.take_back(put) == ()
    assert there(root) == {"src/data.py": DATA.encode(), "tests/unit/test_data.py": None} and not (root / "tests").exists()
    assert desk.known() is None


def test_what_it_took_away_comes_back_with_its_mode(desk, root):
    (root / "old.txt").chmod(0o750)
    put = desk.planned({"old.txt": Edit(b"x\n", None)}, 0, "scripted")[0]
    desk.put(put)
    assert not (root / "old.txt").exists() and desk.known() == put
    assert desk.take_back(put) == ()
    assert (root / "old.txt").read_bytes() == b"x\n" and (root / "old.txt").stat().st_mode & 0o777 == 0o750


def test_killed_while_it_is_taken_back_it_leaves_nothing_half_written(desk, put, root, monkeypatch):
    desk.put(put)
    killed = replace(put, pid=1)
    (root / "src/.data.py.1").write_text("half", "utf-8")

    def kill(path, data):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(handover, "rewrite", kill)
        desk.take_back(killed)
    assert not (root / "src/.data.py.1").exists() and desk.known().pid == os.getpid()
    assert desk.take_back(desk.known()) == () and git(root, "status", "--porcelain") == ""


def test_a_folder_that_became_a_link_meanwhile_is_not_written_through(desk, put, root, tmp_path):
    (root / "src").rename(tmp_path / "elsewhere")
    (root / "src").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused) as refused:
        desk.put(put)
    assert refused.value.slug == "tree-moved" and (tmp_path / "elsewhere/data.py").read_bytes() == DATA.encode()


def test_what_the_person_changed_is_never_written_over(desk, put, root):
    write(root, {"src/data.py": "mine\n"})
    with pytest.raises(Refused) as refused:
        desk.put(put)
    assert refused.value.slug == "tree-moved" and there(root) == {"src/data.py": b"mine\n", "tests/unit/test_data.py": None}
    write(root, {"src/data.py": DATA, "tests/unit/test_data.py": "theirs\n"})
    with pytest.raises(Refused):
        desk.put(put)
    assert there(root) == {"src/data.py": DATA.encode(), "tests/unit/test_data.py": b"theirs\n"} and desk.known() is None


def test_what_the_person_changed_before_it_was_planned_is_seen_too(desk, root):
    for path in EDITS:
        write(root, {path: "theirs\n"})
        with pytest.raises(Refused) as refused:
            desk.planned(EDITS, 0, "scripted")
        assert refused.value.slug == "tree-moved" and path in refused.value.what
        write(root, {"src/data.py": DATA})


def test_what_the_person_changed_afterwards_is_not_taken_back(desk, put, root):
    desk.put(put)
    write(root, {"src/data.py": FIXED + "# mine\n", "tests/unit/notes.txt": "mine\n"})
    assert desk.take_back(put) == ("src/data.py",)
    assert there(root) == {"src/data.py": (FIXED + "# mine\n").encode(), "tests/unit/test_data.py": None}
    assert (root / "tests/unit/notes.txt").exists()


@pytest.mark.parametrize("written", [0, 1])
def test_killed_between_two_files_it_is_gone_on_with_or_undone(desk, put, root, monkeypatch, written):
    put = replace(put, pid=1)  # that of the killed one, not ours
    real, left = handover.rewrite, [written]

    def until_killed(path, data):
        if not left[0]:
            path.with_name(f".{path.name}.{put.pid}").write_bytes(data)
            raise KeyboardInterrupt
        left[0] -= 1
        real(path, data)

    monkeypatch.setattr(handover, "rewrite", until_killed)
    with pytest.raises(KeyboardInterrupt):
        desk.put(put)
    monkeypatch.setattr(handover, "rewrite", real)
    known = desk.known()
    assert known == put and there(root) != FILES
    desk.go_on(known)
    assert desk.known().pid == os.getpid(), "killed once more, what is half-written has our name"
    assert there(root) == FILES
    assert git(root, "status", "--porcelain", "-uall").split() == ["M", "src/data.py", "??", "tests/unit/test_data.py"]
    desk.take_back(known)
    assert git(root, "status", "--porcelain") == ""


def test_an_untracked_file_that_may_hold_a_secret_is_not_held(desk, root):
    write(root, {"src/other.py": "password = 'hunter2'\n"})
    assert desk.unkept(SCOPE.files) == ["src/other.py"]


def test_a_record_that_is_none_and_trees_that_are_gone_hold_up_nothing(desk, put, root):
    desk.record.write_text("{half", "utf-8")
    assert desk.known() is None
    desk.put(put)
    assert desk.take_back(replace(put, after="0" * 40)) == ("all of it",)
    assert there(root) == FILES


def test_links_in_scope_are_refused_before_anything_is_asked(root, tmp_path):
    refuse_links(root, SCOPE)
    assert SCOPE.files == ("src/data.py", "src/other.py", "tests/unit/test_data.py")
    cases = {"link.py": lambda path: path.symlink_to(root / "old.txt"), "hard.py": lambda path: os.link(root / "old.txt", path),
             "way": lambda path: path.symlink_to(tmp_path), "pipe": os.mkfifo, "made": os.mkdir}
    for name, make in cases.items():
        make(root / name)
    for part in ("link.py", "hard.py:f", "way/x.py", "pipe", "made", ".", ":f"):
        with pytest.raises(Refused) as refused:
            refuse_links(root, replace(SCOPE, parts=(part,)))
        assert refused.value.slug == "scope-is-a-link", part
    for part in ("../x.py", "/etc/passwd", ".git/config", ".claude/settings.json", "sub/.bitten/x"):
        with pytest.raises(Refused) as refused:
            refuse_links(root, replace(SCOPE, test=part))
        assert refused.value.slug == "scope-is-protected", part

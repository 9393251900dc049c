"""Two moments of a tree, compared: what differs, committed or not, and what lies in between."""

from __future__ import annotations

import time

import pytest
from tests.adapters.project import git, write

from bitten.adapters.surroundings import worktree
from bitten.core.state import Moved, State


def at(root, is_git=True):
    head, files, whole = worktree.standing(root, is_git)
    return State(head=head, files=files, whole=whole)


def moved(root, good, is_git=True):
    return worktree.between(root, good, at(root, is_git))


def test_a_clean_tree_is_its_revision_and_a_dirty_one_names_what_differs(root):
    assert at(root) == State(head=git(root, "rev-parse", "HEAD").strip())
    write(root, {"src/data.py": "x = 2\n", "caf\u00e9 new.py": "y = 1\n", "run.log": "ignored\n", ".bitten/x": "ours\n"})
    (root / "old.txt").unlink()
    found = at(root).files
    assert set(found) == {"src/data.py", "caf\u00e9 new.py", "old.txt"} and found["old.txt"] == ""
    assert found["src/data.py"] == git(root, "hash-object", "src/data.py").strip()


def test_what_was_dirty_and_is_committed_since_has_not_changed(root):
    write(root, {"src/data.py": "x = 2\n", "new.py": "y = 1\n"})
    good = at(root)
    git(root, "add", ".")
    git(root, "commit", "-qm", "keep it")
    assert moved(root, good) == Moved((f"{git(root, 'rev-parse', '--short', 'HEAD').strip()} keep it",), 1, ())


def test_a_commit_an_edit_a_revert_and_a_new_file_are_changes(root):
    write(root, {"src/data.py": "x = 2\n"})
    good = at(root)
    git(root, "checkout", "-q", "src/data.py")
    write(root, {"old.txt": "changed\n"})
    git(root, "commit", "-qam", "change")
    write(root, {"new.py": "y = 1\n", "CLAUDE.md": "# They\n"})
    found = moved(root, good)
    assert found.files == ("CLAUDE.md", "new.py", "old.txt", "src/data.py") and found.commits == 1


def test_a_revision_that_is_no_ancestor_or_no_more_is_said(root):
    good = at(root)
    write(root, {"old.txt": "amended\n"})
    git(root, "commit", "-qa", "--amend", "-m", "other")
    assert moved(root, good).commits == -1 and moved(root, good).files == ("old.txt",)
    assert moved(root, State(head="f" * 40)).commits == -1


def test_a_repository_without_a_commit_and_a_plain_folder_compare_what_both_moments_saw(tmp_path, home):
    for name, is_git in (("fresh", True), ("plain", False)):
        folder = tmp_path / name
        write(folder, {"a.py": "x = 1\n", "b.py": "y = 1\n", "data.bin": "0"})
        if is_git:
            git(folder, "init", "-q")
        good = at(folder, is_git)
        write(folder, {"a.py": "x = 2\n"})
        assert moved(folder, good, is_git) == Moved(files=("a.py",))


def test_where_not_all_was_read_only_what_both_know_is_compared(root, monkeypatch):
    write(root, {f"n{number}.py": "x = 1\n" for number in range(5)})
    monkeypatch.setattr(worktree, "MOST", 3)
    good = at(root)
    assert not good.whole
    monkeypatch.setattr(worktree, "MOST", 100)
    assert moved(root, good).files == ()


def test_where_head_was_is_told_when_it_moved_since(root):
    old = git(root, "rev-parse", "HEAD").strip()
    began = time.time()
    assert worktree.head_at(root, began) == ""
    when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(began + 5)) + "+0000"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", when)
        git(root, "commit", "-q", "--allow-empty", "-m", "meanwhile")
    assert worktree.head_at(root, began) == old


def test_nothing_of_theirs_is_written(root):
    index = root / ".git" / "index"
    write(root, {"old.txt": "x\n"})  # as it was, but for the time
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    at(root)
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before

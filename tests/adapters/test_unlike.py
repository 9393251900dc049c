"""What need not be read for a photograph: the tree is the same as if every file had been read."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.adapters.project import FIXED, git, repo, write

from bitten.adapters.repo import NAME, PATIENCE
from bitten.adapters.store import persons_git
from bitten.adapters.unlike import unlike


def what_to_read(root):
    found = unlike(persons_git(root), (), NAME, PATIENCE)
    return None if found is None else set(found.read)


def edit(root):
    write(root, {"src/data.py": FIXED, "new.py": "x = 1\n", "run.log": "no\n"})


def stage_and_edit_again(root):
    write(root, {"src/data.py": "x = 1\n"})
    git(root, "add", ".")
    write(root, {"src/data.py": "x = 2\n", "staged.py": "y = 1\n"})
    git(root, "add", "-N", "staged.py")


def stage_and_go_back(root):
    before = (root / "src/data.py").read_text("utf-8")
    write(root, {"src/data.py": "x = 1\n"})
    git(root, "add", ".")
    git(root, "rm", "-q", "--cached", "old.txt")
    write(root, {"src/data.py": before})


def remove_and_replace(root):
    (root / "old.txt").unlink()
    write(root, {"old.txt/inner.py": "x = 1\n"})
    (root / "src").rename(root / "elsewhere")
    (root / "src").symlink_to("elsewhere")
    (root / "CLAUDE.md").chmod(0o755)


def hide_changes(root):
    git(root, "update-index", "--assume-unchanged", "old.txt")
    write(root, {"old.txt": "hidden\n"})


def leave_out(root):
    git(root, "update-index", "--skip-worktree", "old.txt", "CLAUDE.md")
    (root / "old.txt").unlink()
    write(root, {"CLAUDE.md": "there all the same\n"})


def change_on_the_way(root):
    write(root, {".gitattributes": "*.txt text eol=crlf\n*.bin -text\n", "crlf.txt": b"a\r\nb\r\n", "a.bin": b"\0\r\n"})
    git(root, "add", ".")
    git(root, "commit", "-qm", "attributes")


def convert_endings(root):
    git(root, "config", "core.autocrlf", "input")
    write(root, {"crlf.py": b"x = 1\r\n"})
    git(root, "add", ".")
    git(root, "commit", "-qm", "converted")


def touch_within_the_indexs_own_second(root):
    write(root, {"racy.py": "x = 1\n"})
    git(root, "add", "racy.py")
    index = (root / ".git/index").stat().st_mtime_ns
    write(root, {"racy.py": "x = 2\n"})
    for each in (root / "racy.py", root / ".git/index"):
        os.utime(each, ns=(index, index))


def go_into_a_submodule(root):
    git(root.parent, "init", "-q", "inner")
    git(root.parent / "inner", "commit", "-q", "--allow-empty", "-m", "one")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"{root.parent}/inner", "sub")
    write(root, {"sub/x.py": "y = 1\n"})


def begin_anew(root):
    git(root, "checkout", "-q", "--orphan", "fresh")
    git(root, "rm", "-rqf", "--cached", ".")


STATES = (lambda root: None, edit, stage_and_edit_again, stage_and_go_back, remove_and_replace, hide_changes, leave_out, change_on_the_way,
          convert_endings, touch_within_the_indexs_own_second, go_into_a_submodule, begin_anew)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__.strip("<>"))
def test_the_tree_is_the_same_as_if_all_had_been_read(root, state):
    state(root)
    quick = repo(root).snapshot()
    assert quick == repo(root)._read_whole()
    assert quick == repo(root).snapshot()


@pytest.mark.parametrize("state", STATES[:-1], ids=lambda state: state.__name__.strip("<>"))
def test_what_differs_from_head_is_what_gits_own_comparison_says(root, state):
    state(root)
    found = repo(root)
    assert found.changed_since("HEAD") == tuple(sorted({*found._differing("HEAD"), *found._listed_untracked()}))


def test_only_what_may_differ_is_read(root):
    assert what_to_read(root) == set()
    edit(root)
    assert what_to_read(root) == {"src/data.py"}
    change_on_the_way(root)
    assert what_to_read(root) == {"old.txt", "crlf.txt"}
    hide_changes(root)
    assert what_to_read(root) is None


def test_in_a_merge_every_file_is_read(root):
    git(root, "checkout", "-qb", "other")
    write(root, {"old.txt": "other\n"})
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "main")
    write(root, {"old.txt": "main\n"})
    git(root, "commit", "-qam", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "-q", "other")
    assert what_to_read(root) is None


def test_an_index_in_parts_is_photographed_all_the_same(root):
    git(root, "update-index", "--split-index")
    edit(root)
    assert repo(root).snapshot() == repo(root)._read_whole()

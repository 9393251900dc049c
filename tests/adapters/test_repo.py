import os
import subprocess

import pytest
from tests.adapters.project import DATA, FIXED, TEST, every_file, git, redact, repo, write

from bitten.adapters import repo as module
from bitten.adapters.repo import GitRepo, repo_at
from bitten.core.ports import Repo
from bitten.core.trouble import BadInput, Refused, Unable


def names(found: GitRepo, tree: str) -> set[str]:
    return set(found.difference(found._store.empty_tree(), tree).files)


def test_it_is_the_repo_that_the_steps_ask_for(root):
    found: Repo = repo_at(root / "src", redact)
    assert (found.root, found.is_git) == (str(root), True)


def test_a_photograph_holds_what_is_tracked_and_untracked_text_and_nothing_else(root):
    write(root, {"src/data.py": FIXED, "new.py": "x = 1\n", "secret.env": "hunter2\n", "big.csv": "1\n" * 40_000, "blob.bin": b"\0\1",
                 "latin": b"\xe9", "run.log": "no\n", "data/a.txt": "no\n", "caf\udce9.py": "y = 1\n", ".bitten/x.py": "no\n",
                 "sub/.bitten/x": "no\n"})
    (root / "old.txt").unlink()
    (root / "link").symlink_to("nowhere")
    found = repo(root)
    tree = found.snapshot()
    assert names(found, tree) == {"src/data.py", ".gitignore", "CLAUDE.md", "new.py", "caf\udce9.py", "link"}
    assert found.left_out == {"secret.env": "untracked and may hold a secret", "big.csv": "untracked and 64 KiB or larger",
                              "blob.bin": "untracked and no text", "latin": "untracked and no text"}
    assert found.files_at(tree, ["src/data.py", "old.txt", "src"]) == {"src/data.py": FIXED.encode(), "old.txt": None, "src": None}


def test_nothing_in_the_persons_git_changes(root):
    write(root, {"src/data.py": FIXED, "staged.py": "x = 1\n"})
    git(root, "add", "staged.py")
    os.utime(root / "CLAUDE.md", (1, 1))
    write(root, {"staged.py": "x = 2\n", ".git/hooks/post-index-change": "#!/bin/sh\ntouch hooked\n"})
    (root / ".git/hooks/post-index-change").chmod(0o755)
    git(root, "config", "core.fsmonitor", str(root / ".git/hooks/post-index-change"))
    before = every_file(root / ".git")
    found = repo(root)
    one = found.snapshot()
    write(root, {"src/data.py": DATA})
    found.difference(one, found.snapshot())
    found.difference("HEAD", one)
    found.changed_since("HEAD")
    found.would_commit("", {"CLAUDE.md": b"new\n"})
    assert every_file(root / ".git") == before
    assert not (root / "hooked").exists()


def test_bytes_are_kept_whatever_attributes_and_config_say(root):
    git(root, "config", "core.autocrlf", "input")
    git(root, "config", "filter.shout.clean", "tr a-z A-Z")
    write(root, {".gitattributes": "* text=auto ident\n*.nb filter=shout\n*.w working-tree-encoding=UTF-16\n",
                 "a.nb": "abc\n", "a.w": "plain\n", "crlf.py": b"x = '$Id: 1 $'\r\ny = 1\n"})
    git(root, "add", ".gitattributes", "a.nb", "crlf.py")
    found = repo(root)
    tree = found.snapshot()
    as_written = {"a.nb": b"abc\n", "crlf.py": b"x = '$Id: 1 $'\r\ny = 1\n", "a.w": b"plain\n"}
    assert found.files_at(tree, as_written) == as_written


def test_photographs_follow_files_that_become_folders_links_and_nothing(root):
    found = repo(root)
    found.snapshot()
    (root / "old.txt").unlink()
    write(root, {"old.txt/inner.py": "x = 1\n"})
    (root / "src").rename(root / "data")
    (root / "src").symlink_to("data")
    assert names(found, found.snapshot()) == {"old.txt/inner.py", "src", ".gitignore", "CLAUDE.md"}


def test_a_photograph_is_taken_in_the_middle_of_a_merge_and_beside_a_nested_repository(root):
    git(root, "checkout", "-qb", "other")
    write(root, {"old.txt": "other\n"})
    git(root, "commit", "-qam", "other")
    git(root, "checkout", "-q", "main")
    write(root, {"old.txt": "main\n", "nested/x.py": "x = 1\n"})
    git(root, "commit", "-qam", "main")
    git(root / "nested", "init", "-q")
    git(root / "nested", "add", ".")
    git(root / "nested", "commit", "-qm", "nested")
    subprocess.run(["git", "merge", "-q", "other"], cwd=root, check=False, capture_output=True)
    found = repo(root)
    tree = found.snapshot()
    assert found.files_at(tree, ["old.txt"])["old.txt"] == (root / "old.txt").read_bytes()
    with pytest.raises(Refused) as trouble:
        found.commit("", {"CLAUDE.md": b"x\n"}, "no")
    assert trouble.value.slug == "commit-in-between"


def test_a_spoilt_index_of_ours_and_a_left_over_lock_are_no_hindrance(root):
    found = repo(root)
    tree = found.snapshot()
    write(root, {".bitten/objects/index": "spoilt", ".bitten/objects/index.lock": ""})
    assert repo(root).snapshot() == tree


def test_what_is_large_and_tracked_counts_as_the_index_knows_it(root, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_TRACKED", 10)
    write(root, {"src/data.py": FIXED})
    found = repo(root)
    assert found.files_at(found.snapshot(), ["src/data.py"])["src/data.py"] == DATA.encode()
    assert "src/data.py" in found.left_out


def test_untracked_files_have_a_limit(root, monkeypatch):
    monkeypatch.setattr(module, "MOST_UNTRACKED", 2)
    write(root, {"a": "a\n", "b": "b\n", "c": "c\n"})
    found = repo(root)
    assert {"a", "b"} < names(found, found.snapshot())
    assert found.left_out == {"c": "more than 2 untracked files"}


def test_a_difference_names_what_it_touches_and_its_patch_applies(root, tmp_path):
    found = repo(root)
    old = found.snapshot()
    write(root, {"src/data.py": FIXED.replace("return 9", "return 8"), "tests/test_data.py": TEST, "CLAUDE.md": b"caf\xe9\n",
                 "caf\u00e9.txt": "x\n"})
    (root / "old.txt").chmod(0o755)
    new = found.snapshot()
    difference = found.difference(old, new)
    assert difference.touches == ("CLAUDE.md", "caf\u00e9.txt", "old.txt", "src/data.py:DataLoader.__iter__", "src/data.py:last",
                                  "tests/test_data.py")
    assert difference.files == ("CLAUDE.md", "caf\u00e9.txt", "old.txt", "src/data.py", "tests/test_data.py")
    assert "+++ b/src/data.py\n" in difference.patch and "+++ b/caf\u00e9.txt\n" in difference.patch
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(root), str(other))
    subprocess.run(["git", "apply", "-"], cwd=other, input=difference.patch.encode("utf-8", "surrogateescape"), check=True)
    for name in difference.files:
        assert (other / name).read_bytes() == (root / name).read_bytes()
    assert found.new_tests("tests/test_data.py", old, new) == ("test_last_sample_included",)


def test_revisions_of_the_persons_can_be_read_and_compared(root):
    found = repo(root)
    head = git(root, "rev-parse", "HEAD").strip()
    assert (found.revision("HEAD"), found.revision("main"), found.revision("--all"), found.revision("none")) == (head, head, None, None)
    assert found.files_at("HEAD", ["old.txt"]) == {"old.txt": b"x\n"}
    assert found.changed_since("HEAD") == ()
    tree = found.snapshot()
    write(root, {"src/data.py": FIXED, "new.py": "x = 1\n", "run.log": "no\n"})
    assert found.changed_since("HEAD") == found.changed_since(tree) == ("new.py", "src/data.py")
    with pytest.raises(BadInput) as trouble:
        found.files_at("none", ["a"])
    assert trouble.value.slug == "no-such-tree"


def test_below_a_hook_the_variables_of_git_do_not_lead_astray(root, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    found = repo(root)
    assert found.is_git and "src/data.py" in names(found, found.snapshot())


# ------------------------------------------------------------------------------------------ outside a repository


def test_outside_a_repository_the_folder_itself_is_the_tree(tmp_path, home):
    folder = tmp_path / "plain"
    write(folder, {"a.py": "x = 1\n", ".venv/b.py": "no\n", "sub/c.py": "y = 1\n", ".gitignore": "*.log\n", "d.log": "no\n"})
    found = repo(folder)
    old = found.snapshot()
    assert (found.root, found.is_git, found.revision("HEAD")) == (str(folder), False, None)
    assert names(found, old) == {"a.py", "sub/c.py", ".gitignore"}
    write(folder, {"a.py": "x = 2\n"})
    assert found.changed_since(old) == ("a.py",)
    assert repo_at(folder / "sub", redact).root == str(folder)
    with pytest.raises(Unable) as trouble:
        found.commit("", {}, "no")
    assert trouble.value.slug == "not-a-repository"


def test_a_case_in_the_home_does_not_claim_the_projects_below(tmp_path, home):
    write(home, {".bitten/.gitignore": "*\n", "project/a.py": "x = 1\n"})
    assert repo(home / "project").root == str(home / "project")


def test_a_bare_repository_or_a_machine_without_git_is_a_plain_folder(tmp_path, root, monkeypatch):
    git(tmp_path, "init", "-q", "--bare", "bare")
    assert not repo(tmp_path / "bare").is_git
    monkeypatch.setenv("PATH", str(tmp_path))
    found = repo(root)
    assert not found.is_git
    with pytest.raises(Unable) as trouble:
        found.snapshot()
    assert trouble.value.slug == "git-missing"

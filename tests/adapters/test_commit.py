import subprocess
from pathlib import Path

import pytest
from tests.adapters.project import DATA, FIXED, TEST, every_file, git, repo, write

from bitten.adapters.repo import GitRepo
from bitten.core.trouble import Refused, Unable

LESSON = {"CLAUDE.md": b"# Us\n\n- a lesson\n"}


def fix(found: GitRepo, base: str, fixed: str = FIXED) -> str:
    """The fix as a person makes it, on top of the tree at confirmation; returns its patch."""
    write(Path(found.root), {"src/data.py": fixed, "tests/test_data.py": TEST})
    return found.difference(base, found.snapshot()).patch


def state(root: Path) -> tuple[str, str]:
    return git(root, "diff", "--cached"), git(root, "stash", "list")


def everything(root: Path) -> tuple[str, str, bytes]:
    return git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain"), (root / ".git/index").read_bytes()


def show(root: Path, name: str) -> str:
    return git(root, "show", name)


def test_fix_test_and_lesson_are_one_commit_and_the_tree_is_clean(root):
    found = repo(root)
    patch = fix(found, found.snapshot())
    write(root, {"CLAUDE.md": LESSON["CLAUDE.md"]})
    git(root, "config", "commit.cleanup", "strip")
    made = found.commit(patch, LESSON, "Include the last sample\n\n# not a comment\n")
    assert git(root, "rev-parse", "HEAD").strip() == made
    assert git(root, "show", "--name-only", "--format=%an%n%B", made).split("\n") == [
        "Ann", "Include the last sample", "", "# not a comment", "", "", "CLAUDE.md", "src/data.py", "tests/test_data.py", ""]
    assert git(root, "diff-files") == ""
    assert git(root, "status", "--porcelain") == ""
    git(root, "fsck", "--strict")


def test_the_commit_needs_nothing_of_our_store(root, tmp_path):
    found = repo(root)
    found.commit(fix(found, found.snapshot()), LESSON, "fix")
    (root / ".bitten").rename(tmp_path / "gone")
    git(root, "fsck", "--strict")
    assert show(root, "HEAD:src/data.py") == FIXED


def test_work_in_progress_and_staged_work_stay_as_they_were(root):
    write(root, {"old.txt": "staged\n", "staged.py": "x = 1\n", "src/data.py": DATA.replace("return 9", "return 8")})
    git(root, "add", "old.txt", "staged.py")
    write(root, {"old.txt": "and more\n", "untracked.py": "y = 1\n"})
    found = repo(root)
    base, before = found.snapshot(), state(root)
    patch = fix(found, base, FIXED.replace("return 9", "return 8"))
    tree = every_file(root / "src")
    found.commit(patch, LESSON, "fix")
    assert state(root) == before
    assert every_file(root / "src") == tree
    assert show(root, "HEAD:src/data.py") == show(root, ":src/data.py") == FIXED
    assert git(root, "diff", "--numstat") == "3\t1\tCLAUDE.md\n".replace("3\t1", "0\t2") + "1\t1\told.txt\n1\t1\tsrc/data.py\n"


def test_staged_work_in_the_fixed_file_stays_staged_on_top_of_the_fix(root):
    work = DATA.replace("return 9", "return 8")
    write(root, {"src/data.py": work})
    git(root, "add", "src/data.py")
    found = repo(root)
    base, before = found.snapshot(), git(root, "diff", "--cached").split("@@")[1:]
    found.commit(fix(found, base, FIXED.replace("return 9", "return 8")), {}, "fix")
    assert git(root, "diff", "--cached").split("@@")[1:] == before
    assert show(root, "HEAD:src/data.py") == FIXED
    assert git(root, "diff") == "" and found.notes == []


def test_a_fix_that_was_staged_and_a_test_only_announced_are_taken_up(root):
    found = repo(root)
    patch = fix(found, found.snapshot())
    git(root, "add", "src/data.py")
    git(root, "add", "-N", "tests/test_data.py")
    found.commit(patch, {}, "fix")
    assert git(root, "status", "--porcelain") == ""


def test_staged_work_that_clashes_with_the_fix_stays_and_is_named(root):
    found = repo(root)
    base = found.snapshot()
    write(root, {"src/data.py": DATA.replace("start + 1", "start + 7")})
    git(root, "add", "src/data.py")
    patch = fix(found, base)
    found.commit(patch, {}, "fix")
    assert "start + 7" in show(root, ":src/data.py")
    assert found.notes[0].startswith("src/data.py: your staged version clashes")


def test_deleting_and_renaming_are_committed_too(root):
    found = repo(root)
    base = found.snapshot()
    (root / "old.txt").rename(root / "new.txt")
    found.commit(fix(found, base), {}, "fix")
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "ls-tree", "--name-only", "HEAD").split() == [".gitignore", "CLAUDE.md", "new.txt", "src", "tests"]


@pytest.mark.parametrize(("work", "named"), [
    ({"src/data.py": DATA.replace("        for", "        # mine\n        for").replace("self.items[", "self.rows[")}, "src/data.py"),
    ({"src/own.py": "def f():\n    return 1\n"}, "src/own.py"),
])
def test_a_fix_that_rests_on_uncommitted_work_is_refused_and_nothing_changes(root, work, named):
    write(root, work)
    found = repo(root)
    base, before = found.snapshot(), every_file(root / ".git")
    write(root, {name: content.replace("start + 1", "start + 2").replace("return 1", "return 2") for name, content in work.items()})
    with pytest.raises(Refused) as trouble:
        found.commit(found.difference(base, found.snapshot()).patch, LESSON, "fix")
    assert trouble.value.slug == "fix-entangled" and named in trouble.value.what and "--all" in trouble.value.way
    assert every_file(root / ".git") == before


def test_a_fix_beside_uncommitted_lines_is_merged_onto_head(root):
    work = DATA.replace("def last", "# mine\ndef last").replace("class", "import os\nimport re\n\n\nclass")
    write(root, {"src/data.py": work})
    found = repo(root)
    patch = fix(found, found.snapshot(), work.replace("return 9", "return 10"))
    planned = found.would_commit(patch, LESSON)
    found.commit(patch, LESSON, "fix")
    assert show(root, "HEAD:src/data.py") == DATA.replace("return 9", "return 10")
    assert git(root, "rev-parse", "HEAD^{tree}").strip() == planned


def test_a_hook_that_says_no_is_quoted_and_nothing_changes(root):
    write(root, {".git/hooks/pre-commit": "#!/bin/sh\ngit diff --cached --name-only\necho lint is unhappy >&2\nexit 1\n"})
    (root / ".git/hooks/pre-commit").chmod(0o755)
    found = repo(root)
    patch = fix(found, found.snapshot())
    before = everything(root)
    with pytest.raises(Unable) as trouble:
        found.commit(patch, LESSON, "fix")
    assert trouble.value.slug == "commit-hook-failed"
    assert trouble.value.why == "CLAUDE.md\nsrc/data.py\ntests/test_data.py\nlint is unhappy"
    assert everything(root) == before


def test_what_a_hook_adds_to_the_commit_is_taken_up(root):
    write(root, {".git/hooks/pre-commit": "#!/bin/sh\necho '# by hook' >> tests/test_data.py\ngit add tests/test_data.py\n"})
    (root / ".git/hooks/pre-commit").chmod(0o755)
    found = repo(root)
    found.commit(fix(found, found.snapshot()), {}, "fix")
    assert show(root, "HEAD:tests/test_data.py") == TEST + "# by hook\n"
    assert git(root, "status", "--porcelain") == ""


def test_a_signature_that_fails_is_no_hook(root):
    git(root, "config", "commit.gpgsign", "true")
    git(root, "config", "gpg.program", "/bin/false")
    write(root, {".git/hooks/pre-commit": "#!/bin/sh\n"})
    (root / ".git/hooks/pre-commit").chmod(0o755)
    found = repo(root)
    patch = fix(found, found.snapshot())
    head = git(root, "rev-parse", "HEAD")
    with pytest.raises(Unable) as trouble:
        found.commit(patch, {}, "fix")
    assert trouble.value.slug == "commit-failed" and "sign" in trouble.value.why
    assert git(root, "rev-parse", "HEAD") == head


def test_without_an_identity_nothing_is_begun(root, home):
    found = repo(root)
    patch = fix(found, found.snapshot())
    (home / ".gitconfig").write_text("[user]\n useConfigOnly = true\n")
    with pytest.raises(Unable) as trouble:
        found.commit(patch, {}, "fix")
    assert trouble.value.slug == "git-identity"


def test_a_commit_of_nothing_and_a_held_index_are_refused(root):
    found = repo(root)
    with pytest.raises(Refused) as trouble:
        found.commit("", {"CLAUDE.md": b"# Us\n"}, "nothing")
    assert trouble.value.slug == "commit-empty"
    (root / ".git/index.lock").touch()
    with pytest.raises(Unable) as held:
        found.commit("", LESSON, "fix")
    assert held.value.slug == "git-index-locked"


def test_a_branch_without_a_commit_gets_its_first(tmp_path, home):
    root = tmp_path / "young"
    root.mkdir()
    git(root, "init", "-q")
    write(root, {"src/data.py": DATA})
    git(root, "add", ".")
    found = repo(root)
    made = found.commit("", LESSON, "first")
    assert git(root, "ls-tree", "-r", "--name-only", made) == "CLAUDE.md\n"
    assert git(root, "diff", "--cached", "--name-only") == "src/data.py\n"


def test_a_worktree_of_its_own_is_served_as_well(root, tmp_path):
    other = tmp_path / "other"
    git(root, "worktree", "add", "-q", "-b", "other", str(other))
    found = repo(other)
    found.commit(fix(found, found.snapshot()), LESSON, "fix")
    assert git(other, "status", "--porcelain", "--", "src", "tests") == ""
    assert subprocess.run(["git", "diff", "--quiet", "main", "other", "--", "src"], cwd=root, check=False).returncode == 1

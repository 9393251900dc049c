"""The trees of a person's commits, as they are laid over a copy of the work tree."""

from __future__ import annotations

from pathlib import Path

from tests.stories import Project

from bitten.adapters.history import GitHistory
from bitten.adapters.repo import GitRepo


def test_a_commit_lacks_what_was_added_since_committed_or_not_and_leaves_what_is_not_tracked(tmp_path: Path) -> None:
    project = Project(tmp_path, {"main.py": "1\n"})
    first = project.git("rev-parse", "HEAD").strip()
    project.write("later.py", "2\n")
    project.commit("more")
    project.write("added.py", "3\n")
    project.git("add", "added.py")
    project.write("mine.txt", "4\n")
    project.write("main.py", "5\n")
    history = GitHistory(GitRepo(project.root, lambda text: text, is_git=True))
    assert history.files(first) == {"main.py": b"1\n", "later.py": None, "added.py": None}
    assert history.files("HEAD") == {"main.py": b"1\n", "added.py": None}


def test_more_paths_are_asked_for_than_a_command_line_holds(tmp_path: Path) -> None:
    project = Project(tmp_path, {"main.py": "1\n"})
    many = [f"outputs/{'of_a_long_name' * 5}/{number}.json" for number in range(30_000)]
    found = GitRepo(project.root, lambda text: text, is_git=True).files_at("HEAD", ["main.py", *many])
    assert found["main.py"] == b"1\n" and found[many[-1]] is None

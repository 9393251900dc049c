"""A home and a repository of each test's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.adapters.project import DATA, git, write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    write(tmp_path / "home", {".gitconfig": "[user]\n name = Ann\n email = ann@x\n[init]\n defaultBranch = main\n"})
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    write(root, {"src/data.py": DATA, ".gitignore": "*.log\ndata/\n", "CLAUDE.md": "# Us\n", "old.txt": "x\n"})
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root

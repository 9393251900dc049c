"""A small project in a git repository, with the recipe's own bug, and what tests do to it."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from bitten.adapters.repo import GitRepo, repo_at

DATA = """\
class DataLoader:
    def __iter__(self):
        for start in range(0, len(self.items), 2):
            yield self.items[start:start + 1]


def spare():
    return [
        1,
        2,
    ]


def last():
    return 9
"""
FIXED = DATA.replace("start + 1", "start + 2")
TEST = "def test_last_sample_included():\n    assert True\n"


def redact(text: str) -> str:
    return text.replace("hunter2", "<redacted>")


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True).stdout


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def repo(root: Path) -> GitRepo:
    return repo_at(root, redact)


def every_file(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}

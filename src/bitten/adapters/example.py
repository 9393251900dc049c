"""The bundled example, laid out as a fresh git repository, and the edit that mends it. Knows nothing of who plays it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import bitten
from bitten.core.trouble import BadInput, Unable

NOT_THE_EXAMPLE = shutil.ignore_patterns("runs", "__pycache__", ".*_cache", ".bitten")


def lay_out(to: Path) -> Path:
    """Copy the example to a new folder and commit it there. Raises: BadInput `folder-exists`; Unable without git."""
    if to.exists():
        raise BadInput("folder-exists", f"{to} exists already.", way="bitten demo ANOTHER-FOLDER")
    shutil.copytree(_source() / "charngram", to, ignore=NOT_THE_EXAMPLE)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*_who(), "commit", "-qm", "Train a character n-gram model"],
                  ["config", "user.name", "Ana"], ["config", "user.email", "ana@example.org"]):
        _git(to, *words)
    return to


def mend(project: Path) -> str:
    """Make the edit of the story: the prepared fix, and its test. Returns the fix as a unified diff."""
    prepared = _source() / "charngram_fix"
    patch = prepared / "fix.patch"
    _git(project, "apply", str(patch))
    tests = project / "tests" / "unit" / "test_data.py"
    with tests.open("a", encoding="utf-8") as file:
        file.write((prepared / "test_last_sample_included.py.txt").read_text("utf-8"))
    return patch.read_text("utf-8")


def _who() -> list[str]:
    return ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false"]


def _source() -> Path:
    """In the wheel beside our modules; in a checkout, at its root."""
    package = Path(bitten.__file__).parent
    return next(each for each in (package / "examples", package.parents[1] / "examples") if (each / "charngram").is_dir())


def _git(project: Path, *words: str) -> None:
    try:
        done = subprocess.run(["git", *words], cwd=project, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Unable("git-missing", "The demo needs git, and it was not found.", way="install git, then:  bitten demo") from None
    if done.returncode:
        raise Unable("git-failed", f"git {words[0]} failed in {project}.", done.stderr.strip(), "do what git says, then:  bitten demo")

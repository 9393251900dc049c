"""A project where each attack has something to harm, put back to any phase of a case, and photographed. Knows no attack and no model."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.stories import COUNT, MAIN, WINDOWS, Project, captured, confirmed, fixed

from .attack import BEFORE, FIX, NONE, PHASES, VERIFIED

TITLE = "# Windows\n"
CELL = {"id": "a", "cell_type": "code", "source": "x = 1", "metadata": {}, "outputs": [], "execution_count": None}
FILES = {
    "windows.py": WINDOWS, "main.py": MAIN, "count_rows.py": COUNT, "CLAUDE.md": TITLE, ".gitignore": "data/\n", "notes.md": "# Notes\n",
    "other.py": "def other():\n    return 2\n", "pyproject.toml": "[project]\nname = 'windows'\nversion = '1'\n",
    "tests/test_old.py": "def test_old():\n    assert len(range(8)) == 8\n", ".github/workflows/ci.yml": "on: [push]\njobs: {}\n",
    "evil.py": "open('stolen.py', 'w')\n", "evil.mk": "all:\n\ttouch stolen.py\n", "attributes": "* filter=s\n",
    "magic": "0 string x y\n", "big.txt": "".join(f"{n}\n" for n in range(40000, 0, -1)),
    "notes.ipynb": json.dumps({"cells": [CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
}  # fmt: skip
EVIL = ("evil.sh", "ls-evil", "cat", "git-evil")
SUSPECT = ("suspect", "the last window is one row short", "--check", f"{sys.executable} count_rows.py", "--supports-if", "rows < 8",
           "--refutes-if", "rows == 8", "--scope", "windows.py:windows")  # fmt: skip
SPOKEN = ("Confirmation", "Rescope", "Verification", "Reset", "Drop")
"""Kinds of events that an attack must not have brought into the journal."""


class World:
    """`place` holds the project, what lies outside of it, and a home; `saved` all that at each phase."""

    def __init__(self, place: Path) -> None:
        self.place, self.saved = place / "world", place / "saved"
        self.place.mkdir()
        self.project = Project(self.place, FILES)
        self.out, self.root, self.home = self.place / "out", self.project.root, self.project.home
        self.config, self.state = self.home / "claude", self.home / "state" / "bitten"
        self.hypothesis = ""
        self._build()

    def _build(self) -> None:
        """Each phase from the one before, by bitten's own commands."""
        (self.out / "hooks").mkdir(parents=True)
        (self.out / "hooks" / "hooks.json").write_text("{}")
        self.config.mkdir()
        for name in EVIL:
            self.project.write(name, "#!/bin/sh\ntouch stolen.py\nexec timeout 1 /bin/cat\n")
            (self.root / name).chmod(0o755)
        for link, to in (("link.py", "other.py"), ("linked", "."), ("up", ".."), ("kept", ".bitten")):
            (self.root / link).symlink_to(to)
        os.link(self.root / "other.py", self.root / "twin.py")
        self.project.commit("as it grew")
        self.project.write("notes.md", "# Notes\nNot yet committed.\n")
        self.project.write("draft.txt", "Nobody has a copy.\n")
        for phase, step in zip(PHASES, (lambda p: p, self._tested, confirmed, self._verified), strict=True):
            step(self.project)
            shutil.copytree(self.place, self.saved / phase, symlinks=True)

    def _tested(self, project: Project) -> None:
        captured(project)
        assert project.bitten("expect", "eight", "rows").returncode == 0
        assert project.bitten(*SUSPECT).returncode == 0
        self.hypothesis = next(h["id"] for h in project.show()["hypotheses"] if h["source"].startswith("person:"))
        done = project.bitten("check", self.hypothesis)
        assert "✓ supported" in done.stdout, done.stdout + done.stderr

    def _verified(self, project: Project) -> None:
        done = fixed(project).bitten("verify")
        assert done.returncode == 0, done.stdout + done.stderr

    def back_to(self, phase: str, home: bool = True) -> None:
        """Without `home`, what a running session remembers there stays."""
        for part in ("project", "out", *(("home", "run") if home else ())):
            shutil.rmtree(self.place / part)
            shutil.copytree(self.saved / phase / part, self.place / part, symlinks=True)
        (self.root / "twin.py").unlink()
        os.link(self.root / "other.py", self.root / "twin.py")
        for stray in {each.name for each in self.place.iterdir()} - {each.name for each in (self.saved / phase).iterdir()}:
            shutil.rmtree(self.place / stray, ignore_errors=True)
        for stray in Path("/tmp").glob(f"bitten-evil-{os.getpid()}*"):
            stray.unlink()

    def case(self, phase: str) -> str:
        return "" if phase == NONE else str(self.root / ".bitten" / self.saved_text(phase, ".bitten/current"))

    def saved_text(self, phase: str, name: str) -> str:
        return (self.saved / phase / "project" / name).read_text("utf-8").strip()

    def photograph(self, plugin: Path | None = None) -> dict[str, str]:
        """All that an attack could harm, by name: the project's tree, HEAD, index and refs; the journal; settings and memory at home."""
        found = {"beside the project": " ".join(sorted(each.name for each in self.place.iterdir()))}
        for folder in (self.root, self.out, *([plugin] if plugin else [])):
            found |= {_named(file, self.place): _seen(file) for file in _files(folder, {".git", ".bitten"})}
        found |= self._git() | self._ours() | self._home()
        found["journal"] = self._journal()
        return found

    def _git(self) -> dict[str, str]:
        git = self.root / ".git"
        alone = ("-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null")
        words = ["git", *alone, "ls-files", "-s", "-v"]
        listed = subprocess.run(words, cwd=self.root, env=self.project.env, capture_output=True, text=True, check=False)
        kept = {_named(file, self.place): _seen(file) for file in _files(git, {"objects", "logs"})
                if file.name not in ("index", "COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD") and not file.name.endswith(".lock")}
        return {"index": _digest((listed.stdout + listed.stderr).encode()), **kept}

    def _ours(self) -> dict[str, str]:
        """Of the case folder: that all is there, what is open, and whether anything holds what only a forger writes."""
        files = list(_files(self.root / ".bitten", set()))
        forged = [file.name for file in files if "forged" in str(file) or b"forged" in _bytes(file)]
        current = self.root / ".bitten" / "current"
        return {"forged": " ".join(forged), "current": _bytes(current).decode("utf-8", "replace"),
                **{_named(file, self.place): _seen(file) for file in files if "playbooks" in file.parts},
                **{f"there {_named(file, self.place)}": "" for file in files if file.name in ("events.jsonl", "debug.md", "current")}}

    def _home(self) -> dict[str, str]:
        """Settings, and what is no business of a session; of bitten's memory only that it is there, and not forged."""
        settings = [self.config / "settings.json", self.config / "settings.local.json"]
        kept = (*settings, *_files(self.home, {"claude", "state", ".cache", "marketplace"}))
        named = {_named(file, self.place): _seen(file) for file in kept if file.exists()}
        heads = {_named(file, self.place): "" for file in _files(self.state / "heads", set())}
        forged = [file.name for file in _files(self.state / "claude", set()) if file.suffix == ".json" and _is_forged(file)]
        return {**named, **heads, "a session forged": " ".join(forged)}

    def _journal(self) -> str:
        """What was said in the case that only a person, or a proof, says; and whether what stood there still stands."""
        told = []
        for file in sorted((self.root / ".bitten").glob("*/events.jsonl")):
            text = _bytes(file)
            kinds = [kind for kind in map(_kind, text.splitlines()) if kind in SPOKEN]
            told.append(f"{file.parent.name}: {' '.join(kinds)}{'' if self._goes_on(file, text) else ' (rewritten)'}")
        return "; ".join(told)

    def _goes_on(self, file: Path, text: bytes) -> bool:
        """Whether a journal begins as one of ours does."""
        ours = [self.saved / phase / "project" / ".bitten" / file.parent.name / file.name for phase in (BEFORE, FIX, VERIFIED)]
        return any(text.startswith(each.read_bytes()) for each in ours if each.exists())


def _kind(line: bytes) -> str:
    with suppress(ValueError):
        return str(json.loads(line).get("kind", "no event"))
    return "no event"


def _is_forged(file: Path) -> bool:
    try:
        return "nonce" not in json.loads(_bytes(file)) or b"x/h1" in _bytes(file)
    except ValueError:
        return True


def _files(folder: Path, without: set[str]) -> list[Path]:
    """Files and links below a folder, in order; no link is followed. `without` names folders at its top."""
    found = []
    for at, folders, names in os.walk(folder):
        if at == str(folder):
            folders[:] = [each for each in folders if each not in without]
        folders[:] = [each for each in folders if each not in ("__pycache__",)]
        links = [each for each in folders if Path(at, each).is_symlink()]
        found += [Path(at, each) for each in (*names, *links) if not (at == str(folder) and each in without)]
    return sorted(found)


def _seen(file: Path) -> str:
    mode = file.lstat().st_mode
    return f"{mode:o} {file.readlink() if file.is_symlink() else _digest(_bytes(file))}"


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _named(file: Path, place: Path) -> str:
    return str(file.relative_to(place)) if file.is_relative_to(place) else file.name

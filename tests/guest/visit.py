"""A program, run with the guest and without."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bitten.adapters.guest_told import guest_facts, guest_log
from bitten.adapters.runs import invitation

PYENV = Path.home() / ".pyenv" / "versions"


@dataclass(frozen=True)
class Visit:
    done: subprocess.CompletedProcess[str]
    spool: Path
    root: Path

    @property
    def log(self) -> guest_log.Log:
        return guest_log.load(self.spool)

    @property
    def story(self) -> guest_facts.Story:
        return guest_facts.read(self.spool, self.root, self.done.returncode != 0)


def python(version: str) -> Path | None:
    """An installed Python of this minor version."""
    return next((path / "bin" / "python" for path in sorted(PYENV.glob(version + ".*")) if (path / "bin" / "python").exists()), None)


def bare_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("BITTEN", "PYTHON", "COV"))}


def visit(root: Path, *argv: str, probes: tuple[Path, ...] = (), watch: bool = False,
          env: dict[str, str] | None = None, exe: str | Path = sys.executable, name: str = "spool") -> Visit:
    """Run `python ARGV` below `root` with the guest in."""
    spool, cache = root.parent / name, root.parent / "cache"
    spool.mkdir(exist_ok=True)
    cache.mkdir(exist_ok=True)
    base = {**bare_environment(), **(env or {})}
    base |= invitation.env_for(spool, cache, probes, watch, base)
    return Visit(run(root, base, str(exe), *argv), spool, root)


def run(root: Path, env: dict[str, str], *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, timeout=120, check=False)


def project(tmp_path: Path, files: dict[str, str]) -> Path:
    root = tmp_path / "project"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def probe(tmp_path: Path, text: str, name: str = "seams") -> Path:
    path = tmp_path / "playbooks" / name / "probe.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path

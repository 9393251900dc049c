"""A program that holds secrets everywhere, and a look for their values in every file of ours."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.stories import Project

from .secrets import SECRETS, some

MAIN = '''import json
import sys


def login(told, api_key, password):
    headers = {"Authorization": "Bearer " + api_key, "cookie": "session=" + password}
    print("logging in", *told[:len(told) // 2], sep="\\n", flush=True)
    print("failed with", *told[len(told) // 2:], sep="\\n", file=sys.stderr, flush=True)
    print("environment", __import__("os").environ["COMPANY_TOKEN"])
    raise ValueError("no login for " + " and ".join(told)), client_secret="SOURCE"


told = json.load(open("told.json"))
login(told, api_key="LOCAL", password="SOURCE")
'''


@dataclass(frozen=True)
class Secretive:
    """`values` must stand in no file of ours; `command` is what `bitten run` is given."""

    place: Path
    project: Project
    env: dict[str, str]
    command: tuple[str, ...]
    values: frozenset[str]

    def leaks(self, without: str = "") -> list[str]:
        """Files with a value in them; those below a folder or of a name `without` are left out."""
        return sorted(f"{path.relative_to(self.place) if path.is_relative_to(self.place) else path}: {value}"
                      for path, text in _files(self.project, self.place) if not without or without not in path.name
                      for value in self.values if holds(text, value))


def secretive(place: Path, python: str) -> Secretive:
    """Below `place`: secrets in source, locals, environment, arguments, output, message, configs, an untracked file and a `.env`."""
    source, local, company, typed, hidden = (some(24) for _ in range(5))
    main = MAIN.replace('), client_secret="SOURCE"', f')  # client_secret="{source}"').replace("SOURCE", source).replace("LOCAL", local)
    texts = [secret.text for secret in SECRETS]
    project = Project(place, {"main.py": main, "told.json": json.dumps(texts), "config.yaml": f"password: {source}\nlr: 0.1\n"})
    project.write("notes.txt", "\n".join(texts))
    project.write(".env", f"API_KEY={local}\n")
    (place / "tmp").mkdir()
    env = {"COMPANY_TOKEN": company, "TMPDIR": str(place / "tmp"), "DB_PASSWORD": hidden}
    argv = [word for text in texts for word in ("--told", text)]
    values = {secret.value for secret in SECRETS} | {source, local, company, typed, hidden}
    return Secretive(place, project, env, (python, "main.py", "--api-key", typed, *argv), frozenset(values))


def holds(text: bytes, value: str) -> bool:
    return value.encode() in text or json.dumps(value)[1:-1].encode() in text


def _files(project: Project, place: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file that is ours, and the content of every object that git keeps for us, loose or packed."""
    ours = [project.root / ".bitten", project.home, place / "run", place / "tmp"]
    store = project.root / ".bitten" / "objects"
    for path in (path for folder in ours if folder.exists() for path in folder.rglob("*")):
        if not path.is_symlink() and path.is_file() and not path.is_relative_to(store):
            yield path, path.read_bytes()
    if store.exists():
        command = ["git", "--git-dir", str(store), "cat-file", "--batch-all-objects", "--unordered", "--batch"]
        alternates = store / "objects" / "info" / "alternates"
        known = alternates.read_bytes() if alternates.exists() else None
        alternates.unlink(missing_ok=True)  # the person's own objects are not ours
        yield store, subprocess.run(command, capture_output=True, check=True).stdout
        if known is not None:
            alternates.write_bytes(known)

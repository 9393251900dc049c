"""A program that holds secrets everywhere fails, is checked, and none of their values stands in any file that we left."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zlib
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


def test_no_value_of_a_secret_is_left_in_any_file_of_ours(tmp_path, monkeypatch):
    source, local, company, typed, hidden = (some(24) for _ in range(5))
    main = MAIN.replace('), client_secret="SOURCE"', f')  # client_secret="{source}"').replace("SOURCE", source).replace("LOCAL", local)
    texts = [secret.text for secret in SECRETS]
    project = Project(tmp_path, {"main.py": main, "told.json": json.dumps(texts), "config.yaml": f"password: {source}\nlr: 0.1\n"})
    project.write("notes.txt", "\n".join(texts))
    project.write(".env", f"API_KEY={local}\n")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    env = {"COMPANY_TOKEN": company, "TMPDIR": str(tmp_path / "tmp"), "DB_PASSWORD": hidden}
    argv = [word for text in texts for word in ("--told", text)]
    done = project.bitten("run", "--expect", "loss < 1", "--", sys.executable, "main.py", "--api-key", typed, *argv, **env)
    assert done.returncode == 1 and "case 1 ·" in done.stderr, done.stderr[-2000:]
    project.bitten("check", **env)
    project.bitten("expect", "that", f"password={typed}", "works", **env)
    values = {secret.value for secret in SECRETS} | {source, local, company, typed, hidden}
    found = {f"{path.relative_to(tmp_path)}: {value}"
             for path, text in _files(project, tmp_path) for value in values if _holds(text, value)}
    assert not found, "\n".join(sorted(found)[:40])
    shown = project.bitten("show", "--show-redactions", **env).stdout
    assert "github-token" in shown and "debug.md:" in shown and "characters" in shown and not any(value in shown for value in values)
    assert "secrets were masked (" in done.stderr
    assert "›" in (project.case() / "debug.md").read_text("utf-8")


def _holds(text: bytes, value: str) -> bool:
    return value.encode() in text or json.dumps(value)[1:-1].encode() in text


def _files(project, place):
    """Every file that is ours, git's objects unpacked."""
    ours = [project.root / ".bitten", project.home, place / "run", place / "tmp", Path(f"/dev/shm/bitten-{os.getuid()}")]
    for path in (path for folder in ours if folder.exists() for path in folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        text = path.read_bytes()
        assert path.suffix != ".pack", "objects are loose, or this test sees nothing"
        yield path, zlib.decompress(text) if text[:1] == b"\x78" and path.parent.parent.name == "objects" else text


def test_a_command_that_was_given_a_secret_is_not_run_again_without_it(tmp_path):
    project = Project(tmp_path, {"main.py": "raise ValueError('no login')\n"})
    project.bitten("run", "--", sys.executable, "main.py", "--password", some(12))
    assert "# A secret was taken out" in (project.case() / "run.sh").read_text("utf-8")
    told = ("--supports-if", "symptom.depends == true", "--refutes-if", "symptom.depends == false")
    project.bitten("suspect", "the rate is too high", "--check", "env:LR=0.1", *told)
    name = next(h["id"] for h in project.show()["hypotheses"] if h["source"].startswith("person:"))
    done = project.bitten("check", name)
    assert "not kept" in done.stdout + done.stderr, done.stdout + done.stderr
    assert project.slug(done) == "command-holds-a-secret" and done.returncode == 4


def test_a_check_that_holds_a_secret_is_not_taken(tmp_path):
    project = Project(tmp_path, {"main.py": "raise ValueError('no login')\n"})
    project.bitten("run", "--", sys.executable, "main.py")
    told = ("--supports-if", "a == 1", "--refutes-if", "a == 2")
    done = project.bitten("suspect", "no login", "--check", f"python x.py --password {some(12)}", *told)
    assert project.slug(done) == "suspect-holds-a-secret" and done.returncode == 2

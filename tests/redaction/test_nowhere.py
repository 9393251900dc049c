"""A program that holds secrets everywhere fails, is checked, and none of their values stands in any file that we left."""

from __future__ import annotations

import sys
import tarfile
import tempfile

from tests.stories import Project

from .holder import holds, secretive
from .secrets import some


def test_no_value_of_a_secret_is_left_in_any_file_of_ours(tmp_path, monkeypatch):
    held = secretive(tmp_path, sys.executable)
    project, env = held.project, {**held.env, "BITTEN_REPRODUCER": "1"}
    monkeypatch.setattr(tempfile, "tempdir", None)
    done = project.bitten("run", "--expect", "loss < 1", "--", *held.command, **env)
    assert done.returncode == 1 and "case 1 ·" in done.stderr, done.stderr[-2000:]
    project.bitten("check", **env)
    project.bitten("expect", "that", f"password={held.command[3]}", "works", **env)
    assert not held.leaks(), "\n".join(held.leaks()[:40])
    exported = project.bitten("export", "-o", str(tmp_path / "case.bitten.tgz"), **env)
    assert exported.returncode == 0, exported.stderr
    with tarfile.open(tmp_path / "case.bitten.tgz") as parcel:
        texts = {each.name: parcel.extractfile(each).read() for each in parcel}
    assert {"parcel.json", "case/events.jsonl"} <= set(texts)
    assert not [name for name, text in texts.items() for value in held.values if holds(text, value)]
    shown = project.bitten("show", "--show-redactions", **env).stdout
    assert "github-token" in shown and "debug.md:" in shown and "characters" in shown and not any(value in shown for value in held.values)
    assert "secrets were masked (" in done.stderr
    assert "›" in (project.case() / "debug.md").read_text("utf-8")


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

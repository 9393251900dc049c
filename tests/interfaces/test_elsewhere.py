"""A failure that happened without us becomes a case: from a log, with what that can't tell said."""

from __future__ import annotations

import json
import sys

import pytest
from tests.redaction.secrets import SECRETS
from tests.stories import captured, windows_project

LOG = """+ {python} main.py
rows=6
val_acc=0.25
Traceback (most recent call last):
  File "/home/runner/work/windows/windows/main.py", line 8, in <module>
    raise ValueError("windows of unequal size: %s" % [len(part) for part in parts])
ValueError: windows of unequal size: [4, 3]
##[error]Process completed with exit code 1.
"""


@pytest.fixture
def project(tmp_path):
    made = windows_project(tmp_path)
    made.write("../ci.log", LOG.format(python=sys.executable))
    return made


def failure(project):
    return json.loads((project.case() / "events.jsonl").read_text("utf-8").split("\n")[0])["event"]


def test_a_log_of_ci_opens_a_case_with_its_command_crash_and_metrics(project):
    done = project.bitten("capture", "--log", "../ci.log")
    assert done.returncode == 0, done.stderr
    assert "✗ ValueError: windows of unequal size: [4, 3]" in done.stdout and "main.py:8 in <module>" in done.stdout
    assert "the same" in done.stderr and "bitten did not see it run" in done.stderr and " after 0" not in done.stdout
    told = failure(project)
    assert (told["run"]["command"]["argv"], told["run"]["exit"]) == ([sys.executable, "main.py"], 1)
    assert (told["facts"]["val_acc"], told["facts"]["rows"], told["facts"]["seconds"]) == (0.25, 6, None)
    assert told["tree"] and told["surroundings"]["head"]
    assert project.show()["hypotheses"]
    assert "linked: captured from ci.log" in (project.case() / "debug.md").read_text("utf-8")


def test_the_same_failure_of_run_joins_the_case_of_its_log(project):
    project.bitten("capture", "--log", "../ci.log")
    captured(project)
    assert "seen 2 times" in project.bitten("show").stdout
    assert len(json.loads(project.bitten("cases", "--json").stdout)) == 1


def test_code_that_changed_since_is_named(project):
    project.write("main.py", "\n" + project.read("main.py"))
    done = project.bitten("capture", "--log", "../ci.log", "--json")
    assert json.loads(done.stdout)["signature"]
    assert "the code is another one than in the log: main.py:8 differs" in failure(project)["surroundings"]["notes"]


def test_a_log_without_its_command_or_without_a_failure_says_what_to_add(project):
    project.write("../bare.log", "".join(LOG.splitlines(keepends=True)[1:]))
    project.write("../fine.log", "+ python main.py\nall well\n")
    assert project.slug(project.bitten("capture", "--log", "../bare.log")) == "log-without-command"
    assert project.slug(project.bitten("capture", "--log", "../fine.log")) == "log-shows-no-failure"
    assert project.slug(project.bitten("capture", "--log", "../none.log")) == "no-such-file"
    assert project.slug(project.bitten("capture", "--log", "../bare.log", "--command", "'")) == "not-understood"
    assert not project.bitten("cases", "--json").stdout.strip("[]\n")
    done = project.bitten("capture", "--log", "../fine.log", "--expect", "val_acc >= 0.5", "--exit", "0")
    assert done.returncode == 0 and "val_acc was never measured" in done.stdout


def test_no_secret_of_a_log_is_kept(project):
    project.write("../secret.log", "".join(f"told {secret.text}\n" for secret in SECRETS) + LOG.format(python=sys.executable))
    assert project.bitten("capture", "--log", "../secret.log").returncode == 0
    kept = b"\n".join(path.read_bytes() for path in project.case().rglob("*") if path.is_file())
    forms = {form for secret in SECRETS for form in (secret.value, json.dumps(secret.value)[1:-1])}
    assert not [form for form in forms if form.encode() in kept]


def test_a_run_that_nobody_timed_is_not_run_again_unasked(project):
    project.bitten("capture", "--log", "../ci.log")
    done = project.bitten("check")
    assert project.slug(done) == "check-costs" and "Nobody saw how long" in done.stderr


def test_what_needs_a_shell_gets_one(project):
    project.bitten("capture", "--log", "../ci.log", "--command", "python main.py | tee out", "--cwd", "..")
    command = failure(project)["run"]["command"]
    assert command == {"argv": ["bash", "-c", "python main.py | tee out"], "cwd": str(project.root.parent), "env": {}}

"""`bitten prompt` prints what to paste, for the step that the case is at, and refuses while nobody has said what was expected."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stories import Project, captured, confirmed, windows_project

from bitten.interfaces.wiring import material

MAIN = '''import os

print("step=1 loss=0.5")
raise RuntimeError("stack expects each tensor to be equal size, but got [3] at entry 0 and [2] at entry 1")
'''
LESSONS = """# Mine

## Things that have bitten us

- (2026-04-11) A stack of unequal items.
  Lesson: pad them.

## Else

- not a lesson
"""


@pytest.fixture
def project(tmp_path):
    """A crash that wakes a playbook, with a lesson at hand."""
    return captured(Project(tmp_path, {"main.py": MAIN, "CLAUDE.md": LESSONS}))


def test_it_refuses_while_what_was_expected_is_empty(project):
    for step in ((), ("diagnose",), ("check",), ("fix",)):
        done = project.bitten("prompt", *step)
        assert (done.returncode, done.stdout, project.slug(done)) == (3, "", "expectation-empty")
        assert 'bitten expect "TEXT"' in done.stderr


def test_words_typed_words_in_debug_md_and_an_armed_expectation_all_say_it(project):
    project.bitten("expect", "it to train")
    assert "| it to train" in project.bitten("prompt").stdout
    page = project.case() / "debug.md"
    page.write_text(page.read_text("utf-8").replace("it to train", "that all items stack"), "utf-8")
    assert "| that all items stack" in project.bitten("prompt").stdout
    assert project.bitten("run", "--expect", "loss < 0.1", "--", sys.executable, "-c", "print('loss=0.5')").returncode == 65
    assert "| - `loss < 0.1`" in project.bitten("prompt", "diagnose").stdout


def test_it_prints_the_prompt_and_nothing_else_and_leaves_the_project_as_it_was(project):
    project.bitten("expect", "it to train")
    before = project.photograph()
    done = project.bitten("prompt", "diagnose")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("I'm debugging this failure (case 1 of bitten)") and done.stdout.endswith(".\n")
    assert "\n- unequal-items: Do not catch the error, do not change the batch size" in done.stdout
    assert "\n| - (2026-04-11) A stack of unequal items.\n| Lesson: pad them.\n" in done.stdout and "not a lesson" not in done.stdout
    assert "broken-inputs" not in done.stdout
    assert project.photograph() == before


def test_as_json_it_says_the_step_the_length_and_what_was_cut(project):
    project.bitten("expect", "it to train")
    told = json.loads(project.bitten("prompt", "diagnose", "--json", "--budget", "2600").stdout)
    assert told["step"] == "diagnose" and told["characters"] == len(told["prompt"]) <= 2600
    assert "Environment" in told["cut"] and "debug.md)" in told["prompt"].rstrip().split("\n")[-1]
    done = project.bitten("prompt", "--budget", "100")
    assert (done.returncode, done.stdout, project.slug(done)) == (2, "", "budget-too-small")


def test_without_a_word_it_follows_the_case_from_diagnose_over_check_to_fix(tmp_path):
    project = windows_project(tmp_path)
    captured(project)
    project.bitten("expect", "done to be printed")

    def asked():
        return json.loads(project.bitten("prompt", "--json").stdout)

    assert asked()["step"] == "diagnose"
    assert project.slug(project.bitten("prompt", "fix")) == "fix-before-confirmation"
    confirmed(project)
    told = asked()
    assert told["step"] == "fix" and "The hypothesis is confirmed: the last window is one row short." in told["prompt"]
    assert "\n- Change only `windows.py:windows`.\n- Add a test to `test_windows.py` that asserts" in told["prompt"]


def test_past_the_hour_no_agent_is_asked(project):
    project.bitten("expect", "it to train")
    project.write(".bitten.toml", "budget = 0\n")
    done = project.bitten("prompt")
    assert (done.stdout, project.slug(done)) == ("", "hour-is-up")


def test_a_file_that_can_not_even_be_looked_at_is_left_out():
    assert material._text(Path("x" * 300)) == material._text(Path("/proc/self/mem")) == ""


def test_what_python_thinks_of_the_persons_source_is_no_word_of_ours(project):
    """As of `"\\d"`, since Python 3.12, when a test file is parsed."""
    code = ("import sys, warnings; from bitten.interfaces import cli; sys.argv = ['bitten', 'cases']; sys.exit = lambda code: None; "
            "cli.main(); warnings.warn('an odd escape', SyntaxWarning)")
    done = subprocess.run([sys.executable, "-c", code], cwd=project.root, env=project.env, capture_output=True, text=True, check=True)
    assert (done.stderr, done.returncode) == ("", 0) and done.stdout

"""A fix that does not hold leads back to step 2, and the next prompts hold what was learnt."""

from __future__ import annotations

import json

from tests.stories import captured, confirmed, fixed, windows_project


def test_after_a_failed_verification_the_next_prompt_begins_from_what_was_learnt(tmp_path):
    project = windows_project(tmp_path)
    project.write("test_windows.py", "def test_old():\n    pass\n")
    project.commit("a test")
    captured(project)
    project.bitten("expect", "done to be printed")
    confirmed(project)

    def asked(*step):
        return json.loads(project.bitten("prompt", *step, "--json").stdout)

    assert "\n- Leave the tests that are there as they are: `test_old`.\n" in asked()["prompt"]
    whole = project.read("windows.py")
    fixed(project, code=whole.replace("return 1", "return 2"))
    assert project.slug(project.bitten("verify")) == "fix-outside-scope"
    assert asked()["step"] == "fix"
    fixed(project, code=whole.replace("stop = min", "stop = 0 + min"))
    assert project.slug(project.bitten("verify")) == "test-red-on-fix"
    again = asked()
    assert again["step"] == "diagnose" and "| fix 1 did not hold (test-red-on-fix): The new test does not pass" in again["prompt"]
    assert "|     learnt: green.exit = 1" in again["prompt"] and "| h4: the last window is one row short" in again["prompt"]
    assert "the last that its check printed:\n| bitten-fact rows=7" in asked("check")["prompt"]
    assert project.slug(project.bitten("prompt", "fix")) == "fix-before-confirmation"

"""A detached run outlives what started it: the Bash tool of the real CLI, its time-out, and a terminal that is hung up."""

from __future__ import annotations

import shlex

import pexpect
import pytest

from tests.claude.stage import staged
from tests.stories import BITTEN
from tests.test_detached import SLOW, alive, end_all, go, wait_for

DETACH = shlex.join([*BITTEN, "run", "--detach", "--", BITTEN[0], "slow.py"])
WAIT = shlex.join([*BITTEN, "wait"])


@pytest.fixture
def stage(tmp_path):
    with staged(tmp_path, {"slow.py": SLOW, ".gitignore": "began\ngo\n"}) as made:
        yield made
        end_all(made.project)


def bash(command, **more):
    return {"tool": "Bash", "input": {"command": command, "description": "a run", **more}}


def test_it_outlives_the_session_that_began_it_and_another_one_is_told_its_end(stage):
    stage.api.steps[:] = [bash(DETACH), {"text": "It runs."}]
    assert stage.claude("Train.", "--allowedTools", "Bash").exit == 0
    assert "r1 runs apart" in stage.api.turns[1].last_result
    wait_for((stage.project.root / "began").exists)
    go(stage.project, "sys.exit(3)")
    before = len(stage.api.turns)
    stage.api.steps[:] = [bash(WAIT), {"text": "It failed."}]
    assert stage.claude("How did it end?", "--allowedTools", "Bash").exit == 0
    told = stage.api.turns[before + 1].last_result
    assert "Exit code 3" in told and "r1 failed, exit 3" in told


def test_a_wait_that_the_tool_gives_up_is_not_taken_for_an_end(stage):
    """At its time-out the tool moves a command to the background; a wait with a time-out of its own says how things are before."""
    stage.api.steps[:] = [bash(f"{DETACH} && {WAIT} --timeout 1", timeout=60_000), {"text": "It runs."}]
    assert stage.claude("Train.", "--allowedTools", "Bash").exit == 0
    told = stage.api.turns[1].last_result
    assert "Exit code 75" in told and "r1 runs" in told
    assert alive(stage.project)


def test_it_outlives_a_terminal_that_is_hung_up(stage):
    project = stage.project
    shell = pexpect.spawn("sh", cwd=str(project.root), env=project.env, encoding="utf-8", timeout=60)
    shell.sendline(DETACH)
    shell.expect("bitten wait r1")
    wait_for((project.root / "began").exists)
    shell.close(force=True)
    assert not shell.isalive()
    assert project.bitten("wait", "--timeout", "1").returncode == 75 and alive(project)
    go(project)
    assert project.bitten("wait").returncode == 0

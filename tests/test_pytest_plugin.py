"""`pytest --bitten`: cases for what failed, each from a run of its own; to all else, and without the option, nothing changes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.stories import Project

TESTS = """import os
import pytest


def load(n):
    raise ValueError("no shard %d" % n)


@pytest.mark.parametrize("n", [1, 2])
def test_load(n):
    load(n)


def test_alone():
    assert os.environ.get("ALONE"), "only with the others"


def test_fine():
    pass
"""


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, {"tests/test_rows.py": TESTS, "pytest.ini": "[pytest]\naddopts = -p no:cacheprovider\n"})


def run(project, *options, cwd=".", **env):
    command = [sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, cwd=project.root / cwd, env={**project.env, **env}, capture_output=True, text=True, check=False)


def said(done):
    return re.findall(r"^bitten: .*$", done.stdout, re.M)


def test_each_different_failure_gets_a_case_that_knows_its_variables(project):
    done = run(project, "--bitten", cwd="tests")
    assert done.returncode == 1 and "3 failed, 1 passed" in done.stdout
    told = [line.split(" · ") for line in said(done)]
    assert [(line[0], line[2]) for line in told] == [
        ("bitten: case 1", "tests/test_rows.py::test_load[1]"), ("bitten: case 2", "tests/test_rows.py::test_alone")]
    failures = [json.loads((folder / "events.jsonl").read_text("utf-8").split("\n")[0])["event"]
                for folder in sorted((project.root / ".bitten").glob("[0-9]*-*"))]
    assert [each["run"]["command"]["argv"][1:] for each in failures] == [
        ["-m", "pytest", "test_rows.py::test_load[1]"], ["-m", "pytest", "test_rows.py::test_alone"]]
    site = failures[0]["crashes"][0]["frames"][-1]
    assert (site["file"], site["function"], site["variables"]) == ("tests/test_rows.py", "load", {"n": "1"})


def test_the_plugin_loads_nothing_of_ours_unless_it_is_asked_to(project):
    test = """import sys\n\n\ndef test_light(pytestconfig):
    assert [name for name in sys.modules if name.startswith("bitten.")] == ["bitten.pytest_plugin"]
    assert pytestconfig.getoption("bitten") is False and not pytestconfig.pluginmanager.has_plugin("bitten-failures")\n"""
    project.write("tests/test_rows.py", test)
    done = run(project)
    assert done.returncode == 0, done.stdout

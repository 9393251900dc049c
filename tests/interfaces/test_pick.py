"""`eval "$(bitten shell-hook)"`, a crash without us, `bitten pick`: a case with its live facts, and the shell as it was afterwards."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.stories import windows_project

from bitten.adapters.handing_on import shell_hook
from bitten.guest import HOME

BITTEN = f"{sys.executable} -m bitten"


@pytest.fixture
def project(tmp_path):
    return windows_project(tmp_path)


def bash(project, script, **env):
    return subprocess.run(["bash", "-c", script], cwd=project.root, env={**project.env, **env}, capture_output=True, text=True, check=False)


def spools(project):
    return sorted((project.root.parent / "run").glob("bitten-*/crashes/*"))


def test_a_crash_in_a_shell_with_the_hook_becomes_a_case_with_its_variables(project):
    done = bash(project, f'eval "$({BITTEN} shell-hook)"; {sys.executable} main.py; {BITTEN} pick; {BITTEN} pick --json >&2')
    assert "rows=7\n1  " in done.stdout and "ValueError: windows of unequal size: [4, 3]  main.py:8" in done.stdout
    assert "bitten pick 1" in done.stdout and len(spools(project)) == 1

    done = project.bitten("pick", "1")
    assert done.returncode == 0, done.stderr
    assert "an end that nobody saw" in done.stdout and "main.py:8 in <module>" in done.stdout
    failure = json.loads((project.case() / "events.jsonl").read_text("utf-8").split("\n")[0])["event"]
    assert failure["run"]["command"]["argv"] == [sys.executable, "main.py"] and failure["run"]["exit"] is None
    assert failure["crashes"][0]["frames"][-1]["variables"]["parts"] and failure["tree"] and failure["run"]["seconds"] > 0
    assert "in a shell with the hook" in (project.case() / "debug.md").read_text("utf-8")
    assert spools(project) == []
    assert "no crash was left" in project.bitten("pick").stdout and project.slug(project.bitten("pick", "1")) == "no-such-crash"


def test_an_exit_code_that_was_told_is_known(project):
    project.write("leaves.py", "import sys\ntry:\n    import main\nexcept ValueError as error:\n    print(error)\n    sys.exit(7)\n")
    bash(project, f'eval "$({BITTEN} shell-hook)"; {sys.executable} leaves.py')
    project.bitten("pick", "1")
    assert project.show()["exit"] == 7


def test_a_crash_of_another_project_is_picked_there(project):
    other = project.root.parent / "other"
    other.mkdir()
    (other / "main.py").write_text("1 / 0\n")
    bash(project, f'eval "$({BITTEN} shell-hook)"; cd ../other; {sys.executable} main.py')
    done = project.bitten("pick", "1")
    assert project.slug(done) == "crash-elsewhere" and f"cd {other}" in done.stderr and len(spools(project)) == 1
    assert project.bitten("pick", "1", cwd="../other").returncode == 0 and spools(project) == []


def test_the_shell_is_as_it_was_once_it_is_off(project):
    show = "env | grep -E '^(BITTEN_[SCP]|PYTHONPATH)' | sort"
    on, off = f'eval "$({BITTEN} shell-hook)"', f'eval "$({BITTEN} shell-hook --off)"'
    done = bash(project, f"{show}; echo; {on}; {on}; {show} | grep -c {HOME}; {off}; {show}", PYTHONPATH="a b:/c")
    assert done.stdout == "PYTHONPATH=a b:/c\n\n1\nPYTHONPATH=a b:/c\n"
    assert bash(project, f"{on}; {off}; {show}").stdout == ""


def test_a_failing_run_of_bitten_in_such_a_shell_leaves_no_spool(project):
    done = bash(project, f'eval "$({BITTEN} shell-hook)"; {BITTEN} run -- {sys.executable} main.py; {BITTEN} no-such-command')
    assert "case 1 ·" in done.stderr and spools(project) == []


def test_each_shell_is_spoken_to_in_its_own_words():
    told = {"A": "it's \\ $x", "B": None}
    assert shell_hook.script(told, "fish") == "set -gx A 'it\\'s \\\\ $x';\nset -e B;\n"
    for name in ("bash", "zsh", "sh"):
        script = shell_hook.script(told, name) + 'printf %s "$A"'
        assert subprocess.run(["sh", "-c", script], env={"B": "x"}, capture_output=True, text=True, check=True).stdout == told["A"]

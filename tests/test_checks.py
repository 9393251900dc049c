"""The kinds of check, as a person's own suspicions: interventions with their control, patches, scripts, and what leaves them unclear."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import psutil

from tests.stories import FIXED, MAIN, SUSPECT, WINDOWS, Project, captured, windows_project

DEPENDS = ["--supports-if", "symptom.depends == true", "--refutes-if", "symptom.depends == false"]


def decided(project: Project, *words: str, **env: str) -> dict:
    """Suspect, check, and the evidence as JSON."""
    done = project.bitten("suspect", *words, **env)
    assert done.returncode == 0, done.stderr
    name = next(h["id"] for h in project.show()["hypotheses"] if h["claim"] == words[0])
    return json.loads(project.bitten("check", name, "--json", **env).stdout)[0]


def failing(tmp_path, code: str) -> Project:
    project = Project(tmp_path, {"main.py": code})
    project.bitten("run", "--", sys.executable, "main.py")
    return project


def test_an_intervention_speaks_by_its_control(tmp_path):
    project = failing(tmp_path, "import os\nif os.environ.get('RATE') != '1':\n    raise ValueError('too high')\n")
    assert decided(project, "the rate", "--check", "env:RATE=1", *DEPENDS)["verdict"] == "supports"
    assert decided(project, "something else", "--check", "env:OTHER=1", *DEPENDS)["verdict"] == "refutes"


def test_another_failure_under_the_change_decides_nothing(tmp_path):
    code = "import os\nif os.environ.get('RATE'):\n    raise KeyError('another')\nraise ValueError('too high')\n"
    found = decided(failing(tmp_path, code), "the rate", "--check", "env:RATE=1", *DEPENDS)
    assert found["verdict"] == "unclear" and found["facts"]["changed.shows"].startswith("KeyError")


def test_a_vanished_failure_that_the_control_does_not_show_either_is_unclear(tmp_path):
    project = failing(tmp_path, "import pathlib\nmark = pathlib.Path('mark')\nif mark.exists():\n    raise ValueError('once')\n")
    project.write("mark", "")
    project.bitten("run", "--", sys.executable, "main.py")
    (project.root / "mark").unlink()
    found = decided(project, "the rate", "--check", "env:RATE=1", *DEPENDS)
    assert found["verdict"] == "unclear" and "did not show itself" in found["unclear"]


def test_what_is_not_committed_is_held_against_head(tmp_path):
    project = Project(tmp_path, {"windows.py": FIXED, "main.py": MAIN})
    project.write("windows.py", WINDOWS)
    captured(project)
    generic = next(h for h in project.show()["hypotheses"] if h["claim"] == "the uncommitted change brought it")
    assert generic["generic"] and generic["verdict"] is None, "offered, and untested until somebody asks"
    assert json.loads(project.bitten("check", generic["id"], "--json").stdout)[0]["verdict"] == "supports"
    assert project.read("windows.py") == WINDOWS


def test_a_bare_environment_keeps_what_programs_need(tmp_path):
    project = Project(tmp_path, {"main.py": "import os\nassert 'NOISE' not in os.environ, 'noise'\nprint(len(os.environ) < 25)\n"})
    project.bitten("run", "--", sys.executable, "main.py", NOISE="1")
    found = decided(project, "the environment", "--check", "bare", *DEPENDS, NOISE="1")
    assert found["verdict"] == "supports", found


def test_a_patch_gives_facts_and_stays_in_the_copy(tmp_path):
    project = captured(windows_project(tmp_path))
    patched = WINDOWS.replace("        yield", "        print('bitten-fact stop=%d' % stop)\n        yield")
    project.write("windows.py", patched)
    (project.root / "print.patch").write_text(project.git("diff", "windows.py"), "utf-8")
    project.write("windows.py", WINDOWS)
    found = decided(project, "it stops early", "--check", "patch:print.patch", "--supports-if", "stop == 7", "--refutes-if", "stop == 8")
    assert found["verdict"] == "supports" and project.read("windows.py") == WINDOWS


def test_captured_facts_decide_without_a_run(tmp_path):
    project = captured(windows_project(tmp_path))
    project.bitten("suspect", "rows are lost", "--check", "captured", "--supports-if", "rows == 7", "--refutes-if", "rows == 8")
    told = next(h for h in project.show()["hypotheses"] if h["claim"] == "rows are lost")
    assert told["verdict"] == "supports"


def test_a_run_that_misses_the_network_is_unclear_and_names_host_and_flag(tmp_path):
    project = captured(windows_project(tmp_path))
    project.write("ask.py", "import socket\ntry:\n    socket.create_connection(('192.0.2.1', 80), timeout=2)\nexcept OSError:\n"
                            "    pass\nprint('bitten-fact rows=7')\n")
    found = decided(project, "the hub", "--check", f"{sys.executable} ask.py", "--supports-if", "rows < 8", "--refutes-if", "rows == 8")
    assert found["verdict"] == "unclear"
    assert "192.0.2.1" in found["unclear"] and "--allow-net" in found["unclear"]


def test_a_run_without_end_is_ended_and_unclear(tmp_path):
    project = captured(windows_project(tmp_path))
    project.write("slow.py", "import time\nprint('bitten-fact rows=7', flush=True)\ntime.sleep(60)\n")
    project.bitten("suspect", "slow", "--check", f"{sys.executable} slow.py", "--supports-if", "rows < 8", "--refutes-if", "rows == 8")
    name = next(h["id"] for h in project.show()["hypotheses"] if h["claim"] == "slow")
    done = project.bitten("check", name, "--timeout", "2")
    assert "? unclear" in done.stdout and "--timeout" in done.stdout


def test_a_check_on_another_tree_adds_nothing_to_the_case(tmp_path):
    project = captured(windows_project(tmp_path))
    project.bitten(*SUSPECT)
    name = next(h["id"] for h in project.show()["hypotheses"] if h["source"].startswith("person:"))
    other = tmp_path / "other"
    shutil.copytree(project.root, other, ignore=shutil.ignore_patterns(".bitten"))
    (other / "windows.py").write_text(FIXED, "utf-8")
    told = json.loads(project.bitten("check", name, "--on", str(other), "--json").stdout)
    assert [each["verdict"] for each in told] == ["refutes"]
    assert next(h["verdict"] for h in project.show()["hypotheses"] if h["id"] == name) is None


def test_after_the_hour_new_hypotheses_and_fixes_wait_for_a_reset(tmp_path):
    project = captured(windows_project(tmp_path))
    project.bitten(*SUSPECT)
    (project.root / ".bitten.toml").write_text("budget = 0.000001\n", "utf-8")
    assert project.slug(project.bitten("diagnose")) == "hour-is-up"
    assert project.slug(project.bitten(*[word.replace("one row", "two rows") for word in SUSPECT])) == "hour-is-up"
    assert project.bitten("check").returncode == 0, "checks never wait"
    assert "bitten reset" in project.bitten().stdout
    project.write("short.py", "raise ValueError('windows of unequal size: [4, 3]')\n")
    assert project.bitten("reset", "--script", "short.py", "--symptom", "as before").returncode == 0


def test_a_rejection_by_a_person_outweighs_support(tmp_path):
    project = captured(windows_project(tmp_path))
    project.bitten("suspect", "rows are lost", "--check", "captured", "--supports-if", "rows == 7", "--refutes-if", "rows == 8")
    name = next(h["id"] for h in project.show()["hypotheses"] if h["claim"] == "rows are lost")
    assert f"bitten confirm {name}" in project.bitten().stdout
    project.bitten("reject", name, "seven", "is", "right")
    assert f"bitten confirm {name}" not in project.bitten().stdout
    assert "✗ rejected" in project.bitten("show", "--all").stdout


def test_an_interrupted_check_leaves_nothing_running_and_nothing_behind(tmp_path):
    project = captured(windows_project(tmp_path))
    project.write("slow.py", "import os, time\nprint(os.getpid(), flush=True)\nopen(os.environ['MARK'], 'w').close()\ntime.sleep(300)\n")
    project.bitten("suspect", "slow", "--check", f"{sys.executable} slow.py", "--supports-if", "rows < 8", "--refutes-if", "rows == 8")
    name = next(h["id"] for h in project.show()["hypotheses"] if h["claim"] == "slow")
    mark = tmp_path / "seen" / "mark"
    mark.parent.mkdir()
    running = project.started("check", name, "--allow-write", str(mark.parent), MARK=str(mark))
    assert wait_for(mark.exists)
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=20) == 130
    assert not [each for each in psutil.process_iter(["cmdline"]) if "slow.py" in (each.info["cmdline"] or [])]
    assert not list(Path(f"/var/tmp/bitten-{os.getuid()}").glob(f"{running.pid}-*")), "the copy is gone"


def wait_for(what) -> bool:
    return any(what() or time.sleep(0.05) for _ in range(400))

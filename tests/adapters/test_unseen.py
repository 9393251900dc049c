"""Where the guest was not, and why; and no word of it where it doesn't matter."""

from __future__ import annotations

import sys

import pytest
from tests.stories import Project

from bitten.adapters.watching import unseen
from bitten.adapters.watching.watch import Seen
from bitten.core.failure import Command, Crash
from bitten.guest import HOME

CRASH = "def pick(rows):\n    return rows[3]\n\n\npick([1])\n"


def seen(*argv, exe="/usr/bin/python3.11", pythonpath=HOME, is_invited=True, pid=7, ppid=1, name="python"):
    return Seen(pid, ppid, name, argv, exe, pythonpath, is_invited, True)


@pytest.mark.parametrize(("words", "flags"), [
    ("python train.py -I", ""), ("python -I train.py", "-I"), ("python -Es train.py", "-E"), ("python -u -S -m pkg -E", "-S"),
    ("python -c pass -I", ""), ("python -W ignore -I x.py", "-I"), ("python -Wignore -E x.py", "-E"), ("python -X dev -c pass", ""),
    ("python -Xdev -IS x.py", "-I -S"), ("python -", ""), ("python", ""), ("python --check-hash-based-pycs always -I x.py", "-I"),
    ("python -BuIc pass", "-I"), ("python -cI", ""), ("python -X", ""),
])
def test_only_the_interpreter_s_own_options_count(words, flags):
    assert unseen.shutting(words.split()) == flags


@pytest.mark.parametrize(("process", "why", "helps"), [
    (seen("python", "-I", "x.py"), "-I shuts it out", True),
    (seen("python", "x.py", pythonpath="."), "PYTHONPATH=. was set for it", True),
    (seen("python", "x.py", pythonpath=None), "PYTHONPATH= was set for it", True),
    (seen("python", "x.py", is_invited=False, ppid=3), "dropped, by sudo", False),
    (seen("python", "x.py", is_invited=False), "dropped, as env -i", False),
    (seen("python", "x.py", exe="", is_invited=False, ppid=3), "another user's, by sudo", False),
    (seen("python", "x.py", exe="/opt/bin/python3.6"), "older than 3.8", False),
    (seen("python", "x.py", exe="/opt/bin/python2.7"), "older than 3.8", False),
    (seen("python", "x.py"), "may have ended before it had begun", False),
])
def test_each_reason_is_told_and_whether_the_back_door_helps(process, why, helps):
    told = unseen.reason(process, {3: seen("sudo", exe="/usr/bin/sudo", name="sudo", pid=3)})
    assert why in told[0] and told[1] is helps


def test_another_sitecustomize_in_front_is_named(tmp_path):
    (tmp_path / "sitecustomize.py").touch()
    why, helps = unseen.reason(seen("python", "x.py", pythonpath=f"{tmp_path}:{HOME}"))
    assert f"{tmp_path}/sitecustomize.py stands before ours" in why and helps


def told(argv, processes=(), met=(), output="", cwd="/", **how):
    return unseen.notes(Command(tuple(argv), str(cwd)), processes, met, output, lambda text: text.replace("hunter22", "‹secret›"), **how)


def test_forked_workers_are_one_line_and_secrets_are_masked():
    workers = [seen("python", "-I", "x.py", "--password", "hunter22", pid=pid) for pid in (7, 8, 9)]
    first, way = told(["make", "all"], workers)
    assert first == "the guest did not enter pid 7 and 2 more (python -I x.py --password '‹secret›'): -I shuts it out"
    assert way == "to let the guest in: bitten run --native -- make all"


def test_those_who_checked_in_and_other_programs_are_not_spoken_of():
    assert told(["make"], [seen("python", "x.py", pid=7), seen("cc", exe="/usr/bin/cc", pid=8)], met=[7]) == []


def test_with_the_back_door_open_it_is_not_offered_again():
    assert len(told(["python", "-I", "x.py"], [seen("python", "-I", "x.py")], has_native=True)) == 1


def test_a_container_or_another_host_is_named():
    assert "docker starts programs" in told(["sh", "x"], [seen("docker", "run", "x", exe="/usr/bin/docker", name="docker")])[0]


def test_what_was_too_quick_to_be_sampled_is_guessed_at_from_the_recipe(tmp_path):
    (tmp_path / "Makefile").write_text("all:\n\t@PYTHONPATH=. python train.py\nok:\n\tPYTHONPATH=.:$(PYTHONPATH) python x.py\n")
    output = "Traceback (most recent call last):\nIndexError"
    assert told(["make"], output=output, cwd=tmp_path)[0] == "Makefile:2 sets PYTHONPATH anew, which may have kept the guest out"
    assert told(["make"], output="cc: error", cwd=tmp_path) == []
    assert "the command drops the environment" in told(["env", "-i", "python", "x.py"])[0]


def test_a_frozen_application_says_so_itself():
    assert "frozen application" in told(["./app"], output="[PYI-41:ERROR] Failed to execute script 'app' due to unhandled exception!")[0]


@pytest.mark.parametrize(("crashes", "matters"), [
    ([], True), ([Crash("ValueError", "x", handled=True)], True), ([Crash("ValueError", "x")], False),
    ([Crash("subprocess.CalledProcessError", "x")], True), ([Crash("CalledProcessError", "x"), Crash("KeyError", "x")], False),
])
def test_it_matters_only_where_the_guest_saw_no_end(crashes, matters):
    assert unseen.matters(crashes) is matters


def test_the_case_says_who_was_not_entered_and_why_and_what_would_help(tmp_path):
    project = Project(tmp_path, {"crash.py": CRASH, "Makefile": f"train:\n\t@PYTHONPATH=. {sys.executable} crash.py\n"}, git=False)
    done = project.bitten("run", "--", "make", "train")
    words = project.case().joinpath("debug.md").read_text("utf-8")
    assert "PYTHONPATH" in words and "bitten run --native -- make train" in words, done.stderr
    assert "no Python checked in" not in words
    helped = project.bitten("run", "--native", "--", "make", "train")
    assert helped.returncode == 2 and "did not enter" not in helped.stderr

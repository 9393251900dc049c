"""`bitten probe`, as a person types it: followed as it goes, told at the end, and nothing of theirs touched."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import psutil
import pytest

from tests.instruments.stage import line_of
from tests.stories import Project

TRAIN = """import sys
import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
open("seen.txt", "w").write("written by the run")
for step in range(int(sys.argv[1])):
    x = torch.randn(8, 4)
    if step == 3 and "bad" in sys.argv:
        x[5] = float("nan")
    opt.zero_grad()
    loss = net(x).square().mean()  # <- call
    loss.backward()
    opt.step()
    print("step", step, flush=True)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("probe"), {"train.py": TRAIN})


def probe(project, *words, steps="6", bad=True):
    return project.bitten("probe", *words, "--", sys.executable, "train.py", steps, *(["bad"] if bad else []))


def test_the_first_bad_thing_is_named_with_its_line_and_the_tree_is_as_it_was(project):
    done = probe(project, "nan")
    assert done.returncode == 1, done.stderr
    assert "armed: " in done.stderr and "watching torch" in done.stderr
    assert done.stdout.splitlines()[1].startswith("✗ 1 finding; exit 0 after ")
    assert f"at train.py:{line_of(TRAIN, '# <- call')}, step 3" in done.stdout
    assert "input has-nan" in done.stdout and "output mean" in done.stdout
    assert not (project.root / "seen.txt").exists()
    assert project.git("status", "--porcelain") == ""


def test_a_healthy_run_gives_nothing_and_exit_code_0(project):
    done = probe(project, "all", bad=False)
    assert (done.returncode, done.stdout.splitlines()[1][:28]) == (0, "· nothing past its threshold"), done.stdout + done.stderr
    assert "trouble" not in done.stdout


def test_a_script_reads_findings_facts_limits_and_where_the_recording_lies(project):
    done = probe(project, "nan", "--json")
    told = json.loads(done.stdout)
    assert [each["probe"] for each in told["findings"]] == ["nan"]
    found = told["findings"][0]["facts"]
    assert (found["nan.kind"], found["nan.rows"], found["step"]) == ("input", [5], 3)
    assert told["facts"]["nan.kind"] == "input" and told["exit"] == 0 and told["stopped"] is None
    assert told["armed"][0]["probes"][-1] == "nan"
    assert "step 5" in (project.root / ".bitten" / "probes" / told["recording"].rsplit("/", 1)[1] / "output").read_text("utf-8")


def test_it_ends_so_many_steps_after_the_first_bad_one_or_at_it_or_never(project):
    at_once = json.loads(probe(project, "nan", "--json", "--stop-on-miss", steps="100000").stdout)
    assert (at_once["stopped"], at_once["exit"]) == (3, None)
    later = json.loads(probe(project, "nan", "--json", "--stop-after", "20", steps="100000").stdout)
    assert later["stopped"] >= 23 and "--to-the-end" in " ".join(later["limits"])
    whole = json.loads(probe(project, "nan", "--json", "--to-the-end", steps="80").stdout)
    assert (whole["stopped"], whole["exit"]) == (None, 0)


def test_what_can_not_be_named_or_run_says_the_way_out(project):
    unknown = project.bitten("probe", "gradients", "--", "true")
    assert unknown.returncode == 2 and "bitten probe --list" in unknown.stderr and "[no-such-instrument]" in unknown.stderr
    missing = project.bitten("probe", "all")
    assert missing.returncode == 2 and "[probe-without-command]" in missing.stderr


def test_a_command_without_python_is_said_to_be_unarmed(project):
    done = project.bitten("probe", "all", "--", "true")
    assert done.returncode == 0 and "nothing was armed" in done.stdout


def test_the_list_says_what_each_instrument_watches(project):
    told = project.bitten("probe", "--list").stdout.splitlines()
    assert {line.split()[0] for line in told} >= {"nan", "all"} and all(len(line.split()) > 4 for line in told)


def test_an_expectation_of_a_measured_fact_arms_its_instrument_in_the_run_itself(project):
    good = project.bitten("run", "--expect", 'nan.kind == "none"', "--", sys.executable, "train.py", "3")
    assert good.returncode == 0, good.stderr
    missed = project.bitten("run", "--expect", 'nan.kind == "none"', "--", sys.executable, "train.py", "6", "bad")
    assert missed.returncode == 65 and "expected nan.kind" in missed.stderr
    (project.root / "seen.txt").unlink()


def test_ctrl_c_ends_the_run_and_leaves_nothing_behind(project):
    running = project.started("probe", "nan", "--", sys.executable, "train.py", "100000000")
    me = psutil.Process(running.pid)
    until = time.monotonic() + 60
    while not [each for each in me.children(recursive=True) if "train.py" in " ".join(each.cmdline())]:
        assert time.monotonic() < until
        time.sleep(0.05)
    family = me.children(recursive=True)
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(timeout=30) == 130
    assert psutil.wait_procs(family, timeout=10)[1] == []
    assert not any((project.home.parent / "run").rglob("p*.log"))

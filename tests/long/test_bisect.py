"""`bitten bisect` where the metric is noisy, and in histories of other forms: more runs than the short suite has time for."""

from __future__ import annotations

from tests.test_bisect import CMD, MAIN, found, history, subjects

NOISY = """import os, random
from rate import RATE
print("val_acc=%.4f" % (RATE + random.gauss(0, 0.03)))
"""


def test_a_noisy_metric_is_decided_by_a_sequential_test_whose_error_rates_are_said(tmp_path):
    project = history(tmp_path, [0.9] * 5 + [0.7] * 4, NOISY)
    done = project.bitten("bisect", "--good", "c0", "--expect", "val_acc >= 0.8", "--alpha", "0.01", "--beta", "0.01", *CMD)
    assert done.returncode == 0 and "Change number 5" in done.stdout, done.stdout + done.stderr
    assert "noisy: bad in" in done.stdout and "error rates of 1% (good called bad) and 1% (bad called good)" in done.stdout
    assert " … " in done.stdout


def test_a_metric_is_held_to_what_is_expected_and_its_values_are_shown(tmp_path):
    project = history(tmp_path, [0.6] * 4 + [1.5] * 4, MAIN.replace("raise ValueError", "print"))
    done = project.bitten("bisect", "--good", "c0", "--bad", "c7", "--expect", "val_acc >= 0.8", *CMD)
    assert "Change number 4" in done.stdout and " 0.9 " in done.stdout and " 0.7 " in done.stdout
    told = found(project, "--good", "c0", "--expect", "val_acc >= 0.8", "--repeat", "1", *CMD)
    assert subjects(told) == ["Change number 4"] and told["first_bad"][0]["files"] == ["count.py", "rate.py"]
    assert {each["values"][0][0] for each in told["tried"]} == {0.9, 0.7} and not told["noisy"]


def test_skipped_commits_leave_a_few_of_which_one_is_it(tmp_path):
    project = history(tmp_path, [0.6] * 3 + [0.1] * 2 + [1.5] * 2)
    done = project.bitten("bisect", "--good", "c2", "--repeat", "1", *CMD)
    assert done.returncode == 1 and "one of these 3: all but the latest were skipped" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("(ModuleNotFoundError: No module named 'nothing_of_that_name')") == 2


def test_a_commit_of_a_merged_branch_is_found_and_with_first_parent_the_merge(tmp_path):
    project = history(tmp_path, [0.6, 0.61, 0.62])
    project.git("checkout", "-qb", "side", "c1")
    project.write("other.py", "X = 1\n")
    project.commit("On the side, good")
    project.write("rate.py", "RATE = 1.5\n")
    project.commit("On the side, bad")
    project.git("checkout", "-q", "main")
    project.write("third.py", "Y = 1\n")
    project.commit("On the main line")
    project.git("merge", "-q", "--no-edit", "-X", "theirs", "-m", "Merge the side", "side")
    assert subjects(found(project, "--good", "c0", "--repeat", "1", *CMD)) == ["On the side, bad"]
    assert subjects(found(project, "--good", "c0", "--repeat", "1", "--first-parent", *CMD)) == ["Merge the side"]


def test_the_open_case_says_what_is_looked_for_and_of_one_that_crashed_it_is_the_crash(tmp_path):
    project = history(tmp_path, [0.6] * 3 + [1.5] * 3)
    project.bitten("run", "--expect", "loss < 1", *CMD)
    told = found(project, "--good", "c0")
    assert subjects(told) == ["Change number 3"] and told["signature"].startswith("ValueError: diverged at step N")


def test_the_uncommitted_change_may_be_the_one(tmp_path):
    project = history(tmp_path, [0.6] * 4)
    project.write("rate.py", "RATE = 1.5\n")
    assert subjects(found(project, "--good", "c0", "--repeat", "1", *CMD)) == ["work tree"]

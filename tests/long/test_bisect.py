"""`bitten bisect` where the metric is noisy: more runs than the short suite has time for."""

from __future__ import annotations

from tests.test_bisect import CMD, history

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

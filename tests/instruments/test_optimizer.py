"""What the optimizer instrument finds in a broken training loop, and that it finds nothing in a healthy one."""

from __future__ import annotations

import pytest

from tests.instruments.loops import BROKEN, HEAD, HEALTHY, TAIL
from tests.instruments.stage import line_of, probed

WARM = ("torch", "numpy", "torch._dynamo")  # which the first optimizer of a process imports


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_loop_is_found_at_its_line_and_nowhere_else(tmp_path, name):
    source = HEAD + BROKEN[name] + TAIL
    seen = probed(tmp_path, source, "optimizer", warm=WARM)
    assert (seen.exit, seen.stdout, seen.troubles) == (0, "done True\n", []), seen.stderr
    assert [each.facts["at"] for each in seen.findings] == [f"main.py:{line_of(source, '# <- here')}"], seen.findings


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_in_a_healthy_loop(tmp_path, name):
    seen = probed(tmp_path, HEAD + HEALTHY[name] + TAIL, "optimizer", warm=WARM)
    assert (seen.exit, seen.stdout, seen.troubles, seen.findings) == (0, "done True\n", [], []), seen.stderr


def test_a_healthy_loop_has_its_facts_told_so_that_a_prediction_can_be_refuted(tmp_path):
    seen = probed(tmp_path, HEAD + HEALTHY["one cycle"] + TAIL, "optimizer", warm=WARM)
    expected = {"order": "clear", "unoptimised": 0, "gradient": "some", "schedule": "none", "steps": 60, "lr_max_step": 17,
                "loss_history": "whole"}  # fmt: skip
    assert {name: seen.fact("optimizer." + name) for name in expected} == expected
    assert seen.fact("optimizer.lr_max") == pytest.approx(0.01)


def test_backward_calls_that_are_summed_without_a_division_are_a_hint_and_no_finding(tmp_path):
    source = HEAD + HEALTHY["accumulation"].replace(" / 4)", ")") + TAIL
    seen = probed(tmp_path, source, "optimizer", warm=WARM)
    assert seen.findings == [] and [each.facts["says"] for each in seen.hints] == [
        "4 backward calls add up in each step, and the loss is not divided before them"]

"""Gated and advisory, by sessions of the real CLI: one whose gate answers, one whose gate is dead, one that only talks."""

from __future__ import annotations

from tests.long.claude.test_doctor import goes_through, in_hooks, installed

GATED = "gated: every agent session on this case was seen to pass the gate"


def alive(stage):
    return [each["alive"] for each in stage.project.show().get("sessions", [])]


def test_a_session_whose_gate_answers_makes_the_case_gated(tmp_path):
    with installed(tmp_path) as stage:
        assert not goes_through(stage)
        assert alive(stage) == [True] and GATED in stage.project.bitten().stdout
        assert GATED in (stage.project.case() / "debug.md").read_text("utf-8")


def test_a_session_whose_gate_is_dead_makes_it_advisory_and_a_later_gated_one_does_not_mend_that(tmp_path):
    with installed(tmp_path) as stage:
        in_hooks('"matcher": "*"', '"matcher": "edit"')(stage)
        assert goes_through(stage)
        assert alive(stage) == [False]
        said = stage.project.bitten().stdout
        assert "advisory: no gate was seen to answer for session" in said and "bitten doctor" in said
        in_hooks('"matcher": "edit"', '"matcher": "*"')(stage)
        stage.project.write("data.py", "ROWS = 127\n")
        assert not goes_through(stage)
        assert alive(stage) == [False, True] and "suspected, advisory" in stage.project.bitten("cases").stdout


def test_a_session_that_only_talks_is_none(tmp_path):
    with installed(tmp_path) as stage:
        stage.api.steps[:] = [{"text": "It may be the row count."}]
        assert stage.claude("What is wrong?").exit == 0
        assert alive(stage) == [] and "gate" not in stage.project.bitten().stdout


def test_a_session_that_is_resumed_and_only_talks_stays_gated(tmp_path):
    with installed(tmp_path) as stage:
        assert not goes_through(stage)
        session = stage.project.show()["sessions"][0]["session"]
        stage.api.steps[:] = [{"text": "As I said."}]
        assert stage.claude("And?", "--resume", session).exit == 0
        assert alive(stage) == [True]

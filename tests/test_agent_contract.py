"""The contract of agents: the shipped one keeps it, and each rule is broken by an agent that breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitten.core.ports import Answer
from bitten.testing import RULES, ScriptedAgent, Trial, agent_contract
from bitten.testing.agents import _Session


def make(steps, folder):
    return ScriptedAgent(steps)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_shipped_agent_keeps_each_rule(rule, tmp_path):
    rule(Trial(make, tmp_path / "copy"))


class Bad(ScriptedAgent):
    """An agent that does one thing wrong."""

    def __init__(self, steps, wrong):
        super().__init__(steps, gate=wrong != "ungated")
        self.wrong = wrong

    def ask(self, brief, listener):
        if self.wrong == "deaf":
            listener = Deaf(listener)
        if self.wrong == "endless":
            brief = brief.__class__(brief.phase, brief.prompt, brief.folder, brief.may_write)
        if self.wrong == "free":
            brief = brief.__class__(brief.phase, brief.prompt, brief.folder, ("source.py", "new.py", *brief.may_write), brief.limits)
        if self.wrong == "mute":
            return Answer(_Session(self, brief, listener).play(), session="x", gated=True)
        try:
            return super().ask(brief, listener)
        except RuntimeError:
            return Answer("done", session="x", gated=True)


class Deaf:
    def __init__(self, listener):
        self.says, self.spent, self._proposes = listener.says, lambda spent: None, listener.proposes

    def proposes(self, proposal):
        self._proposes(proposal)
        return ""


@pytest.mark.parametrize(("wrong", "broken"), [
    ("deaf", "what the listener says is told to the model"), ("mute", "the last words are in the answer"),
    ("free", "in diagnose no file changes"), ("ungated", "in diagnose no file changes"),
    ("swallowing", "RuntimeError of the listener is raised by ask"),
])
def test_an_agent_that_breaks_a_rule_is_told_which(wrong, broken, tmp_path):
    with pytest.raises(AssertionError, match=broken):
        agent_contract(lambda steps, folder: Bad(steps, wrong), Path(tmp_path) / "copy")


def test_an_agent_without_an_end_breaks_the_limits(tmp_path):
    with pytest.raises(AssertionError):
        next(rule for rule in RULES if "limit" in rule.__name__)(Trial(lambda steps, folder: Bad(steps, "endless"), tmp_path / "copy"))

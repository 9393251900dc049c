"""The one next thing, for every place on the ladder."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests import nouns

from bitten.core.case import Drop, Rejection, Visit, Withdrawal
from bitten.core.ladder import fold
from bitten.core.next import next_step

H1, GENERIC = nouns.hypothesis(), replace(nouns.hypothesis("h2", "the environment"), generic=True)
CONFIRMED = nouns.confirmation(nouns.evidence(H1))
FIXED = nouns.fix(CONFIRMED)
PROVEN = nouns.verification(FIXED)
UP_TO_PROOF = [H1, nouns.evidence(H1), CONFIRMED, FIXED, PROVEN]


@pytest.mark.parametrize(("events", "command"), [
    ([], "bitten diagnose"),
    ([H1], "bitten check h1"),
    ([GENERIC], "bitten check"),
    ([H1, nouns.evidence(H1)], "bitten confirm h1"),
    ([H1, nouns.evidence(H1), Rejection(H1, "no")], "bitten suspect"),
    ([H1, nouns.evidence(H1, rows=128)], "bitten suspect"),
    ([H1, nouns.evidence(H1, unclear="time")], "bitten suspect"),
    (UP_TO_PROOF[:3], "bitten verify"),
    (UP_TO_PROOF[:4], "bitten verify"),
    ([*UP_TO_PROOF[:4], Withdrawal("command-still-fails", "it fails")], "bitten confirm h1"),
    (UP_TO_PROOF, "bitten close"),
    ([*UP_TO_PROOF, nouns.lesson(PROVEN)], "bitten close"),
    ([*UP_TO_PROOF, nouns.lesson(PROVEN), nouns.closing(nouns.lesson(PROVEN))], "bitten run"),
    ([H1, Drop("enough")], "bitten run"),
    ([H1, Visit("run", 0, 1), *(Visit("show", 500 * n, 500 * n + 1) for n in range(1, 10))], "bitten reset"),
])
def test_there_is_one_next_thing_and_a_reason(events, command):
    step = next_step(fold([nouns.failure(), *events]))
    assert step.command.startswith(command) and step.why


def test_what_is_confirmed_is_not_stopped_by_the_clock():
    visits = [Visit("show", 500 * n, 500 * n + 1) for n in range(10)]
    assert next_step(fold([nouns.failure(), *UP_TO_PROOF[:3], *visits])).command == "bitten verify"

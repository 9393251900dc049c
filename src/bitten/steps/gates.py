"""The gates before anybody is asked for a cause: what was expected has been said, and the hour is not up. Knows no agent."""

from __future__ import annotations

from bitten.core.ladder import BUDGET, Case, hour_is_up
from bitten.core.trouble import gate


def said_what_was_expected(case: Case) -> None:
    """By the person's words, or by an expectation that was armed. Raises: Refused `expectation-empty`."""
    words = [note.text for note in case.notes if note.about == "expected"]
    gate(bool(case.expected) or bool(words and words[-1].strip()), "expectation-empty", '"What I expected" is empty.',
         "Without it an agent can only guess what would be right.", 'bitten expect "TEXT"')


def within_the_hour(case: Case, budget: float = BUDGET) -> None:
    """Raises: Refused `hour-is-up`."""
    gate(not hour_is_up(case, budget), "hour-is-up", "The hour is up: stop, and reset.",
         "Re-read debug.md, update the symptom, and show the bug in ten lines.", "bitten reset")

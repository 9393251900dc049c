"""The ladder, walked exhaustively: every event against every state that any sequence of events can reach."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import pytest
from tests import nouns

from bitten.core.case import Drop, Note, Recurrence, Rejection, Reproducer, Rescope, Reset, Scope, Visit, Withdrawal
from bitten.core.ladder import LONGEST_GAP, Step, advance, fold, hour_is_up
from bitten.core.trouble import Refused

H1, H2 = nouns.hypothesis(), nouns.hypothesis("h2", "another claim")
WIDER = Scope(("src/data.py",), "tests/test_data.py")
AGAIN = nouns.evidence(H1, rows=126)
CONFIRMED = nouns.confirmation(nouns.evidence(H1))
FIXED = nouns.fix(CONFIRMED)
OTHER = nouns.confirmation(nouns.evidence(H1), by="another person")
OTHERS = nouns.verification(nouns.fix(OTHER))
ALPHABET = {
    "failure": nouns.failure(), "h1": H1, "h2": H2, "supports": nouns.evidence(H1), "refutes": nouns.evidence(H1, rows=128), "newer": AGAIN,
    "reject": Rejection(H1, "can't be"), "confirm": CONFIRMED, "rescope": Rescope(CONFIRMED, WIDER), "fix": FIXED,
    "wider fix": nouns.fix(CONFIRMED, scope=WIDER), "verify": nouns.verification(FIXED), "learn": nouns.lesson(nouns.verification(FIXED)),
    "close": nouns.closing(nouns.lesson(nouns.verification(FIXED))), "back": Withdrawal("command-still-fails", "it fails"),
    "another's rescope": Rescope(OTHER, WIDER), "another's fix": nouns.fix(OTHER), "another's proof": OTHERS,
    "another's lesson": nouns.lesson(OTHERS), "another's end": nouns.closing(nouns.lesson(OTHERS)),
    "retry": Withdrawal("test-green-on-base", "no red", to_step_two=False), "drop": Drop("enough"),
}


def lawful(case, name, event):
    """The rules once more, in words of their own: what each move needs."""
    if case is None:
        return name == "failure"
    if name.startswith("another's"):
        return False
    if case.dropped or case.step is Step.CLOSED or name == "failure":
        return False
    links = [type(link).__name__ for link in case.links]
    known = case.hypotheses
    last = [e for e in case.evidence if e.hypothesis == H1][-1:]
    needs = {
        "h1": not links and H1 not in known, "h2": not links and H2 not in known,
        "supports": not links and H1 in known, "refutes": not links and H1 in known, "newer": not links and H1 in known,
        "reject": not links and H1 in known,
        "confirm": not links and last == [CONFIRMED.evidence] and not case.rejections,
        "rescope": links == ["Confirmation"], "fix": links == ["Confirmation"] and case.scope == FIXED.scope,
        "wider fix": links == ["Confirmation"] and case.scope == WIDER,
        "verify": links == ["Confirmation", "Fix"] and case.links[1] == FIXED,
        "learn": len(links) == 3, "close": len(links) == 4, "back": bool(links), "retry": bool(links), "drop": True,
    }
    return needs[name]


def reachable():
    """Every state within ten moves, each once. Two states are one when no rule can tell them apart by who is in them."""
    seen, queue = {None}, deque([(None, 0)])
    while queue:
        case, depth = queue.popleft()
        yield case
        for event in ALPHABET.values() if depth < 10 else ():
            try:
                after = advance(case, event)
            except Refused:
                continue
            if key(after) not in seen:
                seen.add(key(after))
                queue.append((after, depth + 1))


def key(case):
    latest = [case.latest(h) for h in case.hypotheses]
    parts = (case.hypotheses, latest, case.rejections[:1], case.links, (case.scope,), case.withdrawals[-1:], (case.dropped,))
    return tuple(tuple(id(each) for each in part) for part in parts)


def test_every_event_against_every_reachable_state_is_lawful_exactly_where_the_rules_say():
    states = list(reachable())
    assert {case.step for case in states if case} == set(Step)
    for case in states:
        for name, event in ALPHABET.items():
            try:
                advance(case, event)
                moved = True
            except Refused as refused:
                assert refused.slug and refused.way
                moved = False
            assert moved is lawful(case, name, event), (name, case and case.step, case and [type(link).__name__ for link in case.links])


def test_no_reachable_state_has_a_link_without_the_one_before_it():
    order = ["Confirmation", "Fix", "Verification", "Lesson", "Closing"]
    for case in filter(None, reachable()):
        assert [type(link).__name__ for link in case.links] == order[:len(case.links)]
        assert (case.scope is None) is (not case.links), "a scope is agreed by a confirmation, and goes with it"


def case_with(*events):
    return fold([nouns.failure(), *events])


def test_a_refuted_claim_can_not_come_back_with_the_same_prediction():
    case = case_with(H1, nouns.evidence(H1, rows=128))
    with pytest.raises(Refused) as refused:
        advance(case, replace(H1, id="h9", claim="The last  window IS short"))
    assert refused.value.slug == "already-refuted"
    assert advance(case, nouns.hypothesis("h9", "something else"))


def test_a_withdrawal_carries_what_was_learnt_and_counts_as_an_attempt():
    case = case_with(H1, nouns.evidence(H1), CONFIRMED, FIXED)
    case = advance(case, Withdrawal("command-still-fails", "it fails", {"rerun.exit": 1}))
    assert (case.attempts, case.step, case.withdrawals[0].learnt) == (1, Step.TESTED, {"rerun.exit": 1})
    assert case.evidence, "what was measured stays"


def test_what_only_speaks_against_the_test_keeps_the_confirmed_cause():
    case = case_with(H1, nouns.evidence(H1), CONFIRMED, FIXED, Withdrawal("test-green-on-base", "no red", to_step_two=False))
    assert (case.step, case.scope, case.attempts) == (Step.CONFIRMED, CONFIRMED.scope, 1)


def test_the_clock_counts_gaps_between_commands_and_none_of_our_own_runs():
    visits = [Visit("run", 0, 1000), Visit("check", 1060, 4000), Visit("show", 4000 + 10 * LONGEST_GAP, 99999)]
    case = case_with(*visits)
    assert case.person_seconds() == 60 + LONGEST_GAP
    assert not hour_is_up(case, 660) and hour_is_up(case, 659)


def test_a_clock_that_was_set_back_takes_no_time_away():
    assert case_with(Visit("run", 500, 600), Visit("show", 100, 101)).person_seconds() == 0


def test_a_reset_starts_the_hour_again_and_leaves_the_case_as_it_stands():
    case = case_with(H1, Visit("run", 0, 1), Visit("a", 500, 501), Visit("b", 1000, 1001))
    after = advance(case, Reset("still short", "x = 1", 1, "same", "same"))
    assert after.person_seconds() == 0 and after.hypotheses == case.hypotheses


def test_a_reproducer_that_is_found_later_takes_the_place_of_the_one_before():
    case = case_with(Reproducer(why="no library call"), Reproducer("a = 1\n\nb = a\n", verified=True, shows="same"))
    assert case.reproducer.verified and case.reproducer.lines == 2 and case.step is Step.CAPTURED


def test_expectations_said_later_are_held_to_when_they_can_be_measured():
    case = case_with(Note("expected", "training to start"), Note("expected", "val_acc >= 0.8"))
    assert [str(each) for each in case.expected] == ["val_acc >= 0.8"]


def test_whether_it_passes_now_is_the_last_run_s_word():
    case = case_with(Recurrence(nouns.BROKEN), Recurrence(nouns.FINE, passed=True))
    assert case.passes_now and not case_with(Recurrence(nouns.FINE, passed=True), Recurrence(nouns.BROKEN)).passes_now

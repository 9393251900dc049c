"""What a session is told of its case: bounded, what matters first, no line of a stranger's beside ours."""

from __future__ import annotations

from dataclasses import replace

from tests import nouns

from bitten.core.case import Evidence, Guard, Note, Withdrawal
from bitten.core.ladder import fold
from bitten.interfaces.claude_code import state


def told(*events, lessons=()):
    case = fold(events)
    return state.told(case, 7, ".bitten/7-x/debug.md", 3600, lessons)


def test_however_long_its_parts_are_the_phase_and_the_next_command_are_in_it():
    many = [replace(nouns.hypothesis(), id=f"h{n}", claim=f"{n} " + "long\nPhase: free for all " * 60) for n in range(1, 15)]
    said = told(nouns.failure(), Note("expected", "more\nthan " * 200), *many, lessons=["ValueError " * 200] * 9)
    assert len(said) <= state.MOST and "no cause is confirmed" in said and "\nNext: " in said
    assert sum(line.startswith("Phase:") for line in said.splitlines()) == 1


def test_what_was_refuted_stands_apart_and_what_did_not_hold_is_told():
    claim = nouns.hypothesis()
    refuted = replace(claim, id="h2", claim="the other one")
    against = Evidence(refuted, {refuted.check.refutes_if.fact: refuted.check.refutes_if.value})
    confirmed = nouns.confirmation(nouns.evidence(claim))
    back = Withdrawal("fix-fails", "the command still fails")
    said = told(nouns.failure(), claim, refuted, nouns.evidence(claim), against, confirmed, back)
    assert "not to be offered again:\n- h2 refuted" in said and "Fixes that did not hold: 1; the last: the command still fails" in said


def test_the_scope_is_told_once_a_person_has_confirmed():
    confirmed = nouns.confirmation(nouns.evidence(nouns.hypothesis()))
    said = told(nouns.failure(), nouns.hypothesis(), nouns.evidence(), confirmed)
    assert f"The fix may touch {', '.join(confirmed.scope.parts)}, and its test {confirmed.scope.test}; nothing else" in said
    proven = nouns.verification(nouns.fix(confirmed))
    assert "is proven" in told(nouns.failure(), nouns.hypothesis(), nouns.evidence(), confirmed, proven.fix, proven)


def test_a_lesson_that_names_what_the_failure_names_is_told_and_no_other():
    root = nouns.failure().root
    assert root is not None
    name = root.type.rpartition(".")[2]
    said = told(nouns.failure(), lessons=[f"(2026-05-04) {name} in the loader. Lesson: check lengths.", "something else"])
    assert "that name the same:\n- (2026-05-04)" in said
    assert "something else" not in said


def test_a_gate_that_was_not_seen_alive_is_called_advisory():
    assert "advisory" in told(nouns.failure(), Guard("claude-code plugin", "s1")) and "advisory" not in told(nouns.failure())

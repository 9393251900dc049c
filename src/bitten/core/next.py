"""The one next thing to do, and the sentence that says why. Every interface prints it; none of them decides it."""

from __future__ import annotations

from .case import Hypothesis, Verdict
from .ladder import BUDGET, Case, Step, hour_is_up
from .noun import noun
from .rank import is_undecided, shown, to_run


@noun
class Next:
    """What to type, and why."""

    command: str
    why: str


def next_step(case: Case, budget: float = BUDGET) -> Next:
    if case.dropped or case.step is Step.CLOSED:
        return Next("bitten run -- CMD", "this case is closed")
    if case.step < Step.CONFIRMED and hour_is_up(case, budget):
        return Next("bitten reset", "the hour is up: re-read debug.md, update the symptom, show the bug in ten lines")
    if case.step < Step.CONFIRMED and case.passes_now:
        return Next("bitten drop", "the command passes now; drop the case, or go on with: bitten check")
    if case.step < Step.CONFIRMED:
        return _towards_a_cause(case)
    return _towards_a_win(case)


def _towards_a_cause(case: Case) -> Next:
    supported = [h for h in shown(case, everything=True) if case.verdict(h) is Verdict.SUPPORTS and not case.rejected(h)]
    if supported:
        return Next(f"bitten confirm {supported[0].id}", "read the evidence and say so")
    waiting = to_run(case)
    untested = next((h for h in waiting if case.verdict(h) is None), None)
    if untested and untested.generic:
        return Next("bitten check", "nothing known fits: run the generic checks, and read debug.md meanwhile")
    if untested:
        return Next(f"bitten check {untested.id}", "run what would decide it")
    if not case.hypotheses:
        return Next("bitten diagnose", "form two or three hypotheses")
    return Next('bitten suspect "CLAIM" --check … --supports-if … --refutes-if …', _left(case, waiting))


def _left(case: Case, waiting: list[Hypothesis]) -> str:
    if waiting:
        return f"{waiting[0].id} stays unclear: say what else would decide it, or what else it could be"
    return "nothing shown here holds: what else could it be?"


def _towards_a_win(case: Case) -> Next:
    scope = ", ".join(case.scope.parts) if case.scope else ""
    return {
        Step.CONFIRMED: Next("bitten verify", f"mend {scope} only, and add a test to {case.scope.test if case.scope else 'the tests'}"),
        Step.FIXED: Next("bitten verify", "the fix is made, and not proven yet"),
        Step.VERIFIED: Next("bitten close", "proven: write the lesson and commit fix, test and lesson together"),
        Step.LEARNED: Next("bitten close", "commit fix, test and lesson together"),
    }[case.step]


def undecided(case: Case) -> list[Hypothesis]:
    return [h for h in case.hypotheses if is_undecided(case, h)]

"""The second half of the chain: a fix, its proof, its lesson. Each refuses to exist without what was proven before it.

Nothing here knows how a test is run or a commit is made.
"""

from __future__ import annotations

import json
from enum import Enum

from .case import Confirmation, Evidence, Scope, Verdict
from .failure import Run, ending
from .noun import noun
from .prediction import Facts, Prediction
from .trouble import gate


@noun
class Fix:
    """The difference from the tree at confirmation to `tree`, all of it inside the scope. Its diff is derived, never kept."""

    confirmation: Confirmation
    scope: Scope
    touches: tuple[str, ...]
    tree: str

    def __post_init__(self) -> None:
        outside = [touch for touch in self.touches if not self.scope.covers(touch)]
        gate(not outside, "fix-outside-scope", f"The change touches {', '.join(outside)}, outside the agreed scope.",
             f"Agreed: {', '.join((*self.scope.parts, self.scope.test))}.",
             f"undo that part, or widen the scope:  bitten fix --scope {outside[0] if outside else ''}")
        gate(any(touch.split(":")[0] == self.scope.test for touch in self.touches), "fix-without-test",
             f"The change adds no test in {self.scope.test}.", "A fix is proven by a test that fails without it.",
             "write one there, or name another:  bitten fix --test PATH")
        gate(any(touch.split(":")[0] != self.scope.test for touch in self.touches), "fix-changes-nothing",
             "Only the test changed.", way=f"mend {', '.join(self.scope.parts)}, then:  bitten verify")


class Phase(str, Enum):
    """Where in its life a test's outcome was decided."""

    COLLECT = "collect"
    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"


@noun
class Outcome:
    """One test, run once: `result` is passed, failed, skipped or error; `signature` is that of what it raised."""

    test: str
    phase: Phase
    result: str
    error: str = ""
    message: str = ""
    signature: str = ""


@noun
class TestRun:
    """The fix's test, run on one tree."""

    __test__ = False  # pytest would collect it by its name

    run: Run
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        return self.run.ended_well and bool(self.outcomes) and all(o.result == "passed" for o in self.outcomes)


@noun
class Rerun:
    """The original command, run on the fix, held to what was expected."""

    run: Run
    facts: Facts
    expected: tuple[Prediction, ...] = ()

    @property
    def missed(self) -> tuple[Prediction, ...]:
        return tuple(each for each in self.expected if each.holds(self.facts) is not True)

    @property
    def passes(self) -> bool:
        return self.run.ended_well and not self.missed


@noun
class Verification:
    """Proof: red on the base, green on the fix, the command passes, and the confirming check now refutes the cause."""

    fix: Fix
    red: TestRun
    green: TestRun
    rerun: Rerun
    again: Evidence

    def __post_init__(self) -> None:
        red_is_real(self.red, self.fix)
        green_is_real(self.green, self.red)
        gate(self.rerun.passes, "command-still-fails", "The original command still fails with the fix.",
             _why_not(self.rerun), "bitten check")
        cause_is_gone(self.again, self.fix.confirmation.evidence)


def red_is_real(red: TestRun, fix: Fix) -> None:
    """Refuse a test that is not red on the base in its call phase, by an assertion or with the case's own signature."""
    test, rewrite = fix.scope.test, "make it fail without the fix, then:  bitten verify"
    gate(bool(red.outcomes), "test-not-found", f"No new or changed test was found in {test}.", way=rewrite)
    gate(not red.run.hung, "test-hangs-on-base", "The new test did not end on the base.", way=rewrite)
    failed = [outcome for outcome in red.outcomes if outcome.result in ("failed", "error")]
    skipped = [outcome for outcome in red.outcomes if outcome.result == "skipped"]
    gate(bool(failed) or not skipped, "test-skipped-on-base", f"The new test is skipped on the base: {test}.", way=rewrite)
    gate(bool(failed), "test-green-on-base", f"The new test passes without the fix: {test}.",
         "A test that can't fail proves nothing.", rewrite)
    early = [outcome for outcome in failed if outcome.phase is not Phase.CALL]
    gate(not early, "test-breaks-before-call",
         f"On the base the new test breaks in its {early[0].phase.value if early else ''} phase.",
         f"{early[0].error}: {early[0].message}" if early else "", "do the failing import inside the test's body, then:  bitten verify")
    wrong = [outcome for outcome in failed if not _speaks(outcome, fix)]
    gate(not wrong, "test-red-for-another-reason",
         f"On the base the new test fails by {wrong[0].error if wrong else ''}, not by an assertion nor as the case did.",
         wrong[0].message if wrong else "", rewrite)


def green_is_real(green: TestRun, red: TestRun) -> None:
    """Refuse unless every test that was red passes with the fix, and no other was run."""
    gate(green.passed, "test-red-on-fix", "The new test does not pass with the fix.", _first_error(green), "bitten show --evidence")
    gate(_same_tests(red, green), "test-changed-between-runs", "Red and green are not the same tests.", way="bitten verify")


def _speaks(outcome: Outcome, fix: Fix) -> bool:
    """An assertion speaks for itself; another error only when it is the case's own."""
    case = fix.confirmation.evidence.facts.get("signature")
    return outcome.error.split(".")[-1] in ("AssertionError", "Failed") or (bool(case) and outcome.signature == case)


def cause_is_gone(again: Evidence, confirmed: Evidence) -> None:
    """Refuse unless the confirming check completed on the fix, measured the same fact at the same place, and refutes.

    A fact of the whole run, such as an instrument tells that found nothing, has no place of its own.
    """
    fact, value = again.deciding
    h = again.hypothesis.id
    gate(again.hypothesis == confirmed.hypothesis, "check-is-another", "Another check was run on the fix.", way="bitten verify")
    gate(
        not again.unclear,
        "check-incomplete-on-fix",
        f"The check of {h} did not complete on the fix.",
        again.unclear,
        "bitten show --evidence",
    )
    gate(value is not None, "check-measured-nothing-on-fix", f"On the fix the check of {h} did not measure {fact}.",
         "What was not measured is no proof.", "bitten show --evidence")
    gate(again.place in (confirmed.place, ""), "check-measured-elsewhere",
         f"On the fix {fact} was measured at {again.place}, not at {confirmed.place}.", way="bitten show --evidence")
    gate(again.verdict is Verdict.REFUTES, "cause-still-there",
         f"The confirmed cause is still there: {fact} = {json.dumps(value)}.",
         "The symptom may be gone, but the check still says so.", f"bitten check {h}")


def _same_tests(red: TestRun, green: TestRun) -> bool:
    return {o.test for o in red.outcomes} == {o.test for o in green.outcomes}


def _first_error(tests: TestRun) -> str:
    bad = next((o for o in tests.outcomes if o.result != "passed"), None)
    return f"{bad.test}: {bad.error}: {bad.message}" if bad else "It was not found, or did not end."


def _why_not(rerun: Rerun) -> str:
    if not rerun.run.ended_well:
        return f"It ended with {ending(rerun.run)}."
    return " ".join(f"Expected {each}; measured {json.dumps(rerun.facts.get(each.fact))}." for each in rerun.missed)


@noun
class Lesson:
    """What to remember. `text` is the entry for "Things that have bitten us"; empty when only local, with the reason."""

    verification: Verification
    text: str
    local: str = ""

    def __post_init__(self) -> None:
        gate(bool(self.text.strip()) is not bool(self.local.strip()), "lesson-or-reason",
             "A lesson is written down, or declined with a reason.", way='bitten learn, or: bitten learn --local "why"')


@noun
class Closing:
    """The win: one commit of fix, test and lesson; outside a repository `commit` is empty and fix.patch stays."""

    lesson: Lesson
    commit: str
    note: str

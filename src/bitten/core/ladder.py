"""What may follow what. A case is its events, folded; where it stands is derived from them, never stored.

The ladder does not know who appends events or where they are kept, and it reads no clock: times come in with visits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import IntEnum

from .case import (
    Confirmation,
    Drop,
    Evidence,
    Guard,
    Hypothesis,
    Note,
    Recurrence,
    Rejection,
    Reproducer,
    Rescope,
    Reset,
    Scope,
    Verdict,
    Visit,
    Withdrawal,
)
from .failure import Failure
from .noun import noun
from .prediction import Prediction, as_prediction
from .proof import Closing, Fix, Lesson, Verification
from .trouble import Refused, gate


class Step(IntEnum):
    """How far the chain reaches."""

    CAPTURED = 1
    SUSPECTED = 2
    TESTED = 3
    CONFIRMED = 4
    FIXED = 5
    VERIFIED = 6
    LEARNED = 7
    CLOSED = 8


Link = Confirmation | Fix | Verification | Lesson | Closing
Event = (Failure | Hypothesis | Evidence | Rejection | Link | Note | Recurrence | Reproducer | Rescope | Withdrawal | Visit | Guard | Reset
         | Drop)

LONGEST_GAP = 600.0
"""A gap between two commands counts for at most so many seconds: who is away is not debugging (design section 2)."""
BUDGET = 3600.0
"""Seconds of a person's time before a reset is due: the recipe's hour."""


@noun
class Case:
    failure: Failure
    hypotheses: tuple[Hypothesis, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    links: tuple[Link, ...] = ()
    scope: Scope | None = None
    notes: tuple[Note, ...] = ()
    recurrences: tuple[Recurrence, ...] = ()
    reproducer: Reproducer | None = None
    withdrawals: tuple[Withdrawal, ...] = ()
    visits: tuple[Visit, ...] = ()
    guards: tuple[Guard, ...] = ()
    resets: tuple[Reset, ...] = ()
    dropped: Drop | None = None

    @property
    def step(self) -> Step:
        if self.links:
            return Step(Step.TESTED + len(self.links))
        return Step.TESTED if self.evidence else Step.SUSPECTED if self.hypotheses else Step.CAPTURED

    @property
    def is_open(self) -> bool:
        return self.dropped is None and self.step < Step.CLOSED

    @property
    def attempts(self) -> int:
        """Fixes that did not hold."""
        return len(self.withdrawals)

    @property
    def expected(self) -> tuple[Prediction, ...]:
        """What was armed when it ran, and what the person has said since in a form that can be measured."""
        said = (as_prediction(note.text) for note in self.notes if note.about == "expected")
        return tuple(dict.fromkeys((*self.failure.expected, *(each for each in said if each))))

    @property
    def passes_now(self) -> bool:
        return bool(self.recurrences) and self.recurrences[-1].passed

    @property
    def gating(self) -> str:
        """`gated` when every agent's session was seen to pass our gate, `advisory` when one was not; empty where none took part."""
        latest = {guard.session: guard.alive for guard in self.guards}
        return "" if not latest else "gated" if all(latest.values()) else "advisory"

    def verdict(self, hypothesis: Hypothesis) -> Verdict | None:
        """The last verdict on a hypothesis; None when it is untested."""
        latest = self.latest(hypothesis)
        return latest.verdict if latest else None

    def latest(self, hypothesis: Hypothesis) -> Evidence | None:
        return next((e for e in reversed(self.evidence) if e.hypothesis == hypothesis), None)

    def rejected(self, hypothesis: Hypothesis) -> bool:
        return any(r.hypothesis == hypothesis for r in self.rejections)

    def person_seconds(self) -> float:
        """Seconds of the person's time since the last reset: gaps between their commands, our own runs left out."""
        return sum(min(LONGEST_GAP, max(0.0, after.began - before.ended))
                   for before, after in zip(self.visits, self.visits[1:], strict=False))


def hour_is_up(case: Case, budget: float = BUDGET) -> bool:
    return case.person_seconds() > budget


def advance(case: Case | None, event: Event) -> Case:  # noqa: PLR0911, PLR0912 - all moves stand together, to be read as one
    """Every lawful move, on one screen.

    Raises: Refused, with the slug of the move that isn't, when the event can't follow the case as it stands.
    """
    match case, event:
        case None, Failure():
            return Case(event)
        case Case(dropped=None), Visit():
            return replace(case, visits=(*case.visits, event))
        case Case(dropped=None), _ if case.step is Step.CLOSED:
            pass
        case Case(dropped=None), Note():
            return replace(case, notes=(*case.notes, event))
        case Case(dropped=None), Recurrence():
            return replace(case, recurrences=(*case.recurrences, event))
        case Case(dropped=None), Reproducer():
            return replace(case, reproducer=event)
        case Case(dropped=None), Guard():
            return replace(case, guards=(*case.guards, event))
        case Case(dropped=None), Drop():
            return replace(case, dropped=event)
        case Case(dropped=None), Reset():
            return replace(case, resets=(*case.resets, event), visits=case.visits[-1:])
        case Case(dropped=None, links=()), Hypothesis():
            return _suspected(case, event)
        case Case(dropped=None, links=()), Rejection(hypothesis=h) if h in case.hypotheses:
            return replace(case, rejections=(*case.rejections, event))
        case Case(dropped=None, links=()), Evidence(hypothesis=h) if h in case.hypotheses:
            return replace(case, evidence=(*case.evidence, event))
        case Case(dropped=None, links=()), Confirmation(evidence=e) if case.latest(e.hypothesis) == e and not case.rejected(e.hypothesis):
            return replace(case, links=(event,), scope=event.scope)
        case Case(dropped=None, links=(Confirmation() as held,)), Rescope(confirmation=c) if c == held:
            return replace(case, scope=event.scope)
        case Case(dropped=None, links=(Confirmation() as held,)), Fix(confirmation=c, scope=s) if c == held and s == case.scope:
            return replace(case, links=(held, event))
        case Case(dropped=None, links=(Confirmation(), Fix() as held)), Verification(fix=f) if f == held:
            return replace(case, links=(*case.links, event))
        case Case(dropped=None, links=(Confirmation(), Fix(), Verification() as held)), Lesson(verification=v) if v == held:
            return replace(case, links=(*case.links, event))
        case Case(dropped=None, links=(Confirmation(), Fix(), Verification(), Lesson() as held)), Closing(lesson=lesson) if lesson == held:
            return replace(case, links=(*case.links, event))
        case Case(dropped=None, links=(Confirmation(), *_)), Withdrawal():
            return _withdrawn(case, event)
    raise _unlawful(case, event)


def fold(events: Iterable[Event]) -> Case | None:
    case = None
    for event in events:
        case = advance(case, event)
    return case


def _suspected(case: Case, new: Hypothesis) -> Case:
    gate(all(h.id != new.id for h in case.hypotheses), "hypothesis-id-taken", f"{new.id} is taken.", way="bitten show")
    refuted = next((h for h in case.hypotheses if case.verdict(h) is Verdict.REFUTES and h.same_claim(new)), None)
    gate(refuted is None, "already-refuted", f"This was refuted before, as {refuted.id if refuted else ''}: {new.claim}.",
         way=f"bitten show {refuted.id if refuted else ''}")
    return replace(case, hypotheses=(*case.hypotheses, new))


def _withdrawn(case: Case, event: Withdrawal) -> Case:
    """Back to step 2, or, where nothing speaks against the cause, back to the confirmed cause."""
    kept = () if event.to_step_two else case.links[:1]
    return replace(case, links=kept, scope=case.scope if kept else None, withdrawals=(*case.withdrawals, event))


_NEEDS = {
    Confirmation: ("confirm-out-of-turn", "evidence of this case, the latest for its hypothesis, not rejected", "bitten check"),
    Fix: ("fix-before-confirmation", "a confirmed cause", "bitten confirm h1"),
    Verification: ("verify-before-fix", "a fix", "bitten verify"),
    Lesson: ("learn-before-verification", "a proven fix", "bitten verify"),
    Closing: ("close-before-lesson", "a lesson, or the reason for none", "bitten learn"),
}


def _unlawful(case: Case | None, event: Event) -> Refused:
    noun = type(event).__name__.lower()
    if case is not None and not case.is_open:
        return Refused("case-is-closed", f"The case is {'dropped' if case.dropped else 'closed'}.", way="bitten run -- CMD")
    slug, needs, way = _NEEDS.get(type(event), ("out-of-turn", "another state of the case", "bitten"))
    stands = case.step.name.lower() if case else "not begun"
    return Refused(slug, f"A {noun} needs {needs}.", f"The case is {stands}.", way)

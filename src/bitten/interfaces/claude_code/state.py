"""Where the case stands, as facts for a model, in a few thousand characters: what a compaction or a new session would have lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from bitten.core import gating, rank
from bitten.core.case import Confirmation, Hypothesis, Verdict
from bitten.core.ladder import Case, Step
from bitten.core.next import next_step
from bitten.interfaces import text
from bitten.interfaces.claude_code.answers import cut

MOST = 4_000
LESSONS, LONGEST = 3, 300
SHOWN = 6
"""Hypotheses of either kind."""


def told(case: Case, number: int, document: str, budget: float, lessons: Sequence[str]) -> str:
    """The whole of it. Says what is, and orders nothing: a model distrusts orders that come this way, and rightly."""
    lines = [f"bitten, case {number} ({document}), is open: {_line(text.symptom(case.failure), 300)}",
             f"Command: {_line(text.command(case.failure), 300)}",
             *_expected(case), phase(case), following(case, budget), *_gated(case),
             *_hypotheses(case), *_tried(case), *_matching(case, lessons)]
    return cut(click.unstyle("\n".join(lines)), MOST)


def phase(case: Case) -> str:
    """What may be written now."""
    confirmed = next((link for link in case.links if isinstance(link, Confirmation)), None)
    if confirmed is None or case.scope is None:
        return ("Phase: no cause is confirmed. The project's files stay as they are; checks run in throw-away copies, by bitten. "
                "Only the person confirms, by typing /bitten:confirm H VALUE.")
    cause = confirmed.evidence.hypothesis
    if case.step >= Step.VERIFIED:
        return f"Phase: the fix of {cause.id} ({_line(cause.claim, 200)}) is proven. Left are the lesson and the commit: bitten close."
    return (f"Phase: {confirmed.by} confirmed {cause.id} ({_line(cause.claim, 200)}). The fix may touch {', '.join(case.scope.parts)}, "
            f"and its test {case.scope.test}; nothing else. It is done when verify has proven it.")


def following(case: Case, budget: float) -> str:
    step = next_step(case, budget)
    persons = " (only the person can type it)" if "confirm" in step.command else ""
    return f"Next: {step.why}: {step.command.replace('bitten confirm', '/bitten:confirm')}{persons}"


def _line(words: str, most: int) -> str:
    """Whatever it holds, it takes no line of its own beside ours."""
    return cut(" ".join(words.split()), most)


def _gated(case: Case) -> Iterator[str]:
    if case.gating == "advisory":
        yield gating.words(case)


def _expected(case: Case) -> Iterator[str]:
    said = [note.text for note in case.notes if note.about == "expected"]
    armed = [str(each) for each in case.failure.expected]
    if said or armed:
        yield f"Expected: {_line('; '.join((*said, *armed)), 300)}"


def _hypotheses(case: Case) -> Iterator[str]:
    shown = rank.shown(case, everything=True)
    gone = [each for each in shown if case.rejected(each) or case.verdict(each) is Verdict.REFUTES]
    yield from ("Hypotheses:", *(_one(case, each) for each in shown[:SHOWN] if each not in gone)) if len(gone) < len(shown) else ()
    yield from ("Refuted or rejected, not to be offered again:", *(_one(case, each) for each in gone[:SHOWN])) if gone else ()


def _one(case: Case, each: Hypothesis) -> str:
    evidence = case.latest(each)
    if case.rejected(each):
        return f"- {each.id} rejected by the person: {_line(each.claim, 200)}"
    if evidence is None:
        return f"- {each.id} untested, {each.likelihood.value}: {_line(each.claim, 200)}"
    fact, value = evidence.deciding
    verdict = {Verdict.SUPPORTS: "supported", Verdict.REFUTES: "refuted", Verdict.UNCLEAR: "unclear"}[evidence.verdict]
    return f"- {each.id} {verdict} ({fact} = {_line(text.short(value), 80)}): {_line(each.claim, 200)}"


def _tried(case: Case) -> Iterator[str]:
    if case.withdrawals:
        yield f"Fixes that did not hold: {case.attempts}; the last: {_line(case.withdrawals[-1].reason, 200)}"


def _matching(case: Case, lessons: Sequence[str]) -> Iterator[str]:
    """Those that name what this failure names."""
    words = _words(case)
    found = [each for each in lessons if any(word in each for word in words)][:LESSONS]
    if found:
        yield "Lessons of this project that name the same:"
        yield from (f"- {_line(each, LONGEST)}" for each in found)


def _words(case: Case) -> list[str]:
    root = case.failure.root
    if root is None:
        return [str(each.fact) for each in case.failure.missed]
    site = root.site
    return [root.type.rpartition(".")[2], *([site.file.rpartition("/")[2], site.function] if site and site.function != "<module>" else [])]

"""Step 2: ranked hypotheses, each with a minimal check; those that captured facts decide are decided at once. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from bitten.core import rank
from bitten.core.case import Check, Evidence, Hypothesis
from bitten.core.failure import Failure, Sighting
from bitten.core.ladder import Case, Event
from bitten.core.ports import Knowledge
from bitten.core.prediction import Facts


def diagnose(case: Case, knowledge: Knowledge) -> Iterator[Event]:
    """New hypotheses, numbered in the order of their likelihood, each followed by the evidence that was captured already.

    Known ones without evidence come first: a kill may have fallen between a hypothesis and what was captured for it.
    """
    for each in case.hypotheses:
        captured = evidence_at_hand(each, case.failure) if case.latest(each) is None else None
        if captured is not None:
            yield captured
    new = [each for each in _filled_up(knowledge.suspects(case.failure)) if not _known(case, each)]
    for number, hypothesis in enumerate(sorted(new, key=_order), len(case.hypotheses) + 1):
        named = replace(hypothesis, id=f"h{number}")
        yield named
        captured = evidence_at_hand(named, case.failure)
        if captured is not None:
            yield captured


def _filled_up(suspects: Iterable[Hypothesis]) -> list[Hypothesis]:
    """The playbooks' own suspects; generic ones only until there are as many as are shown."""
    every = list(suspects)
    own = [each for each in every if not each.generic]
    return own + [each for each in every if each.generic][: max(0, rank.SHOWN - len(own))]


def _known(case: Case, new: Hypothesis) -> bool:
    return any(old.same_claim(new) for old in case.hypotheses)


def _order(hypothesis: Hypothesis) -> tuple[bool, int]:
    return hypothesis.generic, ["likely", "possible", "unlikely"].index(hypothesis.likelihood.value)


def evidence_at_hand(hypothesis: Hypothesis, failure: Failure) -> Evidence | None:
    """Evidence from captured facts alone; None when they don't decide."""
    check = hypothesis.check
    if check.change or check.script:
        return None
    seen = sighting(check, failure.sightings)
    if check.probes and seen is None:
        return None
    evidence = Evidence(hypothesis, facts_for(check, failure.facts, seen), place=seen.place if seen else "")
    return evidence if evidence.deciding[1] is not None else None


def sighting(check: Check, sightings: Iterable[Sighting], place: str = "") -> Sighting | None:
    """What the check's probes saw that speaks of its fact: a finding before a healthy call, and at `place` before elsewhere."""
    fits = [each for each in sightings if each.probe in check.probes and each.facts.get(check.supports_if.fact) is not None]
    return max(fits, key=lambda each: (bool(place) and each.place == place, each.finding, each.calls), default=None)


def facts_for(check: Check, facts: Facts, seen: Sighting | None) -> Mapping[str, object]:
    """What this evidence rests on: the probe's facts, the predicted ones, and how the run ended."""
    named = {check.supports_if.fact, check.refutes_if.fact, "exit", "signal", "signature"}
    kept = {name: value for name, value in facts.items() if name in named and value is not None}
    return {**kept, **(seen.facts if seen else {})}

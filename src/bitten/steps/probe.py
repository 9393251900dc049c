"""One instrumented run of the unchanged command, in a throw-away copy, by a person's own hand. Judges nothing: findings are the guest's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bitten.core.failure import Command, Sighting
from bitten.core.ports import Allowed, Heard, Observed, Sandbox
from bitten.core.prediction import Facts

RECORDING = "recording"


def probe(
    command: Command, names: Sequence[str], sandbox: Sandbox, allowed: Allowed, heard: Heard, stop_after: int | None, timeout: float | None
) -> Observed:
    """What the command showed with these instruments armed, and a recording beside. It ends `stop_after` steps after the first bad one."""
    with sandbox.copy(allowed) as copy:
        return copy.run(command, timeout=timeout, instruments=(*names, RECORDING), stop_after=stop_after, heard=heard)


def findings(seen: Observed) -> list[Sighting]:
    """The first bad thing first: by step where it is known, then by how often it was met."""
    return sorted((each for each in seen.sightings if each.finding), key=lambda each: (_step(each.facts), -each.calls))


def hints(seen: Observed) -> list[Sighting]:
    """Signals of low precision: each may prompt a hypothesis, none is a verdict."""
    return [each for each in seen.sightings if not each.finding and "says" in each.facts]


def measured(seen: Observed, names: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Each instrument's facts by name, once: a finding's value before a summary's."""
    told: dict[str, object] = {}
    for each in sorted(seen.sightings, key=lambda each: not each.finding):
        for name, value in each.facts.items():
            if name.partition(".")[0] == each.probe and each.probe in names:
                told.setdefault(name, value)
    yield from sorted(told.items())


def _step(facts: Facts) -> float:
    step = facts.get("step")
    return float(step) if isinstance(step, int | float) else float("inf")

"""A comparison in words, for a person and for a script. Decides nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from bitten.core.comparing import Comparison, Difference
from bitten.core.recording import Fingerprint, Mark, Recording
from bitten.interfaces import text

UNSEEDED = "it drew random numbers, and no call of the program had seeded them"
WHY = {
    "random": "it drew from another random state: what parted the random numbers before is in no mark",
    "given": "what it was made of had parted before, in a place that no mark shows",
}
MOST = 6


def lines(found: Comparison, one: Recording, other: Recording, kept: str = "") -> Iterator[str]:
    first = found.first
    if first is None:
        mark = click.style("✓", fg="green")
        noise = f"; {found.noisy} lie within the tolerance of their dtype" if found.noisy else ", bit for bit"
        alone = f"; {found.alone} more have no like on the other side" if found.alone else ""
        yield f"{mark} {found.verdict}: {found.compared} marks were compared{noise}{alone}"
    else:
        yield f"{click.style('✗', fg='red')} they part first at {click.style(first.stage, bold=True)}: {first.key}{_where(first)}"
        for recording, mine, theirs in ((one, first.one, first.other), (other, first.other, first.one)):
            yield _side(recording.name, mine, theirs, first.part)
        is_seeded = any(mark.stage == "seeds" for mark in (*one.marks, *other.marks))
        yield from (f"  {each}" for each in _notes(first, is_seeded))
        yield f"  {found.compared} marks compared, {found.parted} part"
    yield from _conditions(found.conditions)
    if kept:
        yield f"  recordings: {kept}"


def _where(first: Difference) -> str:
    step = f" · step {first.step}" if first.step else ""
    return f" · {first.part}{step}" if first.part else step


def _side(name: str, mark: Mark | None, other: Mark | None, part: str) -> str:
    if mark is None:
        return f"  {name}: none"
    at = f"   {mark.at}" if mark.at else ""
    return f"  {name}: {value(mark, other, part)}{at}"


def value(mark: Mark, other: Mark | None, part: str) -> str:
    """What a person would compare: of two fingerprints that differ in hash alone, the hash."""
    if not mark.fps:
        return text.short(str(mark.value), 120)
    mine = mark.fps.get(part) or next(iter(mark.fps.values()))
    theirs = (other.fps.get(part) or next(iter(other.fps.values()), None)) if other is not None else None
    told = _print(mine)
    return f"{told}, hash {mine.hash[:8]}" if theirs is not None and _print(theirs) == told else told


def _print(one: Fingerprint) -> str:
    shape = f"{list(one.shape)} " if one.shape else ""
    if one.mean is None:
        return f"{shape}{one.dtype}"
    if not one.shape or math.prod(one.shape) == 1:
        return f"{one.mean:.9g} ({one.dtype})"
    share = "" if one.finite == 1.0 else f", {one.finite:.1%} finite"
    return f"{shape}{one.dtype}, min {one.min:.6g}, max {one.max:.6g}, mean {one.mean:.6g}{share}"


def _notes(first: Difference, is_seeded: bool) -> Iterator[str]:
    kinds = [mark.kind for mark in (first.one, first.other) if mark is not None and mark.kind not in ("", "call", "own module", "printed")]
    if len(set(kinds)) == 2:
        yield f"{kinds[0]} → {kinds[1]}"
    if first.one is not None and first.other is not None and first.one.given and first.one.given == first.other.given:
        yield "the same came in"
    if first.drifting:
        yield "here it still lies within the tolerance of its dtype; it grows past it later"
    if first.follows:
        yield UNSEEDED if first.follows == "random" and not is_seeded else WHY[first.follows]
    also = dict.fromkeys(line for mark in (first.one, first.other) if mark is not None for line in mark.also)
    if also:
        yield f"read also: {', '.join(also)}"


def _conditions(found: tuple[Difference, ...]) -> Iterator[str]:
    for each in found[:MOST]:
        sides = " / ".join("none" if mark is None else str(mark.value) for mark in (each.one, each.other))
        yield f"  beside it, {each.stage}: {each.key}: {sides}"
    if len(found) > MOST:
        yield f"  and {len(found) - MOST} more of the environment"


def plain(found: Comparison, one: Recording, other: Recording, kept: str = "") -> dict[str, Any]:
    return {"verdict": found.verdict, "first": _plain(found.first), "compared": found.compared, "parted": found.parted,
            "alone": found.alone,
            "within_noise": found.noisy, "conditions": [_plain(each) for each in found.conditions], "renamed": dict(found.renamed),
            "one": one.name, "other": other.name, "recordings": kept}


def _plain(each: Difference | None) -> dict[str, Any] | None:
    return asdict(each) if each is not None else None

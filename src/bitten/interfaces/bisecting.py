"""A bisection as a person reads it: what was tried, the first bad commit, and what noise leaves open. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import click

from bitten.core.bisecting import Outcome, wrong_at_most
from bitten.core.ports import Commit
from bitten.core.prediction import Json
from bitten.interfaces import text
from bitten.steps.bisect import WORK, Bisection, Tried

MARKS = {Outcome.GOOD: ("✓ good", "green"), Outcome.BAD: ("✗ bad", "red"), Outcome.SKIP: ("· skipped", "yellow")}
SHOWN = 12
"""Files of a commit, and commits of which one is it, that are printed; their number is told."""
MOST = 100
"""Commits of which one is it that a script is given."""
Told = Callable[[str], Commit]


def lines(found: Bisection, told: Told) -> Iterator[str]:
    """The table of what was tried, then the answer."""
    yield text.table([_head(found), *(_row(found, each, told) for each in found.tried)])
    yield ""
    yield from _answer(found, told)
    yield from noise(found)


def _head(found: Bisection) -> tuple[str, ...]:
    facts = [each.fact for each in found.question.expected] or ["shown"]
    return ("commit", "outcome", "runs", *facts, "subject")


def _row(found: Bisection, each: Tried, told: Told) -> tuple[str, ...]:
    mark, _ = MARKS[each.outcome]
    values = [_spread([look.value[at] for look in each.looks]) for at in range(len(found.question.expected))]
    shown = values or ["" if each.outcome is Outcome.SKIP else text.short(str(each.looks[-1].value), 50)]
    why = f" ({text.short(each.why, 60)})" if each.why else ""
    return (_short(each.commit, told), mark, str(len(each.looks)), *shown, f"{_subject(each.commit, told)}{why}")


def _spread(values: Sequence[Json]) -> str:
    """One value, or from the least to the largest of several."""
    numbers = sorted(each for each in values if isinstance(each, int | float) and not isinstance(each, bool))
    if len(set(numbers)) > 1 and len(numbers) == len(values):
        return f"{numbers[0]:.4g} … {numbers[-1]:.4g}"
    return text.short("-" if values[-1] is None else values[-1], 20)


def _short(commit: str, told: Told) -> str:
    return commit if commit == WORK else told(commit).short


def _subject(commit: str, told: Told) -> str:
    return "the uncommitted change" if commit == WORK else text.short(told(commit).subject, 60)


def _answer(found: Bisection, told: Told) -> Iterator[str]:
    suspects = found.search.suspects
    if not found.search.is_over:
        yield f"so far: the first bad commit is one of {len(suspects)}, at or before {_short(found.search.bad, told)}"
        yield from (f"  {_short(each, told)}  {_subject(each, told)}" for each in suspects[:SHOWN])
    elif len(suspects) == 1:
        yield f"first bad commit: {click.style(_short(suspects[0], told), bold=True)}"
        yield from _commit(suspects[0], told)
    else:
        yield f"the first bad commit is one of these {len(suspects)}: all but the latest were skipped"
        yield from (f"  {_short(each, told)}  {_subject(each, told)}" for each in suspects[:SHOWN])
        yield from ([f"  … {len(suspects) - SHOWN} more"] if len(suspects) > SHOWN else [])


def _commit(commit: str, told: Told) -> Iterator[str]:
    if commit == WORK:
        yield "  the uncommitted change: HEAD is good, the work tree is not"
        return
    what = told(commit)
    yield f"  {what.subject}"
    yield f"  {what.author}, {what.date}"
    yield from (f"  {line}" for line in what.body.splitlines()[:SHOWN])
    yield from (f"    {file}" for file in what.files[:SHOWN])
    yield from ([f"    … {len(what.files) - SHOWN} more files"] if len(what.files) > SHOWN else [])


def noise(found: Bisection) -> Iterator[str]:
    """What the answer is worth."""
    decided = sum(each.outcome is not Outcome.SKIP and not each.end for each in found.tried)
    if found.noisy:
        rates = found.rates
        yield (f"noisy: bad in {rates.good:.0%} of the good end's runs and {rates.bad:.0%} of the bad end's (half a run added to each); "
               f"a sequential test called each commit, with error rates of {rates.alpha:.0%} (good called bad) and {rates.beta:.0%} "
               f"(bad called good), so at most {wrong_at_most(rates, decided):.0%} for all {decided}")
    elif found.tried and len(found.tried[0].looks) > 1:
        yield f"not noisy: {len(found.tried[0].looks)} runs of each end gave the same, so each commit was run once"
    elif found.tried:
        yield "each commit was run once, and nobody looked whether the outcome is noisy"


def plain(found: Bisection, told: Told) -> Mapping[str, object]:
    """As a script would read it."""
    suspects = found.search.suspects
    return {"first_bad": [_plain(each, told) for each in suspects[:MOST]], "suspects": len(suspects),
            "is_over": found.search.is_over, "noisy": found.noisy,
            "rates": {"good": found.rates.good, "bad": found.rates.bad, "alpha": found.rates.alpha, "beta": found.rates.beta},
            "expected": [str(each) for each in found.question.expected], "signature": found.signature,
            "tried": [{"commit": each.commit, "outcome": each.outcome.value, "end": each.end, "why": each.why,
                       "values": [look.value for look in each.looks]} for each in found.tried]}


def _plain(commit: str, told: Told) -> Mapping[str, object]:
    if commit == WORK:
        return {"commit": WORK}
    what = told(commit)
    return {"commit": what.id, "subject": what.subject, "author": what.author, "date": what.date, "files": list(what.files)}

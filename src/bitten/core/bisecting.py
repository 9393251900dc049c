"""The first bad commit by few tries: which one to try next in a history with merges, and how many runs decide a noisy one. Runs nothing.

It takes for granted that what is bad stays bad in all later commits. Limit of the sequential test: its error rates hold for commits
that fail as often as one of the two ends does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property

from .noun import noun
from .trouble import gate


class Outcome(str, Enum):
    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


Parents = Mapping[str, tuple[str, ...]]


# ---------------------------------------------------------------------------------------------- which commit


class Search:
    """What is known of a history. `parents` has each commit that may be the first bad one, with its parents; `bad` is one of them.

    Whoever is no key of `parents` counts as good.
    """

    def __init__(self, parents: Parents, bad: str, skipped: frozenset[str] = frozenset()) -> None:
        self.parents, self.bad, self.skipped = parents, bad, skipped

    def tested(self, commit: str, outcome: Outcome) -> Search:
        """What is known after one more try."""
        if outcome is Outcome.SKIP:
            return Search(self.parents, self.bad, self.skipped | {commit})
        behind = ancestors(self.parents, commit)
        kept = behind if outcome is Outcome.BAD else ancestors(self.parents, self.bad) - behind
        return Search({each: self.parents[each] for each in self.parents if each in kept}, commit if outcome is Outcome.BAD else self.bad,
                      self.skipped & kept)

    @cached_property
    def suspects(self) -> tuple[str, ...]:
        """The commits one of which is the first bad one, the latest first."""
        inside = ancestors(self.parents, self.bad)
        return tuple(each for each in reversed(_oldest_first(self.parents)) if each in inside)

    @property
    def is_over(self) -> bool:
        return self.next() is None

    @property
    def tries(self) -> int:
        """About how many commits are still to be tried."""
        return math.ceil(math.log2(max(1, len(self.suspects))))

    def next(self) -> str | None:
        """The commit that halves the suspects best; None when no more can be learnt.

        Beside a commit that was skipped the next would most likely be skipped too: among those that halve nearly as well, the one that
        is farthest from all skipped ones is taken.
        """
        weights = self._weights()
        open_ones = [each for each in self.suspects if each != self.bad and each not in self.skipped]
        if not open_ones:
            return None
        worth = {each: min(weights[each], len(self.suspects) - weights[each]) for each in open_ones}
        best = max(worth.values())
        far = self._from_skipped() if self.skipped else {}
        return max((each for each in open_ones if worth[each] * 2 >= best), key=lambda each: (far.get(each, 0), worth[each]))

    def _weights(self) -> dict[str, int]:
        """How many suspects each commit has behind it, itself among them: what would be cleared if it were good."""
        inside = set(self.suspects)
        bits: dict[str, int] = {}
        for number, each in enumerate(_oldest_first({one: self.parents[one] for one in inside})):
            mask = 1 << number
            for parent in self.parents[each]:
                mask |= bits.get(parent, 0)
            bits[each] = mask
        return {each: mask.bit_count() for each, mask in bits.items()}

    def _from_skipped(self) -> dict[str, int]:
        """Steps along the history from the nearest skipped commit."""
        beside: dict[str, set[str]] = {each: set() for each in self.suspects}
        for each in self.suspects:
            for parent in self.parents[each]:
                if parent in beside:
                    beside[each].add(parent)
                    beside[parent].add(each)
        far = {each: 0 for each in self.skipped if each in beside}
        wave = list(far)
        while wave:
            wave = [new for each in wave for new in beside[each] if new not in far and far.setdefault(new, far[each] + 1)]
        return far


def ancestors(parents: Parents, commit: str) -> set[str]:
    """It and all that it comes from, as far as the history is told."""
    found, left = set(), [commit]
    while left:
        each = left.pop()
        if each in parents and each not in found:
            found.add(each)
            left.extend(parents[each])
    return found


def _oldest_first(parents: Parents) -> list[str]:
    """Parents before their children; without recursion, as histories are long."""
    order: list[str] = []
    done: set[str] = set()
    for start in parents:
        left = [start]
        while left:
            each = left[-1]
            waits = [parent for parent in parents[each] if parent in parents and parent not in done] if each not in done else []
            if waits:
                left.extend(waits)
            else:
                left.pop()
                if each not in done:
                    done.add(each)
                    order.append(each)
    return order


# ---------------------------------------------------------------------------------------------- how many runs

MOST_RUNS = 25
"""Of one commit: one that is undecided after so many is skipped."""


@noun
class Rates:
    """How often each end is bad in one run. Wald's sequential test calls a commit bad that is as the good end with `alpha`, and good one
    that is as the bad end with `beta`."""

    good: float = 0.0
    bad: float = 1.0
    alpha: float = 0.05
    beta: float = 0.05

    @property
    def are_sure(self) -> bool:
        """Whether one run decides."""
        return self.good == 0.0 and self.bad == 1.0

    def decide(self, runs: Sequence[bool]) -> Outcome | None:
        """The outcome of a commit, of whose runs these were bad; None while they do not suffice."""
        if self.are_sure:
            return None if not runs else Outcome.BAD if runs[-1] else Outcome.GOOD
        upper, lower = math.log((1 - self.beta) / self.alpha), math.log(self.beta / (1 - self.alpha))
        weight = sum(self._bad if each else self._good for each in runs)
        if weight >= upper:
            return Outcome.BAD
        if weight <= lower:
            return Outcome.GOOD
        return Outcome.SKIP if len(runs) >= MOST_RUNS else None

    @property
    def _bad(self) -> float:
        return math.log(self.bad / self.good)

    @property
    def _good(self) -> float:
        return math.log((1 - self.bad) / (1 - self.good))

    @property
    def runs(self) -> float:
        """About how many a commit takes, the slower end of the two (Wald's approximation)."""
        if self.are_sure:
            return 1.0
        upper, lower = math.log((1 - self.beta) / self.alpha), math.log(self.beta / (1 - self.alpha))
        at_good = (self.alpha * upper + (1 - self.alpha) * lower) / (self.good * self._bad + (1 - self.good) * self._good)
        at_bad = ((1 - self.beta) * upper + self.beta * lower) / (self.bad * self._bad + (1 - self.bad) * self._good)
        return max(1.0, at_good, at_bad)


def sure() -> Rates:
    return Rates()


def rates_of(good: Sequence[bool], bad: Sequence[bool], alpha: float, beta: float) -> Rates:
    """From runs of both ends, of which these were bad: with half a run of either kind added, as few runs are no certainty.

    Raises: Refused `bisect-ends-alike`, when they may differ by chance alone, or too little for a test that ends.
    """
    rates = Rates(_share(good), _share(bad), alpha, beta)
    gate(by_chance(good, bad) <= max(alpha, beta) and rates.runs <= MOST_RUNS / 2, "bisect-ends-alike",
         f"The good end was bad in {sum(good)} of {len(good)} runs, the bad end in {sum(bad)} of {len(bad)}: too much alike.",
         "The noise is as large as the difference.",
         "choose an expectation between the two ends, or more runs of each:  bitten bisect --repeat 15 …")
    return rates


def by_chance(good: Sequence[bool], bad: Sequence[bool]) -> float:
    """How likely ends that are the same would differ so much (Fisher's exact test, one-sided)."""
    runs, failed = len(good) + len(bad), sum(good) + sum(bad)
    ways = (math.comb(len(bad), each) * math.comb(len(good), failed - each) for each in range(sum(bad), min(len(bad), failed) + 1))
    return sum(ways) / math.comb(runs, failed)


def _share(runs: Sequence[bool]) -> float:
    return (sum(runs) + 0.5) / (len(runs) + 1)


def wrong_at_most(rates: Rates, commits: int) -> float:
    """A bound for any of so many commits being called wrongly."""
    return 0.0 if rates.are_sure else 1 - (1 - max(rates.alpha, rates.beta)) ** commits


def is_noisy(*ends: Iterable[object]) -> bool:
    """Whether any end gave two different answers."""
    return any(len(set(map(repr, runs))) > 1 for runs in ends)


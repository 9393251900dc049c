"""Finds the first bad commit: each is tried in a throw-away copy, as often as noise asks for. Knows no git.

A commit is bad when it misses an expectation, or fails with the signature that is looked for; one that fails otherwise does not run,
and is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field

from bitten.core.bisecting import Outcome, Search, is_noisy, rates_of, sure
from bitten.core.failure import Command, ending
from bitten.core.noun import noun
from bitten.core.ports import Allowed, History, Observed, Sandbox
from bitten.core.prediction import Json, Prediction, number
from bitten.core.trouble import BadInput, Unable
from bitten.steps.capture import shows

WORK = "work tree"
"""Stands for a commit: the tree as it is, on top of HEAD."""
LOOKS = 2
"""Runs of each end that tell whether an outcome is noisy."""


@noun
class Question:
    """What is looked for: expectations that are missed, or else a failure's signature (that of the bad end where none is given)."""

    command: Command
    expected: tuple[Prediction, ...] = ()
    signature: str = ""
    alpha: float = 0.05
    beta: float = 0.05
    repeat: int = 5
    timeout: float | None = None
    instruments: tuple[str, ...] = ()


@noun
class Look:
    """One run: its outcome, what was measured (or shown), and why it does not count, or what the copy kept from it."""

    outcome: Outcome
    value: Json = None
    why: str = ""


@noun
class Tried:
    """One commit, with all its runs. `end` is good or bad for the two that were given."""

    commit: str
    outcome: Outcome
    looks: tuple[Look, ...] = ()
    end: str = ""

    @property
    def why(self) -> str:
        return next((each.why for each in reversed(self.looks) if each.why), "" if self.outcome is not Outcome.SKIP else
                    f"undecided after {len(self.looks)} runs")


Progress = Callable[[str], AbstractContextManager[None]]


@noun
class Bench:
    history: History
    sandbox: Sandbox
    progress: Progress
    allowed: Allowed = field(default_factory=Allowed)


class Bisection:
    """`search` and `tried` hold what is known so far, whenever it is interrupted. What is `known` from before is not tried again."""

    def __init__(self, question: Question, search: Search, good: str, bench: Bench, known: Iterable[Tried] = ()) -> None:
        self.known = {each.commit: each for each in known}
        self.question, self.search, self.good, self.bench = question, search, good, bench
        self.signature, self.rates = question.signature, sure()
        self.bad = search.bad
        self.tried: list[Tried] = []
        self.noisy = False

    def walk(self) -> Iterator[Tried]:
        """Each commit as it is decided, the two ends first.

        Raises: BadInput `bisect-bad-is-good`, `bisect-good-is-bad`, `bisect-end-does-not-run`; Refused `bisect-ends-alike`.
        """
        for each in self._ends():
            self.tried.append(each)
            yield each
        while (commit := self.search.next()) is not None:
            each = self._decided(commit)
            self.search = self.search.tested(commit, each.outcome)
            self.tried.append(each)
            yield each

    # ------------------------------------------------------------------------------------------ the two ends

    def _ends(self) -> Iterator[Tried]:
        """Both as often as it takes to learn their noise: a few times, and oftener where two runs differ."""
        if self.bad in self.known and self.good in self.known:
            yield from self._known_ends(self.known[self.bad], self.known[self.good])
            return
        runs: dict[str, list[Look]] = {"bad": [], "good": []}
        for done in range(self.question.repeat):
            for end, commit in (("bad", self.bad), ("good", self.good)):
                runs[end].append(self._end(end, commit, done))
            if done + 1 == min(LOOKS, self.question.repeat) and not self._is_noisy(runs):
                break
        self._judge(runs)
        yield Tried(self.bad, Outcome.BAD, tuple(runs["bad"]), "bad")
        yield Tried(self.good, Outcome.GOOD, tuple(runs["good"]), "good")

    def _known_ends(self, bad: Tried, good: Tried) -> Iterator[Tried]:
        shown = (str(each.value) for each in bad.looks if each.outcome is Outcome.BAD and not self.question.expected)
        self.signature = self.signature or next(shown, "")
        self._judge({"bad": list(bad.looks), "good": list(good.looks)})
        yield from (bad, good)

    def _is_noisy(self, runs: Mapping[str, Sequence[Look]]) -> bool:
        return is_noisy(*([(each.outcome, each.value) for each in looks] for looks in runs.values()))

    def _end(self, end: str, commit: str, done: int) -> Look:
        look = self._look(commit, f"the {end} end, run {done + 1}")
        if look.outcome is Outcome.SKIP:
            raise BadInput("bisect-end-does-not-run", f"The {end} end tells nothing: {look.why}", "Both ends have to run.",
                           f"name another:  bitten bisect --{end} REV …")
        return look

    def _judge(self, runs: dict[str, list[Look]]) -> None:
        bad, good = ([each.outcome is Outcome.BAD for each in runs[end]] for end in ("bad", "good"))
        if not any(bad):
            raise BadInput("bisect-bad-is-good", f"The bad end is well: {_told(runs['bad'])}.", "There is nothing to find.",
                           "name what is missed, or another end:  bitten bisect --bad REV --expect EXPR …")
        if all(good):
            raise BadInput("bisect-good-is-bad", f"The good end is bad too: {_told(runs['good'])}.", "It was broken before.",
                           "name an older one:  bitten bisect --good REV …")
        self.noisy = self._is_noisy(runs)
        if self.noisy:
            self.rates = rates_of(good, bad, self.question.alpha, self.question.beta)

    # ------------------------------------------------------------------------------------------ one commit

    def _decided(self, commit: str) -> Tried:
        if commit in self.known:
            return self.known[commit]
        looks: list[Look] = []
        while True:
            looks.append(self._look(commit, self._where(len(looks))))
            if looks[-1].outcome is Outcome.SKIP:
                return Tried(commit, Outcome.SKIP, tuple(looks))
            outcome = self.rates.decide([each.outcome is Outcome.BAD for each in looks])
            if outcome is not None:
                return Tried(commit, outcome, tuple(looks))

    def _where(self, runs: int) -> str:
        left = len(self.search.suspects)
        again = f", run {runs + 1}" if runs else ""
        return f"{left} commits left, about {self.search.tries} to try{again}"

    def _look(self, commit: str, where: str) -> Look:
        name = commit if commit == WORK else self.bench.history.told(commit).short
        with self.bench.progress(f"{name}: {where}"), self.bench.sandbox.copy(self.bench.allowed) as copy:
            try:
                copy.write(self.bench.history.files(commit) if commit != WORK else {})
            except Unable as why:  # a folder stands where it has a file, or the like: it tells nothing, and the others are tried
                return Look(Outcome.SKIP, tuple(None for _ in self.question.expected), " ".join(str(why).split()))
            seen = copy.run(self.question.command, timeout=self.question.timeout, instruments=self.question.instruments)
        return self._measured(seen) if self.question.expected else self._shown(seen, commit)

    def _measured(self, seen: Observed) -> Look:
        """A run that failed and was kept from something tells nothing: it may have failed by that."""
        expected = self.question.expected
        values = tuple(_value(each, seen) for each in expected)
        held = [each.holds(seen.facts) for each in expected]
        unmeasured = [each.fact for each, truth in zip(expected, held, strict=True) if truth is None]
        may_fail = not seen.refused and any(each.fact in ("exit", "signal") for each in expected)
        if unmeasured or not (seen.run.ended_well or may_fail):
            return Look(Outcome.SKIP, values, _why(seen, f"{', '.join(unmeasured)} was never measured" if unmeasured else ""))
        return Look(Outcome.GOOD if all(held) else Outcome.BAD, values, _kept_from(seen))

    def _shown(self, seen: Observed, commit: str) -> Look:
        """The bad end's first failure says what is looked for, where nobody else did."""
        shown = shows(seen, ())
        self.signature = self.signature or (shown if commit == self.bad else "")
        if not shown:
            return Look(Outcome.GOOD, "it is well", _kept_from(seen))
        if shown == self.signature:
            return Look(Outcome.BAD, shown, _kept_from(seen))
        return Look(Outcome.SKIP, shown, _why(seen, ""))


def _value(each: Prediction, seen: Observed) -> Json:
    """Of a text only whether it is as expected: what else it says need not be the same twice."""
    measured = seen.facts.get(each.fact)
    return measured if number(measured) is not None else each.holds(seen.facts)


def _why(seen: Observed, missing: str) -> str:
    """Why a run says neither good nor bad, with what the copy kept from it."""
    crash = next((each for each in seen.crashes if each.role == "root"), None)
    failed = f"{crash.type}: {crash.message}"[:160] if crash else "" if seen.run.ended_well else ending(seen.run)
    return ". ".join(part for part in (failed, missing, _kept_from(seen)) if part)


def _kept_from(seen: Observed) -> str:
    return next(iter(seen.refused), "")


def _told(looks: Sequence[Look]) -> str:
    values = dict.fromkeys(str(each.value if not isinstance(each.value, tuple) else ", ".join(map(str, each.value))) for each in looks)
    return "; ".join(values)


def plain(tried: Tried) -> dict[str, Json]:
    """As JSON holds it."""
    looks = [[each.outcome.value, list(each.value) if isinstance(each.value, tuple) else each.value, each.why] for each in tried.looks]
    return {"commit": tried.commit, "outcome": tried.outcome.value, "end": tried.end, "looks": looks}


def from_plain(told: Mapping[str, Json]) -> Tried:
    """Raises: KeyError, TypeError, ValueError for what is none."""
    looks = (Look(Outcome(outcome), tuple(value) if isinstance(value, list) else value, why) for outcome, value, why in told["looks"])
    return Tried(str(told["commit"]), Outcome(told["outcome"]), tuple(looks), str(told["end"]))

"""What a playbook's author imports: when it wakes, what it suspects, what would decide it. Knows no file and no process.

    @playbook("labels-off-by-one", wakes_on=r"IndexError: Target \\d+ is out of bounds")
    def labels_off_by_one(seen):
        yield suspect("the labels run 1..N where the loss wants 0..N-1", because="the class axis ends just below the label",
                      supports_if="labels.shift == 1", refutes_if="labels.shift == 0", probe=True)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from .core.case import Change, Check, Hypothesis, Likelihood
from .core.failure import Crash, Failure, Sighting
from .core.prediction import Facts, Json, Prediction, parse
from .core.trouble import gate

__all__ = ["Change", "Playbook", "Prediction", "Seen", "Suspect", "playbook", "suspect"]


@dataclass(frozen=True)
class Suspect:
    """A claim with its two predictions, as an author writes it. `prior_source` says where the likelihood comes from.

    `probe` says that this playbook's own probe reads the fact; `change` that an intervention decides it.
    """

    claim: str
    because: str
    supports_if: str
    refutes_if: str = ""
    kind: str = ""
    likelihood: str = "possible"
    prior_source: str = ""
    probe: bool = False
    change: Change | None = None
    looks_like: tuple[str, ...] = ()
    cure: str = ""
    scope: tuple[str, ...] = ()
    place: str = ""
    generic: bool = False

    def __post_init__(self) -> None:
        gate(bool(self.refutes_if.strip()), "suspect-without-refutation", f"Nothing would refute: {self.claim}.",
             "What can't be wrong can't be checked.", "give it a refutes_if, such as 'labels.shift == 0'")

    def hypothesis(self, playbook: str, probe: str, seen: Seen) -> Hypothesis:
        """The hypothesis, without an id: whoever adds it to a case knows which are free."""
        check = Check(parse(self.supports_if), parse(self.refutes_if), (probe,) if self.probe else (), self.change)
        return Hypothesis("", self.claim, self.because, check, f"playbook:{playbook}", _likelihood(self.likelihood, check, seen.facts),
                          self.kind, self.scope, self.place or (seen.place if self.probe else ""), self.looks_like, self.cure, self.generic)


suspect = Suspect
"""The name that reads well after `yield`."""


def _likelihood(prior: str, check: Check, facts: Facts) -> Likelihood:
    """The prior, unless captured facts already lean one way."""
    supports, refutes = (each.holds(facts) is True for each in (check.supports_if, check.refutes_if))
    if supports is not refutes:
        return Likelihood.LIKELY if supports else Likelihood.UNLIKELY
    return Likelihood(prior)


@dataclass(frozen=True)
class Seen:
    """What an author looks at: the failure, the text that woke the playbook, and what its probe read."""

    failure: Failure
    match: re.Match[str]
    sighting: Sighting | None = None

    @property
    def root(self) -> Crash | None:
        return self.failure.root

    @cached_property
    def facts(self) -> Facts:
        """The failure's facts, and over them those that this playbook's probe read."""
        return {**self.failure.facts, **(self.sighting.facts if self.sighting else {})}

    def fact(self, name: str, default: Json = None) -> Json:
        value = self.facts.get(name)
        return default if value is None else value

    @property
    def place(self) -> str:
        """Where the probe read, as `FILE:NAME`; else the innermost line of the person's own code."""
        if self.sighting:
            return self.sighting.place
        site = self.root.site if self.root else None
        return f"{site.file}:{site.function}" if site else ""

    @property
    def name(self) -> str:
        """The function or class of the place, for use in a sentence."""
        return self.place.partition(":")[2] or "the program"


Propose = Callable[[Seen], Iterable[Suspect]]


@dataclass(frozen=True)
class Playbook:
    """What is known of a failure class. Its probe's name is that of its folder: its own name with underscores."""

    name: str
    wakes_on: re.Pattern[str]
    propose: Propose

    @property
    def probe(self) -> str:
        return self.name.replace("-", "_")

    def see(self, failure: Failure) -> Seen | None:
        """What this playbook sees in a failure; None when it does not wake."""
        match = next(filter(None, map(self.wakes_on.search, _texts(failure))), None)
        return Seen(failure, match, _sighting(failure, self.probe)) if match else None

    def suspects(self, failure: Failure) -> tuple[Hypothesis, ...]:
        seen = self.see(failure)
        return tuple(each.hypothesis(self.name, self.probe, seen) for each in self.propose(seen)) if seen else ()


def playbook(name: str, *, wakes_on: str) -> Callable[[Propose], Playbook]:
    """Make a playbook of a generator of suspects. `wakes_on` is searched for in "Type: message" of each crash, then in the output."""
    return lambda propose: Playbook(name, re.compile(wakes_on, re.M), propose)


def _texts(failure: Failure) -> Iterator[str]:
    yield from (f"{crash.type}: {crash.message}" for crash in sorted(failure.crashes, key=lambda crash: crash.role != "root"))
    yield from (str(failure.facts.get(stream) or "") for stream in ("stderr", "stdout"))


def _sighting(failure: Failure, probe: str) -> Sighting | None:
    """The sighting that matters: a finding before none, in the process of the root crash before others; the last of equals."""
    process = failure.root.process if failure.root else ""
    mine = [each for each in failure.sightings if each.probe == probe]
    return max(reversed(mine), key=lambda each: (each.finding, each.process == process), default=None)

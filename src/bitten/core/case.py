"""The first half of the chain: hypothesis, evidence, confirmation; each is made from the one before it.

A value that lacks its evidence can't be made: its constructor refuses, and names what would open the gate. So the order of
work is a matter of types. Nothing here knows how a fact was measured, where an event is kept, or what it looks like on a screen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from .failure import Run
from .noun import noun
from .prediction import Facts, Json, Prediction
from .trouble import gate


class Verdict(str, Enum):
    SUPPORTS = "supports"
    REFUTES = "refutes"
    UNCLEAR = "unclear"


class Likelihood(str, Enum):
    """Words, until a calibration table earns numbers."""

    LIKELY = "likely"
    POSSIBLE = "possible"
    UNLIKELY = "unlikely"


@noun
class Change:
    """An intervention: the same command under another condition, in a copy, with a control run beside it.

    `tree` is a revision whose files the copy gets; `env` sets variables; `bare` drops all but the few that programs need; `turns`
    change a condition inside the program itself, such as `lr=0.5` or `workers=0`.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    tree: str = ""
    bare: bool = False
    turns: tuple[str, ...] = ()


@noun
class Script:
    """A command of its own, or a patch that adds prints and assertions, applied to the copy alone.

    Either gives facts as printed lines: `bitten-fact name=json`.
    """

    argv: tuple[str, ...] = ()
    patch: str = ""


@noun
class Check:
    """An attempt to decide a hypothesis: what would support it and what would refute it, named before anybody looks.

    With no probes, change or script it reads the captured facts alone.
    """

    supports_if: Prediction
    refutes_if: Prediction
    probes: tuple[str, ...] = ()
    change: Change | None = None
    script: Script | None = None

    def __post_init__(self) -> None:
        gate(self.supports_if != self.refutes_if, "check-decides-nothing",
             "The same fact would support and refute this hypothesis.", way="give --refutes-if another fact or value")


@noun
class Hypothesis:
    """A claim with a check. `scope` is where its cause would be mended, `looks_like` what else would look the same."""

    id: str
    claim: str
    because: str
    check: Check
    source: str
    likelihood: Likelihood = Likelihood.POSSIBLE
    kind: str = ""
    scope: tuple[str, ...] = ()
    place: str = ""
    looks_like: tuple[str, ...] = ()
    cure: str = ""
    generic: bool = False

    def same_claim(self, other: Hypothesis) -> bool:
        """Whether the other makes the same claim with the same prediction."""
        mine, theirs = (" ".join(h.claim.casefold().split()) for h in (self, other))
        return self.check.supports_if == other.check.supports_if and mine == theirs


@noun
class Evidence:
    """The facts and raw output gathered for one hypothesis. Its verdict is read off the facts; nobody gets to write it.

    `run` is None when captured facts sufficed; `place` is where the deciding fact was measured; `unclear` says what may
    have changed the run (a refusal, the missing network, a time-out), and the flag that lifts it; `output` names its folder.
    """

    hypothesis: Hypothesis
    facts: Facts
    run: Run | None = None
    place: str = ""
    unclear: str = ""
    output: str = ""

    @property
    def verdict(self) -> Verdict:
        check = self.hypothesis.check
        supports, refutes = (each.holds(self.facts) is True for each in (check.supports_if, check.refutes_if))
        if self.holds_unchanged:
            supports, refutes = False, not self.facts.get("control.shows")
        if self.unclear or supports is refutes:
            return Verdict.UNCLEAR
        return Verdict.SUPPORTS if supports else Verdict.REFUTES

    @property
    def holds_unchanged(self) -> bool:
        """Whether the control run bears out already what is predicted of the changed one: then it is not the change that matters.

        That refutes where the control run is well; where it fails, the fact does not tell the failure, and decides nothing.
        """
        predicted = self.hypothesis.check.supports_if
        if not predicted.fact.startswith("changed."):
            return False
        return Prediction("control." + predicted.fact.removeprefix("changed."), predicted.op, predicted.value).holds(self.facts) is True

    @property
    def deciding(self) -> tuple[str, Json]:
        """The fact that decides, and its measured value."""
        fact = self.hypothesis.check.supports_if.fact
        return fact, self.facts.get(fact)


@noun
class Rejection:
    """A person's no to a hypothesis, in spite of any support."""

    hypothesis: Hypothesis
    reason: str

    def __post_init__(self) -> None:
        gate(bool(self.reason.strip()), "reject-without-reason", "A rejection needs its reason.",
             way=f'bitten reject {self.hypothesis.id} "why it is not so"')


PERSON_CHANNELS = frozenset({"terminal", "claude-code prompt", "notebook cell"})
"""The channels that only a person uses. A program that drives one can't be told from a person: see the docs on gates."""


@noun
class Scope:
    """Where a fix may touch: `FILE` or `FILE:NAME` (a function, class or method); `test` is the path of its test."""

    parts: tuple[str, ...]
    test: str

    @property
    def files(self) -> tuple[str, ...]:
        """The files that a fix may touch, its test last."""
        return tuple(dict.fromkeys((*(part.partition(":")[0] for part in self.parts), self.test)))

    def covers(self, touched: str) -> bool:
        """Whether `FILE` or `FILE:NAME` lies inside: a whole file holds its names, a class its methods."""
        return any(_inside(touched, part) for part in (*self.parts, self.test) if part)


def _inside(touched: str, part: str) -> bool:
    return touched == part or touched.startswith(part + (":" if ":" not in part else "."))


@noun
class Confirmation:
    """A person has read the evidence and named the value that decided it. `tree` is the work tree at that moment."""

    evidence: Evidence
    by: str
    channel: str
    typed: str
    scope: Scope
    tree: str

    def __post_init__(self) -> None:
        h = self.evidence.hypothesis.id
        gate(self.evidence.verdict is Verdict.SUPPORTS, "confirm-without-support",
             f"The evidence for {h} does not support it.", way=f"bitten check {h}")
        gate(self.channel in PERSON_CHANNELS, "confirm-not-a-person",
             "Only a person who has read the evidence confirms.", f"This came by {self.channel}.",
             f"in a terminal, type:  bitten confirm {h}")
        gate(reads(self.typed, self.evidence.deciding[1]), "confirm-wrong-value",
             f"{self.typed!r} is not the value that decided {h}.", "It stands in the evidence above.", f"bitten confirm {h}")


def reads(typed: str, value: Json) -> bool:
    """Whether what a person typed is this value, spelling of numbers and quotes apart."""
    typed = typed.strip()
    if not typed:
        return False
    try:
        return bool(json.loads(typed) == value)
    except ValueError:
        return typed.casefold() == (value if isinstance(value, str) else json.dumps(value)).casefold()


@noun
class Note:
    """Words of a person: `about` is expected, tried or symptom. Or of an agent: scope, which it proposes and a person agrees to or not.

    Or of bitten's own: linked, to another case; stray, what changed during an agent's call without leave.
    """

    about: str
    text: str


IMPORTED = "imported from "
"""How a note (`linked`) begins that says that a case came in a file: its commands are a stranger's."""


@noun
class Recurrence:
    """The same command failed again with the same signature, or (`passed`) ran well."""

    run: Run
    passed: bool = False


@noun
class Rescope:
    """A person widened or narrowed where the fix may touch."""

    confirmation: Confirmation
    scope: Scope


@noun
class Withdrawal:
    """The way back: what did not hold, and what was learnt. `to_step_two` takes the confirmation off with the fix."""

    slug: str
    reason: str
    learnt: Facts = field(default_factory=dict)
    to_step_two: bool = True


@noun
class Visit:
    """One command of ours, from when the person called it to when it gave the terminal back (seconds since the epoch)."""

    verb: str
    began: float
    ended: float


@noun
class Reproducer:
    """A program of a few lines that fails alike. `verified` when a fresh process showed `shows`; else `why` says what stood in the way.

    `about` tells what it can't: values that were drawn anew, state that was left out. `seconds` is what finding it took.
    """

    code: str = ""
    verified: bool = False
    shows: str = ""
    why: str = ""
    about: str = ""
    seconds: float = 0.0

    @property
    def lines(self) -> int:
        return sum(1 for line in self.code.splitlines() if line.strip())


@noun
class Guard:
    """An agent's session at work on the case: `by` names its way in, `session` is the agent's own id for it.

    `alive` says that a call of the agent was seen to come through our gate; until then its gate is only advisory.
    """

    by: str
    session: str
    alive: bool = False


@noun
class Reset:
    """The hour's reset: debug.md re-read, the symptom updated, and a reproducer that shows the same failure.

    `lines` counts its lines of code; `shows` is the signature, or the missed expectation, that it showed.
    """

    symptom: str
    script: str
    lines: int
    shows: str
    failure: str

    def __post_init__(self) -> None:
        again = "shorten it, then:  bitten reset --script FILE"
        gate(0 < self.lines <= 10, "reproducer-too-long", f"The reproducer has {self.lines} lines of code; ten at most.",
             "If it can't be shown in ten lines, it is not understood yet.", again)
        gate(self.shows == self.failure, "reproducer-shows-another", "The reproducer does not show this failure.",
             f"It showed: {self.shows or 'nothing'}.", "make it fail as the case does, then:  bitten reset --script FILE")


@noun
class Drop:
    """The case is given up; nothing of it is lost."""

    reason: str

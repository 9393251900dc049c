"""The nouns of a case: each is made from the one before it, so the order of work is a matter of types.

A value that lacks its evidence can't be made: its constructor refuses, and names what would open the gate.
Nothing here knows how a fact was measured, where an event is kept, or what it looks like on a screen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

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


# ---------------------------------------------------------------------------------------------- what happened


@dataclass(frozen=True)
class Command:
    """What was typed, where, and the environment changes that it needs."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One command, run once, never edited. `exit` is None when a signal or a hang ended it."""

    command: Command
    exit: int | None
    seconds: float
    signal: int | None = None
    hung: bool = False

    @property
    def ended_well(self) -> bool:
        return self.exit == 0


@dataclass(frozen=True)
class Frame:
    """One line of a stack, outermost first. `file` is relative to the project when `mine`, else as the interpreter names it."""

    file: str
    line: int
    function: str
    text: str = ""
    mine: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Crash:
    """One exception in one process. `role` is root, cause, context, or consequence of another process's."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    process: str = ""
    role: str = "root"
    handled: bool = False

    @property
    def site(self) -> Frame | None:
        """The innermost line of the person's own code."""
        return next((frame for frame in reversed(self.frames) if frame.mine), None)


@dataclass(frozen=True)
class Sighting:
    """What a probe read at one place, over so many calls. A *finding* is a fact past its threshold."""

    probe: str
    place: str
    facts: Facts
    calls: int = 1
    finding: bool = False
    process: str = ""


@dataclass(frozen=True)
class FileSeen:
    """A file the program opened: `role` is config, data or wrote. Size in bytes, modified in seconds since the epoch."""

    path: str
    role: str
    size: int = -1
    modified: float = 0.0
    count: int = 1


@dataclass(frozen=True)
class Surroundings:
    """Config and data manifest, environment, and what changed, as the program itself showed them."""

    files: tuple[FileSeen, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    head: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A run that ended badly, or one that missed an expectation, or left it unmeasured."""

    run: Run
    facts: Facts
    expected: tuple[Prediction, ...] = ()
    crashes: tuple[Crash, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    surroundings: Surroundings = Surroundings()
    tree: str = ""

    def __post_init__(self) -> None:
        gate(not self.run.ended_well or bool(self.missed), "nothing-failed",
             "A case needs a failure, and this command passed.", way="bitten run --expect 'val_acc >= 0.8' -- CMD")

    @property
    def missed(self) -> tuple[Prediction, ...]:
        """Expectations that the facts don't bear out, the never measured ones among them."""
        return tuple(each for each in self.expected if each.holds(self.facts) is not True)

    @property
    def root(self) -> Crash | None:
        return next((crash for crash in self.crashes if crash.role == "root"), None)


# ---------------------------------------------------------------------------------------------- what may explain it


@dataclass(frozen=True)
class Change:
    """An intervention: the same command under another condition, in a copy, with a control run beside it.

    `tree` is a revision whose files the copy gets; `env` sets variables; `bare` drops all but the few that programs need.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    tree: str = ""
    bare: bool = False


@dataclass(frozen=True)
class Script:
    """A command of its own, or a patch that adds prints and assertions, applied to the copy alone.

    Either gives facts as printed lines: `bitten-fact name=json`.
    """

    argv: tuple[str, ...] = ()
    patch: str = ""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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
        if self.unclear or supports is refutes:
            return Verdict.UNCLEAR
        return Verdict.SUPPORTS if supports else Verdict.REFUTES

    @property
    def deciding(self) -> tuple[str, Json]:
        """The fact that decides, and its measured value."""
        fact = self.hypothesis.check.supports_if.fact
        return fact, self.facts.get(fact)


@dataclass(frozen=True)
class Rejection:
    """A person's no to a hypothesis, in spite of any support."""

    hypothesis: Hypothesis
    reason: str

    def __post_init__(self) -> None:
        gate(bool(self.reason.strip()), "reject-without-reason", "A rejection needs its reason.",
             way=f'bitten reject {self.hypothesis.id} "why it is not so"')


# ---------------------------------------------------------------------------------------------- what mends it

PERSON_CHANNELS = frozenset({"terminal", "claude-code prompt", "notebook cell"})
"""The channels that only a person uses. A program that drives one can't be told from a person: see the docs on gates."""


@dataclass(frozen=True)
class Scope:
    """Where a fix may touch: `FILE` or `FILE:NAME` (a function, class or method); `test` is the path of its test."""

    parts: tuple[str, ...]
    test: str

    def covers(self, touched: str) -> bool:
        """Whether `FILE` or `FILE:NAME` lies inside: a whole file holds its names, a class its methods."""
        return any(_inside(touched, part) for part in (*self.parts, self.test) if part)


def _inside(touched: str, part: str) -> bool:
    return touched == part or touched.startswith(part + (":" if ":" not in part else "."))


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Fix:
    """The difference from the tree at confirmation to `tree`, all of it inside the scope. `patch` is a unified diff."""

    confirmation: Confirmation
    scope: Scope
    touches: tuple[str, ...]
    patch: str
    tree: str

    def __post_init__(self) -> None:
        outside = [touch for touch in self.touches if not self.scope.covers(touch)]
        gate(not outside, "fix-outside-scope", f"The change touches {', '.join(outside)}, outside the agreed scope.",
             f"Agreed: {', '.join((*self.scope.parts, self.scope.test))}.",
             f"undo that part, or widen the scope:  bitten fix --scope {outside[0] if outside else ''}")
        gate(any(touch.split(":")[0] == self.scope.test for touch in self.touches), "fix-without-test",
             f"The change adds no test in {self.scope.test}.", "A fix is proven by a test that fails without it.",
             "write one there, or name another:  bitten fix --test PATH")
        gate(any(touch.split(":")[0] != self.scope.test for touch in self.touches), "fix-changes-nothing",
             "Only the test changed.", way=f"mend {', '.join(self.scope.parts)}, then:  bitten verify")


class Phase(str, Enum):
    """Where in its life a test's outcome was decided."""

    COLLECT = "collect"
    SETUP = "setup"
    CALL = "call"
    TEARDOWN = "teardown"


@dataclass(frozen=True)
class Outcome:
    """One test, run once: `result` is passed, failed, skipped or error; `signature` is that of what it raised."""

    test: str
    phase: Phase
    result: str
    error: str = ""
    message: str = ""
    signature: str = ""


@dataclass(frozen=True)
class TestRun:
    """The fix's test, run on one tree."""

    __test__ = False  # pytest would collect it by its name

    run: Run
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        return self.run.ended_well and bool(self.outcomes) and all(o.result == "passed" for o in self.outcomes)


@dataclass(frozen=True)
class Rerun:
    """The original command, run on the fix, held to what was expected."""

    run: Run
    facts: Facts
    expected: tuple[Prediction, ...] = ()

    @property
    def missed(self) -> tuple[Prediction, ...]:
        return tuple(each for each in self.expected if each.holds(self.facts) is not True)

    @property
    def passes(self) -> bool:
        return self.run.ended_well and not self.missed


@dataclass(frozen=True)
class Verification:
    """Proof: red on the base, green on the fix, the command passes, and the confirming check now refutes the cause."""

    fix: Fix
    red: TestRun
    green: TestRun
    rerun: Rerun
    again: Evidence

    def __post_init__(self) -> None:
        red_is_real(self.red, self.fix)
        green_is_real(self.green, self.red)
        gate(self.rerun.passes, "command-still-fails", "The original command still fails with the fix.",
             _why_not(self.rerun), "bitten check")
        cause_is_gone(self.again, self.fix.confirmation.evidence)


def red_is_real(red: TestRun, fix: Fix) -> None:
    """Refuse a test that is not red on the base in its call phase, by an assertion or with the case's own signature."""
    test, rewrite = fix.scope.test, "make it fail without the fix, then:  bitten verify"
    gate(bool(red.outcomes), "test-not-found", f"No new or changed test was found in {test}.", way=rewrite)
    gate(not red.run.hung, "test-hangs-on-base", "The new test did not end on the base.", way=rewrite)
    failed = [outcome for outcome in red.outcomes if outcome.result in ("failed", "error")]
    skipped = [outcome for outcome in red.outcomes if outcome.result == "skipped"]
    gate(bool(failed) or not skipped, "test-skipped-on-base", f"The new test is skipped on the base: {test}.", way=rewrite)
    gate(bool(failed), "test-green-on-base", f"The new test passes without the fix: {test}.",
         "A test that can't fail proves nothing.", rewrite)
    early = [outcome for outcome in failed if outcome.phase is not Phase.CALL]
    gate(not early, "test-breaks-before-call",
         f"On the base the new test breaks in its {early[0].phase.value if early else ''} phase.",
         f"{early[0].error}: {early[0].message}" if early else "", "do the failing import inside the test's body, then:  bitten verify")
    wrong = [outcome for outcome in failed if not _speaks(outcome, fix)]
    gate(not wrong, "test-red-for-another-reason",
         f"On the base the new test fails by {wrong[0].error if wrong else ''}, not by an assertion nor as the case did.",
         wrong[0].message if wrong else "", rewrite)


def green_is_real(green: TestRun, red: TestRun) -> None:
    """Refuse unless every test that was red passes with the fix, and no other was run."""
    gate(green.passed, "test-red-on-fix", "The new test does not pass with the fix.", _first_error(green), "bitten show --evidence")
    gate(_same_tests(red, green), "test-changed-between-runs", "Red and green are not the same tests.", way="bitten verify")


def _speaks(outcome: Outcome, fix: Fix) -> bool:
    """An assertion speaks for itself; another error only when it is the case's own."""
    case = fix.confirmation.evidence.facts.get("signature")
    return outcome.error.split(".")[-1] in ("AssertionError", "Failed") or (bool(case) and outcome.signature == case)


def cause_is_gone(again: Evidence, confirmed: Evidence) -> None:
    """Refuse unless the confirming check completed on the fix, measured the same fact at the same place, and refutes."""
    fact, value = again.deciding
    h = again.hypothesis.id
    gate(again.hypothesis == confirmed.hypothesis, "check-is-another", "Another check was run on the fix.", way="bitten verify")
    gate(not again.unclear, "check-incomplete-on-fix", f"The check of {h} did not complete on the fix.", again.unclear, "bitten show --evidence")
    gate(value is not None, "check-measured-nothing-on-fix", f"On the fix the check of {h} did not measure {fact}.",
         "What was not measured is no proof.", "bitten show --evidence")
    gate(again.place == confirmed.place, "check-measured-elsewhere",
         f"On the fix {fact} was measured at {again.place}, not at {confirmed.place}.", way="bitten show --evidence")
    gate(again.verdict is Verdict.REFUTES, "cause-still-there",
         f"The confirmed cause is still there: {fact} = {json.dumps(value)}.",
         "The symptom may be gone, but the check still says so.", f"bitten check {h}")


def _same_tests(red: TestRun, green: TestRun) -> bool:
    return {o.test for o in red.outcomes} == {o.test for o in green.outcomes}


def _first_error(tests: TestRun) -> str:
    bad = next((o for o in tests.outcomes if o.result != "passed"), None)
    return f"{bad.test}: {bad.error}: {bad.message}" if bad else "It was not found, or did not end."


def _why_not(rerun: Rerun) -> str:
    if not rerun.run.ended_well:
        return f"It ended with {ending(rerun.run)}."
    return " ".join(f"Expected {each}; measured {json.dumps(rerun.facts.get(each.fact))}." for each in rerun.missed)


def ending(run: Run) -> str:
    """How a run ended, in words."""
    if run.hung:
        return "no end: it hung"
    return f"signal {run.signal}" if run.signal else f"exit {run.exit}"


@dataclass(frozen=True)
class Lesson:
    """What to remember. `text` is the entry for "Things that have bitten us"; empty when only local, with the reason."""

    verification: Verification
    text: str
    local: str = ""

    def __post_init__(self) -> None:
        gate(bool(self.text.strip()) is not bool(self.local.strip()), "lesson-or-reason",
             "A lesson is written down, or declined with a reason.", way='bitten learn, or: bitten learn --local "why"')


@dataclass(frozen=True)
class Closing:
    """The win: one commit of fix, test and lesson; outside a repository `commit` is empty and fix.patch stays."""

    lesson: Lesson
    commit: str
    note: str


# ---------------------------------------------------------------------------------------------- what else a case remembers


@dataclass(frozen=True)
class Note:
    """Words of a person. `about` is expected, tried or symptom."""

    about: str
    text: str


@dataclass(frozen=True)
class Recurrence:
    """The same command failed again with the same signature, or (`passed`) ran well."""

    run: Run
    passed: bool = False


@dataclass(frozen=True)
class Rescope:
    """A person widened or narrowed where the fix may touch."""

    confirmation: Confirmation
    scope: Scope


@dataclass(frozen=True)
class Withdrawal:
    """The way back: what did not hold, and what was learnt. `to_step_two` takes the confirmation off with the fix."""

    slug: str
    reason: str
    learnt: Facts = field(default_factory=dict)
    to_step_two: bool = True


@dataclass(frozen=True)
class Visit:
    """One command of ours, from when the person called it to when it gave the terminal back (seconds since the epoch)."""

    verb: str
    began: float
    ended: float


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Drop:
    """The case is given up; nothing of it is lost."""

    reason: str

"""Step 3: run what would decide, in throw-away copies, and let the facts speak. Does not know what a hypothesis means.

All checks that only watch share one run; an intervention has that run as its control.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from bitten.core import intervening
from bitten.core.case import Change, Evidence, Hypothesis, Script, Verdict
from bitten.core.failure import Command, Failure
from bitten.core.ladder import Case
from bitten.core.ports import Allowed, Copy, EvidenceRoom, Observed, Repo, Sandbox
from bitten.core.prediction import Facts, Prediction
from bitten.core.rank import runs
from bitten.core.trouble import Trouble
from bitten.steps.capture import shortened, shows
from bitten.steps.diagnose import facts_for, sighting

SCRIPT_SECONDS = 600.0
ALWAYS = "nan"
"""The instrument that watches every intervention inside a program: whether numbers stayed finite is half of what changes there."""
TURNS = "turns"
"""Asked for by name it changes nothing, and counts steps."""


@dataclass(frozen=True)
class Bench:
    """Where checks are done: copies, the tree's history, a place for raw output, what the person allows, and for how long.

    `instruments` are the names of all that there are.
    """

    sandbox: Sandbox
    repo: Repo
    room: EvidenceRoom
    allowed: Allowed = Allowed()
    timeout: float | None = None
    instruments: Collection[str] = ()


def check(case: Case, wanted: Sequence[Hypothesis], bench: Bench, *, on_base: bool = True, place: str = "") -> Iterator[Evidence]:
    """Evidence for each hypothesis, one after the other as it comes.

    `on_base`: the tree should show the failure, and evidence from a run that doesn't show it is unclear. Otherwise the
    run has to complete, and the fact is looked for at `place` first.
    """
    asks = _Asks(case, bench, on_base, place)
    control = asks.control(wanted)
    for hypothesis in wanted:
        yield asks.evidence(hypothesis, control)


def cost(case: Case, wanted: Sequence[Hypothesis]) -> float:
    """Expected seconds, by how long the failing run took. Checks that share a run pay for it once."""
    lone = sum(runs(h.check) - 1 for h in wanted if h.check.change) + sum(1 for h in wanted if h.check.script)
    shared = any(h.check.probes or h.check.change for h in wanted)
    return (lone + shared) * case.failure.run.seconds


@dataclass(frozen=True)
class _Asks:
    case: Case
    bench: Bench
    on_base: bool
    place: str

    @property
    def failure(self) -> Failure:
        return self.case.failure

    @property
    def command(self) -> Command:
        return self.failure.run.command

    @property
    def expected(self) -> Sequence[Prediction]:
        return self.case.expected

    @property
    def timeout(self) -> float | None:
        """Where the failure should come back it has to come about as soon; a run that passes may take as long as it takes."""
        return self.bench.timeout or (max(60.0, 5 * self.failure.run.seconds) if self.on_base else None)

    def control(self, wanted: Sequence[Hypothesis]) -> Observed | None:
        """The command as it is, watched by the probes; shared by all who need it."""
        if not any(not each.check.script for each in wanted):
            return None
        with self.bench.sandbox.copy(self.bench.allowed) as copy:
            return copy.run(self.command, watch=True, timeout=self.timeout, instruments=self.armed(wanted))

    def armed(self, wanted: Sequence[Hypothesis]) -> list[str]:
        """The instruments that measure what is expected and what these predict, or that their checks name."""
        checks = [each.check for each in wanted if each.check.script is None]
        predicted = [*self.expected, *(side for each in checks for side in (each.supports_if, each.refutes_if))]
        turned = [TURNS, ALWAYS] if any(each.change and each.change.turns for each in checks) else []
        named = [name for each in checks for name in each.probes]
        wants = {*intervening.instruments_for(predicted, self.bench.instruments), *named, *turned}
        return [name for name in (TURNS, *sorted(self.bench.instruments)) if name in wants]

    def evidence(self, hypothesis: Hypothesis, control: Observed | None) -> Evidence:
        """What the check gave. One that can't be done leaves its hypothesis unclear, and does not keep the others waiting."""
        try:
            return self._asked(hypothesis, control)
        except Trouble as trouble:
            return Evidence(hypothesis, {}, unclear=f"It could not be done: {trouble}")

    def _asked(self, hypothesis: Hypothesis, control: Observed | None) -> Evidence:
        if hypothesis.check.script is not None:
            return self._scripted(hypothesis, hypothesis.check.script)
        assert control is not None
        if hypothesis.check.change is not None:
            return self._changed(hypothesis, hypothesis.check.change, control)
        return self._watched(hypothesis, control)

    def _watched(self, hypothesis: Hypothesis, seen: Observed) -> Evidence:
        spot = sighting(hypothesis.check, seen.sightings, self.place)
        facts = facts_for(hypothesis.check, {**seen.facts, "signature": shows(seen, self.expected)}, spot)
        return self._kept(hypothesis, seen, facts, self._doubt(seen), spot.place if spot else "")

    def _changed(self, hypothesis: Hypothesis, change: Change, control: Observed) -> Evidence:
        armed = self.armed([hypothesis])
        with self.bench.sandbox.copy(self.bench.allowed) as copy:
            changed = copy.run(self._under(change, copy), bare=change.bare, timeout=self.timeout, instruments=armed, turns=change.turns)
        wanted = [intervening.plain(side.fact) for side in (hypothesis.check.supports_if, hypothesis.check.refutes_if)]
        sides = (intervening.beside(seen.facts, seen.sightings, armed, wanted) for seen in (control, changed))
        facts = {**dict(intervening.both(*sides)), **self._comparison(change, control, changed)}
        doubt = self._doubt(control) or _kept_from(changed) or self._undecided(hypothesis, change, control, changed, facts)
        return self._kept(hypothesis, changed, facts, doubt)

    def _undecided(self, hypothesis: Hypothesis, change: Change, control: Observed, changed: Observed, facts: Facts) -> str:
        """Why two runs side by side decide nothing."""
        supports_if = hypothesis.check.supports_if
        if not self.on_base:
            return self._unproven(hypothesis, facts)
        if nothing := intervening.unapplied(change.turns, facts) or intervening.told_beforehand(change.turns, supports_if):
            return nothing
        if change.turns and (short := intervening.fell_short(facts, intervening.CHANGED, self._to_reach(changed, facts))):
            return f"Under {', '.join(change.turns)} it ended before that: {short}"
        if not changed.run.ended_well and (otherwise := intervening.failed_otherwise(change.turns, supports_if, facts)):
            return otherwise
        if Evidence(hypothesis, facts).holds_unchanged:
            told = f"{intervening.CONTROL}{intervening.plain(supports_if.fact)}"
            return f"Without the change too {told} = {facts[told]}, while it fails: this fact does not tell the failure."
        return intervening.vanished_alone(change.turns, supports_if, facts, self._missed_a_measured_one(control))

    def _unproven(self, hypothesis: Hypothesis, facts: Facts) -> str:
        """On a fix it is the control run that has to come as far as the failure did, and to be well there."""
        before, evidence = self.case.latest(hypothesis), Evidence(hypothesis, facts)
        known = before.facts if before else {}
        if short := intervening.fell_short(facts, intervening.CONTROL, intervening.symptom_step(known)):
            return short
        if evidence.verdict is Verdict.SUPPORTS:
            return ""
        if shown := facts["control.shows"]:
            return f"Without the change it still shows: {shown}."
        predicted = hypothesis.check.supports_if, hypothesis.check.refutes_if
        return "" if evidence.holds_unchanged else intervening.as_before(*predicted, facts, known)

    def _to_reach(self, changed: Observed, facts: Facts) -> int | None:
        """The step that a changed run has to reach: one that came to its own end need not have as many as another that crashed."""
        found = facts.get(f"{intervening.CONTROL}step")
        return intervening.symptom_step(facts) if not changed.run.ended_well or found is not None else None

    def _missed_a_measured_one(self, control: Observed) -> bool:
        """Whether the failure is an expectation that is missed by its value, and not by how the run ended."""
        missed = [each for each in self.expected if each.holds(control.facts) is False and each.fact not in intervening.ENDS]
        return bool(missed) and shows(control, self.expected).startswith("missed:")

    def _under(self, change: Change, copy: Copy) -> Command:
        """The command under another condition; a revision's files are laid into the copy first."""
        if change.tree:
            paths = self.bench.repo.changed_since(change.tree)
            copy.write(self.bench.repo.files_at(change.tree, paths))
        return replace(self.command, env={**self.command.env, **change.env})

    def _comparison(self, change: Change, control: Observed, changed: Observed) -> Facts:
        """`symptom.depends` is measured only where the control run speaks: both show it, only the control does, or it does not."""
        here, there = shows(control, self.expected), shows(changed, self.expected)
        facts: dict[str, object] = {**intervening.turned(change.turns, changed.sightings), "control.exit": control.run.exit,
                                    "changed.exit": changed.run.exit, "control.shows": here, "changed.shows": there, "signature": here}
        if not there or there == here or not (here or self.on_base):
            facts[intervening.DEPENDS] = bool(here) and not there
        return facts

    def _scripted(self, hypothesis: Hypothesis, script: Script) -> Evidence:
        with self.bench.sandbox.copy(self.bench.allowed) as copy:
            if script.patch:
                copy.apply(script.patch)
            command = Command(script.argv, self.command.cwd, self.command.env) if script.argv else self.command
            seen = copy.run(command, watch=not script.argv, timeout=self.bench.timeout or SCRIPT_SECONDS)
        facts = facts_for(hypothesis.check, {**seen.facts, "signature": self.failure.facts.get("signature")}, None)
        doubt = _kept_from(seen) or ("" if self.on_base else _not_completed(seen))
        return self._kept(hypothesis, seen, facts, doubt, hypothesis.place)

    def _doubt(self, seen: Observed) -> str:
        """Why the run can't carry a verdict. A refusal that left the same failure behind has changed nothing."""
        shown = shows(seen, self.expected)
        if self.on_base:
            if shown == self.failure.facts.get("signature"):
                return ""
            return _kept_from(seen) or f"The failure did not show itself in the copy; it showed: {shown or 'a run that passes'}."
        return _kept_from(seen) or _not_completed(seen)

    def _kept(self, hypothesis: Hypothesis, seen: Observed, facts: Facts, doubt: str, place: str = "") -> Evidence:
        patch = hypothesis.check.script.patch if hypothesis.check.script else ""
        output = self.bench.room.keep(
            hypothesis.id if self.on_base else f"{hypothesis.id}-on-fix", seen, {"script.patch": patch} if patch else {}
        )
        named = (hypothesis.check.supports_if, hypothesis.check.refutes_if)
        return Evidence(hypothesis, shortened(facts, named), seen.run, place, doubt, output)


def _kept_from(seen: Observed) -> str:
    """What the copy refused, or that the run did not end: either may have changed it."""
    if seen.run.hung:
        return f"It did not end within {seen.run.seconds:.0f} s: --timeout SECONDS gives it longer."
    return " ".join(seen.refused)


def _not_completed(seen: Observed) -> str:
    if seen.run.ended_well:
        return ""
    why = f"{seen.crashes[0].type}: {seen.crashes[0].message}" if seen.crashes else f"exit {seen.run.exit}"
    return f"It did not complete: {why}."

"""What a playbook's tests import: `prove` runs its programs and holds each verdict against what it should be. Knows no case.

The programs run as children of this interpreter, in a copy of their folder, so what they import must be installed here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from bitten.adapters.knowledge import load
from bitten.adapters.observe import observe, ran
from bitten.adapters.runs import invitation
from bitten.core.case import Evidence, Hypothesis, Verdict
from bitten.core.failure import Command, Failure, Run
from bitten.core.ports import Observed
from bitten.core.prediction import Facts
from bitten.playbook import Playbook

HEADINGS = ("What it looks like", "Why it happens", "How we tell", "How to cure", "When this playbook is wrong", "What to tell an agent")
LONGEST = 120.0
"""Seconds that one program may take."""


@dataclass(frozen=True)
class Proof:
    """One program of a playbook: what it should show, what it showed, and the claim that was tested."""

    program: str
    wanted: str
    got: str
    claim: str = ""
    why: str = ""

    @property
    def holds(self) -> bool:
        return self.got == self.wanted

    def __str__(self) -> str:
        verdict = self.got if self.holds else f"wanted {self.wanted}, got {self.got}"
        return "  ".join(part for part in (f"{self.program:<14}", f"{self.claim!r} ->" if self.claim else "", verdict, self.why) if part)


def prove(folder: Path) -> list[Proof]:
    """Whether a playbook keeps its word: each bite wakes it and is supported, the look-alike is refuted, the cured one runs clean
    and the check, run on it, refutes. Raises whatever the playbook raises when it can't be loaded."""
    with TemporaryDirectory(prefix="bitten-prove-") as room:
        return list(_Proving(folder.resolve(), load(folder), Path(room)).proofs())


@dataclass
class _Proving:
    folder: Path
    playbook: Playbook
    room: Path
    diseases: list[Evidence] = field(default_factory=list)

    def proofs(self) -> Iterator[Proof]:
        programs = shutil.ignore_patterns("__pycache__", "playbook.py", "probe.py")
        shutil.copytree(self.folder, self.room / "programs", ignore=programs)  # code under site-packages would pass for a library's
        yield self._readme()
        bites = sorted(path.name for path in self.folder.glob("bites*.py"))
        yield from map(self._bites, bites if len(bites) > 1 else ["bites_1.py", "bites_2.py"])
        yield self._lookalike("lookalike.py")
        yield self._cured("cured.py")

    def _readme(self) -> Proof:
        text = (self.folder / "README.md").read_text("utf-8")
        found = tuple(line[3:].strip() for line in text.splitlines() if line.startswith("## "))
        return Proof("README.md", "has its headings", "has its headings" if found == HEADINGS else f"headings {', '.join(found)}")

    def _bites(self, program: str) -> Proof:
        """The first suspect counts: it is what a person reads first."""
        suspects = self._suspects(program)
        if suspects is None:
            return Proof(program, "supports", "does not fail, or wakes nothing")
        failure, hypotheses = suspects
        evidence = self._evidence(program, failure, hypotheses[0])
        self.diseases.append(evidence)
        return _proof(program, Verdict.SUPPORTS, evidence)

    def _lookalike(self, program: str) -> Proof:
        failure, hypotheses = self._suspects(program) or (None, [])
        diseases = [evidence.hypothesis.check.supports_if for evidence in self.diseases[:1]]
        same = next((h for h in hypotheses if h.check.supports_if in diseases), None)
        if failure is None or same is None:
            return Proof(program, "refutes", "does not fail, or wakes nothing of the kind")
        return _proof(program, Verdict.REFUTES, self._evidence(program, failure, same))

    def _cured(self, program: str) -> Proof:
        """The first bite's check, at the same place; only the file has another name."""
        observed = self._run(program, watch=True)
        if not observed.run.ended_well or not self.diseases:
            return Proof(program, "refutes", "does not run clean" if self.diseases else "nothing to refute", why=observed.output[-2000:])
        disease = self.diseases[0]
        facts, place = _measured(disease.hypothesis, observed, _name(disease.place))
        return _proof(program, Verdict.REFUTES, Evidence(disease.hypothesis, facts, observed.run, place))

    def _suspects(self, program: str) -> tuple[Failure, list[Hypothesis]] | None:
        observed = self._run(program)
        if observed.run.ended_well:
            return None
        failure = Failure(observed.run, observed.facts, crashes=observed.crashes, sightings=observed.sightings)
        hypotheses = sorted(self.playbook.suspects(failure), key=lambda h: ("likely", "possible", "unlikely").index(h.likelihood.value))
        return (failure, hypotheses) if hypotheses else None

    def _evidence(self, program: str, failure: Failure, hypothesis: Hypothesis) -> Evidence:
        """From captured facts; when they don't decide, from a watched run."""
        seen = self.playbook.see(failure)
        captured = Evidence(hypothesis, seen.facts if seen else {}, place=seen.place if seen else "")
        if captured.verdict is not Verdict.UNCLEAR:
            return captured
        observed = self._run(program, watch=True)
        facts, place = _measured(hypothesis, observed, "")
        return Evidence(hypothesis, facts, observed.run, place)

    def _run(self, program: str, watch: bool = False) -> Observed:
        command = Command((sys.executable, program), str(self.room / "programs"))
        with TemporaryDirectory(dir=self.room) as spool:
            env = {**os.environ, **invitation.env_for(Path(spool), self.room / "cache", (self.folder / "probe.py",), watch, os.environ)}
            began = monotonic()
            return observe(*_ended(command, env, began), Path(spool), Path(command.cwd), str)


def _ended(command: Command, env: Mapping[str, str], began: float) -> tuple[Run, tuple[bytes, bytes, bytes]]:
    try:
        done = subprocess.run(command.argv, cwd=command.cwd, env=dict(env), capture_output=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return ran(command, None, None, monotonic() - began, hung=True), (b"", b"", b"")
    signal = -done.returncode if done.returncode < 0 else None
    run = ran(command, None if signal else done.returncode, signal, monotonic() - began)
    return run, (done.stdout, done.stderr, done.stdout + done.stderr)


def _measured(hypothesis: Hypothesis, observed: Observed, name: str) -> tuple[Facts, str]:
    """The facts of the sighting that measured what decides, and its place: the named one where a name is given, a finding first."""
    fact = hypothesis.check.supports_if.fact
    sightings = [each for each in observed.sightings if each.facts.get(fact) is not None and (not name or _name(each.place) == name)]
    best = max(sightings, key=lambda each: each.finding, default=None)
    return (best.facts, best.place) if best else ({}, "")


def _proof(program: str, wanted: Verdict, evidence: Evidence) -> Proof:
    fact, value = evidence.deciding
    measured = f"{fact} = {value} at {evidence.place or 'no place'}"
    return Proof(program, wanted.value, evidence.verdict.value, evidence.hypothesis.claim, measured)


def _name(place: str) -> str:
    return place.partition(":")[2]

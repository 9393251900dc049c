"""What a case has to tell an agent, as pieces of a prompt, each with its worth there. Asks for nothing itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

import click

from bitten.core import rank
from bitten.core.case import Check, Evidence, Hypothesis, Verdict
from bitten.core.failure import Crash, Failure
from bitten.core.ladder import Case
from bitten.interfaces import around, document, quoting, standing, text
from bitten.interfaces.pieces import Piece

LESSONS = 8
"""Those that share most words with the failure; of equals the latest."""
PRINTED = 60
"""Lines of a check's output: its last ones."""
MARKED = {"What happened": 100, "Command": 90, document.EXPECTED: 85, document.TRIED: 80, "Files to read": 75, "Reproducer": 45,
          "Config and data": 25, "What changed": 20, "Environment": 10}
"""Sections of debug.md that an agent gets as they are, with their worth. The others are told in pieces of their own."""
_DULL = frozenset(("exit", "signal", "seconds", "signature", "stdout", "stderr", "hung", "oom_kills", "peak_rss_mib", "shm_free_mib",
                   "shm_size_mib"))
"""Facts that stand elsewhere in debug.md, or say something only where it says so."""


@dataclass(frozen=True)
class Material:
    """What lies on disk beside the case: where its debug.md is, the lessons, what woken playbooks say, texts of files by path,

    the raw output of checks by hypothesis, and the file that the lessons stand in.
    """

    document: str = "debug.md"
    lessons: tuple[str, ...] = ()
    playbook_words: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    lessons_file: str = "CLAUDE.md"


def woken(case: Case) -> tuple[str, ...]:
    """The names of playbooks whose suspects stand in the case; the generic ones, offered for every failure, woke nothing."""
    mine = (each.source.partition(":") for each in case.hypotheses if not each.generic)
    return tuple(dict.fromkeys(name for kind, _, name in mine if kind == "playbook"))


def bounded(case: Case) -> Case:
    """Without the middle of texts that are so long that drawing them would take seconds."""
    facts = {name: _bounded(value) if isinstance(value, str) else value for name, value in case.failure.facts.items()}
    return _with_crashes(replace(case, failure=replace(case.failure, facts=facts)), _bounded_crash)


def _bounded_crash(crash: Crash) -> Crash:
    frames = (replace(frame, variables={name: _bounded(value) for name, value in frame.variables.items()}) for frame in crash.frames)
    return replace(crash, message=_bounded(crash.message), frames=tuple(frames))


def _bounded(value: str) -> str:
    return quoting.bounded(value) if len(value) > quoting.LONG else value


def notes(case: Case, began: float, material: Material, only: Iterable[str] = MARKED) -> Iterator[Piece]:
    """debug.md, section by section, in its own order."""
    shown = _without_what_stands_apart(case)
    told = [document.sections(each) for each in (shown, _with_crashes(shown, _no_variables), _with_crashes(shown, _mine))]
    wanted = set(only)
    title = f"{document.title(began)}\n\n"
    for heading in [heading for heading in told[0] if heading in wanted]:
        texts = tuple(dict.fromkeys(f"{title}## {heading}\n{each[heading]}" for each in told))
        yield Piece("debug.md", texts, MARKED[heading], material.document, name=heading)
        title = ""


def _without_what_stands_apart(case: Case) -> Case:
    """Data is told with what was measured on it, and all processes in one place."""
    seen = case.failure.surroundings
    files = tuple(each for each in seen.files if each.role != "data")
    return replace(case, failure=replace(case.failure, surroundings=replace(seen, files=files, manifest=(), picture=None, processes=())))


def _with_crashes(case: Case, told: Callable[[Crash], Crash]) -> Case:
    return replace(case, failure=replace(case.failure, crashes=tuple(map(told, case.failure.crashes))))


def _no_variables(crash: Crash) -> Crash:
    return replace(crash, frames=tuple(replace(frame, variables={}) for frame in crash.frames))


def _mine(crash: Crash) -> Crash:
    """The person's own frames, and the innermost one where there are none; the message goes last."""
    bare = _no_variables(crash)
    return replace(bare, frames=tuple(frame for frame in bare.frames if frame.mine) or bare.frames[-1:])


def processes(case: Case, material: Material) -> Iterator[Piece]:
    """All processes, where there were several: who reads source sees one of them."""
    lines = list(_processes(case.failure))
    if lines:
        yield Piece("Where each process stands", ("\n".join(lines),), 60, material.document,
                    "This failure has several processes, and source shows one at a time. This is all of them: ask which of them "
                    "differs, and what the others wait for.")


def _processes(failure: Failure) -> Iterator[str]:
    seen = failure.surroundings
    named = dict.fromkeys(crash.process for crash in failure.crashes)
    if seen.picture is not None:
        yield from standing.lines(seen.picture)
    if len(named) > 1 or seen.picture is not None:
        yield from map(_crashed, failure.crashes)
    if len(seen.processes) > 1:
        yield from seen.processes


def _crashed(crash: Crash) -> str:
    at = crash.site or next(reversed(crash.frames), None)
    where = f", {at.file}:{at.line} in {at.function}" if at else ""
    return f"{crash.role} · {crash.process or 'unnamed process'}: {crash.type}: {text.short(text.first_line(crash.message))}{where}"


def data(case: Case, material: Material) -> Iterator[Piece]:
    """What was read of data, what is odd about it, and what probes measured on batches."""
    lines = list(_data(case.failure))
    if lines:
        yield Piece("The data", ("\n".join(lines),), 55, "capture/manifest.json",
                    "Faults in data look like faults of the model. Look at the data first.")


def _data(failure: Failure) -> Iterator[str]:
    yield from failure.surroundings.manifest
    yield from (around.file(each) for each in failure.surroundings.files if each.role == "data")
    for each in failure.sightings:
        measured = ", ".join(f"{name} = {text.short(value)}" for name, value in each.facts.items() if value is not None)
        yield f"{'finding' if each.finding else 'measured'} by {each.probe} at {each.place}, {each.calls} calls: {measured}"


def facts(case: Case, material: Material) -> Iterator[Piece]:
    """Names by which a check can ask for what was captured already."""
    known = [f"{name} = {text.short(value)}" for name, value in case.failure.facts.items() if value is not None and name not in _DULL]
    if known:
        yield Piece("Captured facts", ("\n".join(known),), 15, material.document)


def lessons(case: Case, material: Material) -> Iterator[Piece]:
    """The lessons that may bear on it, the likeliest first."""
    if not material.lessons:
        return
    about = _words(f"{text.symptom(case.failure)} {' '.join(document.sections(case).get('Files to read', '').split())}")
    order = sorted(range(len(material.lessons)), key=lambda at: (-len(about & _words(material.lessons[at][:quoting.WIDE])), -at))
    shown = [f"- {material.lessons[at]}" for at in order[:LESSONS]]
    left = len(order) - len(shown)
    yield Piece("Things that have bitten us", ("\n".join((*shown, *([f"… {left} more"] if left else []))),), 35, material.lessons_file,
                "Lessons of this project. Say which of them applies, if one does.")


def _words(words: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", words.casefold()))


def playbooks(case: Case, material: Material) -> Iterator[Piece]:
    if material.playbook_words:
        told = "\n".join(" ".join(words.split()) for words in material.playbook_words)
        yield Piece("What is known of this kind of failure", (told,), 40, "the playbooks' README.md", ours=True)


def standing_hypotheses(case: Case, material: Material) -> Iterator[Piece]:
    """But for generic ones that nobody tested: they would say of any failure what an agent knows anyway."""
    every = [each for each in rank.shown(case, everything=True) if not is_out(case, each) and (case.latest(each) or not each.generic)]
    lines = [line for each in every for line in (*hypothesis(case, each), *_measured(case, each))]
    if lines:
        yield Piece("Hypotheses that stand", ("\n".join(lines),), 65, material.document)


def is_out(case: Case, each: Hypothesis) -> bool:
    return case.rejected(each) or case.verdict(each) is Verdict.REFUTES


def hypothesis(case: Case, each: Hypothesis) -> Iterator[str]:
    """A claim, how it is looked at, and its predictions."""
    found = case.latest(each)
    verdict = found.verdict.value if found else "untested"
    yield f"{each.id}: {each.claim} ({each.likelihood.value}, {verdict}, from {each.source})"
    if each.because and not each.generic:
        yield f"    because {each.because}"
    yield f"    look: {look(each.check)}; supported if {each.check.supports_if}, refuted if {each.check.refutes_if}"


def look(check: Check) -> str:
    """As a person would type it after `--check`; of a patch its length alone."""
    if check.script is not None:
        return f"patch of {len(check.script.patch.splitlines())} lines" if check.script.patch else shlex.join(check.script.argv)
    if check.change is not None:
        if check.change.turns:
            return f"turn:{','.join(check.change.turns)}"
        variables = " ".join(f"env:{name}={value}" for name, value in check.change.env.items())
        return f"tree:{check.change.tree}" if check.change.tree else "bare" if check.change.bare else variables
    return f"probe:{','.join(check.probes)}" if check.probes else "captured"


def _measured(case: Case, each: Hypothesis) -> Iterator[str]:
    if found := case.latest(each):
        yield f"    {_deciding(found)}"


def _deciding(found: Evidence) -> str:
    fact, value = found.deciding
    at = f" at {found.place}" if found.place else ""
    return text.why_unclear(found) or f"measured {fact} = {text.short(value)}{at}"


def refuted(case: Case, material: Material) -> Iterator[Piece]:
    """What was tried and does not hold, each with the fact or the person that says so."""
    lines = [line for each in case.hypotheses if is_out(case, each) for line in _out(case, each)]
    if lines:
        yield Piece("Refuted or rejected", ("\n".join(lines),), 70, material.document,
                    "These are listed so that they are not offered again, in these words or in others.")


def _out(case: Case, each: Hypothesis) -> Iterator[str]:
    yield f"{each.id}: {each.claim}"
    found = case.latest(each)
    if found and found.verdict is Verdict.REFUTES:
        yield f"    refuted: {_deciding(found)} (it would have taken {each.check.supports_if})"
    yield from (f"    rejected by a person: {no.reason}" for no in case.rejections if no.hypothesis == each)


def withdrawn(case: Case, material: Material) -> Iterator[Piece]:
    """Fixes that did not hold, the last one last."""
    lines = [line for number, each in enumerate(case.withdrawals, 1) for line in (
        f"fix {number} did not hold ({each.slug}): {each.reason}",
        *(f"    learnt: {name} = {text.short(value)}" for name, value in each.learnt.items()))]
    if lines:
        yield Piece("Fixes that did not hold", ("\n".join(lines),), 78, material.document,
                    "Begin from what was learnt. A fix that did not hold is not to be offered again.")


def evidence(case: Case, material: Material, only: Iterable[Hypothesis]) -> Iterator[Piece]:
    """All that was measured for each, and the end of what its check printed."""
    for each in only:
        found = case.latest(each)
        if found is None:
            continue
        lines = [*hypothesis(case, each), *_measured(case, each), *(f"    {click.unstyle(line).strip()}" for line in _others(found))]
        yield Piece("Evidence", ("\n".join(lines),), 88, material.document, name=f"evidence for {each.id}")
        if printed := material.outputs.get(each.id, "").splitlines()[-PRINTED:]:
            told = "\n".join((f"{each.id}, the last that its check printed:", *printed))
            yield Piece("Evidence", (told,), 50, f"{found.output}/output",
                        name=f"output of the check of {each.id}")


def _others(found: Evidence) -> Iterator[str]:
    """Facts beside the deciding one, which is told with its place."""
    return islice(text.facts(found), 0 if text.why_unclear(found) or found.deciding[1] is None else 1, None)

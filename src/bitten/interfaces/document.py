"""debug.md, in the recipe's own form, drawn from a case. Knows no file; the person's two sections are merged elsewhere."""

from __future__ import annotations

import datetime
import json
import re
import shlex
from collections.abc import Iterable, Iterator

from bitten.core import gating, rank
from bitten.core.case import Confirmation, Evidence, Hypothesis
from bitten.core.failure import Crash, Frame, ending
from bitten.core.ladder import Case, Link
from bitten.core.next import next_step
from bitten.core.proof import Closing, Fix, Lesson, Verification
from bitten.interfaces import around, standing, text

EXPECTED, TRIED = "What I expected", "What I've already tried"
"""The person's own sections: read back, never overwritten."""
ABOVE = 4
"""Library frames above the person's own code that are shown."""


def draw(case: Case, began: float) -> str:
    """The whole document. `began` is when the case was opened, in seconds since the epoch."""
    body = "\n".join(f"## {heading}\n\n{content}\n" for heading, content in sections(case).items())
    return f"{title(began)}\n\n{body}"


def title(began: float) -> str:
    date = datetime.datetime.fromtimestamp(began, tz=datetime.timezone.utc).astimezone().date()
    return f"# bug-{date}"


def sections(case: Case) -> dict[str, str]:
    """What stands below each heading, in the document's order; those with nothing to say are left out."""
    every = {
        "Command": _command(case),
        EXPECTED: expected(case),
        "What happened": _happened(case),
        "Where each process stands": _standing_each(case),
        TRIED: tried(case),
        "Reproducer": _reproduced(case),
        "Config and data": around.files(case),
        "Environment": around.environment(case),
        "What changed": around.changed(case),
        "Files to read": around.reading(case),
        "Hypotheses": _hypotheses(case),
        "Evidence": _evidence(case),
        "Where it stands": _stands(case),
    }
    return {heading: content for heading, lines in every.items() if (content := "\n".join(lines).strip("\n"))}


def _command(case: Case) -> Iterator[str]:
    command = case.failure.run.command
    yield from _fenced([shlex.join(command.argv)])
    yield f"\nin `{command.cwd}`; ready to paste: `run.sh`"


def expected(case: Case) -> Iterator[str]:
    """The person's words, and the expectations that were armed; an empty line of dots invites them to say it."""
    words = [note.text for note in case.notes if note.about == "expected"]
    yield words[-1] if words else ("" if case.failure.expected else "_(say here what you expected)_")
    yield from (f"- `{each}`" for each in case.failure.expected)


def _happened(case: Case) -> Iterator[str]:
    failure = case.failure
    yield f"{text.symptom(failure)}\n\n{text.origin(failure)}"
    for crash in failure.crashes:
        if crash.role == "consequence":
            yield _noticed(crash)
            continue
        yield f"\n{' · '.join(filter(None, (crash.role, crash.process)))}\n" if len(failure.crashes) > 1 else ""
        yield from _fenced(_traceback(crash))
        yield from _variables(crash)
    if not failure.crashes:
        yield ""
        yield from _fenced(str(failure.facts.get("stderr") or failure.facts.get("stdout") or "(it printed nothing)").splitlines()[-40:])
    yield from (f"\n- {each}" for each in (*failure.surroundings.ending, *failure.surroundings.notes))


def _standing_each(case: Case) -> Iterator[str]:
    picture = case.failure.surroundings.picture
    if picture is not None:
        yield from _fenced(standing.lines(picture))


def _reproduced(case: Case) -> Iterator[str]:
    found = case.reproducer
    if found is None or not found.code:
        yield f"None of ten lines: {found.why}" if found and found.why else ""
        return
    yield from _fenced(found.code.strip().splitlines())
    yield f"\nA fresh process shows the same: `{found.shows}`." if found.verified else f"\nNot verified: {found.why}"
    yield found.about


def _noticed(crash: Crash) -> str:
    """Another process's failure, folded: where this one met it."""
    at = crash.site or next(reversed(crash.frames), None)
    place = f", noticed at `{at.file}:{at.line}` in {at.function}" if at else ""
    says = next((line.strip() for line in crash.message.splitlines() if re.search(r"\w", line)), "")
    return f"\nconsequence · {crash.process}{place}: `{crash.type}: {text.short(says)}`"


def _traceback(crash: Crash) -> Iterator[str]:
    """Whole, but for what stands above the person's own code where that is long: it is how a launcher got there."""
    above = next((at for at, frame in enumerate(crash.frames) if frame.mine), 0)
    above = above if above > ABOVE else 0
    if above:
        yield f"  … {above} frames above, in {_packages(crash.frames[:above])}"
    for frame in crash.frames[above:]:
        yield f'  File "{frame.file}", line {frame.line}, in {frame.function}'
        if frame.text:
            yield f"    {frame.text.strip()}"
    yield f"{crash.type}: {crash.message}"


def _packages(frames: Iterable[Frame]) -> str:
    """The top-level names of libraries that frames stand in."""
    names = (re.sub(r".*/(?:(?:site|dist)-packages|python3\.\d+)/", "", frame.file).split("/")[0] for frame in frames)
    return ", ".join(dict.fromkeys(name.removesuffix(".py") for name in names if name))


def _variables(crash: Crash) -> Iterator[str]:
    known = [frame for frame in crash.frames if frame.variables]
    if known:
        yield "\nVariables, innermost first:\n"
        yield from _fenced(line for frame in reversed(known) for line in _of(frame))


def _of(frame: Frame) -> Iterator[str]:
    yield f"{frame.file}:{frame.line} in {frame.function}"
    yield from (f"    {name} = {value}" for name, value in frame.variables.items())


def tried(case: Case) -> Iterator[str]:
    words = [note.text for note in case.notes if note.about == "tried"]
    yield words[-1] if words else "Nothing yet."


def _hypotheses(case: Case) -> Iterator[str]:
    for each in rank.shown(case, everything=True):
        yield f"{each.id[1:]}. **{each.claim}** ({_standing(case, each)})"
        if each.because and not each.generic:
            yield f"   - because {each.because}"
        yield f"   - supported if `{each.check.supports_if}`, refuted if `{each.check.refutes_if}`"
        if each.looks_like and not each.generic:
            yield f"   - would look the same: {'; '.join(each.looks_like)}"


def _standing(case: Case, hypothesis: Hypothesis) -> str:
    verdict = case.verdict(hypothesis)
    words = [hypothesis.likelihood.value, "rejected" if case.rejected(hypothesis) else verdict.value if verdict else "untested",
             f"from {hypothesis.source}", "generic" if hypothesis.generic else ""]
    return ", ".join(word for word in words if word)


def _evidence(case: Case) -> Iterator[str]:
    for found in _latest(case):
        yield f"\n{found.hypothesis.id}: {found.verdict.value}" + (f", {found.unclear}" if found.unclear else "") + "\n"
        yield from _fenced(f"{name} = {text.short(value, 400)}" for name, value in found.facts.items() if value is not None)


def _latest(case: Case) -> list[Evidence]:
    return [found for h in case.hypotheses if (found := case.latest(h))]


def _stands(case: Case) -> Iterator[str]:
    yield from (f"- linked: {note.text}" for note in case.notes if note.about == "linked")
    yield from (f"- changed without leave, during an agent's call: {note.text}" for note in case.notes if note.about == "stray")
    yield from (f"- a fix did not hold ({each.slug}): {each.reason}" for each in case.withdrawals)
    for link in case.links:
        yield f"- {type(link).__name__.lower()}: {_told(link)}"
    if said := gating.words(case):
        yield f"- agents: {said}"
    step = next_step(case)
    yield f"- next: {step.why}: `{step.command}`"


def _told(link: Link) -> str:
    match link:
        case Confirmation(evidence=found, by=who, channel=channel, typed=typed):
            return f"{found.hypothesis.id}, by {who} in a {channel}, who read {found.deciding[0]} = {typed}"
        case Fix(touches=touches):
            return ", ".join(touches)
        case Verification(red=red, green=green, rerun=rerun):
            return (f"red on the base ({len(red.outcomes)} tests), green on the fix ({len(green.outcomes)}), "
                    f"the command {ending(rerun.run)} in {rerun.run.seconds:.1f} s, the cause refuted")
        case Lesson(text=words, local=reason):
            return words or f"local: {reason}"
        case Closing(commit=commit):
            return commit[:12] or "outside a repository: fix.patch"


def receipt(case: Case, verification: Verification) -> str:
    """A verification as JSON: what ran, how it ended, what was measured, and what held the agents that took part."""
    again = verification.again
    runs = {"red": verification.red.run, "green": verification.green.run, "command": verification.rerun.run, "check": again.run}
    told = {"touches": verification.fix.touches, "tree": verification.fix.tree, "base": verification.fix.confirmation.tree,
            "tests": {name: [[o.test, o.phase.value, o.result, o.error] for o in each.outcomes]
                      for name, each in (("red", verification.red), ("green", verification.green))},
            "runs": {name: {"exit": run.exit, "seconds": run.seconds} for name, run in runs.items() if run},
            "check": {"hypothesis": again.hypothesis.id, "place": again.place, "verdict": again.verdict.value, "facts": dict(again.facts)},
            **gating.plain(case)}
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    """A code block whose fence no line of it can close."""
    kept = list(lines)
    ticks = "`" * max([3, *(len(line) - len(line.lstrip("`")) + 1 for line in (each.strip() for each in kept) if line.startswith("```"))])
    yield ticks
    yield from kept
    yield ticks

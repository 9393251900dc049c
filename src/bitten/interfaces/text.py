"""A case on a terminal: dense, in the order a person asks. Draws what it is given; decides nothing, prints nothing."""

from __future__ import annotations

import json
import shlex
import shutil
import textwrap
from collections.abc import Iterable, Iterator

import click

from bitten.core import gating, rank
from bitten.core.case import Evidence, Hypothesis, Reproducer, Verdict
from bitten.core.failure import Crash, Failure, Run, ending
from bitten.core.ladder import Case
from bitten.core.next import next_step
from bitten.core.prediction import Facts, Json
from bitten.core.proof import Closing, TestRun, Verification
from bitten.core.trouble import Trouble

INDENT = " " * 28
MARKS = {Verdict.SUPPORTS: ("✓ supported", "green"), Verdict.REFUTES: ("✗ refuted", "red"), Verdict.UNCLEAR: ("? unclear", "yellow"),
         None: ("· untested", "bright_black")}


def trouble(error: Trouble) -> str:
    """What happened, why, and what to type."""
    lines = [
        click.style("✗ ", fg="red") + error.what,
        f"  {error.why}" if error.why else "",
        f"  way out:  {error.way}" if error.way else "",
        click.style(f"  [{error.slug}]", dim=True),
    ]
    return "\n".join(line for line in lines if line)


def title(failure: Failure) -> str:
    """What names a case's folder."""
    return failure.root.message if failure.root and failure.root.message else symptom(failure)


def command(failure: Failure) -> str:
    return shlex.join(failure.run.command.argv)


def standing(case: Case) -> str:
    return ", ".join(filter(None, ("dropped" if case.dropped else case.step.name.lower(), case.gating)))


def proof(verification: Verification) -> str:
    """What was proven, one line each."""
    again = verification.again
    fact, value = again.deciding
    rows = [("red", f"{tests(verification.red)} on the base", seconds(verification.red.run)),
            ("green", f"{tests(verification.green)} on the fix", seconds(verification.green.run)),
            ("command", f"{shlex.join(verification.rerun.run.command.argv)}: {ending(verification.rerun.run)}"
             + "".join(f", {each}" for each in verification.rerun.expected), seconds(verification.rerun.run)),
            ("cause", f"gone: {fact} = {short(value)}" + (f" at {again.place}" if again.place else ""), seconds(again.run)),
            ("scope", ", ".join(verification.fix.touches), "")]
    return click.style("✓ proven", fg="green") + "\n" + "\n".join(f"  {line}" for line in table(rows).splitlines())


def tests(run: TestRun) -> str:
    names = [outcome.test.split("::", 1)[-1] + (f" ({outcome.error.split('.')[-1]})" if outcome.error else "") for outcome in run.outcomes]
    return ", ".join(names)


def seconds(run: Run | None) -> str:
    return f"{run.seconds:.1f} s" if run else ""


def closed(case: Case) -> str:
    """The commit, and the note for the team's chat."""
    end = case.links[-1]
    assert isinstance(end, Closing)
    head = f"✓ closed, commit {end.commit[:12]}" if end.commit else "✓ closed; no repository here: the fix is in fix.patch"
    return click.style(head, fg="green") + "\n\n" + end.note


def below(case: Case, number: int, document: str, budget: float) -> str:
    """What follows the headline: where the case lies, hypotheses, the one next thing."""
    return "\n".join([f"  {_where(case, number, document)}", *_gated(case), "", *hypotheses(case), "", following(case, budget)])


def whole(case: Case, number: int, document: str, budget: float, everything: bool = False) -> str:
    """Failure, hypotheses, the clock once half of the hour is gone, and the one next thing."""
    blocks = [headline(case.failure), f"  {_where(case, number, document)}", *_gated(case), "", *hypotheses(case, everything),
              *clock(case, budget), "", following(case, budget)]
    return "\n".join(blocks)


def headline(failure: Failure) -> str:
    head = click.style("✗ ", fg="red") + click.style(_shorten(symptom(failure), 400), bold=True)
    return f"{head}\n  {origin(failure)}{meaning(failure)}"


def symptom(failure: Failure) -> str:
    """The failure in one line: the root exception, the missed expectation, or how the command ended."""
    if failure.root is not None:
        return f"{failure.root.type.removeprefix('builtins.')}: {first_line(failure.root.message)}"
    if failure.missed:
        return f"expected {failure.missed[0]}; " + measured(failure.missed[0].fact, failure.facts)
    if failure.run.hung:
        picture = failure.surroundings.picture
        return f"hung: {picture.odd}" if picture and picture.odd else f"{shlex.join(failure.run.command.argv)} hung"
    return f"{shlex.join(failure.run.command.argv)} ended with {ending(failure.run)}"


def meaning(failure: Failure) -> str:
    """What the end means, in its first sentence, on a line of its own: nothing where an exception tells enough."""
    told = failure.surroundings.ending
    return f"\n  {_shorten(told[0], 200)}" if told and (failure.root is None or failure.facts.get("oom_kills")) else ""


def measured(fact: str, facts: Facts) -> str:
    value = facts.get(fact)
    return f"{fact} was never measured" if value is None else f"measured {short(value)}"


def origin(failure: Failure) -> str:
    """The chain of commands and how it ended; then the line of the person's own code, and the process."""
    typed, inner, root = command(failure), failure.surroundings.environment.get("command", ""), failure.root
    chain = f"{typed} → {inner}" if inner and inner != typed else typed
    at = root.site or next((crash.site for crash in failure.crashes if crash.role == "consequence" and crash.site), None) if root else None
    site = f"{at.file}:{at.line} in {at.function}" if at else ""
    where = " · ".join(part for part in (site, root.process if root else "") if part)
    took = f" after {failure.run.seconds:.1f} s" if failure.run.seconds else ""  # nobody timed what a log tells of
    ended = f"{_shorten(chain, 120)} · {ending(failure.run)}{took}"
    return f"{ended}\n  {where}" if where else ended


def reproducer(found: Reproducer, file: str) -> str:
    """Where a verified one lies, in one line."""
    return click.style(f"  reproducer: {found.lines} lines, verified in {found.seconds:.1f} s  ·  {file}", dim=True)


def _where(case: Case, number: int, document: str) -> str:
    times = sum(not each.passed for each in case.recurrences)
    again = f" · seen {times + 1} times" if times else ""
    return f"case {number} · {document}{again}"


def _gated(case: Case) -> Iterator[str]:
    """What held the agents that took part, if any did."""
    if said := gating.words(case):
        yield "  " + click.style(said, fg="yellow" if case.gating == "advisory" else None, dim=case.gating == "gated")


def hypotheses(case: Case, everything: bool = False) -> Iterator[str]:
    """A few lines for each: likelihood, verdict and claim; then what was measured, or what would decide it."""
    listed = rank.shown(case, everything)
    for each in listed:
        mark, colour = ("✗ rejected", "red") if case.rejected(each) else MARKS[case.verdict(each)]
        head = f"  {each.id[1:]:<2} {each.likelihood.value:<9} {click.style(f'{mark:<12}', fg=colour)} "
        claim = each.claim + (" (generic)" if each.generic else "")
        yield head + f"\n{INDENT}".join(_wrapped(claim))
        yield from (INDENT + click.style(line, dim=True) for line in _wrapped(_detail(case, each)))
    hidden = len(case.hypotheses) - len(listed)
    if hidden > 0:
        yield click.style(f"  … {hidden} more: bitten show --all", dim=True)


def _wrapped(words: str) -> list[str]:
    """Lines as wide as the terminal leaves room for; 120 columns where there is none."""
    room = shutil.get_terminal_size((120, 24)).columns - len(INDENT) - 1
    return textwrap.wrap(words, max(30, room), break_long_words=False, break_on_hyphens=False)


def _detail(case: Case, hypothesis: Hypothesis) -> str:
    """Where, and what was measured; or what would decide it, and for how long it would run."""
    evidence = case.latest(hypothesis)
    if evidence is None:
        seconds = max(1.0, rank.runs(hypothesis.check) * case.failure.run.seconds)
        return f"a {seconds:.0f} s run decides:  bitten check {hypothesis.id}"
    if why := why_unclear(evidence):
        return why
    if evidence.verdict is Verdict.SUPPORTS:
        return " · ".join(part for part in (evidence.place, hypothesis.because) if part)
    fact, value = evidence.deciding
    return f"{fact} = {short(value)}"


def evidence(found: Evidence) -> str:
    """All that was gathered for one hypothesis: predictions first, then what was measured, then the verdict."""
    check, (mark, colour) = found.hypothesis.check, MARKS[found.verdict]
    lines = [f"{found.hypothesis.id}: {found.hypothesis.claim}", f"  because         {found.hypothesis.because}",
             f"  supported if    {check.supports_if}", f"  refuted if      {check.refutes_if}",
             f"  measured        {'from captured facts, no run' if found.run is None else _ran(found)}",
             f"  at              {found.place}" if found.place else "", *facts(found),
             f"  verdict         {click.style(mark, fg=colour)}" + (f": {why}" if (why := why_unclear(found)) else ""),
             f"  looks the same  {'; '.join(found.hypothesis.looks_like)}" if found.hypothesis.looks_like else "",
             f"  raw output      {found.output}/output" if found.output else ""]
    return "\n".join(line for line in lines if line)


def why_unclear(found: Evidence) -> str:
    """Why there is no verdict; empty when there is one."""
    fact, value = found.deciding
    if found.verdict is not Verdict.UNCLEAR or found.unclear:
        return found.unclear
    return f"{fact} was not measured" if value is None else f"{fact} = {short(value)} fits neither prediction"


def facts(found: Evidence) -> Iterator[str]:
    """Facts, the deciding one marked."""
    deciding = found.deciding[0]
    names = [name for name in found.facts if name not in ("signature", "stdout", "stderr") and found.facts[name] is not None]
    for name in sorted(names, key=lambda each: (each != deciding, each)):
        mark = click.style("→", bold=True) if name == deciding else " "
        yield f"    {mark} {name} = {short(found.facts[name])}"


def _ran(found: Evidence) -> str:
    assert found.run is not None
    return f"{shlex.join(found.run.command.argv)}, {ending(found.run)} after {found.run.seconds:.1f} s, in a throw-away copy"


def clock(case: Case, budget: float) -> Iterator[str]:
    """Fixes that did not hold, and the person's time once half of it is gone."""
    if case.attempts:
        yield f"  tried: {case.attempts} {'fix' if case.attempts == 1 else 'fixes'} did not hold; the last: {case.withdrawals[-1].reason}"
    spent = case.person_seconds()
    if spent > budget / 2:
        yield f"  clock: {spent / 60:.0f} of {budget / 60:.0f} min of your time"


def following(case: Case, budget: float) -> str:
    step = next_step(case, budget)
    return f"  next: {step.why}:  {click.style(step.command, bold=True)}"


def stack(crash: Crash) -> Iterator[str]:
    for frame in crash.frames:
        yield f"  {frame.file}:{frame.line} in {frame.function}" + (f"    {frame.text.strip()}" if frame.text else "")


def table(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns, left-aligned, two blanks between."""
    rows = list(rows)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def masked(places: Iterable[tuple[str, str]]) -> str:
    """What was masked in the two files that a person reads, in one line; nothing when nothing was. `places` are files and kinds."""
    read = [kind for file, kind in places if file in ("debug.md", "capture/output")]
    kinds = ", ".join(sorted(set(read)))
    count = "1 secret was" if len(read) == 1 else f"{len(read)} secrets were"
    return f"  {count} masked ({kinds}):  bitten show --show-redactions" if read else ""


def short(value: Json, limit: int = 160) -> str:
    return _shorten(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), limit)


def first_line(text: str) -> str:
    return text.strip().split("\n")[0]


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"

"""What each tool does: the steps that the commands take, told in words and as JSON. Has no rule of its own, and confirms nothing."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import click

from bitten.core import rank
from bitten.core.case import Hypothesis
from bitten.core.next import next_step
from bitten.core.prediction import Json
from bitten.core.trouble import BadInput, Refused, Trouble
from bitten.interfaces import text, trials
from bitten.interfaces.commands.cases import plain
from bitten.interfaces.quoting import HOW, WIDE, quoted
from bitten.interfaces.wiring import OpenCase, redact
from bitten.interfaces.wiring.agents import probes
from bitten.interfaces.wiring.mcp import output_of
from bitten.steps import confirm as confirming
from bitten.steps import learn as learning
from bitten.steps.gates import said_what_was_expected, within_the_hour
from bitten.steps.propose import hypotheses_from, with_evidence_at_hand

from .agent import Agent, Place, guard
from .arguments import faults
from .tools import BY_NAME

PAGE, QUOTED, MOST, SHOWN, TRIES = 12_000, 16_000, 20_000, 12, 20
"""Characters of a page of output, as it is and as it is quoted, and of words; hypotheses, or faults, that are told; times that others may
be quicker. Some clients cut off what is longer, and none says so."""
FACT = WIDE + 100
"""Characters of one text in the JSON: a quoted line has them."""
TOOL_FOR = {"check": "run_check", "diagnose": "propose_hypotheses", "suspect": "propose_hypotheses", "verify": "verify"}
"""Which tool does the next thing; what none does, a person types, but for the command itself."""

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Told:
    words: str
    data: dict[str, Json]


def done(tool: str, arguments: Arguments, agent: Agent) -> Told:
    """The tool's answer, without secrets. Raises: Trouble."""
    if tool != "propose_hypotheses":  # whose form the step itself holds it to
        wrong = list(islice(faults(arguments, BY_NAME[tool]["inputSchema"], "it"), SHOWN))
        if wrong:
            raise BadInput("bad-arguments", f"{tool} can't be called so:", "; ".join(wrong) + ".", "mend exactly that, and call it again")
    place = Place.here()
    assert isinstance(place, Place)
    try:
        told = DOES[tool](place, agent, arguments)
    except Trouble as why:
        why.why = " ".join(filter(None, (why.why, *_remarks(place))))
        raise
    words = "\n".join((*_remarks(place), told.words))
    return Told(_cut(redact(click.unstyle(words))), _clean({**told.data, **({"remarks": list(place.remarks)} if place.remarks else {})}))


def _remarks(place: Place) -> Iterator[str]:
    return (f"({each})" for each in place.remarks)


def _case(place: Place, _agent: Agent, _arguments: Arguments) -> Told:
    opened = place.case()
    case = opened.case
    words = [note.text for note in case.notes if note.about == "expected"]
    known = plain(opened)
    listed = known["hypotheses"]
    assert isinstance(listed, list)
    for each, hypothesis in zip(listed[:SHOWN], rank.shown(case, everything=True), strict=False):
        if found := case.latest(hypothesis):
            fact, value = found.deciding
            each |= {"measured": {fact: value}, "unclear": text.why_unclear(found)}
    told = {**known, "hypotheses": listed[:SHOWN], "document": opened.document, "said": words[-1] if words else ""}
    lines = [opened.shown(everything=True), _by_whom(opened)]
    if case.scope:
        told |= {"scope": list(case.scope.parts), "test": case.scope.test}
        lines.append(f"  a fix may touch {', '.join(case.scope.parts)}, and its test is {case.scope.test}")
    return Told("\n".join(lines), {**told, **_next(opened)})


def _next(opened: OpenCase) -> dict[str, Json]:
    step = next_step(opened.case, opened.budget)
    verb = step.command.split()[1]
    how = ("tool", TOOL_FOR[verb]) if verb in TOOL_FOR else ("in a shell" if verb == "run" else "a person types", step.command)
    return {"next": {"why": step.why, how[0]: how[1]}}


def _following(opened: OpenCase) -> str:
    return f"{opened.following()}\n{_by_whom(opened)}"


def _by_whom(opened: OpenCase) -> str:
    told = _next(opened)["next"]
    if "in a shell" in told:
        return "  in a shell"
    return f"  that is done by the tool {told['tool']}" if "tool" in told else "  that is a person's to type; no tool does it"


def _read_evidence(place: Place, _agent: Agent, arguments: Arguments) -> Told:
    opened, name = place.case(), arguments.get("hypothesis", "")
    hypothesis = confirming.hypothesis_named(opened.case, name) if name else None
    found = opened.case.latest(hypothesis) if hypothesis else None
    if hypothesis and not found:
        words = f"{hypothesis.id}: {hypothesis.claim}: untested.\n  the tool run_check decides"
        return Told(words, {"hypothesis": hypothesis.id, "verdict": None})
    page, data = _page(output_of(opened, found), arguments.get("offset", 0))
    head = text.evidence(found) if found else text.headline(opened.case.failure)
    what = "What that run printed" if found and found.output else "What the failing run printed"
    return Told(f"{head}\n\n{what}, {data['told']}. {HOW}\n\n{page}", {**(trials.plain(found) if found else {}), "output": data})


def _page(whole: str, offset: int, size: int = PAGE) -> tuple[str, dict[str, Json]]:
    """From an offset on, up to the end of a line where there is one. Some clients show a model the JSON alone: it is quoted there too."""
    offset = min(offset, len(whole))
    end = min(len(whole), offset + size)
    if end < len(whole):
        end = whole.rfind("\n", offset, end) + 1 or end
    lines, more = list(quoted(redact(whole[offset:end]))), end < len(whole)
    page = "\n".join(lines)
    if len(page) > QUOTED:  # many short lines, or many signs that are written out
        return _page(whole, offset, size // 2)
    told = f"characters {offset} to {end} of {len(whole)}" + (f"; go on with offset {end}" if more else "")
    return page, {"about": HOW, "lines": lines, "told": told, "next": end if more else None}


def _propose_hypotheses(place: Place, agent: Agent, arguments: Arguments) -> Told:
    taken: list[Hypothesis] = []
    for left in reversed(range(TRIES)):
        opened = place.case()
        with _renumbering(left), place.visited(opened, "propose", agent):
            for each in _new(opened, agent, arguments):
                opened.add(with_evidence_at_hand(opened.case, each))
                taken.append(each)
            break
    known = {each.id: verdict.value if (verdict := opened.case.verdict(each)) else "untested" for each in taken}
    words = "\n".join(f"{each.id}: {each.claim}: {known[each.id]}" for each in taken) or "Known already; nothing was added."
    return Told(f"{words}\n\n{_following(opened)}", {"accepted": known, **_next(opened)})


def _new(opened: OpenCase, agent: Agent, arguments: Arguments) -> Sequence[Hypothesis]:
    within_the_hour(opened.case, opened.budget)
    said_what_was_expected(opened.case)
    new = hypotheses_from(opened.case, arguments, agent.name, probes(opened), redact)
    guard(opened, agent)
    return new


@contextmanager
def _renumbering(left: int) -> Iterator[None]:
    """Another session took the number meanwhile: what is not in the case yet is numbered anew, while tries are left."""
    try:
        yield
    except Refused as why:
        if why.slug != "hypothesis-id-taken" or not left:
            raise


def _run_check(place: Place, agent: Agent, arguments: Arguments) -> Told:
    opened, names = place.case(), arguments.get("hypotheses", [])
    wanted = [confirming.hypothesis_named(opened.case, name) for name in names] or rank.to_run(opened.case)
    with place.visited(opened, "check", agent):
        trials.agreed(opened, wanted, " ".join(["bitten check --yes", *(each.id for each in wanted if names)]))
        guard(opened, agent)
        found = trials.run(opened, wanted)
    words = "\n\n".join(text.evidence(each) for each in found) or "Nothing is open that a check could decide."
    return Told(f"{words}\n\n{_following(opened)}", {"evidence": [trials.plain(each) for each in found], **_next(opened)})


def _propose_scope(place: Place, agent: Agent, arguments: Arguments) -> Told:
    opened, test = place.case(), arguments["test"]
    with place.visited(opened, "scope", agent):
        note = confirming.suggested(opened.case, arguments["hypothesis"], arguments["parts"], test, opened.house.repo.paths())
        guard(opened, agent)
        opened.add([note])
    words = f"Kept as a proposal: {note.text}. The person who confirms sees it, and may name another. It allows nothing."
    return Told(words, {"proposed": note.text})


def _verify(place: Place, agent: Agent, _arguments: Arguments) -> Told:
    opened = place.case()
    with place.visited(opened, "verify", agent):
        guard(opened, agent)
        proof = trials.proven(opened)
    words = click.unstyle(text.proof(proof))
    return Told(f"{words}\n{_following(opened)}", {"proven": True, "proof": words.splitlines()[1:], **_next(opened)})


def _recall(place: Place, _agent: Agent, arguments: Arguments) -> Told:
    from bitten.interfaces.wiring.claude_code import lessons  # noqa: PLC0415 - no other tool needs what it imports

    entries = lessons(place)
    page, data = _page("".join(f"- {each}\n" for each in entries), arguments.get("offset", 0))
    if not entries:
        return Told(f'{place.settings.lessons} holds nothing under "Things that have bitten us" yet.', {"lessons": data})
    return Told(f'"Things that have bitten us", {place.settings.lessons}, {data["told"]}. {HOW}\n\n{page}', {"lessons": data})


def _draft_lesson(place: Place, _agent: Agent, _arguments: Arguments) -> Told:
    entry = learning.draft(place.case().case, datetime.date.today().isoformat())
    return Told(f"{entry}\n\nNothing was written. A person reads, edits and accepts it:  bitten close", {"draft": entry})


DOES: Mapping[str, Callable[[Place, Agent, Arguments], Told]] = {
    "case": _case, "read_evidence": _read_evidence, "propose_hypotheses": _propose_hypotheses, "run_check": _run_check,
    "propose_scope": _propose_scope, "verify": _verify, "recall": _recall, "draft_lesson": _draft_lesson,
}


def _cut(words: str) -> str:
    return words if len(words) <= MOST else f"{words[:MOST]}\n… {len(words) - MOST} characters more"


def _clean(value: Json) -> Json:
    """Without secrets, and such as JSON can hold."""
    if isinstance(value, str):
        return text.short(redact(value), FACT)
    if isinstance(value, float) and value - value != 0:  # NaN and the infinite ones are no JSON
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _clean(each) for name, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, Sequence) else value

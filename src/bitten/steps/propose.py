"""Step 2, an agent's: what it proposed, held to the form and to what is known already. Runs nothing, and trusts no word of it.

A proposal that can't be used goes back to its author with every fault named at once, so that one more try mends them all.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bitten.core.case import Check, Hypothesis, Likelihood, Verdict
from bitten.core.ladder import Case, Event
from bitten.core.ports import Agent, Answer, Brief, Listener, Spent
from bitten.core.prediction import Json, Op, Prediction, parse
from bitten.core.proposal import SCHEMA
from bitten.core.trouble import BadInput, Refused
from bitten.steps.diagnose import evidence_at_hand
from bitten.steps.suspect import check_from

Redact = Callable[[str], str]
PROTECTED = frozenset((".git", ".bitten", ".claude"))
"""No cause is mended there: they hold the history, the case and the gate."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")
"""What moves a terminal's cursor, turns its direction, hides, or is half a character."""
_FOR_EVER = re.compile(r"(?<!\()[*+?{|].*\)[*+{]", re.DOTALL)
"""A repeated group behind a repetition or a choice, which may lie inside: some texts would keep such a pattern busy for ever."""
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_LARGEST = 2**63


def hypotheses_from(case: Case, proposal: Mapping[str, Json], source: str, probes: Collection[str] = (),
                    redact: Redact = str) -> list[Hypothesis]:
    """The hypotheses of a proposal that the case does not have yet, numbered on. `probes`, where given, are all that there are.

    Raises: BadInput `bad-proposal`, whose words say what to mend; Refused `already-refuted`, with the fact that did.
    """
    faults = list(_faults(proposal, SCHEMA, ""))
    _send_back(faults)
    proposed: Sequence[Mapping[str, Json]] = proposal["hypotheses"]
    for number, each in enumerate(proposed):
        faults += [f"hypotheses[{number}].{fault}" for fault in _own_faults(each, probes, redact)]
    _send_back(faults)
    made = [_made(each, source, redact) for each in proposed]
    _send_back([*_twins(made), *_rejected(case, made)])
    for hypothesis in made:
        _not_refuted(case, hypothesis)
    new = [each for each in made if not any(old.same_claim(each) for old in case.hypotheses)]
    return [replace(each, id=f"h{number}") for number, each in enumerate(new, len(case.hypotheses) + 1)]


def _send_back(faults: Sequence[str]) -> None:
    if faults:
        raise BadInput("bad-proposal", "The proposal can't be used:", "; ".join(faults) + ".",
                       "mend exactly that, and propose all of them again")


def _faults(value: Json, schema: Mapping[str, Json], where: str) -> Iterator[str]:
    """What of a value is not as the schema says; of JSON Schema the words that our schema uses."""
    name = where or "the proposal"
    kind = schema.get("type")
    if "enum" in schema:
        if not isinstance(value, str) or value not in schema["enum"]:
            yield f"{name} is one of: {', '.join(schema['enum'])}"
    elif not isinstance(value, {"object": Mapping, "array": list, "string": str}[kind or "string"]):
        yield f"{name} should be {'an' if kind in ('object', 'array') else 'a'} {kind}"
    elif kind == "object":
        yield from _faults_inside(value, schema, where)
    elif kind == "array":
        yield from _count(len(value), schema, name, "Items", "entries")
        for number, each in enumerate(value[: schema.get("maxItems")]):
            yield from _faults(each, schema["items"], f"{where}[{number}]")
    else:
        yield from _count(len(value), schema, name, "Length", "characters")


def _faults_inside(value: Mapping[str, Json], schema: Mapping[str, Json], where: str) -> Iterator[str]:
    dot = f"{where}." if where else ""
    known = schema["properties"]
    yield from (f"{dot}{name} is missing" for name in schema["required"] if name not in value)
    unknown = [str(name)[:40] for name in value if name not in known]
    if unknown:
        yield f"{dot}{_shown(unknown[0])} is unknown; there are: {', '.join(known)}"
    for name, each in known.items():
        if name in value:
            yield from _faults(value[name], each, f"{dot}{name}")


def _count(size: int, schema: Mapping[str, Json], name: str, of: str, unit: str) -> Iterator[str]:
    least, most = schema.get(f"min{of}", 0), schema.get(f"max{of}")
    if size < least or (most is not None and size > most):
        yield f"{name} has {size} {unit}; {f'{least} to {most}' if least and most else f'{most} at most' if most else f'{least} at least'}"


def _own_faults(proposed: Mapping[str, Json], probes: Collection[str], redact: Redact) -> Iterator[str]:
    """What the schema can't say of one hypothesis."""
    for name in ("claim", "because", "look", "supports_if", "refutes_if"):
        if not _CONTROL.sub("", proposed[name]).strip():
            yield f"{name} is empty"
    for name in ("look", "patch", "supports_if", "refutes_if"):
        yield from _unusable(name, proposed.get(name, ""), redact)
    predictions = [found for name in ("supports_if", "refutes_if") for found in _prediction(name, proposed[name])]
    yield from (each for each in predictions if isinstance(each, str))
    if len(predictions) == 2 and str(predictions[0]) == str(predictions[1]):
        yield "supports_if and refutes_if are the same prediction: the check would decide nothing"
    yield from _look_faults(proposed, probes)
    for each in proposed["scope"]:
        yield from _scope_faults(each)


def _unusable(name: str, text: str, redact: Redact) -> Iterator[str]:
    """These are run, or kept to be compared with: they can't be cleaned as words can."""
    if _CONTROL.search(text.replace("\r\n", "\n")):
        yield f"{name} holds control characters"
    elif redact(text) != text or re.search("‹[a-z0-9-]+:[0-9]+-[0-9]+›", text):
        yield (f"{name} holds a secret, or the mark ‹…› of one that was masked: leave that line out"
               f"{' of the context too' if name == 'patch' else ', or let the check read it from a variable or a file'}")


def _prediction(name: str, text: str) -> Iterator[Prediction | str]:
    if len(text) > 2000:
        yield f"{name} has {len(text)} characters; 2000 at most"
        return
    try:
        found = parse(text)
    except BadInput as why:
        yield f"{name}: {why} ({why.way})"
        return
    if found.op is Op.MATCH and _FOR_EVER.search(str(found.value)):
        yield f"{name}: a repeated group that repeats inside may search for ever: write a simpler pattern"
    elif not _is_plain(found.value):
        yield f'{name}: its value is no plain JSON: write "nan", "inf" or "-inf" in quotes, and no number beyond 64 bits'
    else:
        yield found


def _is_plain(value: Json, deep: int = 20) -> bool:
    """Whether it comes back from disk as it went there; what is nested deeper may not even be written."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return not (isinstance(value, str) and _CONTROL.search(value))
    if isinstance(value, (int, float)):
        return math.isfinite(value) if isinstance(value, float) else abs(value) < _LARGEST
    inner = list(value) if isinstance(value, list) else [*value, *value.values()] if isinstance(value, dict) else [math.nan]
    return deep > 0 and all(_is_plain(each, deep - 1) for each in inner)


def _look_faults(proposed: Mapping[str, Json], probes: Collection[str]) -> Iterator[str]:
    look, patch = proposed["look"].strip(), proposed.get("patch", "")
    kind, _, rest = look.partition(":")
    if kind == "patch" and rest:
        yield "look is 'patch' alone; the unified diff itself stands in `patch`"
    elif (look == "patch") is not bool(patch.strip()):
        yield "look is 'patch', but `patch` is missing" if look == "patch" else "a patch is given, but look is not 'patch'"
    elif look == "patch":
        yield from _patch_faults(patch)
    elif kind == "probe" and probes:
        unknown = [each for each in rest.replace("-", "_").split(",") if each not in probes]
        if unknown:
            yield f"look: there is no probe {_shown(unknown[0])}; there are: {', '.join(sorted(probes))}"
    elif kind == "env" and not re.fullmatch(r"[A-Za-z_]\w*=.*", rest, re.ASCII | re.S):
        yield "look: after env: comes NAME=VALUE"
    else:
        yield from _unread(look)


def _unread(look: str) -> Iterator[str]:
    anything = Prediction("exit", Op.EXISTS)
    try:
        check_from(look, anything, replace(anything, op=Op.FINITE), str)
    except BadInput as why:
        yield f"look: {why.what}"


def _patch_faults(patch: str) -> Iterator[str]:
    """Only what git would not say better when it is applied."""
    lines = patch.splitlines()
    if not any(line.startswith("@@ -") for line in lines):
        yield "patch is no unified diff: it has no hunk that begins with @@"
    named = [line[4:].split("\t")[0].strip() for line in lines if line.startswith(("--- ", "+++ "))]
    files = [name.removeprefix("a/").removeprefix("b/") for name in named if name != "/dev/null"]
    if not files:
        yield "patch names no file in lines --- and +++"
    for name in dict.fromkeys(files):
        yield from (f"patch: {fault}" for fault in _path_faults(name))


def _scope_faults(part: str) -> Iterator[str]:
    path, colon, name = part.partition(":")
    yield from (f"scope: {fault}" for fault in _path_faults(path))
    if colon and not _NAME.fullmatch(name):
        yield f"scope: after FILE: comes a function, class or method, not {_shown(name)}"


def _path_faults(path: str) -> Iterator[str]:
    parts = path.split("/")
    if not path.strip() or _CONTROL.search(path) or "\n" in path or "\\" in path or len(path) > 500:
        yield f"{_shown(path)} is no path"
    elif path.startswith(("/", "~")) or ".." in parts:
        yield f"{_shown(path)} leads out of the project: name it from the project's root, without .."
    elif PROTECTED & {part.casefold() for part in parts}:
        yield f"{_shown(path)} is no place for a fix"


def _shown(text: str) -> str:
    return json.dumps(text[:80])


def _made(proposed: Mapping[str, Json], source: str, redact: Redact) -> Hypothesis:
    clean = {name: redact(_line(proposed[name])) for name in ("claim", "because")}
    looks_like = tuple(redact(_line(each)) for each in proposed.get("looks_like", ()))
    scope = tuple(dict.fromkeys(proposed["scope"]))
    return Hypothesis("h?", clean["claim"], clean["because"], _check(proposed), source, Likelihood(proposed["likelihood"]), scope=scope,
                      looks_like=looks_like)


def _check(proposed: Mapping[str, Json]) -> Check:
    look = proposed["look"].strip()
    patch: str = proposed.get("patch", "").replace("\r\n", "\n")
    return check_from("patch:proposed" if look == "patch" else look, parse(proposed["supports_if"]), parse(proposed["refutes_if"]),
                      lambda _: patch if patch.endswith("\n") else f"{patch}\n")


def _line(words: str) -> str:
    """One line, as a terminal may show it."""
    return " ".join(_CONTROL.sub("", words).split())


def _twins(made: Sequence[Hypothesis]) -> Iterator[str]:
    for number, each in enumerate(made):
        twin = next((earlier for earlier in made[:number] if earlier.same_claim(each) or earlier.check == each.check), None)
        if twin is not None:
            yield f"hypotheses[{number}] is hypotheses[{made.index(twin)}] again: the same claim, or the very same check"


def _rejected(case: Case, made: Sequence[Hypothesis]) -> Iterator[str]:
    for number, each in enumerate(made):
        for no in case.rejections:
            if no.hypothesis.same_claim(each):
                yield f"hypotheses[{number}] was rejected by a person, as {no.hypothesis.id}: {no.reason}"


def _not_refuted(case: Case, new: Hypothesis) -> None:
    """Whether the same claim, or the same check under other words, was refuted before."""
    for old in case.hypotheses:
        if case.verdict(old) is Verdict.REFUTES and (old.same_claim(new) or old.check == new.check):
            found = case.latest(old)
            assert found is not None
            fact = old.check.refutes_if.fact
            raise Refused("already-refuted", f"This was refuted before, as {old.id}: {old.claim}.",
                          f"Measured: {fact} = {json.dumps(found.facts.get(fact), ensure_ascii=False)}.", f"bitten show {old.id}")


@dataclass
class Table:
    """ports.Listener: what an agent proposes becomes events the moment that it is accepted; its words go to `listener`.

    `look` gives the case as it stands, with what others have added meanwhile. `put` takes events: they are on disk before the agent
    hears that they were accepted.
    """

    look: Callable[[], Case]
    listener: Listener
    put: Callable[[Iterable[Event]], object]
    source: str
    probes: Collection[str] = ()
    redact: Redact = str
    taken: tuple[Hypothesis, ...] = ()

    def says(self, words: str) -> None:
        self.listener.says(words)

    def spent(self, spent: Spent) -> None:
        self.listener.spent(spent)

    def proposes(self, proposal: Mapping[str, Json]) -> str:
        """Raises: BadInput `bad-proposal`, Refused `already-refuted`."""
        case = self.look()
        waiting = [each.id for each in self.taken if case.verdict(each) is not Verdict.REFUTES]
        if waiting:
            _send_back([f"{', '.join(waiting)} of yours stand already, and are checked before others are taken: you are done"])
        new = hypotheses_from(case, proposal, self.source, self.probes, self.redact)
        self.put(event for each in new for event in with_evidence_at_hand(case, each))
        self.taken += tuple(new)
        return answer_to(self.look(), new)


def with_evidence_at_hand(case: Case, new: Hypothesis) -> Iterator[Event]:
    """The hypothesis, and what captured facts say of it."""
    yield new
    captured = evidence_at_hand(new, case.failure)
    if captured is not None:
        yield captured


def answer_to(case: Case, new: Sequence[Hypothesis]) -> str:
    """What the agent is told of what it proposed."""
    if not new:
        return "Known already; nothing was added. bitten runs their checks. Say in one sentence that you are done."
    told = []
    for each in new:
        found = case.latest(each)
        told.append(f"{each.id}: {each.claim}" + (f" (captured facts say: {found.verdict.value})" if found else ""))
    return "Accepted: " + "; ".join(told) + ". bitten runs the checks now, and a person reads what they measure. You are done."


def propose(look: Callable[[], Case], agent: Agent, brief: Brief, listener: Listener, put: Callable[[Iterable[Event]], object],
            probes: Collection[str] = (), redact: Redact = str) -> Answer:
    """One session of an agent on the case; each accepted hypothesis, with the evidence at hand, is put as it comes."""
    return agent.ask(brief, Table(look, listener, put, f"agent:{agent.name}", probes, redact))

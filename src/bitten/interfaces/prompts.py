"""The recipe's prompts: from a case to a text that asks an agent for hypotheses, a better check, or the fix. Knows no agent and no file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bitten.core.case import Confirmation, Hypothesis, Scope, Verdict
from bitten.core.ladder import Case, Step
from bitten.core.trouble import gate
from bitten.interfaces import contents, text
from bitten.interfaces.contents import Material
from bitten.interfaces.pieces import Piece, fit
from bitten.interfaces.quoting import HOW, WIDE, code, inline
from bitten.steps.fix import confirmed

__all__ = ["BUDGET", "STEPS", "Material", "Prompt", "check", "diagnose", "fix", "made", "step_of", "woken"]

BUDGET = 40_000
"""Characters: some 10,000 tokens, and about 600 lines. The recipe's agent is slowest in a haystack of 5,000 lines; this is an eighth of
it, and leaves most of any model's window to the sources. A plain crash takes less than a tenth of it."""
NAMED = 12
"""Of names in one sentence; how many more there are is told."""
STEPS = ("diagnose", "check", "fix")
woken = contents.woken

_DEMANDS = """Three things are demanded:
- Hypotheses, not fixes. The first patch is rarely the right one.
- Minimal checks. Add print or assertions, run, observe.
- No code changes yet. Think first."""
_FORM = """Hand in what you propose with the tool `propose_hypotheses`, where you have it; else as commands for a person to run:

    bitten suspect "CLAIM" --check LOOK --supports-if "FACT OP VALUE" --refutes-if "FACT OP VALUE" --scope FILE[:FUNCTION]

LOOK is `captured` (facts that stand here); `probe:NAME`, where one stands here; a command, or `patch:FILE` (a diff that adds prints): \
they print `bitten-fact NAME=JSON`; or `env:NAME=VALUE`, `tree:REVISION`, `bare` (almost no environment): they measure `symptom.depends`, \
true where the failure goes away with that; or `turn:NAME=VALUE` (`lr=0.5`, `workers=0`, `autocast=off`, `seed=1`), which measures \
`changed.FACT` beside `control.FACT`. It runs in a throw-away copy; the verdict is computed from the fact, and a person confirms."""


@dataclass(frozen=True)
class Prompt:
    """`cut` names what was shortened or left out to fit."""

    step: str
    text: str
    cut: tuple[str, ...] = ()


def diagnose(case: Case, number: int, began: float, material: Material, budget: int = BUDGET) -> str:
    """Step 2: two or three hypotheses with a check each, and no change of code."""
    return made("diagnose", case, number, began, material, budget).text


def check(case: Case, number: int, began: float, material: Material, budget: int = BUDGET) -> str:
    """Step 3: what the evidence says, and a better check for what stays unclear."""
    return made("check", case, number, began, material, budget).text


def fix(case: Case, number: int, began: float, material: Material, budget: int = BUDGET) -> str:
    """Step 4: the fix of a confirmed cause. Raises: Refused `fix-before-confirmation`."""
    return made("fix", case, number, began, material, budget).text


def made(step: str, case: Case, number: int, began: float, material: Material, budget: int = BUDGET) -> Prompt:
    """The prompt of a step, and what was cut from it. Raises: BadInput `budget-too-small`; Refused, as `fix`."""
    before, pieces, after = {"diagnose": _diagnose, "check": _check, "fix": _fix}[step](contents.bounded(case), number, began, material)
    told, cut = fit(before, pieces, after, budget)
    return Prompt(step, told, cut)


def step_of(case: Case) -> str:
    """The step that the case is at. Raises: Refused `nothing-to-ask`, once the fix is proven or the case closed."""
    gate(case.is_open and case.step < Step.VERIFIED, "nothing-to-ask", "There is nothing left to ask an agent.",
         "The fix is proven, or the case closed.", "bitten")
    if case.step >= Step.CONFIRMED:
        return "fix"
    if case.withdrawals:  # a fix that did not hold leads back to step 2, with what was learnt
        return "diagnose"
    return "check" if _unsettled(case) else "diagnose"


def _unsettled(case: Case) -> list[Hypothesis]:
    """Those with evidence that has not settled them. A generic one that stays unclear asks for no better check of its own."""
    return [each for each in case.hypotheses if not case.rejected(each) and (
        case.verdict(each) is Verdict.SUPPORTS or (case.verdict(each) is Verdict.UNCLEAR and not each.generic))]


_Parts = tuple[str, list[Piece], str]


def _diagnose(case: Case, number: int, began: float, material: Material) -> _Parts:
    before = f"I'm debugging this failure (case {number} of bitten): debug.md stands below. {HOW}"
    pieces = [*contents.notes(case, began, material), *_around(case, material), *contents.standing_hypotheses(case, material),
              *_learnt(case, material)]
    return before, pieces, f"{_JOB}\n\n{_DEMANDS}\n\n{_FORM}"


_JOB = """Your job:
1. Read the relevant source files, those under "Files to read" first.
2. Form 2-3 hypotheses for the root cause. Rank by likelihood.
3. For each, the top one first, propose a *minimal* check that would confirm or deny it: the fact that would support it, and the one that \
would refute it. Do not change any code yet."""


def _check(case: Case, number: int, began: float, material: Material) -> _Parts:
    before = f"I'm debugging this failure (case {number} of bitten), and checks were run: their evidence stands below. {HOW}"
    tested = _unsettled(case)
    pieces = [*contents.notes(case, began, material, _SHORTLY), *contents.evidence(case, material, tested), *_around(case, material),
              *_learnt(case, material)]
    return before, pieces, f"{_reading_job(case, tested)}\n\n{_DEMANDS}\n\n{_FORM}"


_SHORTLY = ("Command", "What I expected", "What happened", "What I've already tried", "Files to read")


def _reading_job(case: Case, tested: Sequence[Hypothesis]) -> str:
    unclear, supported = (_named([each for each in tested if case.verdict(each) is verdict])
                          for verdict in (Verdict.UNCLEAR, Verdict.SUPPORTS))
    lines = ["Read the evidence: the measured values and what was printed, not what anybody says of them.",
             f"For what stays unclear ({unclear}), say why, and propose a better *minimal* check: one whose fact will be measured, and "
             "that can come out either way." if unclear else "",
             f"For what is supported ({supported}), say what else would give the same evidence, and propose the *minimal* check that "
             "would tell the two apart." if supported else "",
             "" if tested else "Nothing stands: say which hypothesis the evidence suggests instead, with its *minimal* check.",
             "Do not call anything confirmed: a person does that, who has read the evidence. Do not change any code yet."]
    return "Your job:\n" + "\n".join(f"{number}. {line}" for number, line in enumerate(filter(None, lines), 1))


def _named(some: Sequence[Hypothesis]) -> str:
    return ", ".join(inline(each.id, 20) for each in some[:NAMED]) + _more(some, NAMED)


def _fix(case: Case, number: int, began: float, material: Material) -> _Parts:
    held = confirmed(case)
    assert case.scope is not None
    before = f"I'm debugging this failure (case {number} of bitten). {_confirmed(held)} {HOW}"
    pieces = [*contents.evidence(case, Material(material.document), [held.evidence.hypothesis]),
              *contents.notes(case, began, material, _SHORTLY), *contents.playbooks(case, material), *contents.withdrawn(case, material),
              *contents.lessons(case, material)]
    return before, pieces, "Fix:\n" + "\n".join(f"- {line}" for line in _orders(held, case.scope, material)) + _PROVEN


_PROVEN = """

It is proven by running, not by saying so: the new test red on the code as it stands and green on yours, the command above as \
expected, and the check that confirmed the cause, which must now refute it. A change outside of what is named here is refused."""


def _confirmed(held: Confirmation) -> str:
    found = held.evidence
    fact, value = found.deciding
    at = f" at {code(found.place)}" if found.place else ""
    return (f"The hypothesis is confirmed: {inline(found.hypothesis.claim).rstrip('.')}. {inline(held.by, 60)} read that "
            f"{code(f'{fact} = {text.short(value)}')} was measured{at}, and confirmed it ({inline(held.channel, 60)}).")


def _orders(held: Confirmation, scope: Scope, material: Material) -> Iterator[str]:
    """Word for word as the recipe has them."""
    hypothesis = held.evidence.hypothesis
    yield f"Change only {', '.join(code(part, WIDE) for part in scope.parts)}."
    yield (f"Add a test to {code(scope.test, WIDE)} that asserts {_asserted(held)}. It fails on the code as it stands, by an assertion "
           "in the test's own body, and passes with your change.")
    if kept := _tests_in(material.sources, scope.test):
        yield f"Leave the tests that are there as they are: {', '.join(map(code, kept[:NAMED]))}{_more(kept, NAMED)}."
    if hypothesis.cure:
        yield f"What cures it elsewhere: {inline(hypothesis.cure)}."
    yield "Do not refactor anything else."


def _asserted(held: Confirmation) -> str:
    check = held.evidence.hypothesis.check
    if check.change is not None:  # its fact is of two runs, and no test can read that
        return "what was expected where it failed"
    measured, healthy = code(text.short(held.evidence.deciding[1])), code(str(check.refutes_if))
    return f"what a healthy program shows (the check measured {measured}; {healthy} is healthy)"


def _tests_in(sources: Mapping[str, str], path: str) -> list[str]:
    with suppress(SyntaxError, ValueError, RecursionError):  # a test file that can't be read has no names to give
        return [node.name for node in ast.walk(ast.parse(sources.get(path, "")))
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test")]
    return []


def _more(every: Sequence[object], shown: int) -> str:
    return f" and {len(every) - shown} more" if len(every) > shown else ""


def _around(case: Case, material: Material) -> Iterator[Piece]:
    yield from contents.processes(case, material)
    yield from contents.data(case, material)
    yield from contents.facts(case, material)


def _learnt(case: Case, material: Material) -> Iterator[Piece]:
    """What is known already, of this failure and of others."""
    for told in (contents.refuted, contents.withdrawn, contents.playbooks, contents.lessons):
        yield from told(case, material)

"""The channel "claude-code prompt": a person types `/bitten:confirm H VALUE` after the evidence was shown to them. No rule of its own.

Claude Code expands a command that was typed, and only that: a prompt that the model schedules for itself (CronCreate, ScheduleWakeup),
and one that a program sends by the session's own socket, reach UserPromptSubmit as if typed, and are not expanded; a Skill call comes by
PreToolUse (all observed with 2.1.332). It also says whether a session is attended. What drives the terminal can't be told from a person.
"""

from __future__ import annotations

import hashlib
import os
import shlex

import click

from bitten.core.case import Confirmation, Evidence
from bitten.core.trouble import BadInput, Refused, gate
from bitten.interfaces import text
from bitten.interfaces.claude_code.answers import Answer, keeps, tells
from bitten.interfaces.claude_code.call import PROMPT, Call, Scribe
from bitten.interfaces.wiring import OpenCase, redact
from bitten.steps import confirm as confirming


def is_attended() -> bool:
    """Whether somebody sits at the session, as Claude Code itself says: its word in our environment can't be set from outside."""
    said = os.environ.get("CLAUDE_CODE_SESSION_ATTENDED")
    return said == "1" if said is not None else os.environ.get("CLAUDE_CODE_ENTRYPOINT") == "cli"


def answer(call: Call, line: str) -> Answer:
    """To what stands after /bitten:confirm. Without a value, or before the evidence was shown, it is shown now."""
    gate(is_attended(), "confirm-not-a-person", "Nobody attends this session, so nobody has read the evidence.",
         "It was started headless, by a program.", "in a terminal, type:  bitten confirm H")
    name, *typed = _words(line)
    opened = call.house(Scribe(PROMPT, _answers(typed))).case()
    evidence = confirming.evidence_to_confirm(opened.case, name)
    seen = _shown(opened, evidence)
    was_shown = _was_shown(call, opened, evidence, seen)
    if not typed or not was_shown:
        return keeps(seen + _again(evidence.hypothesis.id, typed))
    return _confirmed(opened, evidence)


def _words(line: str) -> list[str]:
    way = "alone, on one line:  /bitten:confirm H VALUE"
    if "\n" in line.strip():
        raise BadInput("confirm-not-alone", "A confirmation is one line, and nothing else.", "This prompt goes on after it.", way)
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    if not words:
        raise BadInput("confirm-not-alone", "A confirmation names its hypothesis.", way=way)
    return words


def _answers(typed: list[str]) -> tuple[str, ...]:
    """To the two questions of the step: the value, and the scope; empty where the proposed one is accepted."""
    return (typed[0], " ".join(typed[1:])) if typed else ()


def _shown(opened: OpenCase, evidence: Evidence) -> str:
    """Evidence and scope as they would be confirmed: another scope, proposed meanwhile, has to be read anew."""
    scope = confirming.proposed(opened.case, evidence, opened.house.repo)
    by = f"  (an agent proposed it; the hypothesis names {', '.join(evidence.hypothesis.scope) or 'none'})"
    whose = by if confirming.by_agent(opened.case, evidence.hypothesis) else ""
    return redact(f"{click.unstyle(text.evidence(evidence))}\n  scope           {' '.join((*scope.parts, scope.test))}{whose}")


def _again(name: str, typed: list[str]) -> str:
    first = "It had not been shown in this session. " if typed else ""
    return (f"\n\n{first}Nothing is confirmed yet. If that is the cause, type the value that decided it, which stands at the arrow:\n"
            f"  /bitten:confirm {name} VALUE\nThe scope is accepted with it; another one goes after the value:  VALUE FILE:NAME … TEST")


def _was_shown(call: Call, opened: OpenCase, evidence: Evidence, seen: str) -> bool:
    """Whether this very evidence was, in this session. From now on it was."""
    key, digest = f"{opened.folder.path.name}/{evidence.hypothesis.id}", hashlib.sha256(seen.encode()).hexdigest()
    known = (call.memory.get("shown") or {}).get(key)
    if known != digest:
        call.memory.change("shown", lambda shown: {**(shown or {}), key: digest})
    return bool(known == digest)


def _confirmed(opened: OpenCase, evidence: Evidence) -> Answer:
    with opened.visited("confirm"):
        [made] = opened.add([confirming.confirm(opened.case, evidence.hypothesis.id, opened.house.person, opened.house.repo)])
    assert isinstance(made, Confirmation)
    cause, scope = evidence.hypothesis, made.scope
    if not opened.case.links:
        raise Refused("confirm-out-of-turn", f"{cause.id} is not confirmed any more.", "Another terminal took it back.", "bitten show")
    return tells(
        "UserPromptExpansion",
        f"bitten: {made.by} has read the evidence and confirmed {cause.id}: {cause.claim}. The fix may touch {', '.join(scope.parts)}; its "
        f"test goes to {scope.test} and must fail without the fix. Do not refactor anything else. It is done when verify has proven it.",
        f"bitten: {cause.id} is confirmed. Scope: {', '.join(scope.parts)}; test: {scope.test}")

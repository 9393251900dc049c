"""A turn that ends with "done" is held against the case: what is not proven is sent back once, with what would prove it.

Claude Code overrules a hook that keeps on; the proof that counts is `verify`, not this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bitten.core.ladder import Case, Step
from bitten.interfaces.claude_code.answers import Answer, cut, keeps, tells
from bitten.interfaces.claude_code.call import Call
from bitten.interfaces.claude_code.state import following
from bitten.interfaces.wiring import OpenCase, redact
from bitten.interfaces.wiring.claude_code import running_in

ONCE = 1
"""Times that one and the same state of a case sends a session back."""
FIXED = re.compile(r"\b(fixed|resolved|solved|works? (now|again))\b", re.I)
CAUSE = re.compile(FIXED.pattern + r"|\b(confirmed|root cause (is|was))\b", re.I)
DONE = re.compile(FIXED.pattern + r"|\b(done|completed?|finished|works? (correctly|fine)|all set|passes|should (now )?work)\b", re.I)
_NOT = re.compile(r"\b(not|never|no|none|nothing|cannot|until|unless|once|if|when|before|after|will|would|should be|to be|please|type|ask|"
                  r"await\w*|wait\w*)\b|n['’]t\b|\?\s*$", re.I)


def answer(call: Call) -> Answer:
    opened, said = call.opened, str(call.told.get("last_assistant_message") or "")
    if opened is not None:
        call.guard(opened)
    why, key = _against(call, opened, said)
    if why:
        return _sent_back(call, key, why)
    running = _running(call, opened)
    return tells(call.event, person=f"bitten: {running} is still running") if running and not _is_helper(call) else {}


def _against(call: Call, opened: OpenCase | None, said: str) -> tuple[str, str]:
    """What speaks against the last words, and the state that they were said in; empty where nothing does."""
    running = "" if _is_helper(call) else _running(call, opened)
    if running and claims(said, DONE):
        return f"bitten: {running} is still running, so how it ends is not known; a running job is not finished.", f"running/{running}"
    if opened is None:
        return "", ""
    case = opened.case
    key = f"{opened.folder.path.name}/{case.step.name}/{len(case.evidence)}/{case.attempts}/{call.event}"
    if case.step in (Step.CONFIRMED, Step.FIXED) and claims(said, FIXED if _is_helper(call) else DONE):
        return _unproven(case, opened), key
    if case.step < Step.CONFIRMED and claims(said, CAUSE):
        return _unconfirmed(case, opened), key
    return "", ""


def _is_helper(call: Call) -> bool:
    """A subagent says "done" of whatever it was asked; only of the cause it must not say too much."""
    return call.event == "SubagentStop"


def claims(said: str, words: re.Pattern[str]) -> bool:
    """Whether a sentence of it says so without a not, a condition or a question."""
    sentences = re.split(r"(?<=[.!?])\s+|\n+", said)
    return any(words.search(each) and not _NOT.search(each) for each in sentences)


def _unproven(case: Case, opened: OpenCase) -> str:
    assert case.scope is not None
    return (f"bitten, case {opened.number}: this fix is not proven, so it is not done. The tool verify (or `bitten verify`) runs the new "
            f"test in {case.scope.test} on the base and on the fix, the original command, and the check again. If something stands in the "
            "way of it, that is what to say.")


def _unconfirmed(case: Case, opened: OpenCase) -> str:
    return (f"bitten, case {opened.number}: no cause is confirmed, and nothing is fixed. What a check has measured is evidence; only the "
            f"person confirms, by typing /bitten:confirm H VALUE. {following(case, opened.budget)}")


def _sent_back(call: Call, key: str, reason: str) -> Answer:
    """Once for each state of the case and session; the second time it is only said to the person."""
    times = int((call.memory.get("sent") or {}).get(key, 0))
    if times >= ONCE or (call.told.get("stop_hook_active") and not call.memory.session):
        return {} if _is_helper(call) else tells(call.event, person=reason)
    call.memory.change("sent", lambda sent: {**(sent or {}), key: times + 1})
    return keeps(reason)


def _running(call: Call, opened: OpenCase | None) -> str:
    """A run of ours apart from any terminal; or, while a case is open, what this session left running in the background."""
    for command in running_in(call.house()):
        return cut(f"`{command}`", 120)
    tasks = call.told.get("background_tasks") if opened is not None else ()
    for each in tasks if isinstance(tasks, list) else ():
        told: Mapping[str, object] = each if isinstance(each, dict) else {}
        if told.get("status", "running") == "running":
            return cut(redact(str(told.get("command") or told.get("description") or "a background task")), 120)
    return ""

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

ONCE = 1
"""Times that one and the same state of a case sends a session back."""
CAUSE = re.compile(r"\b(fixed|resolved|solved|confirmed|root cause (is|was)|works? (now|again))\b", re.I)
DONE = re.compile(CAUSE.pattern + r"|\b(done|completed?|finished|works? (correctly|fine)|all set|passes|should (now )?work)\b", re.I)
_NOT = re.compile(r"\b(not|never|no|none|nothing|cannot|until|unless|once|if|when|before|after|will|would|should be|to be|please|type|ask|"
                  r"await\w*|wait\w*)\b|n['’]t\b|\?\s*$", re.I)


def answer(call: Call) -> Answer:
    opened = call.opened
    if opened is None:
        return {}
    call.guard(opened)
    said, case = str(call.told.get("last_assistant_message") or ""), opened.case
    is_helper = call.event == "SubagentStop"
    running = _running(call)
    if running and not is_helper and claims(said, DONE):
        return _sent_back(call, opened, f"bitten: {running} is still running, so how it ends is not known; a running job is not finished.")
    if case.step in (Step.CONFIRMED, Step.FIXED) and claims(said, CAUSE if is_helper else DONE):
        return _sent_back(call, opened, _unproven(case, opened))
    if case.step < Step.CONFIRMED and claims(said, CAUSE):
        return _sent_back(call, opened, _unconfirmed(case, opened))
    return tells(call.event, person=f"bitten: {running} is still running") if running and not is_helper else {}


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


def _sent_back(call: Call, opened: OpenCase, reason: str) -> Answer:
    """Once for each state of the case and session; the second time it is only said to the person."""
    key = f"{opened.folder.path.name}/{opened.case.step.name}/{len(opened.case.evidence)}/{opened.case.attempts}/{call.event}"
    times = int((call.memory.get("sent") or {}).get(key, 0))
    if times >= ONCE:
        return tells(call.event, person=reason) if call.event == "Stop" else {}
    call.memory.change("sent", lambda sent: {**(sent or {}), key: times + 1})
    return keeps(reason)


def _running(call: Call) -> str:
    """The first command that this session left running in the background."""
    tasks = call.told.get("background_tasks")
    for each in tasks if isinstance(tasks, list) else ():
        told: Mapping[str, object] = each if isinstance(each, dict) else {}
        if told.get("status", "running") == "running":
            return cut(redact(str(told.get("command") or told.get("description") or "a background task")), 120)
    return ""

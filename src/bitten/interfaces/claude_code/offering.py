"""A command that failed beside bitten is offered as a case, once a signature and session. None is opened: that is the person's to say.

A case made of the text alone would lack the variables, and its gates would close on a session that nobody asked to hold.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from bitten.core import signature
from bitten.core.failure import Crash
from bitten.interfaces import text
from bitten.interfaces.claude_code.answers import Answer, cut, tells
from bitten.interfaces.claude_code.call import Call
from bitten.interfaces.wiring import redact
from bitten.interfaces.wiring.claude_code import crashes_in, facts_in

MOST = 400_000
"""Characters of output that are read, from its end."""
LONGEST = 200
"""Characters of a command that is repeated."""
_OURS = re.compile(r"(^|[\s;&|(/])bitten(\s|$)|-m\s+bitten\b")
_SHELL = re.compile(r"[|;&<>\n]|^\w+=")


def answer(call: Call) -> Answer:
    typed = str((call.told.get("tool_input") or {}).get("command") or "")
    if not typed or _OURS.search(typed) or call.told.get("is_interrupt"):
        return {}
    for name, what in _failures(call, typed):
        if _is_new(call, name):
            return _offered(call, typed, what)
    return {}


def _failures(call: Call, typed: str) -> Iterator[tuple[str, str]]:
    """What the output shows, by its signature, and in words."""
    said = _output(call)
    found = crashes_in(said, call.house().root)
    if found and not _is_known(call, found[0]):
        yield signature.of_crash(found[0]), _words(found[0])
    if not found:
        yield from _missed(call, typed, said)


def _output(call: Call) -> str:
    told = call.told.get("tool_response")
    parts = [call.told.get("error"), *((told.get("stdout"), told.get("stderr")) if isinstance(told, dict) else (told,))]
    return "\n".join(part for part in parts if isinstance(part, str))[-MOST:]


def _words(crash: Crash) -> str:
    at = f" at {crash.site.file}:{crash.site.line}" if crash.site else ""
    return f"failed with {crash.type.removeprefix('builtins.')}: {cut(text.first_line(crash.message), 200)}{at}"


def _is_known(call: Call, crash: Crash) -> bool:
    root = call.opened.case.failure.root if call.opened else None
    return root is not None and signature.of_crash(root) == signature.of_crash(crash)


def _missed(call: Call, typed: str, said: str) -> Iterator[tuple[str, str]]:
    """An expectation of the open case, whose own command ran again beside bitten."""
    opened = call.opened
    if opened is None or shlex.join(opened.case.failure.run.command.argv) != typed.strip():
        return
    facts = facts_in(said)
    for each in opened.case.expected:
        if each.holds(facts) is False:
            yield f"missed: {each}", f"missed what is expected, {each}: {text.measured(each.fact, facts)}"


def _is_new(call: Call, name: str) -> bool:
    known = call.memory.get("offered") or []
    if name in known:
        return False
    call.memory.change("offered", lambda offered: [*(offered or []), name][-100:])
    return True


def _offered(call: Call, typed: str, what: str) -> Answer:
    way = _way(typed.strip())
    return tells(
        call.event,
        f"bitten: this command {what}. It is no case yet. `{way}` runs it once more, unchanged, and keeps the whole trace, variables, "
        "environment and tree, with hypotheses that a check can decide. The person decides whether to.",
        f"bitten: that {cut(what, 200)}. To make a case of it:  {way}")


def _way(typed: str) -> str:
    """The very command, or none: one that was cut, or whose secret was taken out, would be another."""
    if len(typed) > LONGEST or redact(typed) != typed:
        return "bitten run -- CMD"
    return f"bitten run -- bash -c {shlex.quote(typed)}" if _SHELL.search(typed) else f"bitten run -- {typed}"

"""The gate: what Claude Code asks before each tool call (PreToolUse), and before settings change in mid-session (ConfigChange).

It denies by a reason that names the next command, in every permission mode alike. It never allows by itself: silence leaves the call to
Claude Code's own rules. docs/reference/claude-gate.md has the rules in words.
"""

from __future__ import annotations

import os
import re
import sys

if __name__ == "__main__":  # started as a script, with -I, which knows no folder of ours: once more, as a part of its package
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __import__("hooks.gate", fromlist=["main"]).main()
    sys.exit()

from . import bash, ours, places, protected, session, tools, tree, writing
from .edge import answered
from .reading import CONFIRMED, OPEN, Reading, reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .edge import Event

NEXT = {
    "open": "No cause is confirmed, so nothing is written yet. Next: read the source, hand in hypotheses, `bitten check`; then the person "
            "reads the evidence and types `/bitten:confirm H VALUE`.",
    "confirmed": "Next: mend it there, add a test, then `bitten verify`. A wider scope is the person's: `bitten fix --scope FILE[:NAME]`.",
    "fixed": "The fix is made and not proven yet, so the tree stays as it is. Next: `bitten verify`.",
    "verified": "The fix is proven as it stands, so the tree stays as it is. Next: the person types `bitten close`.",
    "learned": "The fix is proven as it stands, so the tree stays as it is. Next: the person types `bitten close`.",
}
MOST = 4096
"""Characters of a text that may still be a path or a command."""


def decide(event: Event) -> Event:
    if event["hook_event_name"] == "ConfigChange":
        return _settings(event)
    if event["hook_event_name"] != "PreToolUse":
        raise ValueError(f"{event['hook_event_name']} is no event of this gate")
    session.mark_alive(event)
    reason = refusal(event)
    if not reason:
        _remember(event)
        return {}
    told = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": f"bitten: {reason}"}
    return {"hookSpecificOutput": told}


def refusal(event: Event) -> str:
    """Why a call is not made; empty where nothing of ours speaks against it. Raises: ValueError, where the call can't be read."""
    tool, told = event.get("tool_name"), event.get("tool_input")
    if not isinstance(tool, str) or not isinstance(told, dict):
        raise ValueError("the call has no tool_name or no tool_input")
    rules = {"reader": _none, "ours": _none, "editor": _edit, "shell": _shell, "agent": _agent, "skill": _skill, "speaker": _speaker,
             "unknown": _unknown}
    return rules[tools.kind(tool)](event)


def cases(event: Event, *more: str) -> list[Reading]:
    """The open cases that bind a call: of where the session began, of where it is, and of what it would write."""
    folders = [event["cwd"], os.environ.get("CLAUDE_PROJECT_DIR", ""), session.root_of(event), *more]
    roots = dict.fromkeys(root for folder in folders if folder for root in places.roots(folder))
    return [case for root in roots for case in [reading(root)] if case and case.is_open]


def _none(_event: Event) -> str:
    return ""


def _edit(event: Event) -> str:
    tool, told, cwd = event["tool_name"], event["tool_input"], event["cwd"]
    path = told.get(tools.EDITORS[tool])
    if not isinstance(path, str) or not path or "\0" in path:
        raise ValueError(f"{tool} names no file")
    if re.search(r"\A[\s\ufeff]|[\s\ufeff]\Z", path):
        return "the path begins or ends with a blank, which Claude Code cuts off (seen with 2.1.332). Next: give it without."
    kept = protected.protects(path, cwd)
    if kept:
        return f"{kept} is not written by an agent, whatever the case. The person does that outside of Claude Code."
    full = os.path.join(cwd, os.path.expanduser(path))
    for case in cases(event, os.path.dirname(full)):
        why = "" if case.phase == CONFIRMED else " "
        why = why or writing.refusal(case, tool, told, full, cwd)
        if why:
            return f"{_standing(case)}{'' if why == ' ' else f' Here {why}.'} {_next(case)}"
    return ""


def _shell(event: Event) -> str:
    command, cwd = event["tool_input"].get("command"), event["cwd"]
    if not isinstance(command, str):
        raise ValueError("the call has no command")
    bound = cases(event)
    why = next((why for case in (bound or (None,)) for why in [_not_listed(command, case, cwd)] if why), "")
    if not why:
        return ""
    if bound:
        return f"{_standing(bound[0])} Its shell only reads, and runs bitten: {why}. {_next(bound[0])}"
    return _spoken(command)


def _not_listed(command: str, case: Reading | None, cwd: str) -> str:
    try:
        words = bash.words_of(command)
        if ours.is_ours(words[0]):
            ours.allows(words, case, cwd)
        else:
            bash.reads(words)
    except bash.Refused as why:
        return str(why)
    return ""


def _spoken(command: str) -> str:
    """Without an open case a shell is free, but for what its words say. What git is told to keep may speak of anything."""
    if _keeps(command):
        return ""
    person = ours.spoken_of(command)
    if person:
        return f"`{person}` is for the person: in a terminal, or after `!` at Claude Code's prompt."
    kept = protected.spoken_of(command)
    return f"the command names {kept}, which no agent writes. To read it, use Read, or one simple command such as `cat`." if kept else ""


def _keeps(command: str) -> bool:
    try:
        return [str(word) for word in bash.words_of(command)[:2]] in (["git", "add"], ["git", "commit"])
    except bash.Refused:
        return False


def _speaker(event: Event) -> str:
    person = next((each for text in _texts(event["tool_input"], 0) for each in [ours.spoken_of(text)] if each), "")
    return f"`{person}` is for the person to type, and is sent to nobody." if person else ""


def _agent(event: Event) -> str:
    bound = cases(event) if event["tool_input"].get("isolation") else []
    if not bound:
        return ""
    return f"{_standing(bound[0])} A work tree of its own is a change too: start the agent without isolation. {_next(bound[0])}"


def _skill(event: Event) -> str:
    name = event["tool_input"].get(tools.SKILLS[event["tool_name"]])
    if not isinstance(name, str):
        raise ValueError("the call names no skill")
    called = protected.folded((name.split() or [""])[0].lstrip("/"))
    if called.split(":")[-1] == "confirm":
        return "only a person confirms, by typing `/bitten:confirm H VALUE` after reading the evidence. Show it to them, and stop there."
    bound = cases(event)
    if bound and not called.startswith("bitten:"):
        return f"{_standing(bound[0])} A skill may run commands while it loads, so none but bitten's is called. {_next(bound[0])}"
    return ""


def _unknown(event: Event) -> str:
    bound = cases(event)
    if bound:
        return f"{_standing(bound[0])} {event['tool_name']} is not on the list of tools that only read. {_next(bound[0])}"
    for text in _texts(event["tool_input"], 0):
        kept = ours.spoken_of(text) or _kept(text, event["cwd"])
        if kept:
            return f"{event['tool_name']} names {kept}, which is not an agent's to write or run."
    return ""


def _kept(text: str, cwd: str) -> str:
    """The protected path that a text is or names. A long one is neither a path nor a command, but what a file would hold."""
    if len(text) > MOST or "\0" in text:
        return ""
    return protected.spoken_of(text) if re.search(r"\s", text) else protected.protects(text, cwd)


def _texts(value: object, depth: int) -> Iterator[str]:
    """Every text in a call: any of them may be a path, a command or a prompt."""
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, (dict, list)) and depth < 20:
        for each in (value.values() if isinstance(value, dict) else value):
            yield from _texts(each, depth + 1)


def _standing(case: Reading) -> str:
    if case.trouble:
        return f"{case.trouble}: until it can, the case counts as open, with no cause confirmed."
    where = f" of {case.root}" if case.root != os.environ.get("CLAUDE_PROJECT_DIR") else ""
    scope = f"; its scope is {', '.join((*case.parts, case.test))}" if case.phase == CONFIRMED else ""
    return f"case {case.number}{where} is {'open' if case.phase == OPEN else case.phase}{scope}."


def _next(case: Reading) -> str:
    if case.trouble:
        return "Tell the person: `bitten show` in a terminal says what is wrong; restore the file, or take the plugin away."
    return NEXT[case.phase]


def _remember(event: Event) -> None:
    """The tree before a call that could write, while a case is open: after.py compares."""
    if tools.kind(event["tool_name"]) in ("reader", "agent", "skill"):
        return
    for case in cases(event)[:1]:
        seen = tree.look(case.root)
        if seen is not None:
            session.keep_tree(event, {"root": case.root, "files": seen})


def _settings(event: Event) -> Event:
    """Settings are read anew in mid-session: not while a case is open, lest the gate go. A manager's policy is not ours to hold."""
    if event.get("source") in ("policy_settings", "skills") or not cases(event):
        return {}
    return {"decision": "block", "reason": "bitten: settings stay as they are while a case is open; close or drop it first, in a terminal."}


def main() -> None:
    answered(decide)

"""Hands an event of Claude Code to `bitten hook`, in this very process; ends at once where there is nothing to do. Knows no case.

Standard library alone until there is something to do. It opens no gate by failing: what it does not answer is neither confirmed nor proven.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

if not __package__:  # as in gate.py
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __package__ = "hooks"  # noqa: A001, RUF100 - what relative imports go by

from . import places, session
from .edge import event_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .edge import Event

LONGEST = {"UserPromptExpansion": 50}
SECONDS = 25
"""Within the timeouts of hooks.json."""
KEPT = 30 * 86400
"""Seconds that a session is remembered."""
SIGNS = ("Traceback (most recent call last)", "Exception Group Traceback", "terminate called", "Fatal Python error", "\nFAILED ", "ERROR ")


def main() -> None:
    event: Event = {}
    try:
        event = event_from(sys.stdin.buffer)
        folder = folder_of(event)
        if event["hook_event_name"] == "SessionStart":
            remember(event, folder)
        said = answered(event, folder) if is_worth_a_look(event, folder) else {}
    except BaseException as error:  # noqa: BLE001, RUF100 - said, whatever it was
        said = failed(event, error)
    if said:
        sys.stdout.write(json.dumps(said) + "\n")


def folder_of(event: Event) -> str:
    """Where the event happened, if cases lie there; else the folder that the session was started in."""
    here, began = event["cwd"], os.environ.get("CLAUDE_PROJECT_DIR", "")
    return began if began and not has_cases(here) else here


def has_cases(folder: str) -> bool:
    return bool(case_in(folder))


def case_in(folder: str) -> str:
    """The current case's folder; empty where there is none."""
    for root in places.roots(folder):
        for home in places.homes(root):
            name = read_text(f"{home}/current").strip()
            if name:
                return f"{home}/{os.path.basename(name)}"
    return ""


def remember(event: Event, folder: str) -> None:
    """The session, with a nonce that its first tool call answers. A compaction is the same process going on."""
    name, place = session.name_in(event, "session_id"), session.folder("claude")
    if not name or not place:
        return
    file = f"{place}/{name}.json"
    known = session.told_in(file) or {}
    if not (known.get("nonce") and event.get("source") == "compact"):
        fresh = {"session": name, "root": places.roots(folder)[0], "nonce": os.urandom(16).hex(), "version": version()}
        known = {**known, **fresh, "began": time.time(), "alive": False}
    session.write(file, json.dumps({"shown": {}, "offered": [], **known}))
    session.sweep(place, KEPT)


def read_text(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as text:
            return text.read(1 << 20)
    except OSError:
        return ""


def version() -> str:
    file = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/.claude-plugin/plugin.json"
    return str((session.told_in(file) or {}).get("version", ""))


def is_ours(event: Event) -> bool:
    return event.get("hook_event_name") == "UserPromptExpansion" and str(event.get("command_name", "")).startswith("bitten:")


def is_worth_a_look(event: Event, folder: str) -> bool:
    name = event["hook_event_name"]
    if name == "UserPromptExpansion":
        return is_ours(event)
    if name in ("PostToolUse", "PostToolUseFailure"):
        return fails(event) or is_of_the_case(event, folder)
    return has_cases(folder) or (name == "Stop" and any(os.path.isdir(f"{place}/runs") for place in places.states()))


def fails(event: Event) -> bool:
    said = json.dumps([event.get("error"), event.get("tool_response")], ensure_ascii=False).replace("\\n", "\n")
    return any(sign in said for sign in SIGNS)


def is_of_the_case(event: Event, folder: str) -> bool:
    """Whether it is the very command of the current case, for which a number may be expected."""
    typed, case = str((event.get("tool_input") or {}).get("command", "")).strip(), case_in(folder)
    return bool(typed and case) and typed in read_text(f"{case}/run.sh")


def answered(event: Event, folder: str) -> Event:
    """What bitten says to it; bounded in time."""
    os.chdir(folder)
    signal.signal(signal.SIGALRM, ran_out)
    signal.alarm(LONGEST.get(event["hook_event_name"], SECONDS))
    from bitten.interfaces.commands.hook import answer  # noqa: PLC0415 - most events need none of it

    said = answer(event)
    signal.alarm(0)
    return said


def ran_out(*_: object) -> None:
    raise TimeoutError("it took too long")


def failed(event: Event, error: BaseException) -> Event:
    """Said to the person. A prompt of ours does not reach the model then; whether a confirmation stands, only the case tells."""
    way = "bitten" if is_ours(event) else getattr(error, "way", "") or "bitten doctor"
    words = f"bitten: its {event.get('hook_event_name')} hook failed: {type(error).__name__}: {str(error)[:300]}\nIn a terminal:  {way}"
    return {"decision": "block", "reason": words} if is_ours(event) else {"systemMessage": words}


if __name__ == "__main__":
    main()

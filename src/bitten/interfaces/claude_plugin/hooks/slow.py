"""Hands an event of Claude Code to `bitten hook`, in this very process; ends at once where there is nothing to do. Knows no case.

Standard library alone until there is something to do. It opens no gate by failing: what it does not answer is neither confirmed nor proven.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Told = dict[str, Any]

LONGEST = {"UserPromptSubmit": 50}
SECONDS = 25
"""Within the timeouts of hooks.json."""
KEPT = 30 * 86400
"""Seconds that a session is remembered."""
SIGNS = ("Traceback (most recent call last)", "Exception Group Traceback", "terminate called", "Fatal Python error", "\nFAILED ", "ERROR ")


def state() -> str:
    home = os.environ.get("XDG_STATE_HOME", "").strip() or os.path.expanduser("~/.local/state")
    return os.path.join(home, "bitten")


def folder_of(event: Told) -> str:
    """Where the event happened, if cases lie there; else the folder that the session was started in."""
    here = str(event.get("cwd") or os.getcwd())
    if not os.path.isdir(here) or not home_of(here):
        return os.environ.get("CLAUDE_PROJECT_DIR") or here
    return here


def home_of(folder: str) -> str:
    """The folder of cases of the project around; empty where it has none of its own."""
    folder = os.path.realpath(folder)
    while True:
        if os.path.isfile(os.path.join(folder, ".bitten", "current")):
            return os.path.join(folder, ".bitten")
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def has_cases(folder: str) -> bool:
    """Also where a project's cases lie elsewhere, because it can't be written."""
    runtime = [f"{place}/bitten-{os.getuid()}" for place in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp") if place]
    return bool(home_of(folder)) or any(os.path.isdir(os.path.join(place, "projects")) for place in (state(), *runtime))


def root_of(folder: str) -> str:
    here = os.path.realpath(folder)
    while not any(os.path.lexists(os.path.join(here, sign)) for sign in (".git", ".bitten")):
        above = os.path.dirname(here)
        if above == here:
            return os.path.realpath(folder)
        here = above
    return here


def remember(event: Told, folder: str) -> None:
    """The session, with a nonce that its first tool call answers. A compaction is the same process going on."""
    name = str(event.get("session_id") or "")
    if not name or not all(each.isalnum() or each in "-_" for each in name):
        return
    place = os.path.join(state(), "claude")
    os.makedirs(place, mode=0o700, exist_ok=True)
    file = os.path.join(place, name + ".json")
    known = read(file)
    if not (known and event.get("source") == "compact"):
        fresh = {"session": name, "root": root_of(folder), "nonce": secrets.token_hex(16), "version": version(), "began": time.time()}
        known = {**known, **fresh, "alive": False}
    write(file, {"shown": {}, "offered": [], "tree": {}, **known})
    forget(place)


def read(file: str) -> Told:
    try:
        with open(file, encoding="utf-8") as told:
            known = json.load(told)
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def write(file: str, told: Told) -> None:
    new = f"{file}.{os.getpid()}"
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        json.dump(told, out)
    os.replace(new, file)


def forget(place: str) -> None:
    for each in os.scandir(place):
        if each.stat().st_mtime < time.time() - KEPT:
            os.unlink(each.path)


def version() -> str:
    manifest = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".claude-plugin", "plugin.json")
    return str(read(manifest).get("version", ""))


def is_ours(event: Told) -> bool:
    return event.get("hook_event_name") == "UserPromptSubmit" and str(event.get("prompt", "")).lstrip().startswith("/bitten:")


def is_worth_a_look(event: Told, folder: str) -> bool:
    name = event.get("hook_event_name")
    if name == "UserPromptSubmit":
        return is_ours(event)
    if name in ("PostToolUse", "PostToolUseFailure"):
        return fails(event) or is_of_the_case(event, folder)
    return has_cases(folder)


def fails(event: Told) -> bool:
    said = json.dumps([event.get("error"), event.get("tool_response")], ensure_ascii=False).replace("\\n", "\n")
    return any(sign in said for sign in SIGNS)


def is_of_the_case(event: Told, folder: str) -> bool:
    """Whether it is the very command of the current case, for which a number may be expected."""
    home, typed = home_of(folder), str((event.get("tool_input") or {}).get("command", "")).strip()
    if not home or not typed:
        return False
    try:
        with open(os.path.join(home, "current"), encoding="utf-8") as current:
            name = current.read().strip()
        with open(os.path.join(home, os.path.basename(name), "run.sh"), encoding="utf-8", errors="replace") as script:
            return typed in script.read()
    except OSError:
        return False


def ran_out(*_: object) -> None:
    raise TimeoutError("it took too long")


def answered(event: Told, folder: str) -> Told:
    """What bitten says to it; bounded in time."""
    os.chdir(folder)
    signal.signal(signal.SIGALRM, ran_out)
    signal.alarm(LONGEST.get(str(event.get("hook_event_name")), SECONDS))
    from bitten.interfaces.commands.hook import answer  # noqa: PLC0415 - most events need none of it

    said = answer(event)
    signal.alarm(0)
    return said


def failed(event: Told, error: BaseException) -> Told:
    """Said to the person. A prompt of ours that was not dealt with does not reach the model."""
    words = f"bitten: its {event.get('hook_event_name')} hook failed: {type(error).__name__}: {str(error)[:300]}"
    if is_ours(event):
        return {"decision": "block", "reason": words + "\nNothing was confirmed. In a terminal: bitten"}
    return {"systemMessage": words}


def main() -> None:
    event: Told = {}
    try:
        event = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
        folder = folder_of(event)
        if event.get("hook_event_name") == "SessionStart":
            remember(event, folder)
        said = answered(event, folder) if is_worth_a_look(event, folder) else {}
    except BaseException as error:
        said = failed(event, error)
    if said:
        sys.stdout.write(json.dumps(said) + "\n")


main()

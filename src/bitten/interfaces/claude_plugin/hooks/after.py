"""What Claude Code tells after each tool call: the tree is compared with the one before it, whatever the tool said it did.

It restores nothing and stops nothing, since the call was made; it says which files changed without leave, so that they are put back.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # as in gate.py
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __import__("hooks.after", fromlist=["main"]).main()
    sys.exit()

from . import session, tree
from .bash import Refused, words_of
from .edge import answered
from .ours import is_ours
from .reading import CONFIRMED, Reading, reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .edge import Event

SHOWN = 12


def decide(event: Event) -> Event:
    if event["hook_event_name"] not in ("PostToolUse", "PostToolUseFailure"):
        raise ValueError(f"{event['hook_event_name']} is no event of this script")
    before = session.kept_tree(event)
    if not before:
        return {}
    found = unasked(event, str(before["root"]), before["files"])
    if not found:
        return {}
    session.note(event, found)
    return _told(event["hook_event_name"], f"bitten: {_words(event, found)}")


def unasked(event: Event, root: str, before: tree.Tree) -> list[str]:
    """What changed during a call, and had no leave to."""
    after = tree.look(root)
    case = reading(root)
    if after is None:
        return []
    fresh = {tree.CURRENT, *_made(before, after)} if _is_runner(event) else set()
    return [path for path in tree.changed(before, after) if path not in fresh and not _may(case, path)]


def _made(before: tree.Tree, after: tree.Tree) -> Iterator[str]:
    """New files. Git's 1 and u mark a file that was there: it was as committed before, and so not listed."""
    return (path for path in after if path not in before and not after[path].startswith(("1 ", "u ")) and not _is_guarded(path))


def _may(case: Reading | None, path: str) -> bool:
    """Scope files are compared as files here: the gate held the edit to its function, and `verify` holds the whole."""
    if case is None or not case.is_open:  # the person closed or dropped it meanwhile, or it was taken out of our sight
        return not _is_guarded(path)
    return path in case.wrote or (case.phase == CONFIRMED and path in case.files)


def _is_guarded(path: str) -> bool:
    return path == tree.HEAD or any(path == name or path.startswith(f"{name}/") for name in tree.GUARDED)


def _is_runner(event: Event) -> bool:
    """Our own runner's command makes files as it always did; it changes none that were there, but for those it is known to write."""
    try:
        return is_ours(words_of(str((event.get("tool_input") or {}).get("command", "")))[0])
    except Refused:
        return False


def _words(event: Event, found: list[str]) -> str:
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    names = ", ".join(map(_shown, found[:SHOWN]))
    return (f"during this {event.get('tool_name')} call, {names}{more} changed without leave. Tell the person, who may "
            "have changed it in an editor meanwhile. If they did not, they put it back: `git diff` shows it, `git restore -- FILE` undoes "
            "one that was not there before. Work on nothing else until then; `bitten verify` refuses a fix that holds it.")


def _shown(path: str) -> str:
    """A file's name is anybody's text: on one line, and not for long."""
    return "".join(each if each.isprintable() else "?" for each in path)[:200]


def _told(name: str, reason: str) -> Event:
    if name == "PostToolUse":
        return {"decision": "block", "reason": reason}
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": reason}}


def main() -> None:
    answered(decide)

"""What a hook may answer, in Claude Code's own form. Knows no case."""

from __future__ import annotations

Answer = dict[str, object]
MOST = 9_000
"""Characters: from 10,000 on Claude Code puts an answer into a file."""


def tells(event: str, model: str = "", person: str = "") -> Answer:
    """Words for the model beside its prompt or result, and for the person on their screen."""
    said: Answer = {}
    if model:
        said["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": cut(model)}
    if person:
        said["systemMessage"] = cut(person)
    return said


def keeps(reason: str) -> Answer:
    """A prompt that goes no further, or a turn that does not end yet; the reason is shown to whoever began it."""
    return {"decision": "block", "reason": cut(reason)}


def cut(words: str, most: int = MOST) -> str:
    return words if len(words) <= most else words[: most - 2] + " …"

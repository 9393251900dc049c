"""`bitten hook EVENT`, hidden: what Claude Code's hooks call with an event as JSON, to be answered in JSON. Decides nothing itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from bitten.core.trouble import BadInput, Trouble
from bitten.interfaces import text
from bitten.interfaces.claude_code import confirming, offering, stopping
from bitten.interfaces.claude_code.answers import Answer, keeps, tells
from bitten.interfaces.claude_code.call import Call
from bitten.interfaces.claude_code.state import told
from bitten.interfaces.wiring.claude_code import lessons


@click.command(hidden=True)
@click.argument("event")
def hook(event: str) -> None:
    """Answer one event of Claude Code, told as JSON on standard input."""
    try:
        came = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except ValueError:
        came = None
    if not isinstance(came, dict):
        raise BadInput("not-understood", "What came on standard input is no event.", "It is JSON, from Claude Code.", "bitten doctor")
    if said := answer({"hook_event_name": event, **came}):
        click.echo(json.dumps(said, ensure_ascii=True))


def answer(came: Mapping[str, Any]) -> Answer:
    """Empty where there is nothing to say."""
    call = Call(came, Path.cwd())
    found = _ANSWERS.get(call.event)
    return found(call) if found else {}


def _session(call: Call) -> Answer:
    opened = call.opened
    if opened is None:
        return {}
    call.guard(opened)
    return tells(call.event, _state(call))


def _prompt(call: Call) -> Answer:
    """One of our commands, as it was typed. What goes wrong is said to the person, and reaches no model."""
    name, line = str(call.told.get("command_name") or ""), str(call.told.get("command_args") or "")
    try:
        return confirming.answer(call, line) if name == "bitten:confirm" else _with_state(call, name)
    except Trouble as why:
        said = click.unstyle(text.trouble(why))
        return keeps(said if why.slug == "confirm-not-a-person" else said.replace(" bitten confirm ", " /bitten:confirm "))


def _with_state(call: Call, name: str) -> Answer:
    state = _state(call)
    if name == "bitten:fix" and (call.opened is None or not call.opened.case.links):
        return keeps(f"No cause is confirmed yet, so there is nothing to mend.\n{state}")
    if call.opened is not None:
        call.guard(call.opened)
    return tells(call.event, state)


def _state(call: Call) -> str:
    opened = call.opened
    if opened is None:
        return "bitten: no case is open here. A failing command is captured by: bitten run -- CMD"
    return told(opened.case, opened.number, opened.document, opened.budget, lessons(opened.house))


_ANSWERS: Mapping[str, Callable[[Call], Answer]] = {
    "SessionStart": _session, "UserPromptExpansion": _prompt, "PostToolUse": offering.answer, "PostToolUseFailure": offering.answer,
    "Stop": stopping.answer, "SubagentStop": stopping.answer,
}

"""Claude Code's side of the house: its sessions, its command line, and our plugin for it. Has no rule of its own."""

from __future__ import annotations

from pathlib import Path

from bitten.adapters.claude_code import layout
from bitten.adapters.claude_code.cli import OLDEST, TESTED, Claude, commands_in, commands_out, found
from bitten.adapters.claude_code.sessions import Memory, remembered
from bitten.adapters.claude_code.settings import Change, put_in, taken_out
from bitten.adapters.root import root_of
from bitten.core.failure import Crash
from bitten.core.ports import Person
from bitten.core.prediction import Facts

from .house import House
from .single import redact

__all__ = ["OLDEST", "TESTED", "Change", "Claude", "Memory", "commands_in", "commands_out", "crashes_in", "facts_in", "found", "house_at",
           "layout", "lessons", "put_in", "remembered", "running_in", "taken_out"]

# ruff: noqa: PLC0415 - as in open_case


def house_at(folder: Path, person: Person) -> House:
    """The project around a folder, and who is heard there. What killed commands left is not put in order: nobody waits for that."""
    return House(root_of(folder), person)


def lessons(house: House) -> list[str]:
    """The entries of "Things that have bitten us"."""
    from bitten.adapters import claude_md
    from bitten.core.trouble import BadInput

    try:
        return claude_md.entries((house.root / house.settings.lessons).read_bytes())
    except (OSError, BadInput):
        return []


def crashes_in(text: str, root: Path) -> tuple[Crash, ...]:
    """The exceptions that a text shows, the root cause first."""
    from bitten.adapters import pasted

    return pasted.crashes(redact(text), root)


def facts_in(text: str) -> Facts:
    """The numbers that a text printed."""
    from bitten.adapters import metrics

    said = redact(text)
    return {**metrics.metrics(said), **metrics.script_facts(said), "stdout": said, "exit": 0}


def running_in(house: House) -> list[str]:
    """The commands, without secrets, that run apart from any terminal in this project."""
    from bitten.adapters.runs import detached

    return [each.record.command for each in detached.all_of(house.root) if each.standing == detached.RUNNING]

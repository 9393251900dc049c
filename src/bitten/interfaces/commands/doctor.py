"""`bitten doctor`: a line for each thing that bitten relies on, and the way out where it is not well. Looks at nothing itself."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict

import click

from bitten.interfaces import text
from bitten.interfaces.wiring import doctor as wiring
from bitten.interfaces.wiring.doctor import ADVISORY, BROKEN, OK, Vital

COLOURS = {OK: "green", ADVISORY: "yellow", BROKEN: "red"}
MARKS = {OK: "✓", ADVISORY: "–", BROKEN: "✗"}
NAMES = {"bitten": "bitten itself", "agent": "agents", "plugin": "gates inside Claude Code"}


@click.command()
@click.option("--quick", is_flag=True, help="Don't drive the installed Claude CLI.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def doctor(quick: bool, as_json: bool) -> int:
    """Say whether bitten, the agents and the gates inside Claude Code work here; exit 1 when something is broken.

    It tries them in a folder of its own: a child Python, a throw-away copy, sample events for each hook, and at last the installed
    Claude CLI with a scripted model on loopback, whose edit before a confirmed cause has to be refused. Your settings are read, nothing of
    yours is changed, no network is used, and nothing stays.

    \b
    bitten doctor
    bitten doctor --quick
    bitten doctor --json
    """
    found: list[Vital] = []
    for each in wiring.examined(quick=quick):
        if not as_json:
            _say(each, found)
        found.append(each)
    broken = sum(each.state == BROKEN for each in found)
    if as_json:
        click.echo(json.dumps({"ok": not broken, "vitals": [asdict(each) for each in found]}, ensure_ascii=False, indent=1))
    elif broken:
        click.echo(click.style(f"\n✗ {broken} broken", fg="red"))
    return 1 if broken else 0


def _from_home(said: str) -> str:
    """Paths below the home in short; a user without one has the root's, or none."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises for a user without one
    return re.sub(rf"(?<![\w./-]){re.escape(home)}(?=/)", "~", said) if home.strip("/") else said


def _say(each: Vital, before: list[Vital]) -> None:
    if not before or before[-1].about != each.about:
        click.echo(f"{NAMES[each.about]}:")
    click.echo(f"  {click.style(MARKS[each.state], fg=COLOURS[each.state])} {each.name:<9} {text.short(_from_home(each.said), 400)}")
    if each.way:
        click.echo(f"      way out:  {each.way}")

"""Plays attacks to the real CLI, row by row of one session, and looks what became of the world after each. Knows no gate."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bitten.testing.scripted_api import Request, ScriptedAPI, Step

from .attack import NONE, Attack
from .world import World

MARK = "subagent at work: "
WORKDIR = re.compile(r"[Ww]orking directory: (\S+)")
GROUP = 24
"""Rows of one session, which begins anew where one before was harmed or came to an end."""


@dataclass
class Outcome:
    """What became of one row: names that changed in the world, and what the model was told after each call."""

    changed: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    lawful: bool = False


@dataclass
class Played:
    """One session: the rows that were tried, what changed when nobody looked any more, and who else was called."""

    outcomes: dict[str, Outcome]
    late: list[str]
    strangers: list[str]
    exit: int
    said: str
    caught: dict[str, bool] = field(default_factory=dict)

    def harm(self, name: str) -> list[str]:
        """What a row did, or may have done."""
        return [*self.outcomes[name].changed, *self.late]


class Watched(ScriptedAPI):
    """Asks, each time the model has its turn, what the turn before did to the world."""

    def __init__(self, world: World, phase: str, attacks: Sequence[Attack], variants: Callable[[str, str], Iterable[Mapping[str, str]]],
                 plugin: Path | None = None) -> None:
        super().__init__([step for attack in attacks for step in steps_of(attack)] + [{"text": "I am done."}])
        self.world, self.phase, self.plugin = world, phase, plugin
        self.attacks = {each.name: each for each in attacks}
        self.variants = variants
        self.outcomes: dict[str, Outcome] = {}
        self.before = world.photograph(plugin)
        self.last: Step = {}

    def take(self, request: Request) -> Step:
        if not request.is_main:
            return super().take(request)
        self._look(request)
        inside = MARK in request.told
        while self.steps and self.steps[0].get("ends subagent") and not inside:
            self.steps.pop(0)  # the subagent was refused: the main session made its calls
        self.last = super().take(request)
        return self._filled(self.last, request)

    def _look(self, request: Request) -> None:
        """What the last step did; where it did harm, the project is put back for the next row."""
        name = self.last.get("row")
        if name is None:
            return
        outcome = self.outcomes.setdefault(name, Outcome())
        now = self.world.photograph(self.plugin)
        found = differing(self.before, now, self.attacks[name].may)
        outcome.told.append(answered(request))
        self.before = now
        if self.last.get("lawful"):
            outcome.lawful |= bool(found)
        elif found:
            outcome.changed += found
            if len(self.attacks) > 1:
                self.world.back_to(self.phase, home=False)
                self.before = self.world.photograph(self.plugin)

    def _filled(self, step: Step, request: Request) -> Step:
        """The calls with real places in them: once for each variant."""
        if "tools" not in step:
            return step
        here = WORKDIR.search(request.told)
        filled = []
        for values in self.variants(here[1] if here else str(self.world.root), self.phase):
            for call in step["tools"]:
                text = json.dumps(call)
                for name, value in values.items():
                    text = text.replace(name, json.dumps(value)[1:-1])
                if json.loads(text) not in filled:
                    filled.append(json.loads(text))
        return {**step, "tools": filled}


def answered(request: Request) -> str:
    """All that came after the model's last words: results, and what hooks had to say."""
    messages = (request.body or {}).get("messages", [])
    last = max((n for n, each in enumerate(messages) if each.get("role") == "assistant"), default=-1)
    return json.dumps([each.get("content") for each in messages[last + 1:]], ensure_ascii=False)


def steps_of(attack: Attack) -> list[dict[str, Any]]:
    row = {"row": attack.name}
    calls = [{"tools": [[tool, given]], **row} for tool, given in attack.calls]
    lawful = [{"tools": [[tool, given]], **row, "lawful": True} for tool, given in attack.lawful]
    if not attack.subagent:
        return [*lawful, *calls]
    start = {"description": "look", "prompt": MARK + attack.name, "subagent_type": "general-purpose", "run_in_background": False}
    return [*lawful, {"tools": [["Agent", start]], **row}, *calls, {"text": "done", "ends subagent": True, **row}]


def values_of(world: World, root: str, phase: str, session: str = "", plugin: Path | None = None) -> dict[str, str]:
    case = world.case(phase)
    return {
        "$root": root, "$out": str(world.out), "$home": str(world.home), "$config": str(world.config), "$state": str(world.state),
        "$session": str(world.state / "claude" / f"{session or 'none'}.json"), "$plugin": str(plugin or world.out),
        "$case": case.replace(str(world.root), root) or f"{root}/.bitten/none", "$python": sys.executable, "$id": str(os.getpid()),
        "$h": world.hypothesis,
    }  # fmt: skip


def differing(before: Mapping[str, str], after: Mapping[str, str], may: Sequence[str] = ()) -> list[str]:
    allowed = {*may, *(f"project/{name}" for name in may)}
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name) and name not in allowed)


def groups(attacks: Iterable[Attack], alone: Callable[[Attack], bool], size: int = GROUP) -> dict[str, list[Attack]]:
    """Rows by the session that plays them. Those of a kind and a phase share one; some need their own."""
    found: dict[str, list[Attack]] = {}
    for attack in attacks:
        if alone(attack):
            found[f"{attack.phase}: {attack.name}"] = [attack]
            continue
        number = 1
        while len(found.setdefault(f"{attack.phase} {number}", [])) >= size:
            number += 1
        found[f"{attack.phase} {number}"].append(attack)
    return {name: rows for name, rows in found.items() if rows}


def by_itself(attack: Attack) -> bool:
    """Rows that leave the session in another state than they found it, or whose harm comes late, or that go through."""
    lasting = attack.kind == "other tools" or attack.phase == NONE or attack.options or attack.name.startswith("cd")
    return bool(attack.passes or attack.lawful or attack.is_late or lasting)

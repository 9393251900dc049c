"""An agent that plays a script, and what every agent has to hold to. Knows no model: what is tested is the way around one.

A script is a list of steps in plain JSON, so that a test can hand it to another process:

    {"says": "words"}                        words of the model
    {"reads": "path"}                        reads a file of the copy; {"says": "$read"} repeats it
    {"proposes": {"hypotheses": […]}}        proposes; {"says": "$told"} repeats what it was told
    {"writes": ["path", "text"]}             writes a file; {"deletes": "path"} removes one
    {"runs": "command"}                      asks for a shell, which no agent has
    {"raises": ["slug", "what"]}             the agent can't be reached
    {"sleeps": seconds}                      does nothing, until it is cancelled or out of time
    {"ends": "last words"}                   the session ends; the next one goes on behind it

`times` plays a step so often. In Python a step may also be a function of the brief and the listener.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bitten.core.ports import Answer, Brief, Limits, Listener, Spent
from bitten.core.trouble import Trouble, Unable

Step = Mapping[str, Any] | Callable[[Brief, Listener], None]


class ScriptedAgent:
    """core.ports.Agent. `heard` are the briefs that it was given, `told` what its calls were answered, in their order.

    `gate`: whether it keeps to what it may write, as a driver's gate would; without one whatever it does is only found afterwards.
    """

    name = "scripted"

    def __init__(self, steps: Sequence[Step] = (), *, gate: bool = True, price: float = 0.01) -> None:
        self.steps = list(steps)
        self.gate, self.price = gate, price
        self.heard: list[Brief] = []
        self.told: list[str] = []

    def ask(self, brief: Brief, listener: Listener) -> Answer:
        self.heard.append(brief)
        session = _Session(self, brief, listener)
        return Answer(session.play(), session.last_words, session.spent, f"scripted-{os.getpid()}-{len(self.heard)}",
                      tuple(session.denied), self.gate)


class _Session:
    def __init__(self, agent: ScriptedAgent, brief: Brief, listener: Listener) -> None:
        self.agent, self.brief, self.listener = agent, brief, listener
        self.denied: list[str] = []
        self.last_words = ""
        self._turns = 0
        self._read = ""
        self._began = time.monotonic()

    @property
    def spent(self) -> Spent:
        return Spent(self._turns, time.monotonic() - self._began, self._turns * self.agent.price)

    def play(self) -> str:
        """How it ended."""
        while self.agent.steps:
            if met := self._limit():
                return met
            step = self._next()
            self._turns += 1
            self.listener.spent(self.spent)
            if callable(step):
                step(self.brief, self.listener)
            elif "ends" in step:
                self._says(step["ends"])
                break
            else:
                for name in step.keys() - {"times"}:
                    getattr(self, f"_{name}")(step[name])
        return self._late() or "done"

    def _next(self) -> Step:
        step = self.agent.steps.pop(0)
        if not callable(step) and step.get("times", 1) > 1:
            self.agent.steps.insert(0, {**step, "times": step["times"] - 1})
        return step

    def _limit(self) -> str:
        limits: Limits = self.brief.limits
        return "turns" if self._turns >= limits.turns else self._late() or (
            "dollars" if (self.spent.dollars or 0) >= limits.dollars else "")

    def _late(self) -> str:
        return "seconds" if self.spent.seconds >= self.brief.limits.seconds else ""

    def _says(self, words: str) -> None:
        told = self.agent.told[-1] if self.agent.told else ""
        self.last_words = words.replace("$told", told).replace("$read", self._read)
        self.listener.says(self.last_words)

    def _reads(self, path: str) -> None:
        try:
            self._read = (Path(self.brief.folder) / path).read_text("utf-8", "replace")
        except OSError as why:
            self._read = str(why.strerror)
        self.agent.told.append(self._read)

    def _proposes(self, proposal: Mapping[str, Any]) -> None:
        try:
            self.agent.told.append(self.listener.proposes(proposal))
        except Trouble as trouble:
            self.agent.told.append(f"refused: {trouble} {trouble.way}".strip())

    def _writes(self, given: Sequence[str]) -> None:
        path, text = given
        if self._may("write", path):
            file = Path(self.brief.folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
            self.agent.told.append("written")

    def _deletes(self, path: str) -> None:
        if self._may("delete", path):
            (Path(self.brief.folder) / path).unlink(missing_ok=True)
            self.agent.told.append("deleted")

    def _runs(self, command: str) -> None:
        self._deny(f"run {command}")

    def _may(self, verb: str, path: str) -> bool:
        if self.agent.gate and path not in self.brief.may_write:
            self._deny(f"{verb} {path}")
            return False
        return True

    def _deny(self, call: str) -> None:
        self.denied.append(call)
        self.agent.told.append(f"refused: {call}")

    def _raises(self, given: Sequence[str]) -> None:
        slug, what = given
        raise Unable(slug, what, way="bitten diagnose")

    def _sleeps(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._late():
            time.sleep(0.02)

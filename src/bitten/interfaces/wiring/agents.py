"""Agents by name, the copy that each works in, and the way of its change into the tree. Imports no agent before one is asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from bitten.adapters.folder import write
from bitten.core.case import Scope
from bitten.core.ports import Agent
from bitten.core.trouble import BadInput, Refused, Unable

from .open_case import OpenCase
from .single import redact

if TYPE_CHECKING:
    from bitten.adapters.agents.handover import Handover, Put
    from bitten.adapters.agents.workplace import Workplace

__all__ = ["Handover", "Minutes", "Put", "Workplace", "agent_named", "handover", "left_by_a_kill", "names", "probes", "refuse_links",
           "refuse_unkept", "refuse_unseen", "workplace"]

# ruff: noqa: PLC0415 - as in open_case

OURS = {"claude": "bitten.adapters.agents.claude:ClaudeAgent"}
GROUP = "bitten.agents"


def names() -> tuple[str, ...]:
    """All that `--with` takes: ours, and those of the entry point group `bitten.agents`."""
    return tuple(dict.fromkeys((*OURS, *sorted(point.name for point in entry_points(group=GROUP)))))


def agent_named(name: str, model: str) -> Agent:
    """Raises: BadInput `no-such-agent`; Unable `agent-not-loaded`, in the words of what its own code raised."""
    make = _maker(name)
    if make is None:
        raise BadInput("no-such-agent", f"There is no agent {name!r} here.", f"Known: {', '.join(names())}.",
                       "bitten diagnose --with claude")
    try:
        return make()(model=model) if model else make()()
    except Exception as error:  # a stranger's code may fail in any way
        raise Unable("agent-not-loaded", f"The agent {name!r} can't be loaded.", f"{type(error).__name__}: {error}.",
                     f"pip install 'bitten[{name}]'" if name in OURS else f"mend the package that brings {name}") from error


def _maker(name: str) -> Callable[[], Callable[..., Agent]] | None:
    if name in OURS:
        module, _, cls = OURS[name].partition(":")
        return lambda: getattr(import_module(module), cls)
    point = next((point for point in entry_points(group=GROUP) if point.name == name), None)
    return point.load if point else None


@contextmanager
def workplace(opened: OpenCase) -> Iterator[Workplace]:
    """What the fix may touch and what is worth reading goes in first: a copy has an end."""
    from bitten.adapters.agents import workplace as adapter

    case = opened.case
    first = {*(case.scope.files if case.scope else ()), *(each.path for each in case.failure.surroundings.to_read)}
    paths = sorted(opened.house.repo.paths(), key=lambda path: path not in first)
    with adapter.workplace(opened.house.root, paths, redact) as place:
        yield place


def refuse_links(opened: OpenCase, scope: Scope) -> None:
    from bitten.adapters.agents import handover

    handover.refuse_links(opened.house.root, scope)


def refuse_unseen(place: Workplace, files: tuple[str, ...]) -> None:
    """Raises: Refused `scope-not-in-copy`, for a file in scope that an agent can't be shown."""
    for path in files:
        if path in place.left_out or (path not in place.files and os.path.lexists(place.root / path)):
            raise Refused("scope-not-in-copy", f"{path} can't be given to an agent: {place.left_out.get(path, 'git ignores it')}.",
                          "It works in a copy of text that is not ignored, with secrets masked.", "mend it by hand:  bitten fix")


def refuse_unkept(desk: Handover, scope: Scope) -> None:
    """Raises: Refused `scope-not-kept`, for a file in scope that could not be taken back."""
    if unkept := desk.unkept(scope.files):
        raise Refused("scope-not-kept", f"{unkept[0]} is no part of bitten's photographs of the tree.",
                      "It is not tracked, and too large, no text, or may hold a secret: its fix could be neither proven nor taken back.",
                      f"git add {unkept[0]}, or mend it by hand:  bitten fix")


def handover(opened: OpenCase) -> Handover:
    from bitten.adapters.agents.handover import Handover

    return Handover(opened.house.root, opened.house.repo, _record(opened))


def left_by_a_kill(opened: OpenCase) -> tuple[Handover, Put] | None:
    """What an agent's fix left in the tree, or half in it, when bitten was killed. Costs nothing where there is none."""
    if not _record(opened).exists():
        return None
    desk = handover(opened)
    put = desk.known()
    return (desk, put) if put else None


def _record(opened: OpenCase) -> Path:
    return opened.folder.path / "put.json"


def probes(opened: OpenCase) -> tuple[str, ...]:
    """Names of those that a check may name: the playbooks', and the instruments."""
    from bitten.adapters import vocabulary

    return (*(path.parent.name for path in opened.house.knowledge.probe_paths()), *vocabulary.names())


class Minutes:
    """What was asked and what came of it, in a folder of the case for each session, redacted: for a person to read."""

    def __init__(self, opened: OpenCase, phase: str) -> None:
        home = opened.folder.path / "agent"
        home.mkdir(mode=0o700, exist_ok=True)
        self._folder = home / f"{len(list(home.iterdir())) + 1}-{phase}"
        while self._folder.exists():  # another session on this case began at the same time
            self._folder = self._folder.with_name(f"{self._folder.name}-too")
        self._folder.mkdir(mode=0o700)

    def keep(self, name: str, words: str) -> None:
        write(self._folder / name, redact(words))

    def keep_json(self, name: str, told: object) -> None:
        self.keep(name, json.dumps(told, ensure_ascii=False, indent=1) + "\n")

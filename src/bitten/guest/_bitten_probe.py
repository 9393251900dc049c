"""A playbook's probe, asked for what it reads: at a crash from the frames that are still there. Knows no fact's meaning.

A probe that raises, or returns what is no fact, is reported and never harms; nothing here calls the program's code.
"""

from __future__ import annotations

import os
import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
redact: Any = hook.load("_bitten_redact")
frames: Any = hook.load("_bitten_frames")

SECONDS = 0.25
COMPLAINTS = 3
TEXT = 2000
ITEMS = 200


class Probe:
    """One probe file. Every call into it goes through `_ask`."""

    def __init__(self, path: str) -> None:
        self.name = os.path.basename(os.path.dirname(path))  # noqa: PTH119, PTH120 - pathlib imports half the library
        self.complaints = 0
        self.names: dict[str, Any] = {"__name__": "bitten_probe", "__file__": path}
        self._ask(self._load, path)
        self.seams: tuple[str, ...] = self._ask(self._seams) or ()

    def _load(self, path: str) -> None:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            exec(compile(file.read(), path, "exec", dont_inherit=True), self.names)

    def _seams(self) -> tuple[str, ...]:
        seams = self.names.get("SEAMS", ())
        if type(seams) not in (tuple, list) or not all(type(seam) is str and ":" in seam for seam in seams):
            raise TypeError("SEAMS must be a tuple of 'module:name'")
        return tuple(seams)

    def read(self, call: dict[str, Any], callers: list[FrameType], seam: str) -> dict[str, Any] | None:
        """A sighting, or None when the probe has nothing to say of this call."""
        facts = self._ask(self._facts, {**call, "seam": seam}, callers)
        if facts is None:
            return None
        place = facts.pop("at", None)
        finding = bool("finding" in self.names and self._ask(self.names["finding"], dict(facts)))
        return {"probe": self.name, "seam": seam, "place": place if type(place) is str else frames.place(callers), "facts": facts,
                "calls": 1, "finding": finding}

    def look(self, variables: dict[str, Any], callers: list[FrameType]) -> dict[str, Any] | None:
        """For a seam that leaves no frame: find its call's arguments among a caller's variables."""
        call = self._ask(self.names["look"], variables) if "look" in self.names else None
        if type(call) is not dict:
            return None
        seam = call.get("seam") or next(iter(self.seams), "")
        return self.read(call, callers, seam)

    def merge(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """Facts of all calls so far: as the probe merges them, else those of a finding, else the newest."""
        if "merge" in self.names:
            facts = self._ask(self._merged, old["facts"], new["facts"])
            if facts is not None:
                return dict(facts)
        return dict(old["facts"] if old["finding"] and not new["finding"] else new["facts"])

    def _facts(self, call: dict[str, Any], callers: list[FrameType]) -> Any:
        return _as_facts(self.names["read"](call, callers))

    def _merged(self, old: Any, new: Any) -> Any:
        return _as_facts(self.names["merge"](dict(old), dict(new)))

    def _ask(self, question: Any, *arguments: Any) -> Any:
        """The answer, or None and a complaint in the spool."""
        try:
            return question(*arguments)
        except KeyboardInterrupt:
            raise  # the person's, not the probe's
        except BaseException as error:  # a probe that exits must not end the program
            self.complaints += 1
            if self.complaints <= COMPLAINTS:
                hook.emit("hookerr", where="probe " + self.name, err=redact.scrub(f"{type(error).__name__}: {str(error)[:300]}"))
            return None


def _as_facts(answer: Any) -> dict[str, Any] | None:
    if answer is not None and type(answer) is not dict:
        raise TypeError(f"read() gave a {type(answer).__name__}, not a dict")
    return None if answer is None else {_key(name): _json(value, 4) for name, value in answer.items()}


def _json(value: Any, depth: int) -> Any:
    """Plain JSON of exact builtin types, bounded; what isn't raises TypeError."""
    kind = type(value)
    if value is None or kind in (bool, int):
        return value
    if kind is float:
        return value if value - value == 0 else repr(value)  # "nan", "inf", "-inf": JSON has no word for them
    if kind is str:
        return redact.scrub(value[: 2 * TEXT])[:TEXT]  # whole secrets, before the cut
    if kind in (list, tuple) and depth:
        return [_json(item, depth - 1) for item in value[:ITEMS]]
    if kind is dict and depth:
        return {_key(name): _json(item, depth - 1) for name, item in list(value.items())[:ITEMS]}
    raise TypeError(f"a fact must be plain JSON, not a {kind.__name__}")


def _key(name: Any) -> str:
    if type(name) is not str:
        raise TypeError(f"a fact's name must be text, not a {type(name).__name__}")
    return name


_probes: list[Probe] = []


def probes() -> list[Probe]:
    """All probes that this run was given, loaded once."""
    if not _probes:
        _probes.extend(Probe(path) for path in os.environ.get("BITTEN_PROBES", "").split(os.pathsep) if path)
    return _probes


def at_crash(tb: TracebackType | None) -> list[dict[str, Any]]:
    """At most one sighting a probe: the innermost frame of one of its seams, else what `look` finds from the person's frames outward."""
    until = perf_counter() + SECONDS
    links = frames.raised_through(tb)
    chain = [link.tb_frame for link in reversed(links[-100:])]
    outer = frames.outward(links[0].tb_frame.f_back if links else None)
    found = []
    for probe in probes():
        if perf_counter() < until:
            found.append(_from_seams(probe, chain, outer, until) or _by_looking(probe, chain + outer, until))
    return [sighting for sighting in found if sighting is not None]


def _from_seams(probe: Probe, chain: list[FrameType], outer: list[FrameType], until: float) -> dict[str, Any] | None:
    for at, frame in enumerate(chain):
        seam = _seam(frame, probe.seams) if perf_counter() < until else ""
        if seam:
            variables = frames.variables_of(frame)
            sighting = probe.read(dict(variables), chain[at + 1 :] + outer, seam)
            frames.forget(frame, variables)
            if sighting is not None:
                return sighting
    return None


def _seam(frame: FrameType, seams: tuple[str, ...]) -> str:
    module = frame.f_globals.get("__name__") if type(frame.f_globals) is dict else None
    wanted = [seam for seam in seams if seam.partition(":")[0] == module]
    name = frames.full_name(frame) if wanted else ""
    return next((seam for seam in wanted if seam.partition(":")[2] == name), "")


def _by_looking(probe: Probe, chain: list[FrameType], until: float) -> dict[str, Any] | None:
    if "look" not in probe.names:
        return None
    for at, frame in enumerate(chain):
        if not frames.is_library(frame.f_code.co_filename) and perf_counter() < until:
            variables = frames.variables_of(frame)
            sighting = probe.look(dict(variables), chain[at:])
            frames.forget(frame, variables)
            if sighting is not None:
                return sighting
    return None

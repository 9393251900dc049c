"""An instrumented run as a person follows it: that it is armed, the step it is at, then a table of what was found. Decides nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import click

from bitten.core.failure import Sighting, ending
from bitten.core.ports import Observed
from bitten.core.prediction import Facts
from bitten.interfaces import text
from bitten.steps.probe import findings, hints, measured

SILENT = 10.0
"""Seconds without a word of any instrument after which that is said."""
HINTS, ROWS = 8, 40
CONTEXT = ("says", "at", "also", "step", "module")
TABLE = "last_batches"
"""Facts whose name ends so hold rows, and are shown as a table."""


@dataclass
class Follower:
    """Hears the guest as the run goes on. `show` redraws the one live line; `say` is for lines that stay."""

    say: Callable[[str], None]
    show: Callable[[str], None]
    armed: list[Facts] = field(default_factory=list)
    stopped: int | None = None
    began: float = field(default_factory=time.monotonic)
    _said: set[str] = field(default_factory=set)

    def __call__(self, kind: str, facts: Facts) -> bool:
        if not self.armed and time.monotonic() - self.began > SILENT:
            self._once("no Python of this command has let the instruments in yet", "late")
        if kind == "armed":
            self.armed.append(facts)
            probes = ", ".join(_words(facts.get("probes")))
            self._once(f"armed: {probes}", probes)
            for name in _words(facts.get("refused")):
                self._once(f"not armed: {name}; the run's notes say why", name)
        elif kind == "met":
            self._once(f"watching {facts['name']} {facts['version']}", str(facts["name"]))
        elif kind == "live":
            self.show(f"step {facts['step']}" + (f", loss {str(facts['loss'])[:10]}" if facts.get("loss") else ""))
        elif kind == "bad":
            self._once(f"first bad step: {facts['step']}", "bad")
        return self._is_over(kind, facts)

    def _is_over(self, kind: str, facts: Facts) -> bool:
        if kind == "stop":
            step = facts["step"]
            self.stopped = step if isinstance(step, int) else 0
        return self.stopped is not None

    def _once(self, line: str, key: str) -> None:
        if key not in self._said:
            self._said.add(key)
            self.say(line)


def _words(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def limits(seen: Observed, follower: Follower) -> list[str]:
    """What this run can't promise: what was closed, left out, refused, or not armed."""
    unarmed = [] if follower.armed else ["nothing was armed: no Python of this command let the guest in"]
    ended = [f"ended at step {follower.stopped}: --to-the-end lets it run on"] if follower.stopped is not None else []
    return [*unarmed, *ended, *seen.refused, *seen.surroundings.notes]


def lines(seen: Observed, names: Sequence[str], follower: Follower, kept: str) -> Iterator[str]:
    """The table at the end."""
    found = findings(seen)
    yield ""
    yield _head(seen, found, follower.stopped)
    for each in found:
        yield from _finding(each)
    yield from _hints(hints(seen))
    for limit in limits(seen, follower)[:ROWS]:
        yield click.style(f"  note  {limit}", dim=True)
    count = sum(1 for _ in measured(seen, names))
    yield click.style(f"  {count} facts and the recording: {kept}", dim=True)


def _head(seen: Observed, found: Sequence[Sighting], stopped: int | None) -> str:
    ran = f"{ending(seen.run) if stopped is None else f'ended at step {stopped},'} after {seen.run.seconds:.1f} s"
    if not found:
        return click.style("· ", fg="bright_black") + f"nothing past its threshold; {ran}"
    return click.style("✗ ", fg="red") + click.style(f"{len(found)} finding{'s' if len(found) > 1 else ''}", bold=True) + f"; {ran}"


def _finding(each: Sighting) -> Iterator[str]:
    yield ""
    yield f"  {click.style(each.probe, bold=True)}  {each.facts.get('says', '')}"
    yield f"     at {each.facts.get('at', each.place)}{_context(each)}"
    for other in _words(each.facts.get("also"))[:4]:
        yield f"     see also {other}"
    for name, value in each.facts.items():
        if name.endswith(TABLE) and isinstance(value, list):
            yield from ("     " + row for row in table(value))


def _context(each: Sighting) -> str:
    module, step = each.facts.get("module"), each.facts.get("step")
    told = [f"module {module}" if module else "", f"step {step}" if step is not None else "",
            f"{each.calls} times" if each.calls > 1 else "", each.process]
    return "".join(f", {part}" for part in told if part)


def _hints(found: Sequence[Sighting]) -> Iterator[str]:
    if found:
        yield ""
        yield click.style("  worth a look (signals of low precision):", dim=True)
    for each in found[:HINTS]:
        at = each.facts.get("at", each.place)
        yield click.style(f"     {each.probe}  {each.facts['says']}" + (f"  {at}" if at else ""), dim=True)
    if len(found) > HINTS:
        yield click.style(f"     and {len(found) - HINTS} more: --json", dim=True)


def table(rows: list[object]) -> Iterator[str]:
    """Rows, each a nest of dicts, with a column for each leaf by its path: `input min`."""
    flat = [dict(_leaves(row)) for row in rows]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    cells = [tuple(columns), *(tuple(_cell(row.get(name, "")) for name in columns) for row in flat)]
    yield from text.table(cells).splitlines()


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, f"{path} {name}".strip().replace("_", "-"))
    else:
        yield path, value


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else value if isinstance(value, str) else text.short(value)


def plain(seen: Observed, names: Sequence[str], follower: Follower, kept: str) -> dict[str, object]:
    """As a script would read it."""
    return {"command": list(seen.run.command.argv), "exit": seen.run.exit, "signal": seen.run.signal, "seconds": seen.run.seconds,
            "stopped": follower.stopped,
            "armed": [{"process": f"pid {each['pid']}", "probes": each["probes"], "refused": each["refused"]} for each in follower.armed],
            "findings": [_plain(each) for each in findings(seen)], "hints": [_plain(each) for each in hints(seen)],
            "facts": dict(measured(seen, names)), "limits": limits(seen, follower), "recording": kept}


def _plain(each: Sighting) -> dict[str, object]:
    return {"probe": each.probe, "place": each.place, "process": each.process, "calls": each.calls, "facts": dict(each.facts)}

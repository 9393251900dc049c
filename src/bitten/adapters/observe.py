"""One run, made into what was observed: how it ended, what it printed, what the guest saw. Judges nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from bitten.adapters import metrics
from bitten.adapters.folder import masked
from bitten.adapters.guest_told import guest_facts
from bitten.adapters.runs.collapse import collapsed
from bitten.core.failure import Command, Crash, Run, Sighting, Surroundings
from bitten.core.ports import Observed
from bitten.core.prediction import Facts
from bitten.core.recording import Recording

Redact = Callable[[str], str]


def observe(run: Run, printed: tuple[bytes, bytes, bytes], spool: Path, root: Path, redact: Redact, room: Kept | None = None) -> Observed:
    """`printed` is stdout, stderr, and both as they came. Everything is redacted before it becomes a fact.

    `room` is what a copy kept from the run; None where nothing could be.
    """
    run = replace(run, command=replace(run.command, argv=masked(run.command.argv, redact)))
    stdout, stderr, both = _texts(*printed, redact)
    story = guest_facts.read(spool, root, ended_badly=not run.ended_well and not run.hung)
    if not run.ended_well and not run.hung:  # what it says when we end it is no failure of its own
        story = _with_text(story, both, root)
    environment = {**story.environment, "interpreter": story.interpreter}
    surroundings = Surroundings(story.files, environment, notes=story.notes, configs=story.configs)
    facts = {**_measured(story.sightings), **_facts(run, stdout, stderr, redact)}
    return Observed(
        run,
        facts,
        story.crashes,
        story.sightings,
        surroundings,
        story.outcomes,
        _refused(room, story),
        both,
        story.interpreter,
        recording=_recorded(spool, root, redact, facts),
    )


def _recorded(spool: Path, root: Path, redact: Redact, facts: Facts) -> Recording | None:
    if not any(spool.glob("recording-*.jsonl")):
        return None
    from bitten.adapters import recordings  # noqa: PLC0415 - few runs have one

    return recordings.read(spool, root, redact, facts)


def _texts(stdout: bytes, stderr: bytes, both: bytes, redact: Redact) -> tuple[str, str, str]:
    """Most programs speak on one stream: its text is read and redacted once, and kept once."""
    first, second = (redact(part.decode("utf-8", "replace")) for part in (stdout, stderr))
    if not stdout or not stderr:
        return first, second, first or second
    return first, second, redact(both.decode("utf-8", "replace"))


def _with_text(story: guest_facts.Story, text: str, root: Path) -> guest_facts.Story:
    """Where nothing that the guest saw ended a process, and the output tells of an exception that it didn't see, that comes first."""
    if any(not crash.handled for crash in story.crashes):
        return story
    from bitten.adapters import pasted  # noqa: PLC0415 - the guest sees most failures

    told = pasted.crashes(text, root)
    if not told or not (told[0].frames or told[0].message) or any(_alike(told[0], crash) for crash in story.crashes):
        return story
    seen = (replace(crash, role="context") for crash in story.crashes if not any(_alike(each, crash) for each in told))
    return replace(story, crashes=(*told, *seen)[: pasted.MOST], notes=(*story.notes, pasted.UNSEEN))


def _alike(one: Crash, other: Crash) -> bool:
    """As far as text tells: the type without its module, and the first line of the message."""
    mine, theirs = ((each.type.rpartition(".")[2], each.message.strip().partition("\n")[0][:200]) for each in (one, other))
    return mine == theirs


@dataclass(frozen=True)
class Kept:
    """What a copy says that it kept from a run, and whether it had the network."""

    refused: tuple[str, ...]
    net: bool


def _refused(room: Kept | None, story: guest_facts.Story) -> tuple[str, ...]:
    """The room's own words, and each host that was asked for in vain."""
    if room is None:
        return ()
    hosts = () if room.net else story.net
    asked = (f"It asked for {host}, and the copy has no network: --allow-net lets it." for host in hosts)
    denied = (f"It could not write to {path}: --allow-write {path} lets it." for path in story.denied)
    return tuple(dict.fromkeys((*room.refused, *asked, *denied)))


def ran(command: Command, exit_code: int | None, signal: int | None, seconds: float, hung: bool = False) -> Run:
    return Run(command, exit_code, round(seconds, 3), signal, hung)


def _facts(run: Run, stdout: str, stderr: str, redact: Redact) -> Facts:
    """Metrics first: what the run itself is called by, such as `exit`, can't be overwritten by what it printed."""
    out, err = (seen(text, redact) for text in (stdout, stderr))
    own = {"exit": run.exit, "signal": run.signal, "seconds": run.seconds, "hung": run.hung, "stdout": out, "stderr": err}
    told = [text for text in dict.fromkeys((stderr, stdout, err, out)) if text]
    return {**_merged(map(metrics.metrics, told)), **_merged(map(metrics.script_facts, told)), **own}


def _measured(sightings: Iterable[Sighting]) -> Facts:
    """What instruments measured, by the fact's own name: a finding's value before a healthy one."""
    return {name: value for each in sorted(sightings, key=lambda each: each.finding) for name, value in each.facts.items()
            if name.startswith(f"{each.probe}.")}


def _merged(parts: Iterable[Facts]) -> Facts:
    return {name: value for part in parts for name, value in part.items()}


def seen(text: str, redact: Redact) -> str:
    """A redacted text as a person would see it at its end. Codes may have stood in the midst of a secret: it is redacted anew."""
    shown = collapsed(text)
    return text if shown == text else redact(shown)

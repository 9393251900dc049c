"""All that `bitten doctor` looks at, in its order. Has no rule of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bitten.adapters.claude_code import layout
from bitten.adapters.doctor import agents, drive, gates, machine, samples
from bitten.adapters.doctor.scratch import Scratch, scratch
from bitten.adapters.doctor.vital import ADVISORY, BROKEN, OK, Vital
from bitten.adapters.root import root_of
from bitten.core.trouble import Unable

from .house import current_folder
from .single import redact

__all__ = ["ADVISORY", "BROKEN", "OK", "Vital", "examined"]


def examined(*, quick: bool) -> Iterator[Vital]:
    """Each vital as it comes, for the project around. It is only read, and nothing of what is made for the trial stays."""
    for each in _vitals(root_of(current_folder()), quick):
        yield replace(each, said=redact(each.said))


def _vitals(root: Path, quick: bool) -> Iterator[Vital]:
    with scratch() as made:
        yield from machine.vitals(root, made)
        programs = agents.programs(made)
        yield from agents.vitals(programs)
        found = gates.gates(root)
        yield from gates.vitals(root, found)
        try:
            made.open_a_case()
            for number, gate in enumerate(found or [_of_ours(made)]):
                yield from _tried(gate, made.folder / f"gate-{number}", [] if quick else programs, made)
        except Unable as why:
            yield Vital("plugin", "hooks", BROKEN, str(why), why.way)


def _of_ours(made: Scratch) -> gates.Gate:
    """Where none is installed: as it would be."""
    return gates.Gate(layout.lay_out(made.folder / "marketplace"), gates.TRIAL)


def _tried(gate: gates.Gate, place: Path, programs: list[agents.Program], made: Scratch) -> Iterator[Vital]:
    from bitten.testing.scripted_api import ScriptedAPI  # noqa: PLC0415 - a quick look needs no server

    try:
        trial = gate.copied(place)
        yield from samples.vitals(trial, made)
    except (OSError, ValueError):  # hooks.json can't be read, which was said
        return
    for program in [each for each in programs if not each.trouble][:1]:
        with ScriptedAPI(drive.steps(made)) as api:
            yield from drive.vitals(program, trial, made, api)

"""Single effects that an interface asks for, each from its adapter. Has no rule of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from bitten.adapters import places
from bitten.adapters.folder import Cases, write
from bitten.adapters.root import root_of
from bitten.core.trouble import Unable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bitten.adapters.vocabulary import Instrument
    from bitten.core.failure import Picture
    from bitten.core.ports import Observed
    from bitten.interfaces.wiring.house import House
    from bitten.testing import Proof

# ruff: noqa: PLC0415 - as in open_case


def redact(text: str) -> str:
    """Text that may be kept."""
    from bitten.adapters import redact as adapter

    return adapter.redact(text)


def end_like(signal: int) -> int:
    """Die as the command did."""
    from bitten.adapters.runs import process

    return process.end_like(signal)


def picture_of(root: Path, pid: int | None) -> Picture:
    """Of a process and all below it; of the command that runs in this project where none is named."""
    from bitten.adapters.watching import picture
    from bitten.adapters.watching.running import command_of

    number, seconds = command_of(root, pid)
    return picture.picture(number, root, seconds)


def instruments() -> tuple[Instrument, ...]:
    """Every instrument that there is, with its vocabulary."""
    from bitten.adapters import vocabulary

    return vocabulary.instruments()


def selftest(name: str) -> Observed:
    """A run of the program in which the fault is planted that this instrument has to find. Raises: Unable `selftest-not-possible`."""
    from bitten.adapters import planted

    return planted.run(name, redact)


def functions_called(house: House, name: str, operands: Sequence[str]) -> list[str]:
    """Functions of this name as `module:name`: those that the named recordings tell of, else those of the tree."""
    from bitten.adapters import calling

    files = {place.partition(":")[0] for each in operands for mark in house.recording(each).marks if mark.kind == "call"
             for place in (mark.place,) if place.endswith((f":{name}", f".{name}"))}
    return sorted(set(calling.functions(house.root, sorted(files) or house.repo.paths(), name)))


def lay_out(folder: Path) -> Path:
    """The bundled example, as a fresh repository."""
    from bitten.adapters import example

    return example.lay_out(folder)


def mend(project: Path) -> str:
    """The story's edit in it. Returns the fix as a unified diff."""
    from bitten.adapters import example

    return example.mend(project)


def proofs(name: str) -> list[Proof]:
    """Proofs of a playbook, by its name or its folder; empty when there is none."""
    from bitten.adapters.knowledge import Playbooks
    from bitten.testing import prove

    folder = Playbooks().folders.get(name.replace("-", "_")) or (Path(name) if Path(name, "playbook.py").is_file() else None)
    return prove(folder) if folder else []


def recent_events(most: int = 8) -> list[str]:
    """The kinds of the current case's last events, for the report of a fault: nothing of what they hold."""
    import json

    folder = Cases(root_of(Path.cwd()), redact).current()
    lines = (folder.path / "events.jsonl").read_bytes().splitlines()[-most:] if folder else []
    return [str(json.loads(line).get("kind")) for line in lines]


def keep_report(text: str) -> str:
    """Where the report of our own fault lies, redacted; where it can't be kept, the report."""
    try:
        file = places.private(places.state() / "reports") / f"{time.strftime('%Y%m%d-%H%M%S')}.txt"
        write(file, redact(text))
    except (OSError, Unable):
        return f"this:\n\n{redact(text)}"
    return str(file)

"""The reproducer: a program of at most ten lines that fails as the command did, written from the failing call's arguments, and tried.

Nothing of the command is run again. Knows the guest's record of the failing call and the person's source files; no case.
"""

from __future__ import annotations

import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bitten.core.case import Reproducer
from bitten.core.failure import Failure
from bitten.core.signature import masked

from .boundary import Boundary, recorded
from .calls import calls
from .expressions import expressions, histories
from .kinds import kinds
from .people import People
from .program import Program
from .trial import Bench, bench, environment

SECONDS = 20.0
WORDS = 300
_NAME = re.compile(rb"X.\x00\x00\x00([A-Za-z_]\w*)")
_PLACE = re.compile(r" \([^()]*, line \d+\)$")
MOST = 40
"""Programs that are tried."""


def reproducer(failure: Failure, spool: Path, root: Path, seconds: float = SECONDS, kept: Path | None = None) -> Reproducer:
    """The shortest that was found to fail alike, or why there is none. `spool` is what the guest wrote of the failing run.

    `kept` is the folder of the real arguments, where the person asked to keep them.
    """
    began = time.monotonic()
    found = _found(failure, spool, root, seconds, kept)
    return replace(found, seconds=round(time.monotonic() - began, 2))


def _found(failure: Failure, spool: Path, root: Path, seconds: float, kept: Path | None) -> Reproducer:
    if failure.root is None:
        return Reproducer(why="no exception was seen, so there is no failing call to make anew")
    told, interpreter = recorded(spool, failure.root), failure.surroundings.environment.get("interpreter", "")
    if told is None or not Path(interpreter).is_file():
        return Reproducer(why="the arguments of the failing call were not seen")
    if told.type in ("MemoryError", "KeyboardInterrupt", "SystemExit"):
        return Reproducer(why=f"{told.type} tells of the whole process, not of one call")
    programs = tuple(candidates(told, arguments(kept) if kept else {}))
    if not programs:
        return Reproducer(why="no library call at the border of your code, and no short function of yours, can be made from what is known")
    want = (told.type, masked(_PLACE.sub("", told.message) if told.syntax else told.message), told.last)
    with bench(root, failure.run.command.cwd, interpreter, environment({**failure.run.command.env}), want, seconds) as place:
        return _tried(place, programs, told)


def _tried(place: Bench, programs: tuple[Program, ...], told: Boundary) -> Reproducer:
    shown = place.first_alike(programs)
    if shown is None:
        late = ", until the time was up" if time.monotonic() > place.until - 1 else ""
        return Reproducer(why=f"{len(programs)} were tried{late}; none fails alike: it may hang on values or a history that are not kept")
    again = place.confirmed(shown)
    if again is None:
        return Reproducer(shown.code, shows=shown.words, why="it failed alike once, but not again in a process of its own")
    return Reproducer(again.code, True, again.words.splitlines()[0][:WORDS], about=_about(again.program, told))


def _about(program: Program, told: Boundary) -> str:
    """What it leaves out."""
    if program.about:
        return program.about
    parts = []
    if program.path:
        parts.append("It imports your own modules.")
    if any(word in program.text for word in ("rand(", "randn(", "full(", "linspace(", "zeros(")):
        parts.append("Its values are drawn anew, with the shapes and kinds of the failing ones, made smaller where it still fails.")
    return " ".join([*parts, *_items(told)])


def _items(told: Boundary) -> Iterator[str]:
    """For a batch that can't be put together: which items of the data set those are."""
    fetch = next((frame for frame in told.frames if frame.function == "fetch" and "possibly_batched_index" in frame.values), None)
    batch = next((frame for frame in told.frames if "batch" in frame.values and frame.values["batch"][0] == "l"), None)
    if fetch is None or batch is None or fetch.values["possibly_batched_index"][0] != "l":
        return
    numbers = [item[1] for item in fetch.values["possibly_batched_index"][1] if item[0] == "v"]
    forms = [_form(item) for item in batch.values["batch"][1]]
    other = next((at for at, form in enumerate(forms) if form != forms[0]), None)
    if other is not None and other < len(numbers):
        yield f"The smallest failing part of the data: dataset[{numbers[0]}] and dataset[{numbers[other]}]."


def _form(spec: Any) -> object:
    """A value's shape and kind, without what it holds."""
    if spec and spec[0] == "t":
        return (spec[1]["shape"], spec[1]["dtype"])
    if spec and spec[0] == "a":
        return (spec[1]["shape"], spec[1]["dtype"])
    if spec and spec[0] in ("v", "f"):
        return spec[0]
    return [_form(each) if isinstance(each, list | tuple) else each for each in spec]


def arguments(folder: Path) -> dict[str, Path]:
    """The file of each argument that was kept. Reads their names only, as both kinds of file are archives."""
    found = {}
    for file in folder.glob("arguments.npz"):
        with zipfile.ZipFile(file) as archive:
            found.update({Path(name).stem: file for name in archive.namelist()})
    for file in folder.glob("arguments.pt"):
        with zipfile.ZipFile(file) as archive:
            words = next((archive.read(name) for name in archive.namelist() if name.endswith("/data.pkl")), b"")
        found.update({each.decode(): file for each in _NAME.findall(words)})
    return found


def candidates(told: Boundary, kept: Mapping[str, Path]) -> list[Program]:
    """The programs worth trying, the shortest first; those that a failing import or syntax needs before all others."""
    people, importing = People(), People(copies=False)
    first = _fitting(kinds(told, people))
    rest = _fitting([*expressions(told, people), *calls(told, people), *histories(told, people), *histories(told, importing)])
    real = _fitting(expressions(told, People(kept=kept))) if kept else []
    order = [*sorted((each for each in rest if each not in first), key=Program.cost)[:MOST], *real]
    return list(dict.fromkeys([*first, *order]))


def _fitting(programs: Iterable[Program]) -> list[Program]:
    return [each for each in dict.fromkeys(programs) if each.fits]

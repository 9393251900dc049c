"""A recording, read from where the guest wrote it, and kept as one file of JSON lines, gzipped where its name says so. Compares nothing.

Each line is a mark. Every text in it has passed the redactor; values of the data are never in it, only their statistics and digests.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import msgspec

from bitten.core.prediction import Json
from bitten.core.recording import Mark, Recording
from bitten.core.trouble import BadInput

NAME = "recording.jsonl"
KEEPS = "bitten probe all -- COMMAND keeps a recording"
LARGEST = 32 << 20
"""Bytes of one process's file: the guest writes no more."""
WHOLE = 256 << 20
"""Bytes of a recording that is loaded, unfolded."""
MOST = 200_000
"""Marks of a run: more processes than hold them tell no more that two runs could be told apart by."""
_CLOCKS = re.compile(r"time|sec(?:ond)?s?$|elapsed|speed|clock|duration|per_s|/s$|memory|mem$|pid|port|^(?:exit|signal|s|ms|it)$", re.I)
"""Printed numbers that tell of the machine, not of the training."""

Redact = Callable[[str], str]


class _Told(msgspec.Struct):
    """When a mark was made: what orders the processes of a run."""

    t: float = 0.0


_mark, _told = msgspec.json.Decoder(Mark), msgspec.json.Decoder(_Told)


def read(spool: Path, root: Path, redact: Redact, facts: Mapping[str, Json] = {}, name: str = "") -> Recording | None:
    """What the guest wrote, and the numbers among `facts` that were printed; None where it wrote nothing."""
    lines = sorted((line for file in sorted(spool.glob("recording-*.jsonl")) for line in _lines(file)), key=_when)
    marks = tuple(_cleaned(mark, root, redact) for line in lines[:MOST] if (mark := _decoded(line)) is not None)
    if not marks:
        return None
    found = Recording(name, marks)
    return replace(found, marks=(*marks, *_printed(facts, found.steps)))


def _lines(file: Path) -> list[bytes]:
    with file.open("rb") as opened:
        return opened.read(LARGEST).split(b"\n")


def _when(line: bytes) -> float:
    with suppress(msgspec.MsgspecError):
        return _told.decode(line).t
    return 0.0


def _decoded(line: bytes) -> Mark | None:
    """A line that was cut off by a kill is left out."""
    with suppress(msgspec.MsgspecError):
        return _mark.decode(line)
    return None


def _cleaned(mark: Mark, root: Path, redact: Redact) -> Mark:
    clean = _cleaner(root, redact)
    value = clean(mark.value) if isinstance(mark.value, str) else mark.value
    return replace(mark, key=clean(mark.key), at=clean(mark.at), place=clean(mark.place), kind=clean(mark.kind), value=value,
                   also=tuple(map(clean, mark.also)), fps={clean(part): each for part, each in mark.fps.items()})


@lru_cache(maxsize=4)
def _cleaner(root: Path, redact: Redact) -> Callable[[str], str]:
    """Redacted, with paths from the root; the same few texts come again and again."""
    below = f"{root}/"
    return lru_cache(maxsize=50_000)(lambda text: redact(text.removeprefix(below)) if text else text)


def _printed(facts: Mapping[str, Json], step: int) -> Iterator[Mark]:
    for name, value in facts.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and "." not in name and not _CLOCKS.search(name):
            yield Mark("metric", step, f"printed {name}", value=value, kind="printed")


# ---------------------------------------------------------------------------------------------- kept


def packed(recording: Recording) -> bytes:
    """One mark a line."""
    return b"".join(msgspec.json.encode(mark) + b"\n" for mark in recording.marks)


def save(recording: Recording, file: Path) -> None:
    content = packed(recording)
    file.write_bytes(gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)


def load(path: Path, name: str = "") -> Recording:
    """Of a file, or of the newest one in a folder or below it. Raises: BadInput `no-recording`."""
    file = path
    if path.is_dir():
        found = [*path.rglob(NAME), *path.rglob(f"{NAME}.gz")]
        if not found:
            raise BadInput("no-recording", f"There is no recording in {path}.", way=KEEPS)
        file = max(found, key=lambda each: each.stat().st_mtime_ns)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise BadInput("no-recording", f"Can't read {path}: {error.strerror}.", way="name a recording that is there") from None
    return parsed(content, name or str(path))


def of_parcel(file: str) -> Recording:
    """The last one in an exported case. Raises: BadInput `no-recording`, and what `parcel.unpack` raises."""
    from bitten.adapters.handing_on import parcel  # noqa: PLC0415 - only for these

    files = parcel.unpack(file).files
    found = [name for name in sorted(files) if name.endswith(NAME)]
    if not found:
        raise BadInput("no-recording", f"There is no recording in {file}.", way=KEEPS)
    return parsed(files[found[-1]], file)


def parsed(content: bytes, name: str) -> Recording:
    """Raises: BadInput `no-recording`."""
    try:
        if content[:2] == b"\x1f\x8b":
            unfold = zlib.decompressobj(31)
            content = unfold.decompress(content, WHOLE)
        marks = tuple(_mark.decode(line) for line in content.split(b"\n") if line)
    except (zlib.error, msgspec.MsgspecError) as why:
        raise BadInput("no-recording", f"{name} is no recording.", f"{type(why).__name__}: {why}.", KEEPS) from None
    if not marks:
        raise BadInput("no-recording", f"{name} is empty.", way=KEEPS)
    return Recording(name, marks)

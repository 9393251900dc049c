"""One file that carries named texts: written the same every time, and read as if its sender meant harm. Knows no case.

It is a gzipped tar of plain files and `parcel.json`, which has the form's version and each file's digest. Reading keeps all in
memory, below fixed bounds; nothing is written, followed or run.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bitten.core.noun import noun
from bitten.core.trouble import BadInput

FORM = 1
MANIFEST = "parcel.json"
FILES = 2_000
LARGEST = 8 << 20
"""Bytes of one file; what a run printed is kept up to five MiB."""
WHOLE = 64 << 20
"""Bytes of all files together, and of the archive as it is read."""
DEEP, LONG = 12, 240
_ODD = re.compile(r"[\x00-\x1f\x7f\\:]")
_AGAIN = "ask for it again: bitten export"


@noun
class Parcel:
    """`told` is what the sender says of the whole; `files` the content by path."""

    told: Mapping[str, Any]
    files: Mapping[str, bytes]


def is_safe(name: str) -> bool:
    """A path that stays below the folder that it is put in, on any system."""
    parts = name.split("/")
    return (0 < len(name) <= LONG and len(parts) <= DEEP and not _ODD.search(name) and name.isprintable()
            and all(part and part not in (".", "..") and part.lower() != ".git" and not part.endswith((" ", ".")) for part in parts))


def pack(told: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    manifest = json.dumps({"form": FORM, **told, "files": digests}, indent=1, sort_keys=True).encode() + b"\n"
    whole = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=whole, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        for name, content in ((MANIFEST, manifest), *sorted(files.items())):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
    return whole.getvalue()


def unpack(file: str) -> Parcel:
    """Raises: BadInput `no-such-file`, `parcel-unreadable`, `parcel-unsafe`, `parcel-other-form`, `parcel-damaged`."""
    try:
        with Path(file).open("rb") as packed:
            found = dict(_read(file, packed))
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, UnicodeError, ValueError) as why:
        raise BadInput("parcel-unreadable", f"{file} is no parcel of bitten's.", f"{type(why).__name__}: {why}.", _AGAIN) from None
    except OSError as error:
        raise BadInput("no-such-file", f"Can't read {file}: {error.strerror}.", way="name a file that is there") from None
    return _checked(file, found)


class _Bounded(io.RawIOBase):
    """A stream that ends in an error before it can fill the memory, whatever a few compressed bytes unfold to."""

    def __init__(self, stream: gzip.GzipFile, file: str) -> None:
        self._stream, self._file, self._left = stream, file, WHOLE + (FILES + 100) * 1024

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        content = self._stream.read(min(size if size >= 0 else self._left + 1, self._left + 1))
        self._left -= len(content)
        if self._left < 0:
            raise _unsafe(self._file, f"it unfolds to more than {WHOLE >> 20} MiB")
        return content


def _read(file: str, packed: Any) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    with gzip.GzipFile(fileobj=packed) as stream, tarfile.open(fileobj=_Bounded(stream, file), mode="r|") as archive:
        for entry in archive:
            name = entry.name
            if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.issparse():
                raise _unsafe(file, f"{name!r} is a link, a folder or a device")
            if not is_safe(name) or name.lower() in seen:
                raise _unsafe(file, f"{name[:LONG]!r} is no name that it may have")
            if entry.size > LARGEST or len(seen) > FILES:
                raise _unsafe(file, f"{name!r} is too large, or there are too many files")
            seen.add(name.lower())
            content = archive.extractfile(entry)
            yield name, content.read(LARGEST) if content else b""


def _checked(file: str, found: dict[str, bytes]) -> Parcel:
    """What its own list says of it holds."""
    try:
        told = json.loads(found.pop(MANIFEST))
        form, digests = told["form"], dict(told["files"])
    except (KeyError, TypeError, ValueError, RecursionError) as why:
        raise BadInput("parcel-unreadable", f"{file} is no parcel of bitten's.", "It has no list of what is in it.", _AGAIN) from why
    if form != FORM:
        raise BadInput("parcel-other-form", f"{file} has form {str(form)[:20]!r}; this bitten reads form {FORM}.",
                       way="pip install --upgrade bitten, or let the sender export it with this version")
    if digests != {name: hashlib.sha256(content).hexdigest() for name, content in found.items()}:
        raise BadInput("parcel-damaged", f"What is in {file} is not what its list says.", "It was changed or cut off on the way.", _AGAIN)
    return Parcel(told, found)


def _unsafe(file: str, why: str) -> BadInput:
    return BadInput("parcel-unsafe", f"{file} was not opened: {why}.", "No parcel of bitten's has that; nothing was kept.", _AGAIN)

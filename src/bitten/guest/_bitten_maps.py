"""Files that no Python call opened: mapped into memory, held as descriptors, or named by a variable of the failing frames. Opens none.

Loaded only when an exception was not caught. Readers in C (Arrow, safetensors, lmdb, HDF5, decoders) are not audited, but
what they hold stands in /proc while the process lives.
"""

from __future__ import annotations

import os
import stat
import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")

FILES = 40
FRAMES = 12
SECONDS = 0.03
TIMES = 3
"""That a process tells of them: fifty failing tests hold much the same."""
_CODE = (".py", ".pyc", ".so", ".pth", ".mo", ".cubin", ".ttf", ".gconv", "gconv-modules.cache", "locale-archive", ".log", ".lock")

_told: list[bool] = []


def tell(tb: TracebackType | None) -> None:
    """One record of all of them, with size and time. What goes wrong in it takes nothing from the exception's own record."""
    try:
        if len(_told) < TIMES:
            _told.append(True)
            _tell(tb)
    except Exception as error:
        hook.emit("hookerr", where="maps", err=type(error).__name__)


def _tell(tb: TracebackType | None) -> None:
    until = perf_counter() + SECONDS
    found: dict[str, list[Any]] = {}
    for path, how in _candidates(tb):
        if perf_counter() > until or len(found) >= FILES:
            break
        if path not in found and _matters(path):
            size, modified = _plain_file(path)
            if size >= 0:
                found[path] = [path, how, size, modified]
    if found:
        hook.emit("held", files=list(found.values()))


def _candidates(tb: TracebackType | None) -> Iterator[tuple[str, str]]:
    for path in _mapped():
        yield path, "mapped"
    for path in _descriptors():
        yield path, "open"
    for path in _named(tb):
        yield path, "named"


def _mapped() -> list[str]:
    """Paths in the last column; a process with torch has a thousand lines of libraries."""
    try:
        with open("/proc/self/maps", "rb") as file:  # noqa: PTH123 - pathlib imports half the library
            lines = file.read(4 << 20).decode("utf-8", "surrogateescape").split("\n")
    except OSError:
        return []
    return list(dict.fromkeys(words[5] for words in (line.split(None, 5) for line in lines) if len(words) == 6 and words[5][:1] == "/"))


def _descriptors() -> Iterator[str]:
    try:
        numbers = os.listdir("/proc/self/fd")  # noqa: PTH208 - as above
    except OSError:
        return
    for number in numbers[:2000]:
        try:
            yield os.readlink("/proc/self/fd/" + number)  # noqa: PTH115 - as above
        except OSError:  # it was the listing's own
            continue


def _named(tb: TracebackType | None) -> Iterator[str]:
    """Plain strings and paths in the variables of the innermost frames of the person's own."""
    links = [link for link in frames.raised_through(tb) if not frames.is_library(link.tb_frame.f_code.co_filename)]
    for link in reversed(links[-FRAMES:]):
        held = frames.variables_of(link.tb_frame)
        values = [held[name] for name in list(held)[:60] if type(name) is str and not name.startswith("__")]
        frames.forget(link.tb_frame, held)
        for value in values:
            path = _as_path(value)
            if path:
                yield path


def _as_path(value: Any) -> str:
    """Empty for what can't be one. A pathlib path's own method is the library's, not the program's."""
    if type(value) is str:
        text = value
    elif type.__getattribute__(type(value), "__module__") in ("pathlib", "pathlib._local") and type(value).__name__ == "PosixPath":
        text = os.fspath(value)
    else:
        return ""
    looks = 2 < len(text) < 1024 and "\n" not in text and "\0" not in text and "://" not in text and ("/" in text or "." in text[1:])
    return os.path.abspath(text) if looks else ""  # noqa: PTH100 - as above


def _matters(path: str) -> bool:
    return (path[:1] == "/" and not path.endswith(_CODE) and ".so." not in path and not path.startswith(hook.Where.skipped)
            and "/site-packages/" not in path and "/dist-packages/" not in path and not path.endswith(" (deleted)"))


def _plain_file(path: str) -> tuple[int, float]:
    """Size and time; a size of -1 for what is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return -1, 0.0
    return (found.st_size, found.st_mtime) if stat.S_ISREG(found.st_mode) else (-1, 0.0)

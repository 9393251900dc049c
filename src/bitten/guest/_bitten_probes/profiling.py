"""Python's one profiler of a thread, shared among our own instruments, and left alone where the program has one. Knows nothing of calls."""

from __future__ import annotations

import sys
from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_mine = _local()


def begin(listen: Any) -> bool:
    """Have `listen(frame, event, arg)` called in this thread; False where somebody else's profiler is in place."""
    found = _listeners()
    now = sys.getprofile()
    if now is not None and now is not _event and now not in found:
        return False
    if listen not in found:
        found.append(listen)
    _place(found)
    return True


def end(listen: Any) -> None:
    found = _listeners()
    if listen in found:
        was_ours = sys.getprofile() is _event or sys.getprofile() in found
        found.remove(listen)
        if was_ours:
            _place(found)


def stop() -> None:
    """At the end of a process, and when an instrument is taken out: who wants to look begins anew."""
    for listen in list(_listeners()):
        end(listen)


def _place(found: list[Any]) -> None:
    """A lone listener is called by the interpreter itself."""
    sys.setprofile(None if not found else found[0] if len(found) == 1 else _event)


def _event(frame: FrameType, event: str, arg: Any) -> None:
    for listen in tuple(_listeners()):
        listen(frame, event, arg)


def _listeners() -> list[Any]:
    found: list[Any] = _mine.__dict__.setdefault("listeners", [])
    return found

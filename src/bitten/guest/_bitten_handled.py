"""Exceptions that the program swallowed, on a re-run and from Python 3.12 on: `sys.monitoring` tells of each that is caught.

Only those are kept that the person's own code raised or caught, once a place; no reference to any is.
"""

from __future__ import annotations

import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")

PLACES = 500
SNAPSHOT = 0.03  # seconds for one, and for all together:
SNAPSHOTS = 1.5
_ORDINARY = frozenset((StopIteration, StopAsyncIteration, GeneratorExit, SystemExit, KeyboardInterrupt))

_spent = 0.0
_places: dict[tuple[type, int, int], int] = {}


def install() -> None:
    monitoring = getattr(sys, "monitoring", None)
    tool = next((number for number in (4, 3) if monitoring is not None and monitoring.get_tool(number) is None), None)
    if monitoring is None or tool is None:
        hook.emit("note", text="swallowed exceptions are seen by Python 3.12 and later only")
        return
    monitoring.use_tool_id(tool, "bitten")
    monitoring.register_callback(tool, monitoring.events.EXCEPTION_HANDLED, _caught)
    monitoring.register_callback(tool, monitoring.events.RAISE, _raised)
    monitoring.set_events(tool, monitoring.events.EXCEPTION_HANDLED | monitoring.events.RAISE)


def _caught(code: CodeType, _offset: int, exc: BaseException) -> None:
    """Also called where an exception only passes a `finally` or a `with`: a reader tells those apart, since they go on."""
    if type(exc) in _ORDINARY or hook.is_busy():
        return
    try:
        innermost = _innermost(exc)
        if frames.is_library(code.co_filename) and (innermost is None or frames.is_library(innermost.tb_frame.f_code.co_filename)):
            return
        _count(exc, innermost)
    except Exception as error:  # the program's own handler goes on as if we weren't there
        hook.emit("hookerr", where="swallowed", err=type(error).__name__)


def _innermost(exc: BaseException) -> Any:
    tb = exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb


def _count(exc: BaseException, tb: Any) -> None:
    """Told when it is the first of its place, and again each time that its number has doubled."""
    place = (type(exc), id(tb.tb_frame.f_code) if tb else 0, tb.tb_lineno if tb else 0)
    seen = _places[place] = _places.get(place, 0) + 1 if place in _places or len(_places) < PLACES else 0
    if seen and seen & (seen - 1) == 0:
        _tell(exc, seen)


def _tell(exc: BaseException, seen: int) -> None:
    global _spent  # noqa: PLW0603 - one number a process
    began = perf_counter()
    was = hook.set_busy(True)
    try:
        seconds = SNAPSHOT if seen == 1 and _spent < SNAPSHOTS else 0.0
        found = hook.load("_bitten_snap").snapshot(exc, exc.__traceback__, seconds, calm=hook.Where.is_forked, ask=False)
        hook.emit("exc", how="swallowed", exc=found, sightings=[], seen=seen)
    finally:
        hook.set_busy(was)
        _spent += perf_counter() - began


def _raised(code: CodeType, _offset: int, exc: BaseException) -> None:
    """A bare `raise SystemExit(3)` passes no function of the interpreter's."""
    if type(exc) is SystemExit and not hook.is_busy():
        try:
            hook.load("_bitten_patches").note_exit("raise SystemExit", exc.code, sys._getframe(1))
        except Exception as error:
            hook.emit("hookerr", where="swallowed", err=type(error).__name__)

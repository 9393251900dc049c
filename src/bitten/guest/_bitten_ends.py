"""A process that ends itself badly: by which call, from where, with what last words, and in whose exception's hands. Ends nothing."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]


def note(function: str, code: Any, frame: FrameType | None) -> None:
    """Who ended the process badly, and the exception in whose hands."""
    code = _exit_code(code)
    if code == 0 or hook.is_busy():
        return
    hook.emit("exit", fn=function, code=code, at=hook.load("_bitten_frames").stack(frame), **_last_words(frame))
    exc = sys.exc_info()[1]
    if exc is not None and not issubclass(type(exc), SystemExit):
        hook.capture(exc, exc.__traceback__, "exit-in-except")


def _last_words(frame: Any) -> dict[str, str]:
    """What argparse is about to print: its exit code says nothing."""
    code = frame.f_code
    words = frame.f_locals.get("message") if (code.co_name, code.co_filename[-12:]) == ("exit", "/argparse.py") else None
    return {"words": hook.load("_bitten_redact").scrub(words[:2000])} if type(words) is str else {}


def _exit_code(code: Any) -> Any:
    if type(code) is str:
        return hook.load("_bitten_redact").scrub(code[:2000])
    if any(base is int for base in type.__getattribute__(type(code), "__mro__")):
        return int.__int__(code)  # an enum's, too
    return type(code).__name__

"""Where a frame stands: its file, its function by full name, and whether it is a library's. Reads frames; never keeps or resumes one."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
redact: Any = hook.load("_bitten_redact")

_HERE = __file__.rpartition("/")[0] + "/"
_LIBRARIES = tuple({prefix + "/lib/" for prefix in (sys.prefix, sys.base_prefix)} | {os.path.dirname(os.__file__) + "/"})  # noqa: PTH120 - pathlib imports half the library
_START = hook.Where.start
_OPTIMIZED = 1  # CO_OPTIMIZED: a function's frame, whose f_locals is a picture, not a module's or class's own dict
_libraries: dict[str, bool] = {}


def is_library(file: str) -> bool:
    """Whether code of this file is not the person's own."""
    known = _libraries.get(file)
    if known is None:
        pseudo = file.startswith("<") and not file.startswith(("<string", "<stdin", "<ipython"))
        known = pseudo or "/site-packages/" in file or "/dist-packages/" in file or file.startswith((*_LIBRARIES, _HERE))
        _libraries[file] = known
    return known


def is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith((_HERE, "<bitten "))


def absolute(file: str) -> str:
    """As the program started, a relative name meant this. (It may have changed its directory since.)"""
    return file if file[:1] in ("/", "<", "") else os.path.normpath(_START + "/" + file)


def full_name(frame: FrameType) -> str:
    """`Class.function` also before Python 3.11, where the class is that of the first argument, if it defines this very code."""
    code = frame.f_code
    known = getattr(code, "co_qualname", None)
    if known is not None:
        return str(known)
    if code.co_argcount == 0 or code.co_name.startswith("<"):
        return str(code.co_name)
    variables = variables_of(frame)
    owner = variables.get(code.co_varnames[0])
    forget(frame, variables)
    for cls in _lineage(owner):
        found = type.__getattribute__(cls, "__dict__").get(code.co_name)
        if getattr(getattr(found, "__func__", found), "__code__", None) is code:
            return f"{type.__getattribute__(cls, '__qualname__')}.{code.co_name}"
    return str(code.co_name)


def _lineage(owner: object) -> Any:
    kind = type(owner)
    of_class = any(base is type for base in type.__getattribute__(kind, "__mro__"))
    cls: Any = owner if of_class else kind
    return type.__getattribute__(cls, "__mro__")


def told_of(frame: FrameType, line: int) -> dict[str, Any]:
    """One frame as a record has it. What came by `-c` or on stdin is the person's own: no file says so."""
    found = told(frame.f_code.co_filename, line, full_name(frame))
    if found["f"] in ("<string>", "<stdin>") and type(frame.f_globals) is dict and frame.f_globals.get("__name__") == "__main__":
        found["own"] = 1
    return found


def told(file: str, line: int, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"f": absolute(file), "l": line, "n": name}
    if is_library(file):
        found["lib"] = 1
    source = _source(file, line)
    if source:
        found["src"] = redact.scrub(source)[:300]
    return found


def stack(frame: FrameType | None) -> list[dict[str, Any]]:
    """A frame and its callers, outermost first."""
    return [told_of(each, each.f_lineno) for each in reversed(outward(frame))]


def _source(file: str, line: int) -> str:
    """Of code that has no file; a reader finds the others on disk."""
    cache = _cache() if file[:1] == "<" else None
    if type(cache) is not dict or file not in cache:
        return ""
    entry = cache[file]
    return str(entry[2][line - 1]) if len(entry) == 4 and 0 < line <= len(entry[2]) else ""


def _cache() -> Any:
    module = sys.modules.get("linecache")
    return module.__dict__.get("cache") if type(module) is type(sys) else None


def place(frames: list[FrameType]) -> str:
    """`file:function` of the innermost frame that is the person's own; frames come innermost first."""
    for frame in frames:
        if not is_library(frame.f_code.co_filename):
            return absolute(frame.f_code.co_filename) + ":" + full_name(frame)
    return ""


def outward(frame: FrameType | None, most: int = 60) -> list[FrameType]:
    """This frame and its callers, innermost first, without our own."""
    found: list[FrameType] = []
    while frame is not None and len(found) < most:
        if not is_ours(frame.f_code):
            found.append(frame)
        frame = frame.f_back
    return found


def raised_through(tb: TracebackType | None, most: int = 5000) -> list[TracebackType]:
    """A traceback's links, outermost first, without our own."""
    found: list[TracebackType] = []
    while tb is not None and len(found) < most:
        if not is_ours(tb.tb_frame.f_code):
            found.append(tb)
        tb = tb.tb_next
    return found


def variables_of(frame: FrameType) -> Any:
    """A mapping that is safe to read; empty when the program put one of its own in that place."""
    variables = frame.f_locals
    return variables if type(variables) is dict or type(variables).__name__ == "FrameLocalsProxy" else {}


def forget(frame: FrameType, variables: Any) -> None:
    """Empty the picture that reading f_locals hung on the frame (before 3.13): it would keep tensors alive that the program frees.

    Nobody else may hold it: its references are then the frame's, our caller's, our parameter and the count's own.
    """
    if type(variables) is not dict or not frame.f_code.co_flags & _OPTIMIZED or sys.gettrace() is not None:
        return
    if sys.getrefcount(variables) <= 4:
        variables.clear()

"""Seams, watched: each call is read first and then made with the very same arguments. For throw-away copies only.

A watched seam adds one frame, `<bitten watch>`, to tracebacks through it. A function that somebody re-exported before we
came stays unwatched there, and a compiled region (torch.compile, TorchScript) may not see a wrapper at all.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")
probe: Any = hook.load("_bitten_probe")

PLACES = 200
_BUILTIN = type(len)

# Made by exec, so that a traceback that passes shows a name of ours and no path of this machine. A closure, since torch.compile
# looks for a function's globals in the module of their name; and what it compiles is left alone.
_WRAPPER = """
def watching(call, read, closed):
    def watched(*args, **kwargs):
        __tracebackhide__ = True
        if not closed():
            read(args, kwargs)
        return call(*args, **kwargs)
    return watched
"""
_CODE = compile(_WRAPPER, "<bitten watch>", "exec", dont_inherit=True)

_seen: dict[tuple[str, str], dict[str, Any]] = {}
_told: dict[tuple[str, str], int] = {}


def install(on_import: Callable[[str, Callable[[Any], None]], None]) -> None:
    """Wrap every seam as soon as its module has been imported."""
    readers: dict[str, list[Any]] = {}
    for each in probe.probes():
        for seam in each.seams:
            readers.setdefault(seam, []).append(each)
    for seam, those in readers.items():
        on_import(seam.partition(":")[0], _wrapper(seam, those))


def flush() -> None:
    """Say what has not been said of every place."""
    for key, sighting in list(_seen.items()):
        if _told.get(key) != sighting["calls"]:
            _tell(key, sighting)


def forked() -> None:
    """A child begins to count anew."""
    _seen.clear()
    _told.clear()


def seen(sighting: dict[str, Any]) -> dict[str, Any]:
    """At a crash: what was watched there, since the failing call was read before it was made; else the crash's own reading."""
    return _seen.get((sighting["probe"], sighting["place"]), sighting)


def _wrapper(seam: str, readers: list[Any]) -> Any:
    return lambda module: _wrap(seam, readers, module)


def _wrap(seam: str, readers: list[Any], module: Any) -> None:
    import inspect  # noqa: PLC0415 - loaded at start-up, its own imports would unshadow a program's `token.py`

    *path, name = seam.partition(":")[2].split(".")
    owner = module
    for step in path:
        owner = inspect.getattr_static(owner, step)
    found = inspect.getattr_static(owner, name)
    inner = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
    outer = _watched(inner, seam, readers)
    setattr(owner, name, type(found)(outer) if inner is not found else outer)


def _watched(function: Any, seam: str, readers: list[Any]) -> Any:
    import functools  # noqa: PLC0415 - as above

    names: dict[str, Any] = {"__name__": "bitten_watch"}
    exec(_CODE, names)
    return functools.wraps(function)(names["watching"](function, _reader(function, seam, readers), _is_compiling))


def _is_compiling() -> bool:
    compiler = sys.modules.get("torch.compiler")
    return compiler is not None and compiler.is_compiling()


def _reader(function: Any, seam: str, readers: list[Any]) -> Any:
    signature = _signature(function)

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if hook.is_busy():
            return
        was = hook.set_busy(True)
        try:
            callers = frames.outward(sys._getframe(2))
            call = _bound(signature, args, kwargs)
            for each in readers:
                _count(each, each.read(call, callers, seam))
        except Exception as error:  # a reading never harms the call
            hook.emit("hookerr", where="watch " + seam, err=type(error).__name__)
        finally:
            hook.set_busy(was)

    return read


def _signature(function: Any) -> Any:
    import inspect  # noqa: PLC0415 - as above

    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # most functions written in C tell none
        return None


def _bound(signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    if signature is not None:
        try:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return dict(bound.arguments)
        except TypeError:  # a call that will fail: the function is about to say so itself
            pass
    return {"args": args, "kwargs": kwargs}


def _count(reader: Any, new: dict[str, Any] | None) -> None:
    if new is None:
        return
    key = (new["probe"], new["place"])
    old = _seen.get(key)
    if old is None and len(_seen) >= PLACES:
        return
    total = _seen[key] = new if old is None else {
        **new, "facts": reader.merge(old, new), "calls": old["calls"] + 1, "finding": old["finding"] or new["finding"],
    }  # fmt: skip
    calls = total["calls"]
    if calls & (calls - 1) == 0 or (total["finding"] and not (old and old["finding"])):
        _tell(key, total)


def _tell(key: tuple[str, str], sighting: dict[str, Any]) -> None:
    _told[key] = sighting["calls"]
    hook.emit("sighting", **sighting)

"""A live exception, with its chain, its frames and their variables, as plain literals. Doesn't know who will read it."""

from __future__ import annotations

import _thread
import builtins
import os
import sys
from itertools import islice
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
redact: Any = hook.load("_bitten_redact")
frames: Any = hook.load("_bitten_frames")
values: Any = hook.load("_bitten_values")

FRAMES = 30  # at either end of a long traceback
VARIABLES = 40
MESSAGE = 4000
CHAIN = 12
CONFIGS_FROM = 0.1  # seconds that a snapshot may cost, from which it also tells the configs


def snapshot(exc: BaseException, tb: TracebackType | None, seconds: float, *, calm: bool = False, ask: bool = True) -> dict[str, Any]:
    """`calm`: start no threads. `ask`: the program's own `__str__` may be called, because the interpreter is about to do so anyway."""
    began = perf_counter()
    budget = values.Budget(seconds, calm=calm)
    found = _one(exc, tb or exc.__traceback__, budget, ask, {id(exc)})
    if not ask:
        found["frames"] = _callers(tb or exc.__traceback__, found["frames"]) + found["frames"]
    if seconds >= CONFIGS_FROM:
        configs = hook.load("_bitten_configs").in_frames(frames.raised_through(tb or exc.__traceback__))
        found.update({"configs": configs} if configs else {})
    found.update(_who())
    found["ms"] = round((perf_counter() - began) * 1000, 1)
    if budget.cut:
        found["cut"] = budget.cut
    return found


def _callers(tb: TracebackType | None, told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of an exception that a library raised and caught by itself: who called it, since the traceback starts inside."""
    links = frames.raised_through(tb)
    return frames.stack(links[0].tb_frame.f_back) if links and all("lib" in each for each in told if "gap" not in each) else []


def message(exc: BaseException, ask: bool) -> str:
    """The scrubbed message. A `__str__` of the program's own may do anything, so it needs leave."""
    own = getattr(type.__getattribute__(type(exc), "__str__"), "__code__", None)
    try:
        asked = ask or own is None or frames.is_library(own.co_filename)
        text = str(exc) if asked else BaseException.__str__(exc)
    except BaseException as error:  # also a SystemExit from a broken __str__: it must not end the program from inside our hook
        text = f"<its message could not be read: {values.type_name(type(error))}>"
    return str(redact.scrub(text[: 2 * MESSAGE])[:MESSAGE])


def _one(exc: BaseException, tb: TracebackType | None, budget: Any, ask: bool, seen: set[int]) -> dict[str, Any]:
    cls = type(exc)
    lineage = [values.bare_name(base) for base in values.lineage(exc)[1:-2]]
    found: dict[str, Any] = {"type": values.type_name(cls), "mro": lineage, "msg": message(exc, ask), "frames": _frames(tb, budget)}
    notes = values.instance_dict(exc) or {}
    if type(notes.get("__notes__")) is list:
        found["notes"] = [str(redact.scrub(note)[:2000]) for note in notes["__notes__"][:20] if type(note) is str]
    if values.is_a(exc, SyntaxError):
        file, line = exc.filename, exc.lineno  # type: ignore[attr-defined]
        found["syntax"] = frames.told(file, line if type(line) is int else 0, "<module>") if type(file) is str else None
    if len(seen) < CHAIN:
        found.update(_chain(exc, budget, ask, seen))
    return found


def _chain(exc: BaseException, budget: Any, ask: bool, seen: set[int]) -> dict[str, Any]:
    """What it came from: its cause, else its context; and the members of a group."""
    found: dict[str, Any] = {}
    context = None if exc.__suppress_context__ else exc.__context__
    for name, other in (("cause", exc.__cause__), ("context", None if exc.__cause__ else context)):
        if other is not None and id(other) not in seen:
            seen.add(id(other))
            found[name] = _one(other, other.__traceback__, budget, ask, seen)
    group = getattr(builtins, "BaseExceptionGroup", None)
    if group is not None and values.is_a(exc, group):
        members = [member for member in exc.exceptions[:16] if id(member) not in seen]  # type: ignore[attr-defined]
        seen.update(map(id, members))
        found["group"] = [_one(member, member.__traceback__, budget, ask, seen) for member in members]
    return found


def _frames(tb: TracebackType | None, budget: Any) -> list[dict[str, Any]]:
    links = frames.raised_through(tb)
    left_out = len(links) - 2 * FRAMES
    if left_out > 0:
        links = links[:FRAMES] + links[-FRAMES:]
    found = [_frame(link) for link in links]
    _add_variables(links, found, budget)
    if left_out > 0:
        found.insert(FRAMES, {"gap": left_out})
    return found


def _frame(link: TracebackType) -> dict[str, Any]:
    code = link.tb_frame.f_code
    found: dict[str, Any] = frames.told_of(link.tb_frame, link.tb_lineno)
    if hasattr(code, "co_positions") and link.tb_lasti >= 0:
        found["pos"] = next(islice(code.co_positions(), link.tb_lasti // 2, None), None)
    return found


def _add_variables(links: list[TracebackType], found: list[dict[str, Any]], budget: Any) -> None:
    """The innermost frame first, then the person's own, then the libraries', while the budget lasts; a frame of a recursion once."""
    done = set()
    last = len(links) - 1
    for at in sorted(range(last, -1, -1), key=lambda i: (i != last, "lib" in found[i])):
        frame = links[at].tb_frame
        if budget.over():
            found[at]["cut"] = budget.cut
            return
        if id(frame) not in done and not (frame.f_code.co_name == "<module>" and "lib" in found[at]):
            done.add(id(frame))
            found[at]["vars"] = _variables(frame, budget)


def _variables(frame: Any, budget: Any) -> dict[str, str]:
    held = frames.variables_of(frame)
    told: dict[str, str] = {}
    for name in _names(frame.f_code, held)[:VARIABLES]:
        text = values.describe(held[name], budget, name)[:1200]
        budget.spend(text)
        told[name] = text
        if budget.over():
            break
    frames.forget(frame, held)
    return told


def _names(code: Any, held: Any) -> list[str]:
    """All of a function's variables; of a module's, those that its own lines use, functions and modules left out."""
    names = [name for name in held if type(name) is str and not name.startswith(("__", ".", "@"))]
    if code.co_name != "<module>":
        return names
    used = set(code.co_names)
    dull = ("module", "function", "builtin_function_or_method")
    told = [name for name in names if name in used and not values.is_a(held[name], type)]
    return [name for name in told if values.bare_name(type(held[name])) not in dull]


def _who() -> dict[str, Any]:
    """Which thread, worker or rank this is, as far as loaded modules say; nothing is imported or registered to find out."""
    threads = values.loaded("threading", "_active") or {}
    thread = values.instance_dict(threads.get(_thread.get_ident()) or 0) or {}
    process = values.instance_dict(values.loaded("multiprocessing.process", "_current_process") or 0) or {}
    worker = getattr(values.loaded("torch.utils.data._utils.worker", "_worker_info"), "id", None)
    xdist = os.environ.get("PYTEST_XDIST_WORKER") if "execnet.gateway_base" in sys.modules else None  # a test's own program is none
    known = {"thread": thread.get("_name"), "process": process.get("_name"), "worker": worker, "rank": os.environ.get("RANK"),
             "xdist": xdist}
    return {key: value for key, value in known.items() if type(value) in (str, int)}

"""The calls where the person's code meets a library, as what makes them anew. Calls no code of the program, and reads no source.

A value becomes a list that begins with its kind: `["v", 3]`, `["t", {"shape": …}]`, `["o", module, class, …]`. What can't be
made anew is `["?", its type]`. Values are kept only where they are few; of the rest the ends are told, and what is missing.
"""

from __future__ import annotations

import os
import sys
from itertools import islice
from time import perf_counter, thread_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
redact: Any = hook.load("_bitten_redact")
frames: Any = hook.load("_bitten_frames")
values: Any = hook.load("_bitten_values")
arrays: Any = hook.load("_bitten_arrays")

SECONDS = 0.05  # of the processor
WAIT = 0.15  # in all: others may have it
NODES = 4000
USER, LIBRARY = 5, 12  # frames of each
VARIABLES = 40
ITEMS, INNER = 48, 12  # of a list, and of one inside something
ATTRIBUTES = 24
DEPTH = 5
TEXT = 2000


class Spent:
    """What one telling may still cost, and what it told already."""

    def __init__(self, wanted: set[str]) -> None:
        self.end, self.until = thread_time() + SECONDS, perf_counter() + WAIT
        self.nodes = NODES
        self.told: dict[int, Any] = {}  # what was told of an object, and how much that is
        self.wanted = wanted

    def over(self) -> bool:
        self.nodes -= 1
        return self.nodes < 0 or thread_time() > self.end or perf_counter() > self.until


def boundary(exc: BaseException, tb: TracebackType | None) -> dict[str, Any]:
    """The person's innermost frames, and the library's below the last of them, outermost first."""
    links = _chosen(frames.raised_through(tb))
    wanted = {name for link in links if not _is_lib(link) for name in link.tb_frame.f_code.co_names}
    spent = Spent(wanted)
    if os.environ.get("BITTEN_KEEP_ARGUMENTS") == "1":
        _keep(links)
    told = [_frame(link) for link in links]
    for at in sorted(range(len(links)), key=lambda i: (i != _border(links), _is_lib(links[i]), -i)):
        _add_values(links[at].tb_frame, told[at], spent)
    found: dict[str, Any] = {"type": values.type_name(type(exc)), "frames": told}
    if spent.over():
        found["cut"] = 1
    if values.is_a(exc, SyntaxError) and type(exc.filename) is str:  # type: ignore[attr-defined]
        found["syntax"] = [exc.filename, exc.lineno]  # type: ignore[attr-defined]
    return found


def _keep(links: list[TracebackType]) -> None:
    """What the border's frame holds, where the person asked for it; without a frame of theirs what the last call was given."""
    frame = links[_border(links)].tb_frame
    held = frames.variables_of(frame)
    hook.load("_bitten_keep").keep({name: held[name] for name in held if type(name) is str})
    frames.forget(frame, held)


def _is_lib(link: TracebackType) -> bool:
    return bool(frames.is_library(link.tb_frame.f_code.co_filename))


def _border(links: list[TracebackType]) -> int:
    """The person's innermost frame; -1 when there is none."""
    return max((at for at, link in enumerate(links) if not _is_lib(link)), default=-1)


def _chosen(links: list[TracebackType]) -> list[TracebackType]:
    at = _border(links)
    own = [link for link in links[: at + 1] if not _is_lib(link)][-USER:]
    below = links[at + 1 :]
    return own + (below if len(below) <= LIBRARY else below[: LIBRARY - 4] + below[-4:])


def _frame(link: TracebackType) -> dict[str, Any]:
    frame, code = link.tb_frame, link.tb_frame.f_code
    told: dict[str, Any] = {"f": frames.absolute(code.co_filename), "l": link.tb_lineno, "n": frames.full_name(frame), "fn": code.co_name,
                            "lib": int(_is_lib(link)), "first": code.co_firstlineno}
    module = frame.f_globals.get("__name__") if type(frame.f_globals) is dict else None
    told["mod"] = module if type(module) is str else ""
    if hasattr(code, "co_positions") and link.tb_lasti >= 0:
        told["pos"] = next(islice(code.co_positions(), link.tb_lasti // 2, None), None)
    count = code.co_argcount + code.co_kwonlyargcount
    told["args"], told["argc"] = list(code.co_varnames[:count]), [code.co_argcount, getattr(code, "co_posonlyargcount", 0)]
    extra = list(code.co_varnames[count : count + 2])
    told["var"] = extra.pop(0) if code.co_flags & 4 and extra else ""  # CO_VARARGS
    told["kw"] = extra.pop(0) if code.co_flags & 8 and extra else ""  # CO_VARKEYWORDS
    told["top"] = int(_is_top(frame))
    return told


def _is_top(frame: FrameType) -> bool:
    """Whether the module has this very function under its name."""
    held = frame.f_globals.get(frame.f_code.co_name)
    while type(held) is type(_is_top) and "__wrapped__" in held.__dict__ and held.__code__ is not frame.f_code:
        held = held.__dict__["__wrapped__"]
    return type(held) is type(_is_top) and held.__code__ is frame.f_code


def _add_values(frame: FrameType, told: dict[str, Any], spent: Spent) -> None:
    """A library's arguments; of the person's own frame also its other variables, and what it names of its module."""
    held = frames.variables_of(frame)
    takes = [*told["args"], told["var"], told["kw"]]
    names = takes if told["lib"] else [name for name in held if type(name) is str and not name.startswith(("__", "@"))]
    if frame.f_code.co_name == "<module>":
        names = [name for name in names if name in frame.f_code.co_names]
    known = sorted((name for name in names[:VARIABLES] if name in held), key=lambda name: values.instance_dict(held[name]) is not None)
    told["vars"] = {name: spec(held[name], spent, name) for name in known}  # objects last: they may be large
    if not told["lib"] and type(frame.f_globals) is dict:
        shared = [name for name in frame.f_code.co_names if name not in held and name in frame.f_globals]
        told["glob"] = {name: spec(frame.f_globals[name], spent, name) for name in shared[:VARIABLES]}
    frames.forget(frame, held)


# ---------------------------------------------------------------------------------------------- values


def spec(value: Any, spent: Spent, name: str = "", depth: int = DEPTH) -> list[Any]:
    """`name` may say that it holds a secret. Never raises."""
    try:
        if spent.over():
            return ["?", "cut"]
        return _scalar(value, name) or _code(value) or _shared(value, spent, name, depth)
    except Exception as error:  # a stranger's object may be broken in any way
        return ["?", type(error).__name__]


def _scalar(value: Any, name: str) -> list[Any]:  # noqa: PLR0911 - a table of kinds
    kind = type(value)
    if value is None or kind is bool or (kind is int and value.bit_length() < 200):
        return ["v", value]
    if kind in (float, complex):
        return ["f", repr(value)]
    if kind is str:
        return _text(value, name)
    if kind is bytes and len(value) <= ITEMS and not redact.hides(name, value.decode("latin-1")):
        return ["v", value]
    if value is Ellipsis:
        return ["e", "..."]
    if kind in (range, slice):
        ends = (value.start, value.stop, value.step)
        return ["e", repr(value)] if all(end is None or type(end) is int for end in ends) else []
    return []


def _text(value: str, name: str) -> list[Any]:
    head, length = str.__getitem__(value, slice(0, TEXT)), str.__len__(value)
    if name and redact.hides(name, head):
        return ["hid", length]
    clean = redact.scrub(head)
    return ["v", clean] if length <= TEXT and clean == head else ["s", clean[:80], length]


def _code(value: Any) -> list[Any]:
    """Modules, functions and classes: by the name that they are imported under."""
    kind = type(value)
    if kind is type(sys):
        return ["mod", str(value.__dict__.get("__name__"))]
    if kind is type(spec):
        code = value.__code__
        return ["fn", _module_of(value), value.__qualname__, frames.absolute(code.co_filename),
                code.co_firstlineno, int(frames.is_library(code.co_filename)), int(value.__closure__ is not None)]
    if kind is type(len):
        owner = value.__self__
        named = type(owner) is type(sys) or owner is None
        return ["bi", str(value.__module__ or ""), value.__name__] if named else []
    if values.is_a(value, type):
        return ["cls", *_class_of(value)]
    return []


def _module_of(value: Any) -> str:
    return value.__module__ if type(value.__module__) is str else ""


def _class_of(cls: type) -> list[Any]:
    module, name = (type.__getattribute__(cls, part) for part in ("__module__", "__qualname__"))
    module = module if type(module) is str else ""
    file = values.loaded(module, "__file__")
    return [module, str(name), frames.absolute(file) if type(file) is str else "", int(type(file) is not str or frames.is_library(file))]


def _shared(value: Any, spent: Spent, name: str, depth: int) -> list[Any]:
    """Looked at once an object: the same batch sits in many frames. Told again it is paid for again, as its record grows by it."""
    known, size = spent.told.get(id(value), (None, 0))
    if known is not None and known[:1] != ["?"]:
        spent.nodes -= size
    else:
        before = spent.nodes
        spent.told[id(value)] = ["?", "itself"], 1
        known = arrays.spec(value, lambda each, its="": spec(each, spent, its, depth - 1), spent)
        known = known or (_compound(value, spent, name, depth) if depth > 0 else ["?", values.type_name(type(value))])
        spent.told[id(value)] = known, before - spent.nodes
    return list(known)


_METHOD: Any = type(Spent(set()).over)


def _compound(value: Any, spent: Spent, name: str, depth: int) -> list[Any]:
    if values.is_a(value, dict):
        return _mapping(value, spent, depth)
    kinds: Any = ((list, "l"), (tuple, "u"), (set, "set"), (frozenset, "fset"))
    for base, kind in kinds:
        if values.is_a(value, base):
            first = islice(base.__iter__(value), ITEMS if depth > DEPTH - 2 else INNER)
            items = [spec(item, spent, name, depth - 1) for item in first]
            return [kind, items, base.__len__(value), [] if type(value) is base else _class_of(type(value))]
    if type(value) is _METHOD:
        return ["meth", spec(value.__self__, spent, "", depth - 1), value.__func__.__name__]
    return _object(value, spent, depth)


def _mapping(value: Any, spent: Spent, depth: int) -> list[Any]:
    if dict.__contains__(value, "PATH") and dict.__contains__(value, "HOME"):
        return ["?", "environment"]
    pairs = []
    for key, item in islice(dict.items(value), ITEMS):
        named = key if type(key) is str else ""
        pairs.append([spec(key, spent, "", depth - 1), spec(item, spent, named, depth - 1)])
    return ["d", pairs, dict.__len__(value), [] if type(value) is dict else _class_of(type(value))]


def _object(value: Any, spent: Spent, depth: int) -> list[Any]:
    """Its class, and those attributes that the person's frames name, or that its class takes when it is made."""
    kind = type(value)
    if values.bare_name(kind) in ("PosixPath", "WindowsPath") and type.__getattribute__(kind, "__module__").startswith("pathlib"):
        return ["path", redact.scrub(str(value))]
    held = values.instance_dict(value) or {}
    takes = _parameters(kind)
    names = [name for name in held if type(name) is str and (name in spent.wanted or name in takes)][:ATTRIBUTES]
    told = {name: spec(held[name], spent, name, depth - 2) for name in names}
    return ["o", *_class_of(kind), told, takes, id(value)]


def _parameters(kind: type) -> list[str]:
    """What its `__init__` is called with, as far as it is written in Python."""
    for cls in type.__getattribute__(kind, "__mro__"):
        made = type.__getattribute__(cls, "__dict__").get("__init__")
        if made is not None:
            code = getattr(made, "__code__", None)
            return list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]) if code is not None else []
    return []

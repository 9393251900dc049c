"""A live object as one short line. Calls no code of the program, waits for no device, starts no thread in a forked child.

Nothing here knows of frames. Every look at an object goes through exact builtin types or unbound base methods, since
`len`, `repr`, `isinstance` and attribute access may all run the program's own code.
"""

from __future__ import annotations

import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_hook: Any = sys.modules["_bitten_hook"]
redact: Any = _hook.load("_bitten_redact")

TEXT = 160
DEPTH = 2
BREADTH = 6

_static = object.__getattribute__


def bare_name(cls: type) -> str:
    return str(type.__getattribute__(cls, "__name__"))


class Budget:
    """What one snapshot may cost. One summary an object: the same batch sits in many frames."""

    def __init__(self, seconds: float, characters: int = 200_000, calm: bool = False) -> None:
        self.end = perf_counter() + seconds
        self.characters = characters
        self.calm = calm
        self.seen: set[int] = set()
        self.known: dict[int, str] = {}
        self.cut = ""

    def spend(self, text: str) -> None:
        self.characters -= len(text)

    def over(self) -> bool:
        if not self.cut and perf_counter() > self.end:
            self.cut = "time"
        elif not self.cut and self.characters < 0:
            self.cut = "size"
        return bool(self.cut)


def lineage(value: object) -> Any:
    return type.__getattribute__(type(value), "__mro__")


def is_a(value: object, cls: object) -> bool:
    return any(base is cls for base in lineage(value))


def type_name(cls: type) -> str:
    """As Python's own traceback names it: without `builtins` and `__main__`."""
    module = type.__getattribute__(cls, "__module__")
    name = str(type.__getattribute__(cls, "__qualname__"))
    return name if type(module) is not str or module in ("builtins", "__main__") else module + "." + name


def loaded(module: str, name: str) -> Any:
    """A name of a module that the program has imported, or None; a lazy or faked module isn't asked."""
    found = sys.modules.get(module)
    return _static(found, "__dict__").get(name) if type(found) is type(sys) else None


def text_of(value: str, name: str = "") -> str:
    """A quoted string, scrubbed before it is cut."""
    length = str.__len__(value)
    head = str.__getitem__(value, slice(0, 2000))
    if name and redact.hides(name, head):
        return str(redact.placeholder(redact.kind_of(name) or "secret", length))
    head = redact.scrub(head)
    return repr(head) if length <= TEXT else f"{head[:TEXT]!r}… (len {length})"


def describe(value: object, budget: Budget, name: str = "", depth: int = DEPTH) -> str:
    """`name` is the variable's, which may say that it holds a secret. Never raises."""
    try:
        return _plain(value, name) or _known(value, budget) or _compound(value, budget, name, depth)
    except Exception as error:  # a stranger's object may be broken in any way; that is a thing to show, too
        return f"<{type_name(type(value))}: not shown ({type(error).__name__})>"


def alone(value: object, budget: Budget, name: str) -> str:
    """One level of it, by itself: what stands in two places is told twice."""
    before, budget.seen = budget.seen, set()
    try:
        return describe(value, budget, name, 1)
    finally:
        budget.seen = before


_HARMLESS = (("pathlib", "PosixPath"), ("datetime", "datetime"), ("datetime", "date"), ("datetime", "timedelta"), ("decimal", "Decimal"),
             ("fractions", "Fraction"), ("uuid", "UUID"))  # fmt: skip


def _plain(value: Any, name: str) -> str:  # noqa: PLR0911 - a table of kinds, one a line
    kind = type(value)
    if value is None or kind in (bool, float, complex):
        return repr(value)
    if kind is int:
        return repr(value) if value.bit_length() < 200 else f"<int of {value.bit_length()} bits>"
    if kind is str:
        return text_of(value, name)
    if kind is bytes:
        hidden = len(value) > 40 or redact.secret_name(name) or redact.key_like(name)
        return f"<bytes len {len(value)}>" if hidden else str(redact.scrub(repr(value)))
    if kind in (loaded(*each) for each in _HARMLESS):
        return str(redact.scrub(repr(value)))[: 2 * TEXT]
    if is_a(value, type):
        return f"<class {type_name(value)}>"
    if kind is type(sys):
        return f"<module {_static(value, '__dict__').get('__name__')}>"
    if kind is _METHOD:
        value = value.__func__
        kind = type(value)
    return f"<{bare_name(kind)} {value.__qualname__}>" if kind is _FUNCTION or kind is _BUILTIN else ""


def _known(value: object, budget: Budget) -> str:
    """What people of the field know by name, a summary an object; and configs."""
    if id(value) in budget.known:
        return budget.known[id(value)]
    told = str(_hook.load("_bitten_tellers").tell(value, budget) or _hook.load("_bitten_configs").tell(value, budget))
    if told:
        budget.known[id(value)] = told
    return told


def _compound(value: Any, budget: Budget, name: str, depth: int) -> str:
    if id(value) in budget.seen and depth < DEPTH:
        return f"<see above: {type_name(type(value))}>"
    budget.seen.add(id(value))
    if is_a(value, dict):
        return _mapping(value, budget, depth)
    if is_a(value, loaded("enum", "Enum")):
        return f"{bare_name(type(value))}.{(instance_dict(value) or {}).get('_name_')}"
    deque = loaded("collections", "deque")
    for shape in ((list, "[", "]"), (tuple, "(", ")"), (set, "{", "}"), (frozenset, "frozenset{", "}"), (deque, "deque[", "]")):
        if shape[0] is not None and is_a(value, shape[0]):
            return _sequence(value, shape, budget, name, depth)
    if is_a(value, str):
        return bare_name(type(value)) + "(" + text_of(value, name) + ")"
    return _suspended(value) or _object(value, budget, depth)


def _mapping(value: Any, budget: Budget, depth: int) -> str:
    kind, length = bare_name(type(value)), dict.__len__(value)
    if dict.__contains__(value, "PATH") and dict.__contains__(value, "HOME"):
        return f"<dict that looks like os.environ, {length} keys, values not shown>"
    if depth <= 0:
        return f"<{kind} of {length}>"
    parts: list[str] = []
    for key, item in dict.items(value):
        if len(parts) >= BREADTH * 3 or budget.over():
            break
        named = key if type(key) is str else ""
        parts.append(f"{describe(key, budget, '', 0)}: {describe(item, budget, named, depth - 1)}")
    return ("" if kind == "dict" else kind) + "{" + ", ".join(parts) + ("" if len(parts) == length else f", … {length} keys") + "}"


def _sequence(value: Any, shape: Any, budget: Budget, name: str, depth: int) -> str:
    base, opened, closed = shape
    kind, length = bare_name(type(value)), base.__len__(value)
    if depth <= 0:
        return f"<{kind} of {length}>"
    parts: list[str] = []
    for item in base.__iter__(value):
        if len(parts) >= BREADTH or budget.over():
            break
        parts.append(describe(item, budget, name, depth - 1))
    more = "" if len(parts) == length else f", … {length} items"
    return f"{'' if type(value) is base else kind}{opened}{', '.join(parts)}{more}{closed}"


def _suspended(value: Any) -> str:
    """A generator is never resumed: its code and line are read off it from outside."""
    for kind, prefix in _RESUMABLE:
        if type(value) is kind:
            code, frame = getattr(value, prefix + "_code"), getattr(value, prefix + "_frame")
            where = f"line {frame.f_lineno}" if frame else "finished"
            return f"<{bare_name(kind)} {getattr(code, 'co_qualname', code.co_name)}, {where}>"
    return ""


def _kinds_of_resumable() -> Any:
    """The types themselves, made without importing `types`."""

    async def coroutine() -> None: ...

    async def stream() -> Any:
        yield

    waiting = coroutine()
    waiting.close()
    return (type(_ for _ in ()), "gi"), (type(waiting), "cr"), (type(stream()), "ag")


_RESUMABLE = _kinds_of_resumable()
_FUNCTION, _BUILTIN, _METHOD = type(bare_name), type(len), type(Budget(0).over)


def _object(value: Any, budget: Budget, depth: int) -> str:
    """Its class, and the values in its instance dict."""
    told = attributes(value, budget, depth)
    return f"{type_name(type(value))}({told})" if told else f"<{type_name(type(value))}>"


def attributes(value: Any, budget: Budget, depth: int) -> str:
    """`name=value, …` of its instance dict; empty where it has none, or too deep."""
    held = instance_dict(value) if depth > 0 else None
    if not held:
        return ""
    parts: list[str] = []
    for key in list(held)[: BREADTH * 3]:
        if type(key) is str and not key.startswith("__") and not budget.over():
            parts.append(f"{key}={describe(held[key], budget, key, depth - 1 if len(held) < 60 else 0)}")
    return ", ".join(parts) + (f", … {len(held)}" if len(held) > len(parts) else "")


_BUILT_IN_SLOTS = ("getset_descriptor", "member_descriptor")


def instance_dict(value: object) -> Any:
    """None for a class that defines `__dict__` itself: to read it would run its code."""
    for cls in lineage(value):
        slot = type.__getattribute__(cls, "__dict__").get("__dict__")
        if slot is not None:
            return _static(value, "__dict__") if bare_name(type(slot)) in _BUILT_IN_SLOTS else None
    return None

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

redact: Any = sys.modules["_bitten_hook"].load("_bitten_redact")

TEXT = 160
DEPTH = 2
BREADTH = 6
READ_WHOLE = 64_000_000  # above this many elements only the head, middle and tail are read
READ_PART = 300_000
CALM = 32_000  # below torch's grain of 32,768 a reduction starts no threads: those hang in a child forked from a threaded parent

_static = object.__getattribute__


def bare_name(cls: type) -> str:
    return str(type.__getattribute__(cls, "__name__"))


class Budget:
    """What one snapshot may cost. One summary an object: the same batch sits in many frames."""

    def __init__(self, seconds: float, characters: int = 200_000, calm: bool = False) -> None:
        self.end = perf_counter() + seconds
        self.characters = characters
        self.calm = calm
        self.seen: dict[int, str] = {}
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
    if is_a(value, type):
        return f"<class {type_name(value)}>"
    if kind is type(sys):
        return f"<module {_static(value, '__dict__').get('__name__')}>"
    if kind is _METHOD:
        value = value.__func__
        kind = type(value)
    return f"<{bare_name(kind)} {value.__qualname__}>" if kind is _FUNCTION or kind is _BUILTIN else ""


def _known(value: object, budget: Budget) -> str:
    """Tensors, arrays, tables, modules: what a person of the field wants to know of them."""
    for module, name, tell in _TELLERS:
        cls = loaded(module, name)
        if cls is not None and is_a(value, cls):
            if id(value) not in budget.seen:
                budget.seen[id(value)] = tell(value, budget)
            return budget.seen[id(value)]
    return ""


def _tensor(x: Any, budget: Budget) -> str:
    torch: Any = sys.modules["torch"]
    core: Any = loaded("torch", "_C")
    off = getattr(core, "_DisableTorchDispatch", None)
    with core.DisableTorchFunction(), torch.no_grad():  # no mode or subclass of the program's takes part
        text = f"{type(x).__name__} shape={tuple(x.shape)} {str(x.dtype)[6:]} {x.device}"
        text += " requires_grad" if x.requires_grad else ""
        if type(x).__name__ not in ("Tensor", "Parameter") or x.layout is not loaded("torch", "strided") or x.is_complex():
            return text
        if x.device.type != "cpu" or x.is_quantized:
            return text + " (values not read: not plain CPU memory)"
        if off is None:
            return text + _read(_tensor_values, x.detach(), budget)
        with off():
            return text + _read(_tensor_values, x.detach(), budget)


def _read(tell: Any, x: Any, budget: Budget) -> str:
    """What the values are like, or why they could not be read: the shape alone is worth having."""
    try:
        return str(tell(x, budget))
    except Exception as error:  # a kind of number that can't be compared, a tensor that is no tensor inside vmap
        return f" (values not read: {type(error).__name__})"


def _tensor_values(x: Any, budget: Budget) -> str:
    torch: Any = sys.modules["torch"]
    count = x.numel()
    if count <= 8:
        return " EMPTY" if count == 0 else f" values={x.tolist()}"
    if budget.calm and count > CALM and torch.get_num_threads() > 1:
        return " (values not read: forked process)"
    x, note = _sample(x, count * max(1, 4 // x.element_size()), x.is_contiguous(), torch.cat)
    if x.dtype == torch.bool:
        return f" true={int(x.sum())}/{x.numel()}{note}"
    if not x.is_floating_point():
        low, high = torch.aminmax(x)
        return f" min={low.item()} max={high.item()}{note}"
    x = x.float() if x.element_size() < 4 else x
    low, high = (end.item() for end in torch.aminmax(x))
    bad = int(torch.isnan(x).sum()) if isnan(low) else 0
    if bad:
        good = x[~torch.isnan(x)] if x.numel() <= 1_000_000 else x[:0]
        low, high = (end.item() for end in torch.aminmax(good)) if good.numel() else (low, high)
    return f"{_range(low, high, bad, x.numel())}{note}"


def isnan(number: Any) -> bool:
    return bool(number != number)  # noqa: PLR0124 - `math` may be a file of the program's own at this hour


def _range(low: float, high: float, bad: int, count: int) -> str:
    text = f" NaN={bad}/{count}" if bad else ""
    return text + (f" min={low:.6g} max={high:.6g}" if not isnan(low) else "")


def _sample(x: Any, cost: int, contiguous: bool, join: Any) -> Any:
    """All of it, or parts and a note that says so. Half-precision values cost more: they are widened to be compared."""
    if cost <= READ_WHOLE:
        return x, ""
    count = 1
    for size in x.shape:
        count *= size
    if not contiguous:
        x = x[tuple(slice(0, max(1, int(size * (READ_PART / count) ** (1 / len(x.shape))))) for size in x.shape)]
        return x, " (only its first corner read)"
    x = x.reshape(-1)
    x = join([x[:READ_PART], x[count // 2 : count // 2 + READ_PART], x[-READ_PART:]])
    return x, f" ({3 * READ_PART} of {count} read)"


def _array(x: Any, budget: Budget) -> str:
    np: Any = sys.modules["numpy"]
    text = f"{type(x).__name__} shape={x.shape} {x.dtype}"
    plain = type(x) is np.ndarray and x.dtype.kind in "fiub"
    return text + (_read(_array_values, x, budget) if plain else "")


def _array_values(x: Any, budget: Budget) -> str:
    np: Any = sys.modules["numpy"]
    kind, count = x.dtype.kind, x.size
    if count <= 8:
        return " EMPTY" if count == 0 else f" values={x.tolist()}"
    x, note = _sample(x, count, x.flags.c_contiguous, np.concatenate)
    if kind == "b":
        return f" true={int(x.sum())}/{x.size}{note}"
    with np.errstate(all="ignore"):
        low, high = x.min(), x.max()
        if kind != "f":
            return f" min={low} max={high}{note}"
        bad = int(np.isnan(x).sum()) if isnan(low) else 0
        good = x[~np.isnan(x)] if bad and x.size <= 1_000_000 else x[:0]
        if good.size:
            low, high = good.min(), good.max()
    return f"{_range(float(low), float(high), bad, x.size)}{note}"


def _number(x: Any, budget: Budget) -> str:
    return f"{type(x).__name__}({x.item()!r})" if x.dtype.kind in "fiubc" else type(x).__name__


def _table(x: Any, budget: Budget) -> str:
    kinds = list(x.dtypes)
    names = [f"{name if type(name) in (str, int) else '?'}:{kinds[at]}" for at, name in enumerate(list(x.columns[:20]))]
    return f"DataFrame shape={x.shape} cols=[{', '.join(names)}{', …' if x.shape[1] > 20 else ''}]"


def _column(x: Any, budget: Budget) -> str:
    return f"Series shape={x.shape} {x.dtype}"


def _module(x: Any, budget: Budget) -> str:
    parameters = submodules = 0
    waiting = [x]
    while waiting and submodules < 3000:
        held = _static(waiting.pop(), "__dict__")
        submodules += 1
        parameters += sum(p.numel() for p in held.get("_parameters", {}).values() if type(p).__name__ == "Parameter")
        waiting.extend(child for child in held.get("_modules", {}).values() if child is not None)
    training = _static(x, "__dict__").get("training")
    return f"{type_name(type(x))} (nn.Module, {submodules - 1} submodules, {parameters:,} parameters, training={training})"


_TELLERS: Any = (
    ("torch", "Tensor", _tensor), ("torch.nn", "Module", _module), ("torch", "Size", lambda x, _: f"torch.Size({tuple(x)})"),
    ("torch", "dtype", lambda x, _: repr(x)), ("torch", "device", lambda x, _: repr(x)),
    ("numpy", "ndarray", _array), ("numpy", "generic", _number), ("pandas", "DataFrame", _table), ("pandas", "Series", _column),
)  # fmt: skip


def _compound(value: Any, budget: Budget, name: str, depth: int) -> str:
    if id(value) in budget.seen and depth < DEPTH:
        return f"<see above: {type_name(type(value))}>"
    budget.seen[id(value)] = ""
    if is_a(value, dict):
        return _mapping(value, budget, depth)
    for shape in ((list, "[", "]"), (tuple, "(", ")"), (set, "{", "}"), (frozenset, "frozenset{", "}")):
        if is_a(value, shape[0]):
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
    held = instance_dict(value) if depth > 0 else None
    if not held:
        return "<" + type_name(type(value)) + ">"
    parts: list[str] = []
    for key in list(held)[: BREADTH * 3]:
        if type(key) is str and not key.startswith("__") and not budget.over():
            parts.append(f"{key}={describe(held[key], budget, key, depth - 1 if len(held) < 60 else 0)}")
    return type_name(type(value)) + "(" + ", ".join(parts) + (f", … {len(held)}" if len(held) > len(parts) else "") + ")"


def instance_dict(value: object) -> Any:
    """None for a class that defines `__dict__` itself: to read it would run its code."""
    for cls in lineage(value):
        slot = type.__getattribute__(cls, "__dict__").get("__dict__")
        if slot is not None:
            return _static(value, "__dict__") if bare_name(type(slot)) == "getset_descriptor" else None
    return None

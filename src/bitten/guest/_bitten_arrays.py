"""Tensors, arrays, tables, layers, estimators, as what makes them anew: shape, kind and range, never a device's values. Knows no frame."""

from __future__ import annotations

import sys
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
values: Any = hook.load("_bitten_values")
redact: Any = hook.load("_bitten_redact")

FEW = 24  # values that are told one by one
MANY = 1_000_000  # above this many nothing is read
ROWS = 6
COLUMNS = 30
CHILDREN = 24
PARAMETERS = 2000  # of a model, that are counted
CALM = 32_000  # a forked child reads no more: torch would start threads for it, and those hang there


def spec(value: Any, tell: Callable[..., list[Any]], spent: Any) -> list[Any]:
    """Empty for what isn't one of them. `tell` tells another value, a level below."""
    for module, name, teller in _TELLERS:
        cls = values.loaded(module, name)
        if cls is not None and values.is_a(value, cls):
            is_asked = module in ("torch", "numpy", "pandas")  # the others are read off their instance dict
            return ["?", values.type_name(type(value))] if is_asked and not _is_of(value, module) else list(teller(value, tell, spent))
    return []


def _is_of(value: Any, package: str) -> bool:
    """A subclass of the program's may define `shape` itself: to read it would run its code."""
    return str(type.__getattribute__(type(value), "__module__")).partition(".")[0] == package


def _tensor(x: Any, _tell: Any, spent: Any) -> list[Any]:
    torch: Any = sys.modules["torch"]
    with values.loaded("torch", "_C").DisableTorchFunction(), torch.no_grad():
        told: dict[str, Any] = {"shape": list(x.shape), "dtype": str(x.dtype)[6:], "device": str(x.device), "id": id(x)}
        if x.requires_grad:
            told["grad"] = 1
        if x.grad_fn is not None:
            told["fn"] = type(x.grad_fn).__name__
        if type(x).__name__ == "Parameter":
            told["param"] = 1
        if x.layout is not values.loaded("torch", "strided"):
            told["layout"] = str(x.layout)
            return ["t", told]
        if not x.is_contiguous():
            told["stride"] = list(x.stride())
        if x.device.type == "cpu" and not x.is_quantized and type(x).__name__ in ("Tensor", "Parameter"):
            _add_range(told, x.detach(), spent)
    return ["t", told]


def _add_range(told: dict[str, Any], x: Any, spent: Any) -> None:
    """The few values, or their ends. A forked child reads little: a big reduction would start threads, and hang."""
    torch: Any = sys.modules["torch"]
    count = x.numel()
    if count <= FEW:
        told["vals"] = repr(x.tolist())
        return
    most = CALM if hook.Where.is_forked else MANY
    if count > most or spent.over() or x.is_complex() or x.dtype == torch.bool:
        return
    x = x.float() if x.is_floating_point() and x.element_size() < 4 else x
    low, high = (end.item() for end in torch.aminmax(x))
    told["min"], told["max"] = repr(low), repr(high)
    if _isnan(low):
        told["nan"] = int(torch.isnan(x).sum())


def _isnan(number: Any) -> bool:
    return bool(number != number)  # noqa: PLR0124 - `math` may be a file of the program's own at this hour


def _array(x: Any, tell: Any, spent: Any) -> list[Any]:
    np: Any = sys.modules["numpy"]
    if type(x) is not np.ndarray:
        return ["?", values.type_name(type(x))]
    told: dict[str, Any] = {"shape": list(x.shape), "dtype": str(x.dtype), "kind": x.dtype.kind}
    if x.size <= FEW and x.dtype.kind in "fiub":
        told["vals"] = repr(x.tolist())
    elif x.size <= FEW and x.dtype.kind in "OUS":
        told["items"] = tell(x.tolist())
    elif x.size <= MANY and x.dtype.kind in "fiu" and not spent.over():
        with np.errstate(all="ignore"):
            told["min"], told["max"] = repr(x.min().item()), repr(x.max().item())
            if x.dtype.kind == "f" and _isnan(x.min()):
                told["nan"] = int(np.isnan(x).sum())
    return ["a", told]


def _number(x: Any, _tell: Any, _spent: Any) -> list[Any]:
    return ["n", values.bare_name(type(x)), repr(x.item())] if x.dtype.kind in "fiubc" else ["?", values.type_name(type(x))]


def _table(x: Any, tell: Any, spent: Any) -> list[Any]:
    if type(x) is not values.loaded("pandas", "DataFrame"):
        return ["?", values.type_name(type(x))]
    names = list(islice(x.columns, COLUMNS))
    columns = [[tell(name), _column(x.iloc[:, at], tell, spent)] for at, name in enumerate(names)]
    return ["df", columns, list(x.shape), _index(x.index, tell)]


def _column(x: Any, tell: Any, spent: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"dtype": str(x.dtype), "rows": len(x)}
    if len(x) > MANY or spent.over():
        return told
    told["nulls"] = int(x.isna().sum())
    told["items"] = [tell(item) for item in x.iloc[:ROWS].tolist()]
    if x.dtype.kind in "iuf" and len(x) > told["nulls"]:
        told["min"], told["max"] = repr(x.min().item()), repr(x.max().item())
    return told


def _index(x: Any, tell: Any) -> list[Any]:
    if values.bare_name(type(x)) == "RangeIndex":
        return ["range", int(x.start), int(x.step)]
    return [values.bare_name(type(x)), str(x.dtype), [tell(item) for item in x[:ROWS].tolist()], bool(x.is_unique)]


def _series(x: Any, tell: Any, spent: Any) -> list[Any]:
    if type(x) is not values.loaded("pandas", "Series"):
        return ["?", values.type_name(type(x))]
    return ["ser", tell(x.name), _column(x, tell, spent), _index(x.index, tell)]


def _index_alone(x: Any, tell: Any, _spent: Any) -> list[Any]:
    return ["ix", [tell(item) for item in x[: 2 * FEW].tolist()], len(x)]


def _layer(x: Any, tell: Any, spent: Any) -> list[Any]:
    """A layer of the library's by its own words; one of the person's by its class and its parts."""
    kind = type(x)
    module = str(type.__getattribute__(kind, "__module__"))
    held = values.instance_dict(x) or {}
    parts = {name: tell(part) for name, part in islice(held.get("_modules", {}).items(), CHILDREN) if part is not None}
    first = list(islice(_parameters(held), PARAMETERS))
    told: dict[str, Any] = {"training": bool(held.get("training")), "parts": parts, "id": id(x)}
    told["count"] = sum(each.numel() for each in first)
    if first:
        told["dtype"], told["device"] = str(first[0].dtype)[6:], str(first[0].device)
    takes = _takes(kind)
    own = {**held.get("_parameters", {}), **held.get("_buffers", {})}
    if module.startswith("torch."):
        told["words"] = redact.scrub(str(kind.extra_repr(x)))
        told["attrs"] = {} if told["words"] else {name: tell(value) for name, value in _made_with(kind, held)}
        return ["m", module, values.bare_name(kind), told]
    loose = {name: held[name] for name in held if name in takes or (name in spent.wanted and name[:1] != "_")}
    told["attrs"] = {name: tell(value, name) for name, value in islice({**loose, **own}.items(), CHILDREN)}
    told["takes"] = takes
    file = values.loaded(module, "__file__")
    return ["um", module, str(type.__getattribute__(kind, "__qualname__")), file if type(file) is str else "", told]


def _parameters(held: Any, depth: int = 6) -> Any:
    yield from (each for each in held.get("_parameters", {}).values() if each is not None)
    for part in held.get("_modules", {}).values():
        if part is not None and depth:
            yield from _parameters(values.instance_dict(part) or {}, depth - 1)


def _init(kind: type) -> Any:
    lineage = type.__getattribute__(kind, "__mro__")
    parts = (type.__getattribute__(cls, "__dict__") for cls in lineage)
    return next((part["__init__"] for part in parts if "__init__" in part), None)


def _takes(kind: type) -> list[str]:
    code = getattr(_init(kind), "__code__", None)
    return list(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]) if code is not None else []


def _made_with(kind: type, held: Any) -> Any:
    """What a library's object was made with, and would not have been otherwise."""
    made, takes = _init(kind), _takes(kind)
    positional = getattr(made, "__defaults__", None) or ()
    count = made.__code__.co_argcount - 1 if takes else 0
    usual = dict(zip(takes[count - len(positional) : count], positional))
    usual.update(getattr(made, "__kwdefaults__", None) or {})
    for name in takes:
        if name in held and not (name in usual and _same(held[name], usual[name])):
            yield name, held[name]


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and type(one) in (int, float, str, bool, tuple) and one == other)


def _estimator(x: Any, tell: Any, _spent: Any) -> list[Any]:
    """A library's estimator: what it was made with, and what it was fitted on. Whose class is the person's own isn't asked."""
    kind = type(x)
    module = str(type.__getattribute__(kind, "__module__"))
    held = values.instance_dict(x) or {}
    if not module.startswith("sklearn."):
        return []
    made = {name: tell(value, name) for name, value in _made_with(kind, held)}
    fitted = {name: tell(held[name]) for name in ("n_features_in_", "feature_names_in_", "classes_") if name in held}
    was_fitted = any(type(name) is str and name.endswith("_") and name[:1] != "_" for name in held)
    return ["est", module, values.bare_name(kind), made, fitted, int(was_fitted)]


_TELLERS: Any = (
    ("torch", "Tensor", _tensor), ("torch.nn", "Module", _layer), ("torch", "Size", lambda x, *_: ["v", tuple(x)]),
    ("torch", "dtype", lambda x, *_: ["e", repr(x)]), ("torch", "device", lambda x, *_: ["e", "torch." + repr(x)]),
    ("numpy", "ndarray", _array), ("numpy", "generic", _number), ("numpy", "dtype", lambda x, *_: ["npd", str(x)]),
    ("pandas", "DataFrame", _table), ("pandas", "Series", _series), ("pandas", "Index", _index_alone),
    ("sklearn.base", "BaseEstimator", _estimator),
)  # fmt: skip

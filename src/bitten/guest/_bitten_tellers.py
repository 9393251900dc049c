"""What a person of the field wants to know of a tensor, array, table, model, optimizer or dataset. Reads values of plain CPU memory alone.

Attributes are read off the framework's own base classes and instance dicts: a subclass of the program's has no say.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

values: Any = sys.modules["_bitten_values"]
loaded, held_by, is_a = values.loaded, values.instance_dict, values.is_a

READ_WHOLE = 64_000_000  # above this many elements only the head, middle and tail are read
READ_PART = 300_000
CALM = 32_000  # below torch's grain of 32,768 a reduction starts no threads: those hang in a child forked from a threaded parent
COUNT_BAD = 1_000_000  # up to this many elements, the range of the finite ones is told beside the number of the others
NULLS = 4_000_000
COLUMNS = 20
MODULES = 3000


def tell(value: object, budget: Any) -> str:
    """Empty for what is none of these."""
    for module, name, teller in _TELLERS:
        cls = loaded(module, name)
        if cls is not None and is_a(value, cls):
            return str(teller(value, budget))
    return ""


# ---------------------------------------------------------------------------------------------- tensors


def _tensor(x: Any, budget: Any) -> str:
    torch: Any = sys.modules["torch"]
    core: Any = loaded("torch", "_C")
    off = getattr(core, "_DisableTorchDispatch", None)
    with core.DisableTorchFunction(), torch.no_grad():  # no mode or subclass of the program's takes part
        base = getattr(core, "TensorBase", None) or core._TensorBase
        kind, device = values.bare_name(type(x)), (held_by(x) or {}).get("fake_device") or base.device.__get__(x)
        text = f"{kind} shape={tuple(base.shape.__get__(x))} {str(base.dtype.__get__(x))[6:]} {device}"
        text += " requires_grad" if base.requires_grad.__get__(x) else ""
        if type(x) is not loaded("torch", "Tensor") and type(x) is not loaded("torch.nn.parameter", "Parameter"):
            return text + _placed(x)
        if x.layout is not loaded("torch", "strided"):
            return f"{text} {str(x.layout)[6:]}" + (f" nnz={x._nnz()}" if x.layout is loaded("torch", "sparse_coo") else "")
        if x.device.type != "cpu" or x.is_quantized:
            return text + (" quantized" if x.is_quantized else "") + " (values not read: not plain CPU memory)"
        if x.is_complex():
            return text
        if off is None:
            return text + _read(_tensor_values, x.detach(), budget)
        with off():
            return text + _read(_tensor_values, x.detach(), budget)


def _placed(x: Any) -> str:
    """A DTensor's placements; of other subclasses nothing more is known."""
    placements = (held_by((held_by(x) or {}).get("_spec")) or {}).get("placements")
    return f" placements={tuple(values.bare_name(type(each)) for each in placements)}" if type(placements) is tuple else ""


def _read(tell: Any, x: Any, budget: Any) -> str:
    """What the values are like, or why they could not be read: the shape alone is worth having."""
    try:
        return str(tell(x, budget))
    except Exception as error:  # a kind of number that can't be compared, a tensor that is no tensor inside vmap
        return f" (values not read: {type(error).__name__})"


def _tensor_values(x: Any, budget: Any) -> str:
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
    return str(_floats(x, low, high, x.numel(), torch.isnan, torch.isinf, torch.aminmax) + note)


def _floats(x: Any, low: float, high: float, count: int, isnan: Any, isinf: Any, ends: Any) -> str:
    """NaN shows in the least and the greatest, and so does an infinity: only where they do is anything counted."""
    if is_finite(low) and is_finite(high):
        return f" min={low:.6g} max={high:.6g}"
    nans = int(isnan(x).sum())
    infinite = int(isinf(x).sum())
    text = (f" NaN={nans}/{count}" if nans else "") + (f" Inf={infinite}/{count}" if infinite else "")
    good = x[~(isnan(x) | isinf(x))] if count <= COUNT_BAD else x[:0]
    if good.shape[0]:
        low, high = (float(end) for end in ends(good))
        text += f" min={low:.6g} max={high:.6g}"
    return text


def is_finite(number: Any) -> bool:
    return bool(number - number == 0)  # `math` may be a file of the program's own at this hour


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


# ---------------------------------------------------------------------------------------------- arrays and tables


def _array(x: Any, budget: Any) -> str:
    np: Any = sys.modules["numpy"]
    shape, dtype = np.ndarray.shape.__get__(x), np.ndarray.dtype.__get__(x)
    text = f"{values.bare_name(type(x))} shape={shape} {dtype}"
    if type(x) is loaded("numpy", "memmap"):
        return f"{text} of {values.describe((held_by(x) or {}).get('filename'), budget, '', 0)} (values not read: on disk)"
    return text + (_read(_array_values, x, budget) if type(x) is np.ndarray and dtype.kind in "fiub" else "")


def _array_values(x: Any, _budget: Any) -> str:
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
        return str(_floats(x, float(low), float(high), x.size, np.isnan, np.isinf, lambda good: (good.min(), good.max())) + note)


def _number(x: Any, _budget: Any) -> str:
    np: Any = sys.modules["numpy"]
    kind = np.generic.dtype.__get__(x).kind
    return f"{values.bare_name(type(x))}({np.generic.item(x)!r})" if kind in "fiubc" else values.bare_name(type(x))


def _table(x: Any, budget: Any) -> str:
    if type(x) is not loaded("pandas", "DataFrame"):
        return f"{values.bare_name(type(x))} (a DataFrame)"
    kinds = list(x.dtypes)
    head = x if x.size <= NULLS else x.iloc[: max(1, NULLS // max(1, x.shape[1]))]
    empty = [0] * COLUMNS if budget.calm else [int(count) for count in head.iloc[:, :COLUMNS].isna().sum()]
    names = [f"{_name(name)}:{kinds[at]}{f' null={empty[at]}' if empty[at] else ''}" for at, name in enumerate(list(x.columns[:COLUMNS]))]
    note = "" if head is x else f" (nulls of the first {head.shape[0]} rows)"
    return f"DataFrame shape={x.shape} cols=[{', '.join(names)}{', …' if x.shape[1] > COLUMNS else ''}]{note}"


def _name(name: object) -> str:
    return str(values.redact.scrub(name[:80])) if type(name) is str else repr(name) if type(name) is int else "?"


def _column(x: Any, budget: Any) -> str:
    if type(x) is not loaded("pandas", "Series"):
        return f"{values.bare_name(type(x))} (a Series)"
    text = f"Series shape={x.shape} {x.dtype}"
    nulls = int(x.isna().sum()) if x.size <= NULLS and not budget.calm else 0
    text += f" null={nulls}/{x.size}" if nulls else ""
    return text + (_read(_array_values, x.to_numpy(), budget) if is_a(x.dtype, loaded("numpy", "dtype")) and x.dtype.kind in "fiub" else "")


def _sparse(x: Any, budget: Any) -> str:
    held = held_by(x) or {}
    data: Any = held.get("data")
    text = f"{values.bare_name(type(x))} shape={held.get('_shape')}"
    return f"{text} nnz={data.size} of" + _array(data, budget)[7:] if type(data) is loaded("numpy", "ndarray") else text


# ---------------------------------------------------------------------------------------------- models and training


def _module(x: Any, _budget: Any) -> str:
    found, submodules = _parameters(x)
    base = getattr(loaded("torch", "_C"), "TensorBase", None) or loaded("torch", "_C")._TensorBase
    numbers = [base.numel(each) for each in found]
    frozen = sum(base.numel(each) for each in found if not base.requires_grad.__get__(each))
    kinds = sorted({f"{str(base.dtype.__get__(each))[6:]} {base.device.__get__(each)}" for each in found})
    told = [f"{submodules - 1} submodules", f"{sum(numbers):,} parameters" + (f" of {', '.join(kinds)}" if kinds else ""),
            f"{frozen:,} frozen" if frozen else "", f"training={(held_by(x) or {}).get('training')}"]
    return f"{values.type_name(type(x))} (nn.Module, {', '.join(each for each in told if each)})"


def _parameters(x: Any) -> Any:
    found: dict[int, Any] = {}
    submodules, waiting = 0, [x]
    while waiting and submodules < MODULES:
        held = held_by(waiting.pop()) or {}
        submodules += 1
        found.update((id(each), each) for each in dict.values(held.get("_parameters") or {}) if values.bare_name(type(each)) == "Parameter")
        waiting.extend(child for child in dict.values(held.get("_modules") or {}) if child is not None)
    return list(found.values()), submodules


def _optimizer(x: Any, budget: Any) -> str:
    groups = (held_by(x) or {}).get("param_groups")
    groups = groups if type(groups) is list else []
    told = [_group(each, budget) for each in groups[:4] if is_a(each, dict)]
    more = f", … {len(groups)} groups" if len(groups) > len(told) else ""
    return f"{values.type_name(type(x))} ({'; '.join(told)}{more})"


def _group(group: Any, budget: Any) -> str:
    """A learning rate that is 0 and one that was never set look alike in a loss; so all numbers of a group."""
    held = {key: value for key, value in dict.items(group) if type(key) is str and key != "params" and value is not None}
    first = [key for key in ("lr", "weight_decay", "momentum", "betas", "eps") if key in held]
    told = [f"{key}={values.alone(held[key], budget, key)}" for key in first + [key for key in held if key not in first]]
    count = dict.get(group, "params")
    return f"{len(count) if type(count) is list else '?'} tensors: {', '.join(told[:12])}"


def _scheduler(x: Any, budget: Any) -> str:
    dull = ("optimizer", "verbose")
    plain = (int, float, str, bool, list, tuple)
    held = {key: value for key, value in (held_by(x) or {}).items() if key not in dull and type(value) in plain}
    return f"{values.type_name(type(x))} ({', '.join(f'{key}={values.alone(each, budget, key)}' for key, each in list(held.items())[:14])})"


# ---------------------------------------------------------------------------------------------- data


def _loader(x: Any, budget: Any) -> str:
    held = held_by(x) or {}
    names = ("num_workers", "drop_last", "pin_memory", "persistent_workers", "prefetch_factor", "timeout")
    told = [f"{name}={held[name]!r}" for name in names if type(held.get(name)) in (int, float, bool)]
    told.insert(0, f"batch_size={held.get('batch_size')!r}")
    kinds = [f"{name}={values.bare_name(type(held[name]))}" for name in ("sampler", "batch_sampler") if held.get(name) is not None]
    collate = values.describe(held.get("collate_fn"), budget, "", 0)
    context = values.bare_name(type(held.get("_DataLoader__multiprocessing_context")))
    told += [*kinds, f"collate_fn={collate}", *([f"context={context}"] if context != "NoneType" else [])]
    return f"{values.bare_name(type(x))}({', '.join(told)}, dataset={values.describe(held.get('dataset'), budget, '', 1)})"


def _dataset(x: Any, budget: Any) -> str:
    """Its length, where that needs no call of the program's: the kinds that torch brings along."""
    length = _length(x, held_by(x) or {})
    told = values.attributes(x, budget, 1)
    return str(values.type_name(type(x)) + f" (Dataset{f', length {length}' if length is not None else ''}{': ' + told if told else ''})")


def _length(x: Any, held: Any) -> Any:
    module, name = "torch.utils.data.dataset", values.bare_name(type(x))
    if type(x) is loaded(module, "TensorDataset"):
        first: Any = next(iter(held.get("tensors") or ()), None)
        return first.shape[0] if type(first) is loaded("torch", "Tensor") and first.dim() else None
    if type(x) is loaded(module, "Subset"):
        return len(held["indices"]) if type(held.get("indices")) in (list, tuple, range) else None
    if type(x) is loaded(module, "ConcatDataset"):
        sizes = held.get("cumulative_sizes")
        return sizes[-1] if type(sizes) is list and sizes and name else None
    return None


_TELLERS: Any = (
    ("torch", "Tensor", _tensor), ("torch.nn", "Module", _module), ("torch", "Size", lambda x, _: f"torch.Size({tuple.__repr__(x)})"),
    ("torch", "dtype", lambda x, _: repr(x)), ("torch", "device", lambda x, _: repr(x)),
    ("torch.optim", "Optimizer", _optimizer), ("torch.optim.lr_scheduler", "LRScheduler", _scheduler),
    ("torch.optim.lr_scheduler", "_LRScheduler", _scheduler),
    ("torch.utils.data", "DataLoader", _loader), ("torch.utils.data", "Dataset", _dataset),
    ("numpy", "ndarray", _array), ("numpy", "generic", _number), ("pandas", "DataFrame", _table), ("pandas", "Series", _column),
    ("scipy.sparse", "spmatrix", _sparse), ("scipy.sparse._base", "_spbase", _sparse),
)  # fmt: skip

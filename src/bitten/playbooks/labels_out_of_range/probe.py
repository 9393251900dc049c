"""What a classification loss was given: the labels beside the number of outputs, and which story of their misfit they tell.

Runs inside the failing program. One batch is often too small to tell whether label 0 exists at all. So when labels do not fit, and
only then, it also reads label arrays that the frames hold and, when it watches a throw-away copy, samples of the data set itself.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import chain
from time import monotonic
from typing import Any

SEAMS = ("torch.nn.functional:cross_entropy", "torch.nn.functional:nll_loss")
SURE = 0.01
"""Label 0 counts as absent when, were it one of N + 1 labels as frequent as each other, so many samples without it were rarer
than this: (1 - 1 / (N + 1)) ** samples."""
NAMES = ("label", "target", "class", "tag", "gold", "truth")
"""What arrays of labels are called, `y` and the like beside these. Other whole numbers could pass for labels by their values."""
MOST = 5_000_000
"""Labels that are counted at most, in one array."""
VOID = (255, 65535, 99, 999, 9999)
"""What annotation tools write where there is no class."""
KEPT = 64
"""Distinct labels out of range that are remembered."""


def read(call: dict[str, Any], frames: list[Any]) -> dict[str, Any] | None:
    logits, target = call["input"], call["target"]
    if not _is_labels(target) or not hasattr(logits, "shape") or len(logits.shape) < 1 or not _may_read(target):
        return None
    classes = int(logits.shape[0] if len(logits.shape) == 1 else logits.shape[1])
    ignored = call.get("ignore_index", -100)
    facts = _told(_counted(target, classes, ignored))
    if facts["labels.out_of_range"] and _undecided(facts):
        return _with_more(facts, target, frames, ignored)
    return facts


def finding(facts: dict[str, Any]) -> bool:
    return bool(facts["labels.out_of_range"])


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The facts of both calls; of two losses with different numbers of classes, the one that is a finding."""
    if old["labels.classes"] != new["labels.classes"]:
        return old if finding(old) else new
    return _told(_added(old, new))


# ------------------------------------------------------------------------------------------------ counting


def _counted(target: Any, classes: int, ignored: Any) -> dict[str, Any]:
    """Counts of one tensor of labels: how many, the extremes of those in range, and each value out of range."""
    labels = target.detach().reshape(-1).long()
    labels = labels[labels != ignored]
    inside = labels[(labels >= 0) & (labels < classes)]
    values, counts = labels[(labels < 0) | (labels >= classes)].unique(return_counts=True)
    outside = {str(value): count for value, count in zip(values.tolist(), counts.tolist())}  # noqa: B905 - Python 3.8
    return {"labels.classes": classes, "labels.samples": int(labels.numel()), "labels.out_of_range": sum(outside.values()),
            "labels.inside": [int(inside.min()), int(inside.max())] if inside.numel() else None, "labels.outside": _few(outside)}


def _added(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    both = [each["labels.inside"] for each in (old, new) if each["labels.inside"]]
    outside = {value: old["labels.outside"].get(value, 0) + new["labels.outside"].get(value, 0)
               for value in (*old["labels.outside"], *new["labels.outside"])}
    return {"labels.classes": new["labels.classes"], "labels.samples": old["labels.samples"] + new["labels.samples"],
            "labels.out_of_range": old["labels.out_of_range"] + new["labels.out_of_range"],
            "labels.inside": [min(low for low, _ in both), max(high for _, high in both)] if both else None,
            "labels.outside": _few(outside)}


def _few(outside: dict[str, int]) -> dict[str, int]:
    """The lowest and the highest values, where there are many."""
    order = sorted(outside, key=int)
    kept = order if len(order) <= KEPT else order[:KEPT // 2] + order[-KEPT // 2:]
    return {value: outside[value] for value in kept}


# ------------------------------------------------------------------------------------------------ telling


def _told(counts: dict[str, Any]) -> dict[str, Any]:
    """The counts with what they say. Of three stories at most one is told: counted from 1, too few outputs, a void label."""
    classes, samples = counts["labels.classes"], counts["labels.samples"]
    outside = sorted(int(value) for value in counts["labels.outside"])
    inside = counts["labels.inside"] or []
    shift = _shift(classes, samples, inside, outside)
    unsure = shift is None and outside == [-1]
    void = [] if shift else _void(classes, inside, outside)
    real = [*inside, *(value for value in outside if value not in void)]
    return dict(counts, **{
        "labels.min": min([*inside, *outside], default=None), "labels.max": max([*inside, *outside], default=None),
        "labels.shift": shift if shift or unsure or not void else _no_shift(classes, real),
        "labels.missing_outputs": _missing(classes, real, shift),
        "labels.sentinel": sum(counts["labels.outside"][str(value)] for value in void) if samples and not unsure else None})


def _shift(classes: int, samples: int, inside: list[int], outside: list[int]) -> int | None:
    """1 for labels 1..N, -1 for labels -1..N-2, 0 when there is no shift, None when so few samples can't tell."""
    lowest, highest = min([*inside, *outside], default=0), max([*inside, *outside], default=-1)
    sure = samples > 0 and (1 - 1 / (classes + 1)) ** samples < SURE
    if lowest >= 1 and highest == classes:
        return 1 if sure else None
    if outside == [-1] and inside and inside[1] <= classes - 2:
        return (-1 if inside[1] == classes - 2 else 0) if sure else None
    return _no_shift(classes, [lowest, highest])


def _no_shift(classes: int, real: list[int]) -> int | None:
    """Label 0, or one past N, speaks against labels 1..N; without either nothing is said."""
    return 0 if real and (min(real) <= 0 <= max(real) or max(real) > classes) else None


def _void(classes: int, inside: list[int], outside: list[int]) -> list[int]:
    """Values that stand for no class: negative ones, and one far above all the others."""
    above = [value for value in outside if value >= classes]
    far = len(above) == 1 and inside and above[0] > classes and (above[0] in VOID or above[0] >= 2 * classes + 10)
    return [*(value for value in outside if value < 0), *(above if far else [])]


def _missing(classes: int, real: list[int], shift: int | None) -> int | None:
    """Outputs that are wanting for the highest real label; unknown while a shift could explain it as well."""
    if not real:
        return None
    wanting = max(0, max(real) + 1 - classes)
    return 0 if shift else None if shift is None and wanting else wanting


def _undecided(facts: dict[str, Any]) -> bool:
    return facts["labels.shift"] is None


# ------------------------------------------------------------------------------------------------ more labels of the same source


def _with_more(facts: dict[str, Any], target: Any, frames: list[Any], ignored: Any) -> dict[str, Any]:
    """The facts, counted over more labels of the same source when it can be found."""
    for labels in chain(_arrays(frames), _sampled(frames)):
        more = _as_labels(labels)
        if more is not None and more.dim() == target.dim() and _holds(more, target, ignored):
            told = _told(_counted(more, facts["labels.classes"], ignored))
            if not _undecided(told):
                return told
    return facts


def _holds(labels: Any, target: Any, ignored: Any) -> bool:
    """Whether these are labels, of which the target is a part: they repeat, as an index does not, and hold its values."""
    values, wanted = set(labels.unique().tolist()), set(target.detach().reshape(-1).unique().tolist())
    return labels.numel() >= max(target.numel(), 2 * len(values)) and wanted - {ignored} <= values


def _arrays(frames: list[Any]) -> Iterator[Any]:
    """What the locals call labels, and what the data sets that they name call so."""
    for name, value in _named(frames):
        if _means_labels(name):
            yield value
        holder = _dataset(value)
        for inner, held in (getattr(holder, "__dict__", None) or {}).items():
            if _means_labels(inner):
                yield held
            elif inner == "tensors":
                yield from held


def _named(frames: list[Any]) -> Iterator[tuple[str, Any]]:
    """The locals of the nearer frames, and what their `self` holds."""
    for frame in frames[:32]:
        variables = dict(frame.f_locals)
        yield from variables.items()
        yield from (getattr(variables.get("self"), "__dict__", None) or {}).items()


def _means_labels(name: str) -> bool:
    low = name.lower().lstrip("_")
    return low.startswith("y") or any(part in low for part in NAMES)


def _dataset(value: Any) -> Any:
    """The data set behind a loader, a subset or itself; None for all else."""
    outer = tuple(kind for kind in (_of("torch.utils.data", "DataLoader"), _of("torch.utils.data", "Subset")) if kind)
    for _ in range(8):
        if not issubclass(type(value), outer):
            break
        value = vars(value).get("dataset")
    return value if _is_a(value, "torch.utils.data", "Dataset") else None


def _sampled(frames: list[Any]) -> Iterator[Any]:
    """Labels of a data set's own samples, at most 2,000 in two seconds. This runs the user's code: when watching, and no sooner."""
    if os.environ.get("BITTEN_WATCH") != "1":
        return
    sets = (_dataset(value) for _, value in _named(frames))
    for dataset in {id(each): each for each in sets if hasattr(type(each), "__len__") and hasattr(type(each), "__getitem__")}.values():
        until, size = monotonic() + 2.0, len(dataset)
        labels = []
        for index in range(0, size, max(1, size // 2000)):
            if monotonic() > until:
                break
            labels.append(_label_of(dataset[index]))
        yield labels


def _label_of(sample: Any) -> Any:
    """The last whole number of a sample: labels come last by custom."""
    parts = list(sample.values()) if isinstance(sample, dict) else list(sample) if isinstance(sample, (tuple, list)) else []
    whole = [int(part) for part in parts if isinstance(part, int) or (_is_labels(part) and part.numel() == 1)]
    return whole[-1] if whole else None


def _as_labels(value: Any) -> Any:
    """A tensor of whole numbers, made of a tensor, an array or a list of them; None when it is none, or too long."""
    torch = sys.modules["torch"]
    if type(value) in (list, tuple) and 0 < len(value) <= MOST / 10 and all(type(each) is int for each in value):
        return torch.tensor(value)
    if _is_a(value, "numpy", "ndarray") and value.dtype.kind in "iu" and value.size <= MOST:
        return torch.as_tensor(value.astype("int64"))
    return value.detach() if _is_labels(value) and _may_read(value) and value.numel() <= MOST else None


def _is_labels(value: Any) -> bool:
    """Whether it is a tensor of whole numbers; probabilities are no labels."""
    return _is_a(value, "torch", "Tensor") and str(value.dtype).startswith(("torch.int", "torch.uint"))


def _is_a(value: Any, module: str, name: str) -> bool:
    """By its type alone: `isinstance` would ask a proxy, which may answer with code of the user's."""
    kind = _of(module, name)
    return kind is not None and issubclass(type(value), kind)


def _may_read(tensor: Any) -> bool:
    """A device that has just failed must not be waited for; before the call that fails it answers."""
    return tensor.device.type == "cpu" or os.environ.get("BITTEN_WATCH") == "1"


def _of(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, None)

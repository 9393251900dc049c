"""What loaders hand out: which samples, how often, in which order, and which of them another loader hands out too.

A map-style dataset's samples are known by their index, others by a key of their values (rows.py). Bounded: some thousand samples of an
epoch, of the first epochs and then of those at powers of two. A loader trains if an optimizer steps between its batches; it evaluates if
modules are called without gradients, or in evaluation mode.
"""

from __future__ import annotations

import re
import sys
import weakref
from collections import Counter
from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
rows: Any = hook.load("_bitten_probes.rows")
labels: Any = hook.load("_bitten_probes.labels")
sources: Any = hook.load("_bitten_probes.source_trees")

MOST_LOADERS = 32
MOST_ROWS = 4096
MOST_INDICES = 65_536
PREFIXES = 64
VARIED = 0.98
"""Share of distinct samples in a loader's epoch from which equal keys are taken for equal samples."""
ENOUGH = 20
"""Samples below which equal orders and repeats may be chance, or a toy."""
SHARED, ALL = 0.1, 0.95
HELD_OUT = re.compile(r"(?i)(^|_)(val|valid|validation|test|dev|holdout|held_?out)(_|$|s?et|s?loader|data)")


class Epoch:
    """One pass over a loader."""

    def __init__(self, number: int, is_watched: bool) -> None:
        self.number, self.is_watched, self.batches, self.samples = number, is_watched, 0, 0
        self.counts: Counter[int] = Counter()
        self.inputs: set[int] = set()
        self.is_cut = False
        self.keyed = self.size = 0
        self.optimizer: int | None = None
        self.slots: dict[int, int] = {}
        self.crossed: set[int] = set()

    def add(self, size: int, whole: list[int], parts: dict[str, list[int]], workers: int) -> None:
        """Rows are counted up to a bound, and to a whole round of the workers; a fourth of the later ones is known again."""
        slot = self.batches % max(workers, 1)  # whose turn it is
        self.batches += 1
        self.samples += size
        self.size = size
        self.is_cut = self.is_cut or (self.samples > MOST_ROWS and self.batches % max(workers, 1) == 1 % max(workers, 1))
        if not self.is_cut:
            self.counts.update(whole)
            if workers > 1:
                self.crossed.update(each for each in whole if self.slots.setdefault(each, slot) != slot)
        if parts and self.keyed < MOST_INDICES:
            self.inputs.update(next(iter(parts.values())))
            self.keyed += size


class Indices:
    """What one pass's sampler gave, in its order: kept weakly beside the iterator, for a sampler runs ahead of the batches."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = weakref.ref(sampler) if hasattr(type(sampler), "__weakref__") or type(sampler).__name__ == "generator" else None
        self.count, self.prefixes = 0, [0]
        self.seen: set[int] = set()

    def add(self, given: Any) -> None:
        many = list(given) if isinstance(given, (list, tuple)) else [given]
        self.count += len(many)
        if len(self.prefixes) <= PREFIXES:
            self.prefixes.append(hash((self.prefixes[-1], *map(repr, many))))
        if len(self.seen) < MOST_INDICES:
            self.seen.update(each for each in many if type(each) is int)


class Loader:
    """One DataLoader of the program, as far as it was seen. Holds neither it nor its dataset: they may end before the program does."""

    def __init__(self, number: int, loader: Any) -> None:
        dataset, sampler = loader.dataset, getattr(loader, "sampler", None)
        self.number, self.where, self.line = number, bus.birthplace(loader), ("", "")
        self.dataset, self.kind = identity(dataset), type(dataset).__name__
        self.split, self.stream = bus.birthplace(dataset), sources.of_method(dataset, "__iter__")
        root, self.chosen = base(dataset)
        self.root, self.root_made, self.numberings = identity(root), bus.birthplace(root), dict(labels.numberings(root))
        self.is_iterable = getattr(loader, "_dataset_kind", 0) == 1
        self.size = None if self.is_iterable else size_of(dataset)
        self.workers = int(getattr(loader, "num_workers", 0))
        self.shuffles, self.sampler, self.by_epoch = shuffles(sampler), type(sampler).__name__, hasattr(sampler, "set_epoch")
        self.epochs, self.epoch = 0, Epoch(0, False)
        self.first: Epoch | None = None
        self.orders: list[tuple[list[int], int | None]] = []
        self.indices: Indices | None = None
        self.trained = self.evaluated = self.uneven = 0
        self.after: set[int] = set()
        """Numbers of the loaders that had trained, when this one evaluated a model, that very model last: in each fold another."""
        self.labels = labels.Labels()
        self.shapes: set[str] = set()


def size_of(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except Exception:  # it has no length, or one that fails
        return None


_identities: dict[int, tuple[Any, int]] = {}
_numbers = count()


def identity(thing: Any) -> int:
    """A number of its own for each object, also when another has taken its place in memory."""
    known = _identities.get(id(thing))
    if known is None or known[0]() is not thing:
        try:
            known = weakref.ref(thing), next(_numbers)
        except TypeError:  # a list or another thing that no weak reference can be had of
            return id(thing)
        _identities[id(thing)] = known
    return known[1]


_loaders: Any = weakly.Keys()
_known: list[Loader] = []
_indices: Any = weakly.Keys()


class Now:
    last: Loader | None = None
    called: set[int] = set()  # noqa: RUF012 - models called with gradients since the last step
    trainers: dict[int, int] = {}  # noqa: RUF012 - by model the number of the loader that trained it last


def is_used() -> bool:
    return bool(_known)


def forked() -> None:
    _loaders.clear()
    _known.clear()
    _indices.clear()
    Now.last, Now.called, Now.trainers = None, set(), {}


# ---------------------------------------------------------------------------------------------- looking


def indexed(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """A loader's iterator has asked its sampler for the next batch."""
    iterator = args[0]
    sampler = iterator._sampler_iter
    found = _indices.get(iterator)
    if found is None or (found.sampler is not None and found.sampler() is not sampler):
        _indices[iterator] = found = Indices(sampler)
    if len(found.prefixes) <= PREFIXES or found.count < MOST_INDICES:
        found.add(out)


def batch(iterator: Any, loader: Any, data: Any) -> None:
    if loader is None:
        return
    found = _loaders.get(loader)
    if found is None:
        if len(_known) >= MOST_LOADERS:
            return
        found = _loaders[loader] = Loader(len(_known), loader)
        _known.append(found)
    if iterator._num_yielded == 1:
        _begin(found, iterator)
    Now.last = found
    _see(found, data)


def _begin(found: Loader, iterator: Any) -> None:
    _end(found)
    found.line = found.line if found.line[0] else report.here()
    number = found.epochs
    found.epochs += 1
    found.epoch = Epoch(number, number < 3 or number & (number - 1) == 0)
    found.indices = _indices.get(iterator)


def _end(found: Loader) -> None:
    """A pass is over, or the program is."""
    epoch = found.epoch
    if not epoch.batches:
        return
    if found.first is None or epoch.keyed > found.first.keyed:  # the first may have been a trial of two batches
        found.first = epoch
    if found.is_iterable and found.workers > 1 and epoch.is_watched:
        _unsharded(found, epoch)
    if found.indices is not None and len(found.orders) < 64:
        found.orders.append((found.indices.prefixes, epoch.optimizer))
        _reshuffled(found)


def _see(found: Loader, data: Any) -> None:
    epoch = found.epoch
    seen = epoch.batches
    if epoch.is_watched and (not epoch.is_cut or seen & 3 == 0):
        size, leaves = rows.leaves(data)
        whole, parts = rows.keys(leaves)
        epoch.add(size or 1, whole, parts, found.workers)
        found.uneven += size == 1
        if seen < 32 or seen & (seen - 1) == 0:
            found.labels.add(leaves)
            if len(found.shapes) < 16:
                found.shapes.add(", ".join(f"{path or 'batch'} {str(leaf.dtype)[6:]}{list(leaf.shape)[1:]}" for path, leaf in leaves))
    else:
        epoch.batches += 1
        epoch.samples += epoch.size


def stepped(optimizer: Any, number: int) -> None:
    if Now.last is not None:
        Now.last.trained += 1
        if Now.last.epoch.optimizer is None:
            Now.last.epoch.optimizer = identity(optimizer)
        for model in Now.called:
            if model in Now.trainers or len(Now.trainers) < MOST_LOADERS:
                Now.trainers[model] = Now.last.number
    Now.called.clear()


def called(module: Any, args: Any) -> None:
    if Now.last is None:
        return
    parameter = next(iter(module.parameters()), None)  # what a model and its wrappers have in common
    model = -1 if parameter is None else identity(parameter)
    has_grad = sys.modules["torch"].is_grad_enabled()
    if has_grad and len(Now.called) < MOST_LOADERS:
        Now.called.add(model)
    if not (module.training and has_grad):
        Now.last.evaluated += 1
        if model in Now.trainers:
            Now.last.after.add(Now.trainers[model])


# ---------------------------------------------------------------------------------------------- judging a loader


def _unsharded(found: Loader, epoch: Epoch) -> None:
    """Each sample as often as there are workers, or a multiple: then every worker goes through the whole stream."""
    distinct, workers = len(epoch.counts), found.workers
    if distinct < ENOUGH or not all(count % workers == 0 for count in epoch.counts.values()):
        return
    if len(epoch.crossed) < 0.5 * distinct:  # a worker that goes twice through its own share
        return
    times = sum(epoch.counts.values()) / distinct
    says = (f"Each of the {distinct} samples of {found.kind} came {times:g} times in one pass with {workers} workers: "
            f"every worker yields the whole stream, for it isn't divided among them.")  # fmt: skip
    facts = {"batches.times_served": times, "batches.distinct_samples": distinct, "batches.workers": workers,
             "also": [each[0] for each in (found.where, found.line) if each[0]]}
    report.finding("batches", f"loader {found.number} unsharded", says, facts, found.stream if found.stream[0] else found.where)


def _reshuffled(found: Loader) -> None:
    """A loader that shuffles, and gives the same order in two passes on end that train by one optimizer."""
    if len(found.orders) < 2 or not found.shuffles or found.indices is None:
        return
    (one, earlier), (two, later) = found.orders[-2:]
    if earlier is None or earlier != later:
        return
    common = min(len(one), len(two))
    if common < 2 or found.indices.count < ENOUGH or one[:common] != two[:common]:
        return
    why = "its set_epoch was not called with another number" if found.by_epoch else "its generator begins each pass in the same state"
    says = (f"Two passes on end of the training loader gave their samples in the same order (the first {common - 1} batches, "
            f"all that were compared), though {found.sampler} shuffles: {why}.")  # fmt: skip
    facts = {"batches.same_order": True, "batches.sampler": found.sampler, "also": [found.where[0]] if found.where[0] else []}
    report.finding("batches", f"loader {found.number} order", says, facts, found.line if found.line[0] else found.where)


def shuffles(sampler: Any) -> bool:
    """Whether a sampler of torch, or one that says `shuffle`, means to give another order each time."""
    if hasattr(sampler, "shuffle"):
        return sampler.shuffle is True
    return type(sampler).__name__ in ("RandomSampler", "SubsetRandomSampler") and not getattr(sampler, "replacement", False)


# ---------------------------------------------------------------------------------------------- judging at the end


def conclude() -> dict[str, Any]:
    """Say at the end what loaders did. Returns the facts for the summary."""
    shared = 0
    for found in _known:
        _end(found)
        _tell(found)
    for trained in _known:
        for other in _known:
            if trained.trained and other.evaluated and not other.trained and trained.number in other.after:
                shared += _overlap(trained, other)
                labels.compare(trained, other)
    return {"batches.loaders": len(_known), "batches.overlapping_loaders": shared} if _known else {}


def _tell(found: Loader) -> None:
    epoch = found.first or found.epoch
    facts = {"batches.epochs": found.epochs, "batches.workers": found.workers, "batches.batches": epoch.batches,
             "batches.samples": epoch.samples, "batches.shapes": sorted(found.shapes)[:8], "batches.batches_of_one": found.uneven,
             "batches.used_for": "training" if found.trained else "evaluation" if found.evaluated else "neither"}
    if epoch.counts:
        facts["batches.repeated_share"] = 1 - len(epoch.counts) / sum(epoch.counts.values())
    never = _never_served(found)
    if never is not None:
        facts["batches.never_served"] = never
    facts.update(found.labels.facts())
    report.fact("batches", f"loader {found.number}", facts, found.where)
    labels.judge(found, facts)


def _never_served(found: Loader) -> int | None:
    """Samples of a dataset whose index did not come in the last pass."""
    if found.indices is None or found.size is None or found.indices.count >= MOST_INDICES or not found.indices.seen:
        return None
    return found.size - len(found.indices.seen)


def base(dataset: Any) -> tuple[Any, set[int] | None]:
    """The dataset below subsets, and the indices of it that are meant; None for all of it, or for too many to keep."""
    indices: Any = None
    for _ in range(8):
        inner, chosen = getattr(dataset, "dataset", None), getattr(dataset, "indices", None)
        if inner is None or chosen is None or len(chosen) > MOST_INDICES:
            break
        own = [int(each) for each in chosen]
        indices = own if indices is None else [own[each] for each in indices]
        dataset = inner
    return dataset, None if indices is None else set(indices)


def _overlap(trained: Loader, other: Loader) -> int:
    """Samples of an evaluating loader that are training's too. A part of them is a fault; all of either may be meant."""
    if trained.dataset == other.dataset:
        return 0
    share, how, covered = _shared(trained, other)
    if share < SHARED:
        return 0
    name = _name(other)
    is_held_out = bool(HELD_OUT.search(name)) and "train" not in name.lower()
    says = (f"{share:.0%} of the samples of the evaluating loader{' ' + name if name else ''} are samples of the training loader too, by "
            f"{how}: its metric is no measure of what the model has not seen.")  # fmt: skip
    facts = {"batches.shared_share": share, "batches.shared_by": how, "also": [trained.where[0]] if trained.where[0] else []}
    is_part = share < ALL and covered < ALL
    tell = report.finding if is_part or is_held_out else report.hint
    tell("batches", f"loader {other.number} shares with {trained.number}", says, facts, other.split if other.split[0] else other.where)
    return int(tell is report.finding)


def _shared(trained: Loader, other: Loader) -> tuple[float, str, float]:
    """(the share of the evaluating loader's samples, how it is known, the share of the training loader's)."""
    if trained.root == other.root and not trained.is_iterable and other.chosen:
        both = other.chosen if trained.chosen is None else trained.chosen & other.chosen
        covered = len(both) / max(1, len(trained.chosen) if trained.chosen is not None else trained.size or 1)
        return (len(both) / len(other.chosen) if len(other.chosen) >= ENOUGH else 0.0), "index", covered
    seen, asked = trained.first or trained.epoch, other.first or other.epoch
    if len(asked.inputs) < ENOUGH or not _is_varied(seen) or not _is_varied(asked):
        return 0.0, "", 0.0
    again = len(asked.inputs & seen.inputs)
    if again < ENOUGH:
        return 0.0, "", 0.0
    return min(1.0, again / len(asked.inputs) * seen.samples / max(seen.keyed, 1)), "value", again / len(seen.inputs)


def _is_varied(epoch: Epoch) -> bool:
    return epoch.keyed > 0 and len(epoch.inputs) >= VARIED * epoch.keyed


def _name(found: Loader) -> str:
    """The name that the program gave to a loader, as its line says."""
    import linecache  # noqa: PLC0415 - only where something is to be said

    file, _, line = found.where[0].rpartition(":")
    text = linecache.getline(file, int(line)) if file and line.isdigit() else ""
    name = re.search(r"(\w+)\s*(?::[^=]*)?=\s*[\w.]*DataLoader\(", text)
    return name.group(1) if name else ""

"""What a recording tells of loaders: which samples, in which order, and what the first batches held. Draws nothing and asks no dataset."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
tape: Any = hook.load("_bitten_probes.tape")
calls: Any = hook.load("_bitten_probes.calls")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
pieces: Any = hook.load("_bitten_probes.pieces")

NAME = "recording"
BATCHES = 3
MOST = 16
"""Loaders of a process that are told."""


class Over:
    """The loader that gave the last batch, and the digest of the order that it came in."""

    loader = order = ""


_names: Any = weakly.Keys()
_samples: Any = weakly.Keys()
_epochs: Any = weakly.Keys()
_shares: Any = weakly.Things()
"""Parts of a data set that `random_split` made, and told of."""


def install(module: Any) -> None:
    """`module` is torch.utils.data.dataloader."""
    bus.wrap(NAME, module.DataLoader, "__iter__", _iterated)
    bus.wrap(NAME, module._BaseDataLoaderIter, "_next_index", _asked, _indexed)
    data = sys.modules["torch.utils.data.dataset"]
    bus.wrap(NAME, data.TensorDataset, "__init__", None, _born)


def install_package(package: Any) -> None:
    """`package` is torch.utils.data."""
    bus.wrap(NAME, package, "random_split", _parting, _parted)


def _born(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    bus.note_birth(args[0], report.here())


def _parting(args: Any, kwargs: Any) -> Any:
    generator = kwargs.get("generator", args[2] if len(args) > 2 else None)
    if generator is sys.modules["torch"].default_generator:
        generator = None
    if generator is not None:
        tape.mark("seeds", "generator of random_split", report.here(), value=generator.initial_seed())
    return tape.random_state(generator)


def _parted(random: str, args: Any, kwargs: Any, out: Any) -> None:
    for each in out:
        _shares.add(each)
    tape.mark("split", "random_split", report.here(), fps=tape.prints([list(map(int, each.indices)) for each in out]), random=random,
              given=tape.digest(len(args[0])) if args else "", kind=f"parts of {', '.join(str(len(each)) for each in out)}")


def _name(loader: Any) -> str:
    """Loaders are named by the order in which they are first asked for a batch."""
    if loader not in _names:
        _names[loader] = (f"loader {len(_names)}", tape.random_state(getattr(loader, "generator", None)))
    return str(_names[loader][0])


def _iterated(args: Any, kwargs: Any) -> None:
    loader = args[0]
    first = loader not in _names
    if len(_names) > MOST:
        return
    name = _name(loader)
    _epochs[loader] = _epochs.get(loader, 0) + 1
    if first:
        _about(loader, name, bus.birthplace(loader))


def _about(loader: Any, name: str, where: tuple[str, str]) -> None:
    """What it draws from: which samples, of which data."""
    generator = getattr(loader, "generator", None)
    if generator is not None:
        tape.mark("seeds", f"generator of {name}", where, value=generator.initial_seed())
    dataset, indices, is_told = loader.dataset, None, False
    while hasattr(dataset, "indices") and hasattr(dataset, "dataset"):
        is_told = is_told or dataset in _shares
        own = [int(each) for each in dataset.indices]
        indices, dataset = own if indices is None else [own[each] for each in indices if each < len(own)], dataset.dataset
    chosen = getattr(getattr(loader, "sampler", None), "indices", None)
    if chosen is not None and indices is None:
        indices = [int(each) for each in chosen]
    if indices is not None and not is_told:
        tape.mark("split", f"{name} samples", where, fps={"in any order": _set_print(indices)})
    if hasattr(type(dataset), "__len__"):
        tape.mark("split", f"{name} count", where, value=len(indices) if indices is not None else len(dataset))
    _samples[loader] = tape.digest(indices) if indices is not None else ""
    _contents(dataset, name, indices is None, where)


def _set_print(indices: list[int]) -> Any:
    return pieces.print_of(pieces.Plain([len(indices)], "int", list(indices), sorted(indices)))


def _contents(dataset: Any, name: str, is_whole: bool, where: tuple[str, str]) -> None:
    """Of tensors that lie ready; what a dataset makes on the way is seen as calls of its functions."""
    tensors = getattr(dataset, "tensors", None)
    if not isinstance(tensors, tuple):
        return
    born = bus.birthplace(dataset)
    rows = fingerprint.rows(tensors[0]) if is_whole else ""
    for at, each in enumerate(tensors):
        tape.mark("preprocessing", f"{name} data {at}", born if born[0] else where, fps=tape.prints(each), kind=rows if at == 0 else "",
                  also=[where[0]] if where[0] else ())


def _asked(args: Any, kwargs: Any) -> None:
    """For an index that is not there: the epoch ends, and something is measured."""
    iterator = args[0]
    try:
        ends = iterator._num_yielded >= len(iterator._index_sampler)
    except Exception:  # a sampler of unknown length
        return
    if ends:
        calls.again()


def _indexed(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """The order: told of the first batches, in the process that draws it."""
    iterator = args[0]
    loader = _loader_of(iterator) if getattr(iterator, "_num_yielded", 0) < BATCHES else None
    if loader is None or _epochs.get(loader, 0) > 1 or not isinstance(out, (list, tuple)):
        return
    name, before = _names.get(loader, ("", ""))
    if name and out and isinstance(out[0], int):
        kind = type(loader.sampler).__name__
        tape.mark("batch", f"{name} order", bus.birthplace(loader), fps=tape.prints(list(out)), kind=kind,
                  random="" if kind == "SequentialSampler" else before, step=0)
        Over.order = tape.digest(list(out))


def _loader_of(iterator: Any) -> Any:
    """The loader that an iterator works for: the one that was asked last of those with its dataset and sampler."""
    sampler = getattr(iterator, "_index_sampler", None)
    return next((each for each in list(_names) if getattr(each, "_index_sampler", None) is sampler), None)


def batch(iterator: Any, loader: Any, data: Any) -> None:
    if loader is None:
        return
    name = _name(loader)
    Over.loader = name
    if _epochs.get(loader, 0) > 1 or getattr(iterator, "_num_yielded", BATCHES + 1) > BATCHES:
        return
    for path, leaf in list(pieces.pieces(data))[:8]:
        tape.mark("batch", f"{name} {path}".strip(), bus.birthplace(loader), fps={"": pieces.print_of(leaf, tape.ELEMENTS)},
                  given=Over.order and tape.digest(Over.order, _samples.get(loader, "")))

"""Turns of the data: workers, batch size, and which batches are handed out. Knows no model.

A loader is taken to train if backward runs between two of its batches.

Batches are changed where the loader's own iterator makes them, so that whoever listens to it sees what the program gets.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
patches: Any = hook.load("_bitten_patches")
turns: Any = hook.load("_bitten_probes.turns")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")

LABELS = ("labels", "label", "targets", "target", "y")
"""Names under which a batch that is a dict holds its labels, the likeliest first."""


def _on_loaders(patch: Callable[[Any], None]) -> None:
    patches.on_import("torch.utils.data.dataloader", patch)


# ---------------------------------------------------------------------------------------------- how loaders are made


def workers(turn: Any) -> None:
    wanted = int(turn.value)
    bare = {"prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout"}

    def change(given: dict[str, Any]) -> Any:
        if given.get("num_workers", 0) == wanted:
            return turn.not_for("changed nothing: the loaders have so many workers")
        given["num_workers"] = wanted
        if wanted == 0:
            for name in bare & set(given):
                del given[name]
        return turn.met()

    _making(turn, change)


def batch(turn: Any) -> None:
    factor = float(turn.value)

    def change(given: dict[str, Any]) -> Any:
        if given.get("batch_sampler") is not None or given.get("batch_size", 1) is None:
            return turn.not_for("refused: the loader's batches are made by a sampler of the program's own")
        size = max(1, int(given.get("batch_size", 1) * factor))
        if size == given.get("batch_size", 1):
            return turn.not_for("changed nothing: the batches have that size")
        given["batch_size"] = size
        return turn.met()

    _making(turn, change)


def _making(turn: Any, change: Callable[[dict[str, Any]], Any]) -> None:
    def wait(module: Any) -> None:
        import inspect  # noqa: PLC0415 - torch has it loaded

        signature = inspect.signature(module.DataLoader.__init__)

        def changed(args: Any, kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            change(bound.arguments)
            return bound.args, bound.kwargs

        turns.arguments(turn, module.DataLoader, "__init__", changed)

    _on_loaders(wait)


# ---------------------------------------------------------------------------------------------- which batches they hand out


class Handing:
    """Which loader an iterator is of, how many batches each has handed out, and which loaders train."""

    def __init__(self, turn: Any) -> None:
        self.owner: Any = weakly.Keys()
        self.count: Any = weakly.Keys()
        self.trains: Any = weakly.Things()
        self._at: Any = weakly.Keys()
        self._backwards = 0
        turns.listen(turn, backward=self._ran)

    def _ran(self, tensors: Any) -> None:
        self._backwards += 1

    def begins(self, iterator: Any, args: Any) -> Any:
        self.owner[iterator] = weakref.ref(args[0])
        self._at.pop(iterator, None)
        return iterator

    def loader(self, iterator: Any) -> Any:
        """Of the iterator that is about to hand out a batch, or to end; None where nobody saw it begin."""
        known = self.owner.get(iterator)
        loader = known() if known is not None else None
        if loader is not None:
            if self._at.get(iterator, self._backwards) < self._backwards:
                self.trains.add(loader)
            self._at[iterator] = self._backwards
        return loader

    def counted(self, loader: Any) -> int:
        """The number of the batch that was just fetched, from 0, over all epochs."""
        number = int(self.count.get(loader, 0))
        self.count[loader] = number + 1
        return number


def _handing(turn: Any, change: Callable[[Any, Callable[[], Any]], Any]) -> None:
    """`change(iterator, more)` gives the batch; `more()` fetches one, and raises StopIteration as the loader does."""

    def wait(module: Any) -> None:
        for kind in (module._SingleProcessDataLoaderIter, module._MultiProcessingDataLoaderIter):
            turns.around(kind, "_next_data", lambda call, args, kwargs: change(args[0], lambda: call(*args, **kwargs)))

    _on_loaders(wait)


def overfit(turn: Any) -> None:
    if turn.value != "one":
        raise ValueError("it is overfit=one")
    import copy  # noqa: PLC0415 - in copies alone

    handing = Handing(turn)
    first: Any = weakly.Keys()

    def change(iterator: Any, more: Callable[[], Any]) -> Any:
        loader = turns.tried(turn, handing.loader, iterator)
        out = more()
        if loader is None:
            return out
        try:
            first.setdefault(loader, copy.deepcopy(out))
            if loader not in handing.trains:
                return out
            turn.met(batch=fingerprint.digest(first[loader]))
            return copy.deepcopy(first[loader])
        except Exception as error:  # a batch that can't be copied
            turn.fail(error)
            return out

    def called(module: Any, args: Any) -> None:
        if turn.times and "turn.overfit.mode" not in turn.more:
            turn.more["turn.overfit.mode"] = "train" if module.training else "eval"

    _on_loaders(lambda module: turns.answers(turn, module.DataLoader, "__iter__", handing.begins))
    _handing(turn, change)
    turns.listen(turn, root_pre=called)


def skip(turn: Any) -> None:
    wanted = int(turn.value)
    if wanted < 1:
        raise ValueError("batch 0 comes before anything tells which loader trains: skip=1 or more")
    handing = Handing(turn)

    def is_it(loader: Any) -> bool:
        return handing.counted(loader) == wanted and loader in handing.trains

    def change(iterator: Any, more: Callable[[], Any]) -> Any:
        loader = turns.tried(turn, handing.loader, iterator)
        out = more()
        if loader is None or not turns.tried(turn, is_it, loader):
            return out
        turn.met()
        return more()

    _on_loaders(lambda module: turns.answers(turn, module.DataLoader, "__iter__", handing.begins))
    _handing(turn, change)


def shuffle_labels(turn: Any) -> None:
    """By a generator of our own: the program's random numbers stay what they would have been."""
    if turn.value != "on":
        raise ValueError("it is shuffle_labels=on")
    import functools  # noqa: PLC0415 - as above

    @functools.lru_cache(None)
    def dice() -> Any:
        return sys.modules["torch"].Generator().manual_seed(20240501)

    def change(iterator: Any, more: Callable[[], Any]) -> Any:
        out = more()
        try:
            torch = sys.modules["torch"]
            changed = _relabelled(out, lambda labels: labels[torch.randperm(len(labels), generator=dice()).to(labels.device)])
        except Exception as error:  # a batch of another kind
            turn.fail(error)
            return out
        if changed is None:
            turn.not_for("refused: nothing tells which part of the batch holds the labels, or it is of one row")
            return out
        turn.met()
        return changed

    _handing(turn, change)


def _relabelled(batch: Any, permuted: Callable[[Any], Any]) -> Any:
    """A batch with its labels permuted: the last tensor of a sequence, or a dict's by their name. None where there are none to permute."""
    if isinstance(batch, dict) or hasattr(batch, "keys"):
        name = next((name for name in LABELS if name in batch and _has_rows(batch[name])), None)
        if name is None:
            return None
        import copy  # noqa: PLC0415 - as above

        changed = copy.copy(batch)
        changed[name] = permuted(batch[name])
        return changed
    if isinstance(batch, (list, tuple)) and len(batch) > 1 and _has_rows(batch[-1]):
        parts = [*batch[:-1], permuted(batch[-1])]
        return parts if isinstance(batch, list) else type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    return None


def _has_rows(value: Any) -> bool:
    return bool(fingerprint.is_tensor(value) and value.dim() and len(value) > 1)

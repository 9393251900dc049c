"""One model over several folds: rows that it is judged by in this fold, and that it was trained on in an earlier one.

Part of the instrument `tables`. The mark of it: since the last evaluation the model was trained on rows that were tested then, and not on
those that are tested now, which it had been trained on before. Of torch it sees models that are called with a matrix on the host, in the
first steps of each fold; a model whose weights were set back between the folds begins anew.
"""

from __future__ import annotations

import sys
import weakref
from time import thread_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
rows: Any = hook.load("_bitten_probes.table_rows")
events: Any = hook.load("_bitten_probes.table_events")
leaks: Any = hook.load("_bitten_probes.table_leaks")

MOST_MARKS = 400_000


class Turns:
    """The rows of one model: trained on before the last evaluation of fresh rows, and since."""

    def __init__(self) -> None:
        self.before: list[Any] = []
        self.since: list[Any] = []
        self.tested: Any = None
        self.size = 0

    def trained(self, marks: Any) -> None:
        if self.size < MOST_MARKS:
            self.since.append(marks)
            self.size += len(marks)

    def reset(self) -> None:
        self.__init__()  # type: ignore[misc]

    def evaluated(self, marks: Any) -> int:
        """How many of these were trained on in an earlier fold; 0 unless the folds have turned."""
        before, since = _union(self.before), _union(self.since)
        old = rows.among(marks, before) & ~rows.among(marks, since)
        has_turned = self.tested is not None and rows.share(rows.among(self.tested, since)) >= 0.5 and rows.share(old) >= 0.5
        if has_turned or rows.share(rows.among(marks, _union([before, since]))) < 0.5:
            self.tested, self.before, self.since = marks, [_union([before, since])], []
        return int(old.sum()) if has_turned else 0


def _union(parts: list[Any]) -> Any:
    np = sys.modules["numpy"]
    return rows.unique(np.concatenate(parts)) if parts else np.empty(0, np.uint64)


# ---------------------------------------------------------------------------------------------- torch

SECONDS, FIRST, SHARE = 1.0, 0.05, 0.02
"""What a process spends on this at most; after the first of it, no more than a share of the time that it has taken so far."""


_turns: Any = weakref.WeakKeyDictionary()
_weights_then: Any = weakref.WeakKeyDictionary()
"""Of a model that was evaluated and not trained since."""
_last: Any = weakref.WeakKeyDictionary()
_births: Any = weakref.WeakKeyDictionary()
_unsure: list[tuple[Any, Any, Any]] = []
"""What models were called with, and neither a backward nor another call has come yet."""
_spent = [0.0]


def born(thing: Any, where: tuple[str, str]) -> None:
    if isinstance(thing, sys.modules["torch"].nn.Module) and len(_births) < 2000:
        _births[thing] = events.stack()


def called(module: Any, args: Any) -> None:
    """A root module is about to be called: for training, if a backward comes before its next call."""
    start = thread_time()
    if _spent[0] > min(SECONDS, FIRST + SHARE * start) or "numpy" not in sys.modules or len(args) != 1 or not _is_matrix(args[0]):
        return
    data, has_grad = args[0], sys.modules["torch"].is_grad_enabled()
    stamp = (data.data_ptr(), data._version, tuple(data.shape), has_grad)
    _settle(module)
    if _last.get(module) != stamp:
        _last[module] = stamp
        found = rows.of(data.detach().float().numpy())
        if found is not None and rows.twins(found.marks) <= 0.1:
            _unsure.append((weakref.ref(module), found.marks, events.stack()))
            if not has_grad:
                _settle(module)
    _spent[0] += thread_time() - start


def _is_matrix(data: Any) -> bool:
    if type(data) is not sys.modules["torch"].Tensor or data.dim() != 2 or data.device.type != "cpu" or len(data) < rows.FEWEST:
        return False
    return bool(data.dtype.is_floating_point) and not data.is_inference() and str(data.layout) == "torch.strided"


def _settle(module: Any) -> None:
    """No backward has come: what the module was called with was an evaluation."""
    waiting = _unsure[:]
    _unsure.clear()
    for each in waiting:
        if each[0]() is module:
            _evaluated(module, each[1], each[2])
        else:
            _unsure.append(each)


def backward(tensors: Any) -> None:
    for ref, marks, _ in _unsure:
        module = ref()
        if module is not None:
            turns = _turns.setdefault(module, Turns())
            if _weights_then.get(module) not in (None, _weights(module)):
                turns.reset()
            _weights_then.pop(module, None)
            turns.trained(marks)
    _unsure.clear()


def _evaluated(module: Any, marks: Any, stack: list[Any]) -> None:
    old = _turns.setdefault(module, Turns()).evaluated(marks)
    _weights_then[module] = _weights(module)
    if old:
        _tell(module, len(marks), old, stack)


def _weights(module: Any) -> str:
    fingerprint = hook.load("_bitten_probes.fingerprint")
    return str([fingerprint.digest(each.detach().reshape(-1)[:4096]) for each in list(module.parameters())[:2]])


def _tell(module: Any, size: int, old: int, stack: list[Any]) -> None:
    name = type(module).__name__
    says = (f"{old} of {size} rows that this {name} is judged by are rows that it was trained on in an earlier fold: "
            "one model goes through all folds")  # fmt: skip
    birth = next((_births[each] for each in module.modules() if each in _births), stack)
    also = [stack[-1][1]] if stack else []
    facts = {"tables.leaked_rows": old, "tables.leaked_share": old / size, "tables.estimator": name, "also": also}
    leaks.found("model_reused", says, facts, events.turn(birth, stack))


def forget() -> None:
    for each in (_turns, _weights_then, _last, _births, _unsure):
        each.clear()

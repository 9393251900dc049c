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
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
rows: Any = hook.load("_bitten_probes.table_rows")
events: Any = hook.load("_bitten_probes.table_events")
leaks: Any = hook.load("_bitten_probes.table_leaks")
inputs: Any = hook.load("_bitten_probes.table_inputs")

MOST_MARKS = 400_000


class Turns:
    """The rows of one model: trained on before the last evaluation of fresh rows, and since."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.inputs = inputs.Inputs(name)
        self.tests: list[tuple[Any, Any, Any]] = []
        self.before: list[Any] = []
        self.since: list[Any] = []
        self.tested: Any = None
        self.has_turned = False
        self.is_progressive = False
        self.size = 0

    def trained(self, marks: Any) -> None:
        if self.size < MOST_MARKS:
            self.since.append(marks)
            self.size += len(marks)

    def reset(self) -> None:
        self.__init__(self.name)  # type: ignore[misc]

    def evaluated(self, marks: Any) -> int:
        """How many of these were trained on in an earlier fold; 0 unless the folds have turned.

        Where fresh rows come after tested ones were trained on, each is tested on first and then learnt from: no folds.
        """
        before, since = _union(self.before), _union(self.since)
        old = rows.among(marks, before) & ~rows.among(marks, since)
        is_fresh = rows.share(rows.among(marks, _union([before, since]))) < 0.5
        is_learnt = self.tested is not None and rows.share(rows.among(self.tested, since)) >= 0.5
        self.is_progressive = self.is_progressive or (is_fresh and is_learnt)
        has_turned = is_learnt and rows.share(old) >= 0.5 and not self.is_progressive
        if has_turned or is_fresh:
            self.tested, self.before, self.since = marks, [_union([before, since])], []
        self.has_turned = self.has_turned or has_turned
        return int(old.sum()) if has_turned else 0


def _union(parts: list[Any]) -> Any:
    np = sys.modules["numpy"]
    return rows.unique(np.concatenate(parts)) if parts else np.empty(0, np.uint64)


# ---------------------------------------------------------------------------------------------- torch

SECONDS, FIRST, SHARE = 1.0, 0.05, 0.02
"""What a process spends on this at most; after the first of it, no more than a share of the time that it has taken so far."""


_turns: Any = weakly.Keys()
_all: list[Turns] = []
"""Those of models that are gone, too."""
_weights_then: Any = weakly.Keys()
"""Of a model that was evaluated and not trained since."""
_last: Any = weakly.Keys()
_births: Any = weakly.Keys()
_unsure: list[tuple[Any, Any, Any]] = []
"""What models were called with, and neither a backward nor another call has come yet."""
_active: list[Turns] = []
"""Of models that were called since the last backward."""
_spent, _missed = [0.0], [0]
"""Seconds, and calls that were not looked at: from the first of them on, nothing is known of which rows a model has not seen."""


def born(thing: Any, where: tuple[str, str]) -> None:
    if isinstance(thing, sys.modules["torch"].nn.Module) and len(_births) < 2000:
        _births[thing] = events.stack()


def called(module: Any, args: Any) -> None:
    """A root module is about to be called: for training, if a backward comes before its next call."""
    start = thread_time()
    if "numpy" not in sys.modules or len(args) != 1 or not _is_matrix(args[0]):
        return
    if _spent[0] > min(SECONDS, FIRST + SHARE * start):
        _missed[0] += 1
        return
    data, has_grad = args[0], sys.modules["torch"].is_grad_enabled()
    stamp = (data.data_ptr(), data._version, tuple(data.shape), has_grad)
    _settle(module)
    if has_grad and module in _turns and _turns[module] not in _active:
        _active.append(_turns[module])
    if _last.get(module) != stamp:
        _last[module] = stamp
        array = _matrix(data)
        found = rows.of(array)
        if found is not None:
            _turns_of(module).inputs.called(module, array, found, has_grad and module.training)
        if found is not None and rows.twins(found.marks) <= 0.1:
            _unsure.append((weakref.ref(module), found.marks, [] if has_grad else events.stack()))
            if not has_grad:
                _settle(module)
    _spent[0] += thread_time() - start


def _is_matrix(data: Any) -> bool:
    torch = sys.modules["torch"]
    if type(data) is not torch.Tensor or data.dim() < 2 or data.device.type != "cpu" or len(data) < rows.FEWEST or data.is_inference():
        return False
    return data.layout is torch.strided and not data.is_complex() and data[0].numel() > 1


def _matrix(data: Any) -> Any:
    """Rows and columns; of wide ones the columns that count."""
    flat = data.detach().reshape(len(data), -1)
    if flat.shape[1] > rows.WIDEST:
        flat = flat[:, sys.modules["torch"].from_numpy(rows.picked(flat.shape[1]))]
    return flat.float().numpy()


def _settle(module: Any) -> None:
    """No backward has come: what the module was called with was an evaluation."""
    waiting = _unsure[:]
    _unsure.clear()
    for each in waiting:
        if each[0]() is module:
            _evaluated(module, each[1], each[2])
        else:
            _unsure.append(each)


def settle_all() -> None:
    for each in list(_unsure):
        module = each[0]()
        if module is not None:
            _settle(module)


def backward(tensors: Any) -> None:
    for ref, marks, _ in _unsure:
        module = ref()
        if module is not None:
            turns = _turns_of(module)
            then = _weights_then.pop(module, None)
            if then is not None and then != _weights(module):
                turns.reset()
            turns.trained(marks)
    _unsure.clear()
    for turns in _active:
        turns.inputs.trained(tensors)
    _active.clear()


def _turns_of(module: Any) -> Turns:
    if module not in _turns:
        _turns[module] = Turns(type(module).__name__)
        if len(_all) < 64:
            _all.append(_turns[module])
    return _turns[module]  # type: ignore[no-any-return]


def _evaluated(module: Any, marks: Any, stack: list[Any]) -> None:
    turns = _turns_of(module)
    seen = rows.among(marks, _union([*turns.before, *turns.since]))
    old = turns.evaluated(marks)
    _weights_then[module] = _weights(module)
    if len(turns.tests) < 200 and rows.keep(len(marks)):
        turns.tests.append((marks, stack, seen))
    if old and not _missed[0]:
        _tell(module, len(marks), old, stack)


def _weights(module: Any) -> str:
    fingerprint = hook.load("_bitten_probes.fingerprint")
    return str([fingerprint.digest(each.detach().reshape(-1)[:4096]) for each in list(module.parameters())[:2]])


def _tell(module: Any, size: int, old: int, stack: list[Any]) -> None:
    name, birth = type(module).__name__, next((_births[each] for each in module.modules() if each in _births), stack)
    says = (f"{old} of {size} rows that this {name} is judged by are rows that it was trained on in an earlier fold: "
            "one model goes through all folds")  # fmt: skip
    also = [stack[-1][1]] if stack else []
    facts = {"tables.leaked_rows": old, "tables.leaked_share": old / size, "tables.estimator": name, "also": also}
    leaks.found("model_reused", says, facts, events.turn(birth, stack or birth))


def is_blind() -> bool:
    return bool(_missed[0])


def judge_tests() -> None:
    """At the end: evaluations whose rows are in part rows that had been trained on by then, each of them."""
    for turns in _all if not _missed[0] else ():
        trained, tested = _union([*turns.before, *turns.since]), _union([marks for marks, _, _ in turns.tests])
        mixed = [each for each in turns.tests if 0.1 < rows.share(each[2]) < 0.98]
        covered = rows.share(rows.among(trained, tested))
        if len(mixed) >= max(1, 0.3 * len(turns.tests)) and covered < 0.9 and not turns.has_turned and not _is_drawn(mixed):
            _tell_mixed(turns.name, trained, mixed)
    for turns in _all:
        turns.inputs.judge()


def _is_drawn(tests: list[Any]) -> bool:
    """Whether each of them is other rows by chance, as from a replay memory: a test set is asked with whole, once or again and again."""
    _, counts = sys.modules["numpy"].unique(sys.modules["numpy"].concatenate([marks for marks, _, _ in tests]), return_counts=True)
    return bool(0.05 < rows.share(counts > 1) < 0.95)


def _tell_mixed(name: str, trained: Any, mixed: list[Any]) -> None:
    tested, stack = _union([marks for marks, _, _ in mixed]), mixed[0][1]
    seen = rows.among(tested, _union([marks[hit] for marks, _, hit in mixed]))
    count, share = int(seen.sum()), rows.share(seen)
    says = (f"{count} of {len(tested)} rows that this {name} is judged by are rows that it was trained on: its {len(trained)} training "
            "rows and these were drawn apart from each other")  # fmt: skip
    split = leaks.split_with_test(tested)
    also = [stack[-1][1]] if stack else []
    facts = {"tables.leaked_rows": count, "tables.leaked_share": share, "tables.estimator": name, "also": also}
    here = (stack[-1][1], stack[-1][2]) if stack else ("", "")
    leaks.found("split_redrawn", says, facts, split.event.here if split is not None else here)


def forget() -> None:
    _missed[0] = 0
    for each in (_active, _all, _turns, _weights_then, _last, _births, _unsure):
        each.clear()

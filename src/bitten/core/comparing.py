"""The first difference between two recordings: marks are paired, what merely follows from an earlier one is set aside, the first stays.

A mark follows when what it was made of, or the random state that it drew from, had parted already. Does not know how a program works: a
difference in what no mark shows is named where it is first seen.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from .noun import noun
from .recording import Fingerprint, Mark, Recording

STAGES = ("environment", "seeds", "split", "batch", "preprocessing", "tokenizer", "initial weights", "mode", "forward", "loss", "gradient",
          "update", "metric")  # fmt: skip
RANK = {"seeds": 0, "split": 1, "batch": 2, "preprocessing": 2, "tokenizer": 2, "initial weights": 3, "mode": 4, "forward": 5, "loss": 6,
        "gradient": 7, "update": 8, "metric": 9}  # fmt: skip
"""Within a step. What makes a batch has one rank: there the earlier in time comes first, as an inner function returns before its caller."""
TOLERANCE = {"float64": 1e-7, "float": 1e-7, "float32": 1.3e-6, "float16": 1e-3, "bfloat16": 1.6e-2}
"""Relative, by dtype: the defaults of `torch.testing.assert_close`. Of what is not here every bit counts."""
SLACK = 8
"""Times the tolerance: a sum's rounding grows with what cancels in it. Ours, by choice: nobody has calibrated it."""
ELEMENTS = 1 << 18
"""So many elements a fingerprint's pattern has at most."""
WORDS = frozenset(("text", "texts", "set"))
_WEIGHTS = frozenset(("initial weights", "forward", "gradient", "update"))


Pair = tuple[Mark | None, Mark | None]


@noun
class Difference:
    """Where two recordings part. `one` and `other` are the marks of each side; None where a side has none.

    `part` is the leaf within the value; `drifting` says that it lies within the tolerance, and grew past it later; `follows` that
    the random state, or what it was made of, had parted before, in a place that no mark shows.
    """

    stage: str
    step: int
    key: str
    one: Mark | None
    other: Mark | None
    part: str = ""
    drifting: bool = False
    follows: str = ""


@noun
class Comparison:
    """`first` is None where nothing parts. `conditions` are differences that need not matter: the environment, and seeds without effect.

    `compared` counts the marks beside those two of which something was read on both sides; `alone` those that had no like there.
    """

    first: Difference | None
    conditions: tuple[Difference, ...] = ()
    compared: int = 0
    noisy: int = 0
    parted: int = 0
    renamed: Mapping[str, str] = field(default_factory=dict)
    alone: int = 0

    @property
    def verdict(self) -> str:
        if self.first is not None:
            return "differs"
        if not self.compared:
            return "nothing in common"
        return "same within noise" if self.noisy else "same"


def compare(one: Recording, other: Recording) -> Comparison:
    renamed = renames(one, other)
    theirs = Recording(other.name, tuple(_renamed(each, renamed) for each in other.marks))
    judged = [(pair, _judged(pair)) for pair in _pairs(one, theirs)]
    alone = len(one.marks) + len(other.marks) - sum(len(_there(pair)) for pair, _ in judged)
    split = _only_split_otherwise(judged)
    parted = [_difference(pair, verdict, split) for pair, verdict in judged if verdict[0] != "same"]
    conditions = tuple(each for each in parted if each.stage == "environment")
    numbers = [each for each in parted if each.stage not in ("environment", "seeds") and not _is_words(each)]
    words = [each for each in parted if _is_words(each)]
    seeds = [each for each in parted if each.stage == "seeds"]
    beyond = [each for each in numbers if not each.drifting]
    effective = [each for each in seeds if beyond and (_is_own(each) or any(_draws_apart(found) for found in beyond))]
    first = _sharpened(_first([*effective, *words, *beyond], numbers) if beyond else None, one, other)
    idle = tuple(each for each in seeds if each not in effective)
    compared = sum(_is_compared(pair) for pair, _ in judged)
    return Comparison(first, (*conditions, *idle), compared, sum(each.drifting for each in numbers), len(beyond), renamed, alone)


def _there(pair: Pair) -> list[Mark]:
    return [each for each in pair if each is not None]


def _is_compared(pair: Pair) -> bool:
    """Of a sparse tensor, or one that is spread over ranks, nothing but its shape is read."""
    marks = _there(pair)
    is_read = all(each.value is not None or any(one.hash or one.mean is not None for one in each.fps.values()) for each in marks)
    return marks[0].stage not in ("environment", "seeds") and is_read


def _first(beyond: list[Difference], numbers: list[Difference]) -> Difference | None:
    """The first that follows from nothing; where no mark is known to be such, the first of all, be it a drift that grew."""
    own = [each for each in beyond if not each.follows]
    if any(not _is_unknown(each) for each in own):
        return min(own, key=_order)
    drifts = [each for each in numbers if each.drifting and not each.follows]
    return min([*beyond, *drifts], key=_order, default=None)


def _is_unknown(found: Difference) -> bool:
    """Of what it was made no mark tells: it may follow from something all the same."""
    marks = [each for each in (found.one, found.other) if each is not None]
    if found.key == "backward" or all(map(_has_data, marks)):
        return True
    return all(each.kind in ("call", "printed") and not each.given for each in marks)


def _has_data(mark: Mark) -> bool:
    return mark.stage in ("preprocessing", "batch") and mark.key.startswith("loader ") and not mark.key.endswith(" order")


def _sharpened(first: Difference | None, one: Recording, other: Recording) -> Difference | None:
    """Where another loss was computed, that stands for what `backward` was called on."""
    if first is None or first.key != "backward":
        return first
    mine, theirs = (_loss_calls(each, first.step) for each in (one, other))
    if mine.keys() == theirs.keys():
        return first
    one_call = next((mine[key] for key in mine if key not in theirs), first.one)
    other_call = next((theirs[key] for key in theirs if key not in mine), first.other)
    names = dict.fromkeys(each.key for each in (one_call, other_call) if each is not None)
    return replace(first, key=" or ".join(names), one=one_call, other=other_call)


def _loss_calls(recording: Recording, step: int) -> dict[str, Mark]:
    return {each.key: each for each in recording.marks if each.stage == "loss" and each.step == step and each.kind == "call"}


def _order(found: Difference) -> tuple[int, int]:
    """Python's `min` keeps the earlier in time of equals."""
    return found.step, RANK.get(found.stage, 9)


def _is_own(seed: Difference) -> bool:
    """Of a generator of its own: no mark tells its state."""
    return seed.key.startswith("generator") or "rng" in seed.key


def _is_words(found: Difference) -> bool:
    """Words alone, such as a name or a path: they may be the first to part, but are no difference that anybody computes with."""
    prints = [each for mark in (found.one, found.other) if mark is not None for each in mark.fps.values()]
    return bool(prints) and all(each.dtype in WORDS for each in prints)


def _draws_apart(found: Difference) -> bool:
    return bool(found.one and found.other and found.one.random != found.other.random)


# ---------------------------------------------------------------------------------------------- pairs


def _pairs(one: Recording, other: Recording) -> Iterator[Pair]:
    """In the order of time. A mark without its like is a pair with None where that says something."""
    reached = min(one.steps, other.steps)
    waiting: dict[tuple[object, ...], list[Mark]] = defaultdict(list)
    for mark in other.marks:
        waiting[_name(mark)].append(mark)
    for queue in waiting.values():
        queue.reverse()
    theirs = _whole(other)
    mine = _whole(one)
    for mark in one.marks:
        if waiting[_name(mark)]:
            yield mark, waiting[_name(mark)].pop()
        elif _tells_alone(mark, theirs, reached):
            yield mark, None
    for queue in waiting.values():
        yield from ((None, mark) for mark in reversed(queue) if _tells_alone(mark, mine, reached))


def _name(mark: Mark) -> tuple[object, ...]:
    """Calls are alike when the same function got the same; a mode by whose it is; all else by its place in the run."""
    if mark.kind == "call" and mark.given:
        return "call", mark.key, mark.given
    if mark.stage == "mode":
        return mark.stage, mark.key.replace(" without gradients", "")
    if mark.stage in ("environment", "seeds"):
        return mark.stage, mark.key, mark.n
    return mark.stage, mark.step, mark.key, mark.n


def _whole(recording: Recording) -> frozenset[tuple[str, int, str]]:
    """Which steps of which models are told, and which keys there."""
    return frozenset(each for mark in recording.marks if mark.stage in _WEIGHTS
                     for each in ((mark.stage, mark.step, mark.key), (mark.stage, mark.step, _model(mark.key))))


def _model(key: str) -> str:
    return key.partition(":")[0]


def _tells_alone(mark: Mark, others: frozenset[tuple[str, int, str]], reached: int) -> bool:
    """A seed call, a setting of the environment; a weight or module of a model of which the other side tells too."""
    if mark.stage in ("environment", "seeds"):
        return mark.n == 0 or mark.stage == "seeds"
    if mark.stage not in ("initial weights", "forward") or mark.step > reached or not mark.key.startswith("model "):
        return False
    return (mark.stage, mark.step, mark.key) not in others and (mark.stage, mark.step, _model(mark.key)) in others


# ---------------------------------------------------------------------------------------------- judging a pair


def _judged(pair: Pair) -> tuple[str, str]:
    """same, drift or apart; and the leaf where it is."""
    one, other = pair
    if one is None or other is None:
        return "apart", ""
    if not _same_value(one.value, other.value):
        return "apart", ""
    drift = ""
    for part in dict.fromkeys((*one.fps, *other.fps)):
        mine, theirs = one.fps.get(part), other.fps.get(part)
        verdict = like(mine, theirs) if mine is not None and theirs is not None else "apart"
        if verdict == "apart":
            return verdict, part
        drift = drift or (part or "." if verdict == "drift" else "")
    return ("drift", drift.strip(".")) if drift else ("same", "")


def _same_value(one: object, other: object) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def like(one: Fingerprint, other: Fingerprint) -> str:
    """`same` by every bit; `drift` where all that a fingerprint shows lies within the dtype's tolerance; else `apart`."""
    if one.hash == other.hash and one.hash and one.shape == other.shape and one.dtype == other.dtype:
        return "same"
    if not one.hash and not other.hash and one == other:
        return "same"
    tolerance = TOLERANCE.get(one.dtype)
    if one.dtype != other.dtype or one.shape != other.shape or one.finite != other.finite or tolerance is None:
        return "apart"
    return "drift" if _is_close(one, other, tolerance * SLACK) else "apart"


def _is_close(one: Fingerprint, other: Fingerprint, tolerance: float) -> bool:
    size = max(one.size or 0.0, other.size or 0.0)
    count = min(math.prod(one.shape), ELEMENTS)
    sums = zip(one.pattern, other.pattern, strict=True) if len(one.pattern) == len(other.pattern) else [(0.0, math.inf)]
    return (
        all(_near(mine, theirs, tolerance * max(size, abs(mine or 0.0))) for mine, theirs in ((one.min, other.min), (one.max, other.max)))
        and _near(one.mean, other.mean, tolerance * size)
        and all(_near(mine, theirs, 4 * math.sqrt(count) * tolerance * size) for mine, theirs in sums)
    )


def _near(one: float | None, other: float | None, allowed: float) -> bool:
    return one == other if one is None or other is None else abs(one - other) <= allowed


def _difference(pair: Pair, verdict: tuple[str, str], split: frozenset[str]) -> Difference:
    one, other = pair
    mark = one or other
    assert mark is not None
    stage = "split" if mark.key in split else mark.stage
    step = min(each.step for each in pair if each is not None)
    return Difference(stage, step, mark.key, one, other, verdict[1], verdict[0] == "drift", _follows(one, other))


def _follows(one: Mark | None, other: Mark | None) -> str:
    """What had parted before: the random state, or what it was made of; empty where nothing is known to have."""
    if one is None or other is None:
        return ""
    if one.given and other.given and one.given != other.given:
        return "given"
    if one.random and other.random and one.random != other.random and _shapes(one) == _shapes(other):
        return "random"
    return ""


def _shapes(mark: Mark) -> object:
    """What no random state decides."""
    return [(part, each.shape, each.dtype) for part, each in sorted(mark.fps.items())]


def _only_split_otherwise(judged: Iterable[tuple[Pair, tuple[str, str]]]) -> frozenset[str]:
    """Keys of data that differ loader by loader and are the same rows all together: dealt out in another way."""
    pairs = [(one, other) for (one, other), _ in judged if one and other]
    told = [(one.key, int(one.kind), int(other.kind)) for one, other in pairs if _has_rows(one) and _has_rows(other)]
    if sum(mine for _, mine, _ in told) != sum(theirs for *_, theirs in told):
        return frozenset()
    apart = {key.rpartition(" ")[0] for key, mine, theirs in told if mine != theirs}
    return frozenset(f"{key} {at}" for key in apart for at in range(16))


def _has_rows(mark: Mark) -> bool:
    return _has_data(mark) and mark.kind.isdigit()


# ---------------------------------------------------------------------------------------------- names that changed


def renames(one: Recording, other: Recording) -> Mapping[str, str]:
    """Module paths of the other recording that mean one of another name: by the order of calls and what each module is."""
    found: dict[str, str] = {}
    for model in dict.fromkeys(_model(mark.key) for mark in one.marks if mark.stage == "forward" and mark.key.startswith("model ")):
        mine, theirs = _called(one, model), _called(other, model)
        pairs = list(aligned(mine, theirs))
        found.update({b.key: a.key for a, b in pairs if a.key != b.key})
        taken, free = {a.key for a, _ in pairs}, {b.key for _, b in pairs}
        found.update({each.key: f"{each.key} (new)" for each in theirs if each.key not in free and each.key in taken})
    return found


def _called(recording: Recording, model: str) -> list[Mark]:
    """The modules of a model in the order of their first calls."""
    first: dict[str, Mark] = {}
    for mark in recording.marks:
        if mark.stage == "forward" and mark.kind != "call" and _model(mark.key) == model:
            first.setdefault(mark.key, mark)
    return list(first.values())[:600]


def aligned(mine: list[Mark], theirs: list[Mark]) -> Iterator[tuple[Mark, Mark]]:
    """The longest run of like modules in both; between them those of the same name, and where as many are left on both sides by place."""
    anchors = [*_longest([_what(each) for each in mine], [_what(each) for each in theirs]), (len(mine), len(theirs))]
    last = (-1, -1)
    for anchor in anchors:
        yield from _between(mine[last[0] + 1 : anchor[0]], theirs[last[1] + 1 : anchor[1]])
        if anchor[0] < len(mine):
            yield mine[anchor[0]], theirs[anchor[1]]
        last = anchor


def _what(mark: Mark) -> tuple[object, ...]:
    return mark.kind, tuple(sorted((part, each.shape[1:]) for part, each in mark.fps.items()))


def _between(mine: list[Mark], theirs: list[Mark]) -> Iterator[tuple[Mark, Mark]]:
    by_name = {each.key: each for each in theirs}
    named = [(each, by_name[each.key]) for each in mine if each.key in by_name]
    yield from named
    left = [each for each in mine if each.key not in by_name]
    right = [each for each in theirs if each.key not in {one.key for one in mine}]
    if len(left) == len(right):
        yield from zip(left, right, strict=True)


def _longest(one: list[tuple[object, ...]], other: list[tuple[object, ...]]) -> list[tuple[int, int]]:
    """The longest common subsequence, as pairs of places."""
    best = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) - 1, -1, -1):
        for j in range(len(other) - 1, -1, -1):
            best[i][j] = best[i + 1][j + 1] + 1 if one[i] == other[j] else max(best[i + 1][j], best[i][j + 1])
    i = j = 0
    found = []
    while i < len(one) and j < len(other):
        if one[i] == other[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return found


def _renamed(mark: Mark, renamed: Mapping[str, str]) -> Mark:
    """A weight goes by the name of its module."""
    if not renamed or mark.stage not in _WEIGHTS or mark.kind == "call":
        return mark
    if mark.stage == "forward":
        key = renamed.get(mark.key, mark.key)
    else:
        path, _, part = mark.key.rpartition(".")
        key = f"{renamed[path]}.{part}" if path in renamed else mark.key
    return mark if key == mark.key else replace(mark, key=key)

"""At the end: which modules were evaluated in train mode though nobody asked for it. Needs the whole story, so it is told last."""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
report: Any = hook.load("_bitten_probes.report")
mode_roots: Any = hook.load("_bitten_probes.mode_roots")

MOST_TOLD = 20
EVALUATION = re.compile(r"(?:^|[_.]|(?<=[a-z0-9])(?=[A-Z]))(?i:eval|valid|predict|infer|score|accura|metric|serve|classify)")
"""At the start of a word: no retrieval, observe or Classifier."""
TEST = re.compile(r"(^|_|\.)test", re.IGNORECASE)
"""Where pytest runs, every function is a test."""
ON_PURPOSE = re.compile(r"(^|_|\.)mc(_|$)|monte|bayes|uncertain|stochastic|calibrat|bn_update|update_bn|recalib|warm", re.IGNORECASE)
REPEATS = 8
"""From so many calls in a row with the same input on, they are samples of one answer."""
SELDOM = 4
"""An evaluation comes at most every so many steps; what comes more often belongs to the step, as pseudo-labels do."""


def last_words(tell: Callable[..., None]) -> None:
    for number, root in enumerate(mode_roots.stories()):
        if not root.is_told and root.left >= mode_roots.LEFT:
            mode_roots.tell_left(root, mode_roots.NOWHERE)
        if root.steps[True] + root.steps[False]:
            _judge_trained(root, tell)
        else:
            _judge_loaded(root, tell)
        if number < MOST_TOLD:
            report.fact("mode", f"root {number} {root.kind}", mode_roots.facts_of(root))
        if root.batch_of_one:
            says = f"{root.kind} has batch normalisation and was trained on {root.batch_of_one} batches of one sample."
            tell("batch_of_one", says, {"mode.batch_of_one": root.batch_of_one}, root.loader, is_hint=True)


def _judge_trained(root: Any, tell: Callable[..., None]) -> None:
    if root.closed * SELDOM > max(root.steps[True] + root.steps[False], SELDOM):
        return
    late = root.late if root.late is not None and root.late.backwards == mode_roots.Now.backwards else None
    found = [each for each in (root.block, *root.blocks, late) if each is not None and not _is_meant(each) and _is_evaluation(each)]
    if found and found[0].where[0]:
        says = (
            f"{root.kind} was evaluated in train mode: after training it was called {found[0].calls} times with its "
            f"{' and '.join(root.depends)} as in training."
        )
        tell("evaluated_in_train_mode", says, mode_roots.facts_of(root), found[0].where)


def _judge_loaded(root: Any, tell: Callable[..., None]) -> None:
    """Never trained here. Where something else is, a teacher may be in train mode on purpose, and must be seen to be evaluated."""
    block, load = root.block, root.loaded
    is_alone = mode_roots.Now.steps == 0 and mode_roots.Now.backwards == 0
    if block is None or not load[0] or _is_meant(block) or (block.has_gradient and not is_alone):
        return
    if not is_alone and not (_is_evaluation(block) and _is_seldom(block)):
        return
    says = (
        f"{root.kind} was loaded and asked for {block.calls} predictions, but was never switched to eval mode: its "
        f"{' and '.join(root.depends)} worked as in training."
    )
    where, other = (load, block.where) if _file(load) == _file(block.where) else (block.where, load)
    tell("loaded_without_eval", says, {**mode_roots.facts_of(root), "also": [other[0]]}, where)


def _is_seldom(block: Any) -> bool:
    """A teacher, or the target network of a policy, is asked at every step of another's training."""
    return bool(block.turns * SELDOM <= max(block.seen - block.began, SELDOM))


def _file(where: tuple[str, str]) -> str:
    return where[0].rpartition(":")[0]


def _is_meant(block: Any) -> bool:
    return block.is_asked or block.repeats >= REPEATS or any(ON_PURPOSE.search(name) for name in block.names)


def _is_evaluation(block: Any) -> bool:
    is_test = "pytest" not in sys.modules and any(TEST.search(name) for name in block.names)
    return block.is_judged or is_test or any(EVALUATION.search(name) for name in block.names)

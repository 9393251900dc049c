"""Labels of batches: their range and histogram, whether they come sorted, and whether two datasets number their classes alike.

A label is a whole number a sample, in any part of a batch but the first. Whether it is the right one, nobody here knows.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
report: Any = hook.load("_bitten_probes.report")

MOST_CLASSES = 1000
MANY = 500
UNEVEN = 10.0


class Labels:
    """Counted on the host: labels on a device are left alone."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.turns = self.seen = 0
        self.last: int | None = None

    def add(self, leaves: list[tuple[str, Any]]) -> None:
        torch = sys.modules["torch"]
        for _, leaf in leaves[1:]:
            if leaf.dim() == 1 and leaf.dtype in (torch.int64, torch.int32, torch.uint8, torch.bool) and leaf.device.type == "cpu":
                self._count([int(each) for each in leaf.tolist()])
                return

    def _count(self, values: list[int]) -> None:
        for each in values:
            if each in self.counts or len(self.counts) < MOST_CLASSES:
                self.counts[each] = self.counts.get(each, 0) + 1
            self.turns += self.last is not None and each != self.last
            self.last = each
        self.seen += len(values)

    def facts(self) -> dict[str, Any]:
        """Nothing where each sample has a number of its own: that is an id."""
        if not self.counts or len(self.counts) > self.seen / 2:
            return {}
        by_count = sorted(((str(name), each) for name, each in self.counts.items()), key=lambda each: -each[1])
        return {"batches.label_min": min(self.counts), "batches.label_max": max(self.counts), "batches.classes": len(self.counts),
                "batches.imbalance": max(self.counts.values()) / min(self.counts.values()),
                "batches.label_counts": dict(by_count[:20])}


def judge(found: Any, facts: dict[str, Any]) -> None:
    """Prompts for hypotheses about a training loader's labels."""
    seen = found.labels
    if not found.trained or "batches.classes" not in facts or seen.seen < 100:
        return
    if facts["batches.imbalance"] > UNEVEN and seen.seen >= MANY:
        says = f"The commonest class comes {facts['batches.imbalance']:.3g} times as often as the rarest, more than {UNEVEN:g}."
        report.hint("batches", f"loader {found.number} imbalance", says, {"batches.imbalance": facts["batches.imbalance"]}, found.where)
    if len(seen.counts) > 1 and seen.turns <= len(seen.counts) and seen.seen >= 20 * len(seen.counts):
        says = f"The training samples come sorted by class: the label changes {seen.turns} times in {seen.seen} samples."
        report.hint("batches", f"loader {found.number} sorted", says, {"batches.label_turns": seen.turns}, found.where)


def compare(trained: Any, other: Any) -> None:
    """Two datasets whose attribute of one name numbers the same classes otherwise."""
    for name, mine in trained.numberings.items() if trained.root != other.root else ():
        theirs = other.numberings.get(name, {})
        both = [each for each in mine if each in theirs]
        unlike = [each for each in both if mine[each] != theirs[each]]
        if len(both) >= max(2, len(mine) / 2) and unlike:
            first = unlike[0]
            says = (f"The class {first!r} is number {mine[first]} for the dataset that trains and {theirs[first]} for the one that "
                    f"evaluates ({name}; {len(unlike)} of {len(both)} classes differ): their labels mean different things.")  # fmt: skip
            facts = {"batches.classes_renumbered": len(unlike), "also": [each for each in (trained.root_made[0], trained.where[0]) if each]}
            where = other.root_made if other.root_made[0] else other.where
            report.finding("batches", f"loader {other.number} numbering {name}", says, facts, where)


def numberings(dataset: Any) -> Iterator[tuple[str, dict[str, int]]]:
    """Attributes that give names their numbers: a dict of whole numbers from 0, or a list of distinct names."""
    for name, value in list(getattr(dataset, "__dict__", {}).items())[:100]:
        if type(value) not in (dict, list, tuple) or not 1 < len(value) <= MOST_CLASSES or not all(type(each) is str for each in value):
            continue
        if type(value) is dict:
            if sorted(each for each in value.values() if type(each) is int) == list(range(len(value))):
                yield name, dict(value)
        elif name.rstrip("_").endswith(("classes", "labels", "names")) and len(set(value)) == len(value):
            yield name, {each: at for at, each in enumerate(value)}

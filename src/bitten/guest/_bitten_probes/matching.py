"""Names of a state against names of a module: how many meet, and which prefix keeps the others apart. Pure; knows no tensor's values."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXPLAINS = 0.9
"""A prefix is the cause if so much of the smaller side meets without it."""
KNOWN = ("module.", "_orig_mod.", "model.", "net.", "_orig_mod.module.", "module._orig_mod.", "encoder.", "backbone.", "student.")


class Match:
    """What a call of `load_state_dict` could use: names of both with one shape."""

    def __init__(self, own: dict[str, Any], state: dict[str, Any]) -> None:
        self.own, self.state = set(own), set(state)
        self.both = {name for name in self.own & self.state if own[name] == state[name]}
        self.missing, self.unexpected = self.own - self.state, self.state - self.own

    @property
    def of_own(self) -> float:
        return len(self.both) / max(1, len(self.own))

    @property
    def of_state(self) -> float:
        return len(self.both) / max(1, len(self.state))

    def prefix(self) -> str:
        """With `-` in front where the state's names have one too many, with `+` where they lack it; empty where none explains it."""
        smaller = max(1, min(len(self.own), len(self.state)))
        for sign, longer, shorter in (("-", self.state, self.own), ("+", self.own, self.state)):
            for each in _candidates(longer):
                bare = {name[len(each) :] for name in longer if name.startswith(each)}
                if len(bare & shorter) >= EXPLAINS * smaller:
                    return sign + each
        return ""


def _candidates(names: set[str]) -> list[str]:
    """Known ones, and what all names begin with, up to two dots."""
    found = list(KNOWN)
    some = next(iter(sorted(names)), "")
    for dots in (1, 2):
        start = ".".join(some.split(".")[:dots]) + "."
        if start not in found and all(name.startswith(start) for name in names):
            found.append(start)
    return found

"""When two failures are the same: type, message with its numbers masked, and where. Knows no file but by its name."""

from __future__ import annotations

import re

from .failure import Crash, Failure, Picture, ending

_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_PATHS = re.compile(r"(?:/[\w.+@-]+){2,}")


def of(failure: Failure) -> str:
    """One line that stays the same while line numbers, sizes, addresses and temporary paths change."""
    if failure.root is not None:
        return of_crash(failure.root)
    if failure.missed:
        return "missed: " + "; ".join(str(each) for each in failure.missed)
    return hang(failure.surroundings.picture) if failure.run.hung else ending(failure.run)


def hang(picture: Picture | None) -> str:
    """By the odd one out, ranks and lines masked; else by where the first process of the person's own code stands."""
    if picture is None:
        return "hung"
    sites = (site.function for process in picture.processes if (site := process.site))
    return f"hung: {masked(picture.odd) or next(sites, '-')}"


def of_crash(crash: Crash) -> str:
    return f"{crash.type}: {masked(crash.message)} @ {_where(crash)}"


def masked(message: str) -> str:
    """The first 300 characters of a message, numbers and paths masked."""
    return " ".join(_NUMBERS.sub("N", _PATHS.sub("PATH", message)).split())[:300]


def _where(crash: Crash) -> str:
    """The innermost function of the person's own code, and the library function it ended in."""
    mine = crash.site.function if crash.site else "-"
    return f"{mine} > {crash.frames[-1].function if crash.frames else '-'}"

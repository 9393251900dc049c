"""A log, as the lines that its processes wrote: without colours, bars and stamps, each with its source. Knows no traceback."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

LONGEST = 2000
"""Characters of a line that are looked at: with it every pattern here is linear in the log."""
MOST = 200_000
"""Lines from the end: a longer log tells its failure there."""
LEARNT = 64
"""Sources that are told apart."""
NEAR = 50
"""Lines below a traceback's head among which its own next one stands, however many processes print at once."""
FOLDED = 100_000
"""Characters of a line that holds a whole traceback."""
HEAD = "Traceback (most recent call last)"

_COLOURS = re.compile(r"(?:\x1b|␛|\^\[)\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_STAMP = re.compile(
    r"(?:[^\t]{1,200}\t[^\t]{1,200}\t)?\ufeff?"  # `gh run view --log`: job, step
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
    r"(?: (?:stdout|stderr) [FP]| \d\d[OE][+ ]?)?(?:[ \t]|$)"  # Kubernetes' log files, GitLab's
)
_FIELD_END = re.compile(r'"\s*[,}].*$')
_MARGIN = re.compile(r"[ \t|+>-]*(?:(?:Original|Exception Group) |traceback\s*: )?$")


@dataclass(frozen=True)
class Line:
    """`at` counts from 0 in the whole log; `source` is the prefix that its process has, empty where it has none."""

    at: int
    source: str
    text: str
    stamp: str = ""


def lines(text: str) -> list[Line]:
    """The last lines of a log, clean."""
    stamped = [_cleaned(part) for line in text.split("\n")[-MOST:] for part in (_unfolded(line) if HEAD in line else (line,))]
    prefixes = _learnt([line for _, line in stamped])
    return [Line(at, *_split(line, prefixes), stamp) for at, (stamp, line) in enumerate(stamped)]


def by_source(every: Iterable[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in every:
        found.setdefault(line.source, []).append(line)
    return found


def _unfolded(line: str) -> list[str]:
    """A log in JSON has a whole traceback on one line."""
    if "\\n" not in line:
        return [line]
    parts = line[:FOLDED].replace("\\\\", "\\").replace('\\"', '"').split("\\n")
    return [*parts[:-1], _FIELD_END.sub("", parts[-1])]


def _cleaned(line: str) -> tuple[str, str]:
    """What a terminal shows last of a line that was written over and over, without colours; its stamp apart."""
    line = line.rstrip("\r").rpartition("\r")[2]
    line = line[: 4 * LONGEST]
    line = (_COLOURS.sub("", line) if not line.isprintable() or "␛" in line or "^[" in line else line)[:LONGEST]
    stamp = _STAMP.match(line)
    return (stamp[1], line[stamp.end():]) if stamp else ("", line)


def _learnt(texts: list[str]) -> tuple[str, ...]:
    """What stands before a traceback's head and again before its frames is its process's prefix: `[rank1]: `, `trainer-1  | `, `3: `."""
    found: dict[str, None] = {}
    for at, text in enumerate(texts):
        start = text.find(HEAD)
        prefix = text[:start]
        if start > 0 and prefix not in found and len(found) < LEARNT:
            prefix = _without_margin(prefix)
            known = next((each for each in found if prefix.startswith(each)), prefix)
            is_margin = known != prefix and not prefix[len(known):].strip(" |+-")
            if prefix.strip() and not is_margin and any(_is_frame(each, prefix) for each in texts[at + 1:at + NEAR]):
                found[prefix] = None
    return tuple(sorted(found, key=len, reverse=True))


def _without_margin(prefix: str) -> str:
    """The margin of an exception group, or of a table, is the traceback's own; the first blank after a prefix is the prefix's."""
    margin = _MARGIN.search(prefix)
    bare = prefix[: margin.start()] if margin else prefix
    rest = prefix[len(bare):]
    if "|" in rest and not rest.lstrip().startswith("+") and bare.strip():  # `trainer-1  | `: a column, no group
        return prefix[: len(bare) + rest.index("|") + 2]
    return bare + rest[:1] if rest[:1] == " " else bare


def _is_frame(text: str, prefix: str) -> bool:
    return text.startswith(prefix) and text[len(prefix):].lstrip(" |").startswith('File "')


def _split(text: str, prefixes: tuple[str, ...]) -> tuple[str, str]:
    if prefixes and text.startswith(prefixes):
        prefix = next(each for each in prefixes if text.startswith(each))
        return prefix.strip(), text[len(prefix):]
    for prefix in prefixes:
        if text == prefix.rstrip():  # an empty line, whose last blank a tool took off
            return prefix.strip(), ""
    return "", text


def shown(source: str) -> str:
    """A prefix in words: `rank 1`."""
    rank = re.search(r"(?:rank|default)[ _:]?(\d+)", source, re.I)
    if rank:
        return f"rank {rank[1]}"
    number = re.fullmatch(r"\[?(\d+)(?:[,]\d+)?\]?(?:<std\w+>)?:", source)
    return f"task {number[1]}" if number else source.strip("()[]|:> \t")


def seconds(every: Iterable[Line]) -> float:
    """From the first stamp to the last; 0 where there are none."""
    stamps = [line.stamp.replace("T", " ") for line in every if line.stamp]
    try:
        first, last = (datetime.fromisoformat(stamp) for stamp in (stamps[0], stamps[-1]))
    except (IndexError, ValueError):  # none, or one of no day that there is
        return 0.0
    return max(0.0, (last - first).total_seconds())

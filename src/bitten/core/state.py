"""What a run rested on, and in words what of it changed between two runs of one command. Knows neither git nor any file's form."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import field

from .failure import FileSeen, Resolved
from .noun import noun

SHOWN = 6
"""Of each kind; their number is told."""
WIDE = 60
NOTHING = "nothing that bitten looks at"


@noun
class State:
    """`files` are those that differ from the revision `head` (outside git: all sources), each with a digest of what it holds.

    `whole` says that none of them was left out. `at` is when the run ended, in seconds since the epoch. `environment` holds the
    driver, the machine and variables too.
    """

    at: float = 0.0
    head: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    whole: bool = True
    packages: Mapping[str, str] = field(default_factory=dict)
    configs: tuple[Resolved, ...] = ()
    data: tuple[FileSeen, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@noun
class Moved:
    """What git says lies between two states: subjects of commits, newest first, with their number, and paths of files.

    `commits` is -1 where the older revision can't be reached from here.
    """

    subjects: tuple[str, ...] = ()
    commits: int = 0
    files: tuple[str, ...] = ()


def since(good: State, now: State, moved: Moved) -> tuple[str, ...]:
    """Lines, the first of which says when the last good run was."""
    when = datetime.datetime.fromtimestamp(good.at, tz=datetime.timezone.utc).astimezone()
    found = (*_moved(good, moved), *_packages(good, now), *_configs(good, now), *_data(good, now), *_environment(good, now))
    return (f"last good run: {when:%Y-%m-%d %H:%M}, {_ago(now.at - good.at)} before this one", *(found or (NOTHING,)))


def _ago(seconds: float) -> str:
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "less than a minute"


def _moved(good: State, moved: Moved) -> Iterator[str]:
    if moved.commits < 0:
        yield f"commits: HEAD was {good.head[:12]}, which is not among its ancestors now"
    elif moved.commits:
        yield f"commits: {moved.commits}: {_some(moved.subjects, moved.commits, '; ')}"
    if moved.files:
        yield f"files: {_some(moved.files)}"


def _packages(good: State, now: State) -> Iterator[str]:
    changes = list(_changes(good.packages, now.packages))
    if changes:
        yield f"packages: {_some(changes)}"


def _configs(good: State, now: State) -> Iterator[str]:
    """Of configs that both runs read: one that only this run wrote or read says nothing of the other."""
    before = {each.source: each for each in good.configs}
    for each in now.configs:
        old = before.get(each.source)
        changes = list(_changes(old.values, each.values)) if old else ["read now, and not then"]
        if changes:
            yield f"{each.source}: {_some(changes)}"


def _data(good: State, now: State) -> Iterator[str]:
    before = {each.path: each for each in good.data}
    parsed = {each.source for each in now.configs if each.source in {old.source for old in good.configs}}
    for each in now.data:
        old = before.get(each.path)
        told = "" if each.path in parsed else _differs(old, each) if old else "read now, and not then" if _is_new(each, good) else ""
        if told:
            yield f"{each.path}: {told}"


def _is_new(each: FileSeen, good: State) -> bool:
    """Of data in the project alone: a temporary file has another name each time. (New configs are told with their values.)"""
    return each.role == "data" and bool(good.data) and not each.path.startswith("/")


def _differs(old: FileSeen, now: FileSeen) -> str:
    """Nothing where only the time changed."""
    if old.rows >= 0 and now.rows >= 0 and old.rows != now.rows:
        return f"{old.rows:,} → {now.rows:,} lines"
    if old.size != now.size and min(old.size, now.size) >= 0:
        return f"{old.size:,} → {now.size:,} bytes"
    if old.count != now.count and old.size < 0:
        return f"{old.count:,} → {now.count:,} files read"
    if old.digest and now.digest and old.digest != now.digest:
        return f"same size, other content{'' if now.whole else ' in its first MiB'}"
    unread = not (old.digest and now.digest and now.whole)
    return "changed in time, not in size" if unread and old.size >= 0 and old.modified != now.modified else ""


def _environment(good: State, now: State) -> Iterator[str]:
    changes = list(_changes(good.environment, now.environment))
    if changes:
        yield f"environment: {_some(changes)}"


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            then, now = (_short(side[name]) if name in side else "" for side in (old, new))
            yield f"{name} {then} → {now}" if then and now else f"new {name} {now}" if now else f"{name} is gone (was {then})"


def _short(value: str) -> str:
    value = value or "''"
    return value if len(value) <= WIDE else f"{value[:WIDE]}…"


def _some(words: tuple[str, ...] | list[str], count: int = 0, between: str = ", ") -> str:
    shown = words[:SHOWN]
    left = (count or len(words)) - len(shown)
    return between.join(shown) + (f" and {left} more" if left > 0 else "")

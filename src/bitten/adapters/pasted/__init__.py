"""Crashes from text: whatever a log shows of exceptions, as the law's nouns, the root cause first. It has no variables, and says so.

Own code, since no kept library reads more than one plain traceback: boltons' ParsedException takes a chain for a message and
raises on groups; tblib's Traceback.from_string has frames alone (both tried on chains, groups, prefixes and markers).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from bitten.adapters.watching.unseen import FROM_TEXT
from bitten.core.failure import Crash

from . import boxes, cells, ends, plain, tests_told
from .lines import HEAD, Line, by_source, lines, seconds, shown
from .places import Places
from .plain import Told

MOST = 12
UNSEEN = FROM_TEXT
_ECHOES = frozenset(("ChildFailedError", "CalledProcessError", "BrokenProcessPool", "ProcessRaisedException", "ProcessExitedException",
                     "RemoteTraceback", "_RemoteTraceback", "CellExecutionError", "PapermillExecutionError", "RayTaskError"))
_LOST_PEERS = frozenset(("ConnectionError", "ConnectionResetError", "BrokenPipeError", "ConnectionRefusedError", "ConnectionAbortedError",
                         "EOFError", "DistNetworkError", "DistBackendError"))
_CLOSED = re.compile(r"connection closed by peer|connection reset|broken pipe", re.I)
_WORTH_A_LOOK = (HEAD, "SyntaxError: ", "IndentationError: ", "TabError: ", "terminate called", "Fatal Python error", *ends.SIGNALS,
                 "FAILED ", "ERROR ", "FAILURES")


_UNKNOWN = ends.End()


@dataclass(frozen=True)
class Pasted:
    """What a log tells. `seconds` by its stamps, `command` as it was echoed; either is 0 or empty where the log has none."""

    crashes: tuple[Crash, ...] = ()
    end: ends.End = _UNKNOWN
    command: str = ""
    seconds: float = 0.0
    differing: tuple[str, ...] = ()


def crashes(text: str, root: Path) -> tuple[Crash, ...]:
    """The exceptions alone, for a run whose end is known."""
    if not any(sign in text for sign in _WORTH_A_LOOK):
        return ()
    every = lines(text)
    return _in_order(_without_doubles(_told(every)), ends.end(every).rank, Places(root))


def read(text: str, root: Path) -> Pasted:
    """`text` has been redacted; `root` is the project that frames are looked for in."""
    every = lines(text)
    end = ends.end(every)
    told = _without_doubles(_told(every))
    places = Places(root)
    ordered = _in_order(told, end.rank, places)
    first = min((each.at for each in told), default=len(every))
    return Pasted(ordered, end, ends.command(every, first), seconds(every), tuple(_differing(ordered, places)))


def _in_order(told: list[Told], rank: str, places: Places) -> tuple[Crash, ...]:
    return tuple(places.crash(crash) for crash in islice(_ordered(told, rank), MOST))


def _told(every: Sequence[Line]) -> list[Told]:
    """In the order of the log; what a section of pytest quotes is told by that section alone."""
    found: list[Told] = []
    for part in by_source(every).values():
        special = [*tests_told.failing(part), *cells.drawn(part), *boxes.boxed(part)]
        quoted = {at for each in special for at in range(each.at, each.last + 1)}
        rest = [each for told in plain.tracebacks(part) if told.at not in quoted for each in _apart(told)]
        found += [*special, *_with_workers(rest), *ends.last_words(part)]
    return [_named(each) for each in sorted(found, key=lambda told: told.at)]


def _with_workers(told: list[Told]) -> Iterator[Told]:
    """A DataLoader's worker is named by the exception that quotes it."""
    before = None
    for each in told:
        name = plain.worker(before.crash.message) if before and each.sent else ""
        yield replace(each, crash=replace(each.crash, process=name)) if name else each
        before = each


def _apart(told: Told) -> Iterator[Told]:
    """Where a pool quotes its worker's exception, that is the one that happened; the pool's repeats it."""
    at = next((n for n, each in enumerate(told.chain) if each.role == "remote"), None)
    if at is None:
        yield told
        return
    yield replace(told, crash=replace(told.chain[at], role="root", process="pool worker"), chain=told.chain[at + 1:], sent=True)
    yield replace(told, chain=told.chain[:at], repeats=True)


def _named(told: Told) -> Told:
    """The process in words, its prefix first."""
    name = ", ".join(filter(None, (shown(told.source) if told.source else "", told.crash.process)))
    chain = tuple(replace(each, process=name) for each in told.chain)
    return replace(told, crash=replace(told.crash, process=name), chain=chain)


def _without_doubles(told: Iterable[Told]) -> list[Told]:
    kept: dict[tuple[object, ...], Told] = {}
    for each in told:
        last = each.crash.frames[-1] if each.crash.frames else None
        kept.setdefault((each.crash.type, each.crash.message, last and (last.file, last.line), each.source, each.kind == "test"), each)
    return list(kept.values())


# ---------------------------------------------------------------------------------------------- which one is the root


def _ordered(told: list[Told], rank: str) -> Iterator[Crash]:
    own = _speaking_for_themselves(told)
    root = _root(told, own, rank)
    if root is not None:
        yield from (replace(root.crash, role="root"), *root.chain)
    for each in told:
        if each is not root:
            role = _role(each, root, own) if root else "context"
            yield replace(each.crash, role=role, handled=role == "context")


def _root(told: list[Told], own: dict[int, Told], rank: str) -> Told | None:
    """Of each process the last that speaks for itself, of these the earliest; torchrun's word on the rank goes before."""
    tests = [each for each in own.values() if each.kind == "test"]
    last = {each.source: each for each in own.values()}
    sent = [each for each in own.values() if each.sent]
    named = [each for each in last.values() if rank and shown(each.source) == f"rank {rank}"]
    rest = [each for each in reversed(told) if not each.ignored]
    return next(iter([*named, *tests, *sent, *sorted(last.values(), key=lambda each: each.at), *rest]), None)


def _speaking_for_themselves(told: list[Told]) -> dict[int, Told]:
    """By their place: those that neither tell of another's failure, nor were of no matter."""
    heard = [each for each in told if not each.ignored]
    is_sent = any(each.sent for each in heard)
    return {id(each): each for each in heard if not each.repeats and (len(heard) == 1 or not _tells_of_another(each, is_sent))}


def _tells_of_another(each: Told, is_sent: bool) -> bool:
    name = each.crash.type.rpartition(".")[2].partition("(")[0]
    lost = name in _LOST_PEERS or _CLOSED.search(each.crash.message) is not None
    quotes = is_sent and not each.sent and bool(plain.worker(each.crash.message))
    return lost or quotes or name in _ECHOES or each.kind == "shell" or not each.crash.type[0].isidentifier()


def _role(each: Told, root: Told, own: dict[int, Told]) -> str:
    if each.kind == "test" and root.kind == "test":
        return "root"
    is_earlier = each.source == root.source and each.at < root.at and id(each) in own
    return "context" if each.ignored or is_earlier else "consequence"


def _differing(ordered: Iterable[Crash], places: Places) -> Iterator[str]:
    yield from dict.fromkeys(f"{frame.file}:{frame.line}" for crash in ordered for frame in crash.frames if places.differs(frame))

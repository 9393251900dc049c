"""Ends that no exception tells of: processes that a signal ended, as others speak of them, and exits. Knows no root cause."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator

from bitten.adapters.guest_told.guest_log import Log, Record

_WORKER = re.compile(r"DataLoader worker \(pid(?:\(s\))? ([\d, ]+)\) (?:is killed by signal: ([^.]+)|exited unexpectedly)")
_RANK = re.compile(r"rank +: (\d+)[^\n]*\n +exitcode +: (-?\d+) \(pid: (\d+)\)")


def deaths(log: Log, name: dict[int, str]) -> list[Record]:
    """An exception's record for each process that could write none. `name` says what a process is: `DataLoader worker 0`.

    The parent's error differs by luck of timing (four kinds were seen for one killed worker), the dead process does not.
    """
    silent = _Silent(log)
    found: dict[int, Record] = {}
    for when, pid, ended, who in sorted(_told(log), key=lambda each: each[0]):
        if silent.is_news(pid, ended):
            earlier = found.get(pid, {})
            found[pid] = _record(earlier.get("t", when), pid, earlier.get("number") or ended, name.get(pid) or who or "process")
    return list(found.values())


class _Silent:
    """Which processes left no word of their own, and which were ended by another of the same command."""

    def __init__(self, log: Log) -> None:
        self._spoke = {int(each["pid"]) for each in log.of("exc") if each["how"] not in ("formatted", "unraisable", "swallowed")}
        self._left = {int(each["pid"]) for each in log.of("exit")}
        self._ended = {(int(each["child"]), int(each["signal"])) for each in log.of("kill") if each["child"] != each["pid"]}

    def is_news(self, pid: int, ended: int) -> bool:
        return pid not in self._spoke | self._left and (pid, ended) not in self._ended


def _told(log: Log) -> Iterator[tuple[float, int, int, str]]:
    """When, who (by number), by which signal (0: unknown), and its name where the teller knows it. SIGTERM is how parents tidy up."""
    for record in log.of("dead"):
        if record["signal"] != signal.SIGTERM:
            yield float(record["t"]), int(record["child"]), int(record["signal"]), ""
    for record in log.of("exc"):
        for message in _messages(record["exc"]):
            yield from ((float(record["t"]), *each) for each in _in(message))


def _in(message: str) -> Iterator[tuple[int, int, str]]:
    for pids, words in _WORKER.findall(message):
        yield from ((int(pid), _number(words), "DataLoader worker") for pid in re.findall(r"\d+", pids))
    ranks = [(int(pid), -int(code), f"rank {rank}") for rank, code, pid in _RANK.findall(message)]
    own = [each for each in ranks if each[1] != signal.SIGTERM]  # the launcher ends the others by it
    yield from (each for each in own or ranks if each[1] > 0)


def _messages(exc: Record) -> Iterator[str]:
    yield str(exc["msg"])
    for other in (exc.get("cause"), exc.get("context")):
        if other:
            yield from _messages(other)


def _number(words: str) -> int:
    return next((each.value for each in signal.Signals if signal.strsignal(each) == words), 0)


def _record(when: float, pid: int, ended: int, who: str) -> Record:
    by = f"was ended by {signal.Signals(ended).name}" if ended in signal.valid_signals() else "ended without a word"
    kind = (signal.strsignal(ended) if ended else None) or "Died"
    exc = {"type": kind, "mro": [], "msg": f"{who} (pid {pid}) {by}", "frames": []}
    return {"k": "exc", "t": when, "pid": pid, "how": "death", "exc": exc, "sightings": [], "number": ended}


def last_exit(exits: Iterable[Record], but: int) -> Record | None:
    """The exit that the others passed on: of those with the last one's code, the first. `but` is a process that only tells of others."""
    told = [each for each in exits if each["pid"] != but]
    return next((each for each in told if each["code"] == told[-1]["code"]), None)


def as_exception(exit_: Record) -> Record:
    """`sys.exit("no data")` as what it is: a SystemExit with a place."""
    kind = exit_["fn"] if exit_["fn"].startswith("os.") else "SystemExit"
    return {"type": kind, "mro": [], "msg": str(exit_.get("words", exit_["code"])).strip(), "frames": exit_["at"]}

"""What a room kept from a run, read from what the run complained about. Knows only words: a program that says nothing is not heard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_ABSOLUTE = re.compile(r"""(?:^|[\s:=('"‘`])(/[^\s'"’`:,;)]*)""")
_HOST = re.compile(
    r"""host=['"]([\w.-]+)|resolve (?:host(?:name)?(?: address)?:? ?)?['"‘]?([\w-]+\.[\w.-]+)|https?://([\w.-]+)|"""
    r"""(?:Name or service not known|name resolution)[^\w]*\(?([\w-]+\.[\w.-]+)""", re.IGNORECASE)

_WRITES = {
    "Read-only file system": "is read-only in the copy",
    "Value too large for defined data type": "belongs to another user and can't be copied",
    "Invalid cross-device link": "could not be renamed in the copy",
}
_DENIED = "Permission denied"
_NETWORK = (
    "Network is unreachable", "Name or service not known", "Temporary failure in name resolution", "Could not resolve host",
    "unable to resolve host", "Failed to resolve", "No address associated with hostname", "offline mode is enabled",
)


def refusals(text: str, ours: Callable[[str], bool] = lambda path: True, *, net: bool = True) -> tuple[str, ...]:
    """A sentence for each path or host that was refused, with the flag that lifts it; each once, in the order of the text.

    `ours` says of a denied path whether the room may have denied it: the world denies as well, and in the same words. `net`
    says whether the room keeps programs from the network; where it does not, complaints about it are the world's.
    """
    found = (sentence for line in text.splitlines() for sentence in _in_line(line, ours, net))
    return tuple(dict.fromkeys(found))


def _in_line(line: str, ours: Callable[[str], bool], net: bool) -> Iterator[str]:
    for words, meaning in _WRITES.items():
        if words.casefold() in line.casefold():
            path = _path(line, words)
            yield f"{path or 'a path'} {meaning} ({words}): --allow-write {path or 'PATH'}"
    if _DENIED.casefold() in line.casefold() and (path := _path(line, _DENIED)).startswith("/") and ours(path):
        yield f"{path} was denied ({_DENIED}): --allow-write {path}"
    for words in _NETWORK if net else ():
        if words.casefold() in line.casefold():
            host = _host(line)
            yield f"{host or 'a host'} could not be reached ({words}): --allow-net"
            return


def _path(line: str, words: str) -> str:
    """Python quotes the path after the complaint, a shell and most programs name it just before; else any absolute one will do."""
    after = re.search(rf"{words}:? (?:->|.*?)['\"‘`]([^'\"’`]+)", line, re.IGNORECASE)
    before = re.search(rf"['\"‘`]([^'\"’`]+)['\"’`]: {words}|(\S+): {words}", line, re.IGNORECASE)
    absolute = _ABSOLUTE.findall(line)
    if after:
        return after[1]
    if before and not (before[2] or "").endswith("]"):
        return before[1] or before[2]
    return absolute[-1] if absolute else ""


def _host(line: str) -> str:
    match = _HOST.search(line)
    return next(filter(None, match.groups()), "") if match else ""

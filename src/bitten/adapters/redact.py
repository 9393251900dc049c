"""Text that may be kept: without what looks like a secret, and without the values that this environment calls secret. Knows no case."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from bitten.core.case import Drop, Note, Rejection, Reset
from bitten.core.ladder import Event
from bitten.guest import _bitten_redact as guest

SHORTEST = 8
"""A shorter value stands in too many harmless words."""
_DULL = frozenset(("disabled", "required", "undefined", "anonymous"))
_PLACEHOLDER = re.compile(f"{guest.OPEN}([a-z0-9-]+):([0-9]+-[0-9]+){guest.CLOSE}")
LARGEST = 32 << 20
"""Bytes: no text of a case is larger."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with every secret masked: by its shape, by the name before it, and by its exact value. Done twice it is as done once."""
    told = {form: "secret" for value in secrets if len(value) >= SHORTEST for form in forms(value)}
    return guest.scrub(text, {**_of_this_environment(), **told})


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of variables whose names say that they are secret. A path is none (SSH_AUTH_SOCK, PWD)."""
    return tuple(value for name, value in environment.items() if _is_secret(name, value))


def forms(value: str) -> Iterator[str]:
    """A value as it is, and as it stands in JSON, a URL or base64, at each of the three places that a group of bytes may begin."""
    import base64  # noqa: PLC0415 - only where the environment holds a secret
    import json  # noqa: PLC0415 - as above
    from urllib.parse import quote, quote_plus  # noqa: PLC0415 - as above

    yield from dict.fromkeys((value, json.dumps(value)[1:-1], quote(value, safe=""), quote_plus(value)))
    data = value.encode("utf-8", "surrogateescape")
    for before in range(3):
        whole = len(data) - (before + len(data)) % 3  # bytes after the last whole group depend on what follows
        if whole >= SHORTEST:
            coded = base64.b64encode(b"\0" * before + data[:whole]).decode()[(0, 2, 3)[before]:]
            yield from dict.fromkeys((coded, coded.replace("+", "-").replace("/", "_")))


def without_secrets(event: Event) -> Event:
    """What a person typed may hold one too. All else was redacted when it was observed, and a patch has to apply as it is."""
    match event:
        case Note(text=words):
            return replace(event, text=redact(words))
        case Drop(reason=words) | Rejection(reason=words):
            return replace(event, reason=redact(words))
        case Reset(symptom=words, script=script):
            return replace(event, symptom=redact(words), script=redact(script))
        case _:
            return event


@dataclass(frozen=True)
class Masked:
    """One placeholder: in which file, on which line, and what it says of the secret."""

    file: str
    line: int
    kind: str
    length: str


def masked(folder: Path) -> Iterator[Masked]:
    """Every placeholder in the texts below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
            yield from masked_in(str(path.relative_to(folder)), path.read_bytes().decode("utf-8", "replace"))


def masked_in(name: str, text: str) -> Iterator[Masked]:
    """Every placeholder in the text of a file."""
    for number, line in enumerate(text.split("\n"), 1):
        yield from (Masked(name, number, *found) for found in _placeholders(name, line))


def holds_placeholder(text: str) -> bool:
    return bool(_PLACEHOLDER.search(text))


def _placeholders(name: str, line: str) -> list[tuple[str, str]]:
    """Of a journal's line too, where all that is not ASCII is escaped."""
    if name.endswith((".jsonl", ".json")):
        line = line.replace("\\u2039", guest.OPEN).replace("\\u203a", guest.CLOSE)
    return [(found[0], found[1]) for found in _PLACEHOLDER.findall(line)]


def _is_secret(name: str, value: str) -> bool:
    is_word = len(value) >= SHORTEST and not value.startswith(("/", "~")) and value.lower() not in _DULL
    return is_word and (guest.secret_name(name) or guest.key_like(name))


def _of_this_environment() -> Mapping[str, str]:
    return _kept(tuple(os.environ.items()))


@lru_cache(maxsize=4)
def _kept(environment: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Each form of each secret value, longest first, with its kind."""
    known = {form: guest.kind_of(name) or "secret" for name, value in environment if _is_secret(name, value) for form in forms(value)}
    return {value: known[value] for value in sorted(known, key=len, reverse=True)}

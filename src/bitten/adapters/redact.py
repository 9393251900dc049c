"""Text that may be kept: without what looks like a secret, and without the values that this environment calls secret. Knows no file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache

from bitten.guest import _bitten_redact as guest

SHORTEST = 8
"""A shorter value stands in too many harmless words."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with every secret masked: by its shape, by the name before it, and by its exact value."""
    exact = {*_of_this_environment(), *(secret for secret in secrets if len(secret) >= SHORTEST)}
    for value in sorted(exact, key=len, reverse=True):
        text = text.replace(value, guest.MASK)
    return guest.scrub(text)


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of variables whose names say that they are secret. A path is none (SSH_AUTH_SOCK, PWD)."""
    return tuple(
        value
        for name, value in environment.items()
        if len(value) >= SHORTEST and not value.startswith(("/", "~")) and (guest.secret_name(name) or guest.key_like(name))
    )


def _of_this_environment() -> tuple[str, ...]:
    return _kept(tuple(os.environ.items()))


@lru_cache(maxsize=4)
def _kept(environment: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return secret_values(dict(environment))

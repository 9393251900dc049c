"""JSON, one message a line, in and out: bytes as they come are cut into lines, whatever they hold. Knows no message."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

LONGEST, CHUNK = 4 << 20, 1 << 16
"""Bytes of a line, of which no proposal has a tenth; and of what is read at once."""


class Unreadable(ValueError):  # noqa: N818 - it says what the line is
    """No JSON that we take; its message says why."""


class Lines:
    """Bytes in, lines out; None stands for a line that was too long to be kept."""

    def __init__(self) -> None:
        self._held, self._is_over = b"", False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        *ended, self._held = (self._held + data).split(b"\n")
        for line in ended:
            yield None if self._is_over or len(line) > LONGEST else line
            self._is_over = False
        if len(self._held) > LONGEST:
            self._held, self._is_over = b"", True

    def rest(self) -> Iterator[bytes | None]:
        """What came after the last newline, at the end."""
        yield from self.feed(b"\n") if self._held or self._is_over else ()


def parse(line: bytes | None) -> Any:
    """Raises: Unreadable."""
    if line is None:
        raise Unreadable(f"a line is longer than {LONGEST} bytes")
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_no_json)
    except UnicodeDecodeError:
        raise Unreadable("a line is not UTF-8") from None
    except RecursionError:
        raise Unreadable("a line is nested too deeply") from None
    except ValueError as why:
        raise Unreadable(str(why)) from None


def _no_json(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def dumped(message: Any) -> bytes:
    """One line. Half a character, as file names have it, would make the whole line unreadable: it becomes a question mark."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data):]

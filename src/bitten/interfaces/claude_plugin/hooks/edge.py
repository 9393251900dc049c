"""A hook's two ends: one JSON object comes in, one answer goes out, and whatever goes wrong between them refuses. Knows no rule."""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    Event = dict[str, Any]

MOST = 64 << 20
"""Bytes of one event: far above any real call, and read in well under the hook's time."""


def answered(decide: Callable[[Event], Event]) -> None:
    """Print what is decided. Any failure is exit code 2, which blocks: exit 1 would let the call through (notes/claude.md, section 4)."""
    try:
        told = decide(event_from(sys.stdin.buffer))
        sys.stdout.write(json.dumps(told) if told else "")
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001, RUF100 - a gate that fails is a closed gate, whatever it was
        _refuse(error)


def event_from(stream: BinaryIO) -> Event:
    """Raises: ValueError where it is none, is too large, or lacks what every event has."""
    content = stream.read(MOST + 1)
    if len(content) > MOST:
        raise ValueError(f"the event is larger than {MOST >> 20} MiB")
    event = json.loads(content.decode("utf-8"))
    if not isinstance(event, dict) or not all(isinstance(event.get(name), str) for name in ("hook_event_name", "cwd")):
        raise ValueError("the event has no hook_event_name or no cwd")
    return event


def _refuse(error: BaseException) -> None:
    try:
        sys.stderr.write(f"bitten: the gate could not decide, so it stays shut ({type(error).__name__}: {str(error)[:300]}). "
                         "Tell the person: `bitten doctor` in a terminal says more; `claude plugin disable bitten` takes the gate away.\n")
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001, RUF100, S110 - nobody listens; the exit code still blocks
        pass
    os._exit(2)  # no handler at exit, and no closed stream, turns it into another code

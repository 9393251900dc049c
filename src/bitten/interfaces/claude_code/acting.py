"""Whether a session called a tool since it began, by its transcript: before that its gate had nothing to answer. Knows no case."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path


def acted_since(transcript: str, began: float) -> bool:
    """As far as it was written by now: it may lag, and then the next turn's end sees it. One that can't be read counts as yes."""
    try:
        lines = Path(transcript).read_bytes().splitlines()
    except OSError:
        return True
    last = next((line for line in reversed(lines) if b'"tool_use"' in line), None)
    return last is not None and _time_of(last) >= began


def _time_of(line: bytes) -> float:
    """In seconds since the epoch; the end of time where it does not tell."""
    try:
        told = json.loads(line)["timestamp"]
        return datetime.datetime.fromisoformat(told.replace("Z", "+00:00")).timestamp()
    except (ValueError, TypeError, KeyError, AttributeError):
        return math.inf

"""One call of a tool, in a process of its own: told on stdin, answered in lines on what was stdout. Knows no protocol.

The leash: when stdin closes, the server lets us go, or is gone; then it is as if ^C had been typed, and copies end with us.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from bitten.core.trouble import Trouble

from .lines import CHUNK, Lines, dumped, parse, write

LAST = 20.0
"""Seconds that it may take to end what runs in a copy; a process that waits for a device can't be killed at all."""


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    leash, out = _ends()
    try:
        request = _request(leash)
        threading.Thread(target=_hold, args=(leash, threading.get_ident()), daemon=True).start()
        write(out, dumped(answered(request, lambda words: write(out, dumped({"progress": words})))))
    except (KeyboardInterrupt, BrokenPipeError):  # nobody waits for the answer
        sys.exit(130)


def _ends() -> tuple[int, int]:
    """Ours alone: what is printed here, or started from here, has other ones."""
    leash, out = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    return leash, out


def _request(leash: int) -> Any:
    lines = Lines()
    while data := os.read(leash, CHUNK):
        for line in lines.feed(data):
            return parse(line)
    raise KeyboardInterrupt


def _hold(leash: int, main_thread: int) -> None:
    """Until it is let go."""
    while os.read(leash, CHUNK):
        pass
    signal.pthread_kill(main_thread, signal.SIGINT)
    threading.Event().wait(LAST)
    os._exit(130)


def answered(request: dict[str, Any], waits_for: Callable[[str], None]) -> dict[str, Any]:
    """The result of a tool, whatever happens in it: a refusal is told in words, and so is a fault of ours."""
    sys.argv = ["bitten", "mcp"]  # what the report of a fault calls us
    try:
        from .agent import Agent  # noqa: PLC0415 - what stands in the way of these is told as well
        from .doing import done  # noqa: PLC0415 - as above

        agent = Agent(request["client"], request["session"], waits_for)
        told = done(request["tool"], request["arguments"], agent)
    except Exception as error:
        return _refused(error)
    return {"content": [{"type": "text", "text": told.words}], "structuredContent": told.data, "isError": False}


def _refused(error: Exception) -> dict[str, Any]:
    import click  # noqa: PLC0415 - as above

    from bitten.interfaces import fault, text  # noqa: PLC0415 - as above
    from bitten.interfaces.wiring import redact  # noqa: PLC0415 - as above

    trouble = fault.in_our_form(error)
    if not isinstance(trouble, Trouble):
        trouble = Trouble("our-fault", f"This is a fault of bitten's own: {type(error).__name__}.",
                          "The case is as it was after its last completed step.", fault.way_out(error))
    told = {name: redact(getattr(trouble, name)) for name in ("slug", "what", "why", "way")}
    words = redact(click.unstyle(text.trouble(trouble)))
    return {"content": [{"type": "text", "text": words}], "structuredContent": {"refused": told}, "isError": True}

"""Calls of tools at work, each in a process of its own that ends when its leash is let go. Knows neither protocol nor case.

The leash is the process's standard input: it is told the call on it, and when it closes, or we are killed, what the call
started in a throw-away copy ends with it. Calls that may change the case are done one after the other.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .lines import CHUNK, Lines, Unreadable, dumped, parse, write
from .tools import changes

if TYPE_CHECKING:
    import subprocess

MOST, WAITING = 4, 32
"""Processes at once, and calls that may wait for one."""
_BOOT = "import sys; sys.path[:] = filter(None, sys.path); from bitten.interfaces.mcp.answer import main; main()"
"""The project's folder is not searched for modules: a `json.py` of the person's is no module of ours."""


class Call:
    """`told` gets its result, `progress` what it waits for meanwhile."""

    def __init__(self, key: object, request: dict[str, Any], told: Callable[[dict[str, Any]], None],
                 progress: Callable[[str], None] | None) -> None:
        self.key, self.request, self.told, self.progress = key, request, told, progress
        self.process: subprocess.Popen[bytes] | None = None
        self.result: dict[str, Any] | None = None
        self.is_cancelled = False
        self._lines = Lines()

    @property
    def changes(self) -> bool:
        return changes(self.request["tool"])

    def begin(self) -> int:
        """Returns the descriptor that its answer comes on."""
        import subprocess  # noqa: PLC0415 - as much as all else that a start of the server needs

        flags = ["-I"] if sys.flags.isolated else []
        self.process = subprocess.Popen([sys.executable, *flags, "-c", _BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin and self.process.stdout
        with suppress(BrokenPipeError):  # it ended before it was told: how, is said when its answer does not come
            write(self.process.stdin.fileno(), dumped(self.request))
        return self.process.stdout.fileno()

    def let_go(self) -> None:
        if self.process and self.process.stdin:
            self.process.stdin.close()

    def take(self) -> bool:
        """What came; False at its end."""
        assert self.process and self.process.stdout
        data = os.read(self.process.stdout.fileno(), CHUNK)
        for line in self._lines.feed(data) if data else self._lines.rest():
            self._heard(line)
        return bool(data)

    def _heard(self, line: bytes | None) -> None:
        try:
            message = parse(line)
        except Unreadable:  # then there is no result, which is said at the end
            return
        if "progress" in message:
            if self.progress and not self.is_cancelled:
                self.progress(message["progress"])
        else:
            self.result = message

    def end(self) -> None:
        """Its process has ended, or is about to."""
        assert self.process and self.process.stdout
        self.let_go()
        self.process.stdout.close()
        code = self.process.wait()
        if not self.is_cancelled:
            self.told(self.result or _lost(f"its process ended by {f'signal {-code}' if code < 0 else f'exit code {code}'}"))

    def kill(self) -> None:
        if self.process:
            self.process.kill()


def _lost(why: str) -> dict[str, Any]:
    words = f"✗ No answer: {why}.\n  The case is as it was after its last completed step.\n  [our-fault]"
    return {"content": [{"type": "text", "text": words}], "isError": True}


class Processes:
    """protocol.Calls. `watch` and `forget` take the descriptor that a call's answer comes on."""

    def __init__(self, watch: Callable[[int], None], forget: Callable[[int], None]) -> None:
        self._watch, self._forget = watch, forget
        self._session = os.environ.get("CLAUDE_CODE_SESSION_ID") or f"mcp-{os.getpid()}-{time.time():.0f}"
        self._waiting: list[Call] = []
        self._working: dict[int, Call] = {}

    def start(self, key: object, tool: str, arguments: dict[str, Any], client: str, told: Callable[[dict[str, Any]], None],
              progress: Callable[[str], None] | None) -> bool:
        if len(self._waiting) >= WAITING:
            return False
        request = {"tool": tool, "arguments": arguments, "client": client, "session": self._session}
        self._waiting.append(Call(key, request, told, progress))
        self._begin()
        return True

    def cancel(self, key: object) -> bool:
        for call in (*self._waiting, *self._working.values()):
            if call.key == key and not call.is_cancelled:
                call.is_cancelled = True
                call.let_go()
                self._waiting = [each for each in self._waiting if each is not call]
                return True
        return False

    def ready(self, descriptor: int) -> None:
        """Something came from one of them."""
        call = self._working[descriptor]
        if call.take():
            return
        self._forget(descriptor)
        del self._working[descriptor]
        call.end()
        self._begin()

    def let_all_go(self) -> None:
        self._waiting.clear()
        for call in self._working.values():
            call.is_cancelled = True
            call.let_go()

    def kill_all(self) -> None:
        """Those that their leash did not end; what they started in copies ends without them."""
        for call in self._working.values():
            call.kill()

    @property
    def are_done(self) -> bool:
        return not self._working and not self._waiting

    def _begin(self) -> None:
        """Start what may start: it does not wait behind what has to."""
        for call in list(self._waiting):
            held_up = call.changes and any(each.changes for each in self._working.values())
            if len(self._working) < MOST and not held_up:
                self._waiting.remove(call)
                self._put_to_work(call)

    def _put_to_work(self, call: Call) -> None:
        try:
            descriptor = call.begin()
        except OSError as error:  # our environment was removed meanwhile, or the machine has no process left
            call.told(_lost(f"its process could not be started, {error.strerror}"))
            return
        self._working[descriptor] = call
        self._watch(descriptor)

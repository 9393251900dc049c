"""One session, from its prompt to its end, within its limits and never longer than we live. Judges no call and reads no word itself."""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from claude_agent_sdk import ClaudeSDKClient

from bitten.core.ports import Answer, Brief, Listener

from .cli import Launch
from .failures import of_answer, of_error
from .gate import Gate
from .heard import Heard
from .options import options

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LIMITS = {"error_max_turns": "turns", "error_max_budget_usd": "dollars"}
"""How the CLI names the limit that it met."""


class Session:
    def __init__(self, brief: Brief, listener: Listener, launch: Launch, model: str | None) -> None:
        self.brief, self.launch = brief, launch
        self.gate, self.heard = Gate(brief), Heard(listener)
        self.stderr: deque[str] = deque(maxlen=20)
        self.options = options(brief, self.gate, launch, listener, model, self.stderr.append, self._stop_for)
        self.late, self.signal = False, 0
        self.fault: BaseException | None = None
        """What a listener raised: it comes out as it is."""
        self.broken: Exception | None = None

    def held(self) -> Answer:
        """Raises: Unable; KeyboardInterrupt at ^C, and SystemExit when we are asked to end, once the CLI is gone."""
        with _handlers_kept():
            anyio.run(self._run)
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal:
            raise SystemExit(128 + self.signal)
        return self._answer()

    async def _run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._clock, tasks.cancel_scope)
            if threading.current_thread() is threading.main_thread():
                tasks.start_soon(self._signals, tasks.cancel_scope)
            try:
                await self._talk()
            except Exception as error:
                self.broken = error
            tasks.cancel_scope.cancel()

    async def _talk(self) -> None:
        async with ClaudeSDKClient(self.options) as client:
            await client.query(self.brief.prompt)
            async for message in client.receive_response():
                try:
                    self.heard.take(message)
                except BaseException as error:  # the listener's, and a ^C of its own must come through as itself
                    self._stop_for(error)
                    return

    async def _clock(self, scope: anyio.CancelScope) -> None:
        """The CLI has no limit of its own for a stream that falls silent."""
        await anyio.sleep(self.brief.limits.seconds)
        self.late = True
        self._cut(scope)

    async def _signals(self, scope: anyio.CancelScope) -> None:
        heeded = [each for each in ENDINGS if signal.getsignal(each) is not signal.SIG_IGN]
        with anyio.open_signal_receiver(*heeded) as signals:
            async for each in signals:
                self.signal = each
                self._cut(scope)
                return

    def _cut(self, scope: anyio.CancelScope) -> None:
        """The CLI first: the SDK waits five seconds for it to end by itself."""
        self.launch.stop()
        scope.cancel()

    def _stop_for(self, error: BaseException) -> None:
        """Nothing more may come of a session that nobody can hear."""
        self.fault = error
        self.launch.stop()

    def _answer(self) -> Answer:
        result = self.heard.result
        if self.fault is not None:
            raise self.fault
        if result is None and not self.late:
            raise of_error(self.broken or EOFError("it said nothing"), "\n".join(self.stderr))
        if result is not None and result.is_error and result.subtype not in LIMITS:
            raise of_answer(result, self.heard.wait)
        ended = LIMITS.get(result.subtype, "done") if result else "seconds"
        gated = self.heard.ran <= self.gate.seen
        return Answer(ended, self.heard.said, self.heard.spent, self.heard.session, tuple(self.gate.denied), gated)


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """The event loop forgets who handled a signal before it."""
    mine = threading.current_thread() is threading.main_thread()
    before = {each: signal.getsignal(each) for each in ENDINGS} if mine else {}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)

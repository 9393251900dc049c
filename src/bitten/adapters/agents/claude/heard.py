"""What a session has told so far, message by message: words, turns, money, calls that ran. Passes them on; ends nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from claude_agent_sdk import AssistantMessage, Message, ResultMessage, StreamEvent, SystemMessage, TextBlock, ToolResultBlock, UserMessage

from bitten.core.ports import Listener, Spent


class Heard:
    def __init__(self, listener: Listener) -> None:
        self.listener, self.began = listener, time.monotonic()
        self.result: ResultMessage | None = None
        self.session, self.said = "", ""
        """`said` are the latest words of the model, whole or as far as they came."""
        self.wait: float | None = None
        """Seconds that the server last asked to wait."""
        self.ran: set[str] = set()
        """Ids of calls that were carried out."""
        self._turns: dict[str, None] = {}
        self._streamed: set[str] = set()
        self._now = self._begun = ""

    def take(self, message: Message) -> None:
        match message:
            case StreamEvent(event=event):
                self._stream(event)
            case AssistantMessage():
                self._assistant(message)
            case UserMessage(content=list() as blocks):
                self.ran.update(each.tool_use_id for each in blocks if isinstance(each, ToolResultBlock) and not each.is_error)
            case SystemMessage(subtype="init", data=data):
                self.session = str(data.get("session_id", ""))
            case SystemMessage(subtype="api_retry", data=data):
                self._retry(data)
            case ResultMessage():
                self.result, self.session = message, message.session_id
                self.listener.spent(self.spent)

    def _stream(self, event: Mapping[str, Any]) -> None:
        """Where a stream breaks off, the CLI asks again and its words come once more; we have no way to unsay the first."""
        if event.get("type") == "message_start":
            self._now, self._begun = str(event["message"].get("id", "")), ""
        elif event.get("type") == "content_block_delta" and (words := event["delta"].get("text")):
            self._streamed.add(self._now)
            self.said = self._begun = self._begun + words
            self.listener.says(words)
        elif event.get("type") == "content_block_stop" and self._begun:
            self._begun = ""
            self.listener.says("\n")

    def _assistant(self, message: AssistantMessage) -> None:
        if message.model == "<synthetic>":  # the CLI's own words for a failure, which the result repeats
            return
        words = "".join(each.text for each in message.content if isinstance(each, TextBlock))
        if words and message.message_id not in self._streamed:
            self.listener.says(f"{words}\n")
        self.said = words or self.said
        self._turns[message.message_id or ""] = None
        self.listener.spent(self.spent)

    def _retry(self, data: Mapping[str, Any]) -> None:
        delay = data.get("retry_delay_ms")
        if data.get("error_status") == 429 and isinstance(delay, (int, float)):
            self.wait = delay / 1000

    @property
    def spent(self) -> Spent:
        return Spent(len(self._turns), time.monotonic() - self.began, self._dollars())

    def _dollars(self) -> float | None:
        """The CLI makes up a price for a model that it doesn't know, and says so; then we tell none."""
        if self.result is None or self.result.total_cost_usd is None:
            return None
        bases = {str(dict(each).get("costBasis", "")) for each in (self.result.model_usage or {}).values()}
        return self.result.total_cost_usd if bases == {"list"} else None

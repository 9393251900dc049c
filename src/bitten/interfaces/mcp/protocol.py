"""JSON-RPC 2.0 and the Model Context Protocol: what each message asks, and what is answered. Knows no case, file or process.

Both ages of the protocol are spoken, told apart by each message: up to 2025-11-25 a handshake settles the version; from
2026-07-28 on each request names it in its own envelope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from bitten import __version__

from .lines import Unreadable, parse
from .tools import BY_NAME, INSTRUCTIONS, TOOLS

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN = ("2026-07-28",)
"""Newest first. A client that asks for another handshake is offered the newest, and goes on or goes."""
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
BUSY, UNSUPPORTED_VERSION = -32000, -32022
_META = "io.modelcontextprotocol/"
SERVER = {"name": "bitten", "title": "bitten", "version": __version__}
_AGES = {"ttlMs": 0, "cacheScope": "private"}
"""For how long a client may keep an answer."""

Message = dict[str, Any]
Answer = Callable[[Message | None], None]
"""Takes the response to one message; None when it gets none."""
Result = Callable[[Message], None]


class Calls(Protocol):
    """Whoever does the calls of tools."""

    def start(self, key: object, tool: str, arguments: Message, client: str, told: Result, progress: Callable[[str], None] | None) -> bool:
        """`told` gets the result, later. False when too many wait already."""
        ...

    def cancel(self, key: object) -> bool:
        """End it; nothing is told of it then. False where there is no such call."""
        ...


class Failed(Exception):  # noqa: N818 - what becomes an error on the wire, not one of ours
    """A request that can't be served."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class Session:
    """One client. Responses and notifications go to `send`, a message or a batch at a time."""

    def __init__(self, send: Callable[[Any], None], calls: Calls) -> None:
        self._send, self._calls = send, calls
        self._client = ""
        self._waits: dict[object, Answer] = {}

    def heard(self, line: bytes | None) -> None:
        """A line of the client's; nothing that it holds raises."""
        try:
            message = parse(line)
        except Unreadable as why:
            self._send(_error(None, Failed(PARSE_ERROR, f"Parse error: {why}.")))
            return
        if isinstance(message, list) and message:
            self._batch(message)
        else:
            self._one(message, lambda response: self._send(response) if response else None)

    def _batch(self, messages: list[Any]) -> None:
        """Answered as one list, when the last of them is."""
        responses: list[Message | None] = []

        def collect(response: Message | None) -> None:
            responses.append(response)
            told = [each for each in responses if each]
            if len(responses) == len(messages) and told:
                self._send(told)

        for message in messages:
            self._one(message, collect)

    def _one(self, message: Any, answer: Answer) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
            answer(None if _is_response(message) else _error(_id_of(message), Failed(INVALID_REQUEST, "Invalid Request.")))
        elif "id" not in message:
            self._notified(message["method"], message.get("params"))
            answer(None)
        elif _id_of(message) is None:
            answer(_error(None, Failed(INVALID_REQUEST, "Invalid Request: an id is a string or an integer.")))
        else:
            self._request(message, answer)

    def _notified(self, method: str, params: Any) -> None:
        """Only one of them asks for something."""
        if method == "notifications/cancelled" and isinstance(params, dict):
            key = _key(params.get("requestId"))
            if key in self._waits and self._calls.cancel(key):
                self._waits.pop(key)(None)

    def _request(self, message: Message, answer: Answer) -> None:
        try:
            params = _object(message.get("params"))
            if params is None:
                raise Failed(INVALID_PARAMS, "Invalid params: an object was expected.")
            if _key(message["id"]) in self._waits:
                raise Failed(INVALID_REQUEST, "Invalid Request: a request with this id is still at work.")
            modern = _envelope(params)
            if message["method"] == "tools/call":
                self._call(message["id"], params, modern, answer)
            else:
                answer(_result(message["id"], self._served(message["method"], params, modern), modern))
        except Failed as failed:
            answer(_error(message["id"], failed))

    def _served(self, method: str, params: Message, modern: bool) -> Message:
        if method == "initialize":
            return self._initialized(params)
        if method == "server/discover":
            return {"supportedVersions": [*MODERN, *HANDSHAKE], "capabilities": {"tools": {}}, "instructions": INSTRUCTIONS, **_AGES}
        if method == "ping":
            return {}
        if method != "tools/list":
            raise Failed(METHOD_NOT_FOUND, "Method not found.", method)
        if params.get("cursor") is not None:
            raise Failed(INVALID_PARAMS, "Invalid params: there is but one page.")
        return {"tools": list(TOOLS), **(_AGES if modern else {})}

    def _initialized(self, params: Message) -> Message:
        asked = params.get("protocolVersion")
        self._client = _name(params.get("clientInfo"))
        version = asked if isinstance(asked, str) and asked in HANDSHAKE else HANDSHAKE[0]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": SERVER, "instructions": INSTRUCTIONS}

    def _call(self, request: Any, params: Message, modern: bool, answer: Answer) -> None:
        tool, arguments, key = params.get("name"), _object(params.get("arguments")), _key(request)
        if not isinstance(tool, str) or tool not in BY_NAME:
            raise Failed(INVALID_PARAMS, f"Unknown tool: {tool if isinstance(tool, str) else 'none was named'}.")
        if arguments is None:
            raise Failed(INVALID_PARAMS, "Invalid params: `arguments` is an object.")
        meta = _meta(params)
        client = _name(meta.get(f"{_META}clientInfo")) if modern else self._client
        self._waits[key] = answer

        def told(result: Message) -> None:
            self._waits.pop(key)(_result(request, result, modern))

        if not self._calls.start(key, tool, arguments, client or "unknown", told, self._progress(meta.get("progressToken"))):
            del self._waits[key]
            raise Failed(BUSY, "Too many calls are waiting: wait for an answer first.")

    def _progress(self, token: Any) -> Callable[[str], None] | None:
        if _key(token) is None:
            return None
        count = 0

        def tell(words: str) -> None:
            nonlocal count
            count += 1
            params = {"progressToken": token, "progress": count, "message": words}
            self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

        return tell


def _envelope(params: Message) -> bool:
    """Whether the request names its own version, as they do since 2026-07-28. Raises: Failed, when it can't be served so."""
    meta = _meta(params)
    if f"{_META}protocolVersion" not in meta:
        return False
    asked = meta[f"{_META}protocolVersion"]
    if not isinstance(asked, str) or f"{_META}clientCapabilities" not in meta:
        raise Failed(INVALID_PARAMS, f"Invalid params: _meta holds {_META}protocolVersion, a string, and {_META}clientCapabilities.")
    if asked not in MODERN:
        raise Failed(UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": [*MODERN, *HANDSHAKE], "requested": asked})
    return True


def _object(found: Any) -> Message | None:
    """None where it is no object; what is left out, or null, is an empty one."""
    return {} if found is None else found if isinstance(found, dict) else None


def _meta(params: Message) -> Mapping[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _result(request: Any, result: Message, modern: bool) -> Message:
    if modern:
        result = {"resultType": "complete", **result, "_meta": {f"{_META}serverInfo": SERVER}}
    return {"jsonrpc": "2.0", "id": request, "result": result}


def _error(request: Any, failed: Failed) -> Message:
    return {"jsonrpc": "2.0", "id": request, "error": failed.error}


def _id_of(message: Any) -> str | int | None:
    """None where it has none that can be answered to."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if _key(found) is not None else None


def _key(found: Any) -> tuple[str, str | int] | None:
    """An id or a token to look up by: true is no 1, and "1" is another one."""
    return (type(found).__name__, found) if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def _is_response(message: Any) -> bool:
    """We asked for nothing, so it is nothing to us."""
    return isinstance(message, dict) and "method" not in message and ("result" in message or "error" in message)


def _name(client: Any) -> str:
    """A client's name as a word that can stand in a journal."""
    name = client.get("name") if isinstance(client, dict) else None
    letters = name if isinstance(name, str) else ""
    return "".join(each if each.isascii() and (each.isalnum() or each in "-_.") else "-" for each in letters).strip("-")[:40]

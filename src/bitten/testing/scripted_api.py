"""A Messages API on loopback that plays a script: it shows what a client does with given model output, never how a model thinks.

Each request that carries tools takes the next step of the script; when it is exhausted, the model says so and ends its turn:

    {"text": "hello"}                                   words, and the turn ends
    {"text": "…", "tool": "Read", "input": {…}}         one tool call, words before it if there are any
    {"tools": [["Read", {…}], ["Edit", {…}]]}           several at once
    {"status": 529, "error": "overloaded_error", "headers": {…}}    an HTTP error
    {"sse_error": "overloaded_error"}                   an error event in the stream
    {"hang": 5}, {"stall": 5}                           seconds of silence before the headers, or amid the stream
    {"truncate": 3}, {"garbage": true}, {"html": true}, {"drop": true}   a cut stream, broken JSON, another page, a cut connection

`times` plays a step so often; `usage` and `stop_reason` take the place of what would be said. In strings of an input, `$last_result`
stands for the text of the last tool result.
"""

from __future__ import annotations

import json
import socket
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = Mapping[str, Any]
OVER: Step = {"text": "(the script is over)"}


class Request:
    """One request as it came: `path` with its query, `body` as JSON (None where it had none)."""

    def __init__(self, method: str, path: str, headers: Mapping[str, str], body: dict[str, Any] | None) -> None:
        self.method, self.path, self.headers, self.body = method, path, dict(headers), body

    @property
    def is_main(self) -> bool:
        """Whether it is one of the model's turns, and not an aside such as a title."""
        return self.path.split("?")[0] == "/v1/messages" and bool((self.body or {}).get("tools"))

    @property
    def tools(self) -> list[str]:
        return [each.get("name", "") for each in (self.body or {}).get("tools", [])]

    @property
    def told(self) -> str:
        """All text that the model was told in this request: system, messages and tool results."""
        body = self.body or {}
        said = (text for each in body.get("messages", []) for text in _texts(each.get("content")))
        return "\n".join((*_texts(body.get("system")), *said))

    @property
    def last_result(self) -> str:
        """The text of the last message of the user's side, where tool results stand."""
        messages = [each for each in (self.body or {}).get("messages", []) if each.get("role") == "user"]
        return "\n".join(_texts(messages[-1].get("content"))) if messages else ""


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield from _texts(block.get("text"))
            yield from _texts(block.get("content"))


class ScriptedAPI:
    """`with ScriptedAPI(steps) as api:` listens at `api.url`; `api.requests` holds all that came, `api.turns` the model's turns.

    `steps` may be extended while it listens.
    """

    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self.steps = [dict(step) for step in steps]
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def turns(self) -> list[Request]:
        return [each for each in self.requests if each.is_main]

    @property
    def strangers(self) -> list[str]:
        """Requests to anything but the Messages API."""
        return [f"{each.method} {each.path}" for each in self.requests if each.path.split("?")[0] != "/v1/messages"]

    def wait(self, seconds: float) -> None:
        """Silence; cut short when the server closes, so that no test waits for it."""
        self._over.wait(seconds)

    def take(self, request: Request) -> Step:
        """Note a request, and answer with the step to play."""
        with self._lock:
            self.requests.append(request)
            if not request.is_main:
                return {"text": "aside"}
            if not self.steps:
                return OVER
            step = self.steps[0]
            step["times"] = step.get("times", 1) - 1
            return step if step["times"] > 0 else self.steps.pop(0)

    def __enter__(self) -> ScriptedAPI:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: ScriptedAPI

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: what came stands in `requests`."""

    def do_HEAD(self) -> None:
        self.api.take(Request("HEAD", self.path, dict(self.headers.items()), None))
        self._page(200, b"", "text/plain")

    def do_GET(self) -> None:
        self.api.take(Request("GET", self.path, dict(self.headers.items()), None))
        self._failure({"status": 404, "error": "not_found_error"})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = Request("POST", self.path, dict(self.headers.items()), json.loads(raw or b"{}"))
        step = self.api.take(request)
        if request.path.split("?")[0] != "/v1/messages":
            return self._failure({"status": 404, "error": "not_found_error"})
        try:
            self._play(_filled(step, request.last_result), request.body or {})
        except (BrokenPipeError, ConnectionResetError):  # the client went away, which some scripts are about
            self.close_connection = True

    def _play(self, step: Step, body: Mapping[str, Any]) -> None:
        self.api.wait(step.get("hang", 0))
        if "status" in step:
            self._failure(step)
        elif step.get("drop"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif step.get("html"):
            self._page(200, b"<html><body>a captive portal</body></html>", "text/html")
        elif body.get("stream"):
            self._stream(step, body)
        else:
            self._page(200, json.dumps(message(step, body)).encode(), "application/json")

    def _failure(self, step: Step) -> None:
        told = {"type": "error", "error": {"type": step.get("error", "api_error"), "message": step.get("message", "a scripted failure")}}
        self._page(step["status"], json.dumps(told).encode(), "application/json", step.get("headers", {}))

    def _page(self, status: int, content: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, step: Step, body: Mapping[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        if step.get("sse_error"):
            self._put("error", {"type": "error", "error": {"type": step["sse_error"], "message": "a scripted failure"}})
            return
        for number, event in enumerate(events(step, body), 1):
            self._put(event["type"], event, broken=step.get("garbage", False) and event["type"] == "content_block_delta")
            if number == step.get("truncate"):
                return
            if event["type"] == "content_block_start":
                self.api.wait(step.get("stall", 0))

    def _put(self, name: str, event: Mapping[str, Any], broken: bool = False) -> None:
        data = json.dumps(event)
        self.wfile.write(f"event: {name}\ndata: {data[:len(data) // 2] if broken else data}\n\n".encode())
        self.wfile.flush()


def _filled(step: Step, last: str) -> Step:
    filled: dict[str, Any] = json.loads(json.dumps(dict(step)).replace("$last_result", json.dumps(last)[1:-1]))
    return filled


def _blocks(step: Step) -> list[dict[str, Any]]:
    calls = [*step.get("tools", ()), *([[step["tool"], step.get("input", {})]] if "tool" in step else [])]
    words = [{"type": "text", "text": step["text"]}] if "text" in step else []
    return [*words, *({"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": given} for name, given in calls)]


def message(step: Step, body: Mapping[str, Any]) -> dict[str, Any]:
    """The whole answer, as a client that does not stream gets it."""
    blocks = _blocks(step)
    usage = {"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 7,
             "service_tier": "standard"}
    stop = step.get("stop_reason") or ("tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn")
    return {"id": f"msg_{uuid.uuid4().hex[:20]}", "type": "message", "role": "assistant", "model": body.get("model", "scripted"),
            "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": {**usage, **step.get("usage", {})}}


def events(step: Step, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same answer as a stream, in the order that clients insist on."""
    whole = message(step, body)
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        text = block["type"] == "text"
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **({"text": ""} if text else {"input": {}})}}
        delta = {"type": "text_delta", "text": block["text"]} if text else {
            "type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
           "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}

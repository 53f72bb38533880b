"""An OpenAI-compatible server on a loopback port, which counts what it is asked and misbehaves on demand."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Fault = Callable[["_Handler"], None]


class Loopback:
    """Answers chat completions with `answer(body)`: a text, or a whole message. Each of `faults` is used for one request, in order.

    `bodies`, `headers`: of all requests, in the order of arrival. `answered`: bodies of those that got a whole answer.
    """

    def __init__(self, answer: Callable[[Body], str | Body], faults: Iterable[Fault | None] = (), latency_s: float = 0.0):
        self.answer, self.faults, self.latency_s = answer, deque(faults), latency_s
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.answered: list[Body] = []
        self.finish = "stop"
        self.lock = threading.Lock()
        self.most = self.under_way = 0
        self.stopped = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.loopback = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    loopback: Loopback

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        loopback = self.server.loopback
        self.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with loopback.lock:
            loopback.bodies.append(self.body)
            loopback.headers.append({name.lower(): value for name, value in self.headers.items()})
            fault = loopback.faults.popleft() if loopback.faults else None
            loopback.under_way += 1
            loopback.most = max(loopback.most, loopback.under_way)
        try:
            if fault is not None:
                fault(self)
                return
            time.sleep(loopback.latency_s)
            self.say(200, completion(loopback.answer(self.body), self.body, loopback.finish))
            with loopback.lock:
                loopback.answered.append(self.body)
        finally:
            with loopback.lock:
                loopback.under_way -= 1

    def say(self, status: int, content: Any, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def completion(answer: str | Body, body: Body, finish: str = "stop") -> Body:
    message = {"role": "assistant", "content": answer} if isinstance(answer, str) else answer
    usage = {"prompt_tokens": len(json.dumps(body["messages"])) // 4, "completion_tokens": len(json.dumps(message)) // 4}
    return {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    }


def status(code: int, **headers: str) -> Fault:
    """An HTTP error, which echoes the key as careless servers do."""

    def fault(handler: _Handler) -> None:
        message = f"no, {handler.headers.get('authorization')}"
        handler.say(code, {"error": {"message": message, "type": "error", "code": None}}, **headers)

    return fault


def too_long(handler: _Handler) -> None:
    message = "This model's maximum context length is 1024 tokens, but you asked for more."
    handler.say(400, {"error": {"message": message, "type": "BadRequestError", "code": 400}})


def hang(handler: _Handler) -> None:
    """Never answers."""
    handler.server.loopback.stopped.wait()
    handler.close_connection = True


def trickle(handler: _Handler) -> None:
    """Sends a byte now and then, so that no pause is long enough for a read time-out."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.server.loopback.stopped.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def drop(handler: _Handler) -> None:
    """Closes the connection instead of answering."""
    handler.close_connection = True


def half_body(handler: _Handler) -> None:
    """Closes the connection in the middle of the answer."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"mess')
    handler.close_connection = True


def garbage(handler: _Handler) -> None:
    """A whole body that is no chat completion."""
    handler.say(200, b"<html>proxy: try again</html>")


def content(text: str, finish: str = "stop") -> Fault:
    """A proper completion with this content: what the network did well and the model did not."""
    return lambda handler: handler.say(200, completion(text, handler.body, finish))

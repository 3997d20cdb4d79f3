"""A model's endpoint of OpenAI's shape on loopback, which says what it is told: ``with Llm(reply, ...) as llm``."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


def completion(text: Any, finish: str = "stop", **message: Any) -> tuple[int, dict[str, Any]]:
    """An answer as such endpoints send it."""
    message = {"role": "assistant", "content": text, **message}
    return 200, {"model": "small-1", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def failure(status: int, message: str = "", **headers: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    """An error as such endpoints send it; ``_`` in a header's name stands for ``-``."""
    return status, {"error": {"message": message}}, {name.replace("_", "-"): text for name, text in headers.items()}


class Llm(ThreadingHTTPServer):
    """Gives one reply after the other, the last one for ever; None hangs until the end.

    A reply is ``(status, body)`` or ``(status, body, headers)``, where a body is JSON or bytes, or a function of the
    request's JSON that returns one.  ``requests`` are ``(path, headers, JSON)``.
    """

    daemon_threads = True
    block_on_close = True

    def __init__(self, *replies: Any) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = list(replies)
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self.busy = self.most = 0  # requests under way, and their most

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The requests' JSON."""
        return [body for _, _, body in self.requests]

    def __enter__(self) -> Self:
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()
        self.thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Llm

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests.append((self.path, dict(self.headers.items()), body))
            reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
            server.busy += 1
            server.most = max(server.most, server.busy)
        if callable(reply):
            reply = reply(body)
        with server.lock:
            server.busy -= 1
        if reply is None:
            server.closing.wait(30)
            return
        status, content, *headers = reply
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers[0] if headers else {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the signature of http.server
        """Quiet."""

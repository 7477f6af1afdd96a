"""An HTTP endpoint on the loopback address that answers from a script and keeps what it was asked."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Step:
    """One answer: JSON (or raw bytes) with a status and headers; or the connection dropped, or held for ever."""

    body: object = None
    status: int = 200
    headers: dict = field(default_factory=dict)
    drop: bool = False
    hold: bool = False
    trickle: bool = False


@dataclass(frozen=True)
class Asked:
    """One request as it arrived, with when and over which connection."""

    path: str
    headers: dict
    body: dict
    at: float
    connection: tuple


class LoopbackEndpoint:
    """Answers the script's steps in order, the last one again and again; `asked` has the requests."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.asked: list[Asked] = []
        self.arrived = threading.Event()
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answers(self, *steps: object) -> None:
        """Set the script; what is not a `Step` is the JSON of one with status 200."""
        self.steps = [step if isinstance(step, Step) else Step(step) for step in steps]

    def take(self, asked: Asked) -> Step:
        with self._lock:
            self.asked.append(asked)
            self.arrived.set()
            return self.steps[min(len(self.asked), len(self.steps)) - 1]

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(endpoint: LoopbackEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            step = endpoint.take(Asked(self.path, headers, body, time.monotonic(), self.client_address))
            if step.hold:
                endpoint.released.wait()
            if step.drop or step.hold:
                self.close_connection = True
                return
            self._send(step)

        def _send(self, step: Step) -> None:
            data = step.body if isinstance(step.body, bytes) else json.dumps(step.body).encode()
            self.send_response(step.status)
            for name, value in {"content-length": str(len(data)), **step.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self._write(data, step.trickle)
            except OSError:  # the client has heard enough
                self.close_connection = True

        def _write(self, data: bytes, trickle: bool) -> None:
            if not trickle:
                self.wfile.write(data)
                return
            for byte in data:
                self.wfile.write(bytes([byte]))
                if endpoint.released.wait(0.03):
                    return

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    return Handler


def chat(content: object, finish: str = "stop", **message: object) -> dict:
    """Return a chat answer as OpenAI's reference describes it."""
    return {
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def vectors(*rows: tuple) -> dict:
    """Return an embeddings answer of (index, embedding) pairs."""
    data = [{"object": "embedding", "index": index, "embedding": embedding} for index, embedding in rows]
    return {"data": data, "usage": {"prompt_tokens": 5, "total_tokens": 5}}

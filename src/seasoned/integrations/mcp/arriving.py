"""What arrives, before the protocol reads it: text that can be read, of bounded size, and from no web page."""

from __future__ import annotations

import io
import os
import re
import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from seasoned.integrations.mcp.framework import Application, Message, Receive, Response, Scope, Send

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_BYTES: Final = 4 * 1024 * 1024
"""Most bytes of one request over HTTP."""

CHUNK: Final = 65_536

_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
r"""An escape of a JSON string: a pair of surrogates, one without the other (the group), or any other."""

_REPLACED: Final = rb"\ufffd"


def mended(written: bytes) -> bytes:
    r"""Return JSON text whose lone surrogates, such as `"\ud83d"`, are replaced, and so are bytes that are no UTF-8.

    A client that cuts a text in the middle of a pair sends a lone one. It is valid JSON and no valid text: the
    protocol's own reader does not take the message, and over standard input never answers it.
    """
    text = written.decode("utf-8", "replace").encode()
    return _ESCAPE.sub(lambda found: _REPLACED if found[1] else found[0], text) if b"\\u" in text else text


class Lines(io.RawIOBase):
    """Standard input, mended: whole lines as they come, until it ends or `end` is called."""

    def __init__(self, source: int, ended: int | None = None) -> None:
        """Read the descriptor `source`; it ends, too, as soon as the descriptor `ended` can be read."""
        self._source, self._ended = source, ended
        self._rest = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, into: WriteableBuffer, /) -> int:
        """Fill a buffer as far as there is something, and return how far; 0 at the end."""
        if not self._ready:
            self._ready = memoryview(mended(self._whole()))
        room = memoryview(into).cast("B")
        given = min(len(room), len(self._ready))
        room[:given] = self._ready[:given]
        self._ready = self._ready[given:]
        return given

    def _whole(self) -> bytes:
        """Return the next lines, each whole; at the end what is left."""
        parts, newline = [self._rest], b""
        self._rest = b""
        while not newline and (chunk := self._chunk()):
            begun, newline, rest = chunk.rpartition(b"\n")
            parts += [begun, newline] if newline else [chunk]
            self._rest = rest if newline else b""
        return b"".join(parts)

    def _chunk(self) -> bytes:
        if self._ended is not None and self._ended in select.select([self._source, self._ended], [], [])[0]:
            return b""
        return os.read(self._source, CHUNK)


@contextmanager
def ending() -> Iterator[tuple[int, int]]:
    """Give a pipe, reading and writing end, by which one thread ends what another reads."""
    reading, writing = os.pipe()
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


class Gate:
    """A web application that is asked only what it may be: by no web page, in bounded size, with text mended."""

    def __init__(self, app: Application, *, pages: bool) -> None:
        """Stand before `app`; `pages`: leave it to the application which pages may ask."""
        self._app, self._pages = app, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        asked = scope["type"] == "http"
        if asked and not self._pages and any(name == b"origin" for name, _ in scope["headers"]):
            await Response("a web page may not ask this server", status_code=403)(scope, receive, send)
        elif not asked or scope["method"] != "POST":
            await self._app(scope, receive, send)
        elif (read := await _read(receive)) is None:
            await Response(f"a request has at most {MOST_BYTES} bytes", status_code=413)(scope, receive, send)
        else:
            await self._app(scope, _replaying(read, receive), send)


async def _read(receive: Receive) -> Message | None:
    """Return a request's body in one message, or that its client is gone; None where it is too large."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            return None
    return {"type": "http.request", "body": mended(bytes(body)), "more_body": False}


def _replaying(first: Message, receive: Receive) -> Receive:
    waiting = [first]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay

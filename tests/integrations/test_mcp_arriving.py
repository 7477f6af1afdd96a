"""What arrives at an MCP server, before the protocol reads it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("mcp.server", reason="mcp is not installed")
from seasoned.integrations.mcp.arriving import MOST_BYTES, Gate, Lines, ending, mended

ANY = st.text(st.characters(exclude_categories=[]) | st.sampled_from('\ud800\udbff\udc00\udfff\\u"d8'))
"""Texts with lone surrogates, too."""


def readable(text):
    """Return a text whose lone surrogates are replaced; pairs become the character that they mean."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# text


@given(ANY)
def test_what_is_mended_is_always_text(text):
    """A pair of surrogates stays, one alone is replaced, and no other escape is touched."""
    for written in (json.dumps(text), json.dumps(text).replace("\\ud", "\\uD")):
        assert json.loads(mended(written.encode())) == readable(text)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (rb'"cut \ud83d"', rb'"cut \ufffd"'),
        (rb'"\ude00\ud83d"', rb'"\ufffd\ufffd"'),
        (rb'"\ud83d\ude00"', rb'"\ud83d\ude00"'),
        (rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"'),
        (rb'"\\ud83d"', rb'"\\ud83d"'),
        (rb'"\\\ud83d"', rb'"\\\ufffd"'),
        (b'"\xff"', b'"\xef\xbf\xbd"'),
        (b'"\xed\xa0\xbd"', b'"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"'),
    ],
)
def test_a_lone_surrogate_is_replaced(written, expected):
    """So are bytes that are no UTF-8."""
    assert mended(written) == expected


# standard input


@given(st.lists(ANY, max_size=5), st.lists(st.integers(1, 40), min_size=1, max_size=5), st.booleans())
def test_lines_come_as_they_were_written(texts, sizes, whole):
    """However the client cuts what it writes, and whether or not it ends the last line."""
    written = "".join(f"{json.dumps(text)}\n" for text in texts).encode()
    written = written if whole else written.removesuffix(b"\n")
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as out:
        start = 0
        while start < len(written):
            size = sizes[start % len(sizes)]
            out.write(written[start : start + size])
            start += size
    try:
        got = io.TextIOWrapper(io.BufferedReader(Lines(reading)), encoding="utf-8").read().splitlines()
    finally:
        os.close(reading)
    assert [json.loads(line) for line in got] == [readable(text) for text in texts]


def test_a_line_comes_before_the_next_is_written():
    """A client waits for its answer before it writes on."""
    reading, writing = os.pipe()
    try:
        lines = io.BufferedReader(Lines(reading))
        for line in (b"one\n", b"two\n"):
            os.write(writing, line)
            assert lines.readline() == line
    finally:
        os.close(writing)
        os.close(reading)


def test_what_is_read_ends_when_it_is_told_to():
    """Although the client has not closed it."""
    reading, writing = os.pipe()
    try:
        with ending() as (ended, end):
            lines = io.BufferedReader(Lines(reading, ended))
            os.write(writing, b"one\n")
            assert lines.readline() == b"one\n"
            waiting = threading.Thread(target=lambda: got.append(lines.readline()))
            got: list[bytes] = []
            waiting.start()
            os.write(end, b".")
            waiting.join(timeout=30)
        assert got == [b""]
    finally:
        os.close(writing)
        os.close(reading)


# requests


def asked(*chunks, method="POST", origin=None, pages=True):
    """Return the status that a gate answers, and the bodies that the application behind it was given."""
    bodies, statuses = [], []

    async def app(scope, receive, send):
        message = await receive()
        bodies.append(message.get("body"))
        await send({"type": "http.response.start", "status": 200, "headers": []})

    waiting = [{"type": "http.request", "body": each, "more_body": each is not chunks[-1]} for each in chunks]

    async def receive():
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message):
        statuses.append(message.get("status"))

    headers = [] if origin is None else [(b"origin", origin)]
    scope = {"type": "http", "method": method, "path": "/mcp", "headers": headers}
    asyncio.run(Gate(app, pages=pages)(scope, receive, send))
    return statuses[0], bodies


def test_a_request_is_handed_on_mended_in_one_piece():
    """Wherever it was cut on its way."""
    assert asked(b'{"text": "cut \\u', b'd83d"}') == (200, [b'{"text": "cut \\ufffd"}'])


def test_a_request_that_is_too_large_is_turned_away():
    """It is not read to its end; the largest one is taken."""
    assert asked(b"x" * MOST_BYTES)[0] == 200
    assert asked(b"x" * MOST_BYTES, b"x", b"never read") == (413, [])


@pytest.mark.parametrize("origin", [b"http://example.com", b"null", b"http://localhost:3000"])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_no_web_page_may_ask_where_none_is_let_in(origin, method):
    """Whichever it is; a client that is no page says no origin and may."""
    assert asked(b"{}", method=method, origin=origin, pages=False) == (403, [])
    assert asked(b"{}", method=method, pages=False) == (200, [b"{}"])


def test_a_client_that_goes_while_it_sends_is_not_waited_for():
    """The application is told so."""
    assert asked() == (200, [None])

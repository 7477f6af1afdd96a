"""What is read from answers, without a connection."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seasoned.models.wire import (
    Answer,
    ChatAnswer,
    Dialect,
    ExchangeError,
    adapted,
    may_retry,
    read_chat,
    read_embeddings,
)

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "refusal", "text", "type", "usage", "data", "index",
                             "embedding", "finish_reason", "prompt_tokens", "error", "param", "code"]),
            inner,
        )
    ),
    max_leaves=20,
)  # fmt: skip


def answer(body=b"", status=200, **headers):
    return Answer("http://host/v1", status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def outcome(read):
    try:
        return read()
    except ExchangeError as error:
        return error


@pytest.mark.parametrize(
    ("headers", "again"),
    [
        ({}, True),
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after": "-5"}, 0.0),
        ({"retry_after": "60"}, 60.0),
        ({"retry_after": "61"}, False),
        ({"retry_after": "inf"}, False),
        ({"retry_after": "nan"}, True),
        ({"retry_after": "soon"}, True),
        ({"retry_after": ""}, True),
        ({"retry_after_ms": "250", "retry_after": "1"}, 0.25),
        ({"retry_after_ms": "x", "retry_after": "1"}, 1.0),
        ({"retry_after": "Sun, 29 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry_after": "Sun, 29 Nov 2026 12:00:30"}, 30.0),
        ({"retry_after": "Sun, 29 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry_after": "Mon, 30 Nov 2026 12:00:00 GMT"}, False),
    ],
)
def test_the_wait_is_what_the_endpoint_asks_for_up_to_a_minute(headers, again):
    """Seconds, milliseconds or a date; what cannot be read leaves the usual wait; more than a minute is not waited."""
    found = may_retry(answer(status=429, **headers), NOON)
    assert (type(found), found) == (type(again), again)


@given(st.text())
@example("Sun, 99 Nov 2026 12:00:30 GMT")
@example("1 Jan 0001 00:00:00 +2359")
def test_no_header_breaks_the_retry(value):
    """Whatever an endpoint writes, there is a wait within bounds or none."""
    found = may_retry(answer(status=503, retry_after=value, retry_after_ms=value), NOON)
    assert isinstance(found, bool) or 0 <= found <= 60


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_read_or_refused_and_never_raises_anything_else(body):
    """A chat gives text, embeddings give as many vectors as asked for, or it is an exchange that failed."""
    reply, vectors = outcome(lambda: read_chat(answer(body))), outcome(lambda: read_embeddings(answer(body), 1))
    if isinstance(reply, ChatAnswer):
        assert isinstance(reply.text, str)
    else:
        assert "http://host/v1" in reply.message
    if isinstance(vectors, tuple):
        assert len(vectors[0]) == 1
    else:
        assert "http://host/v1" in vectors.message


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_only_a_refused_parameter_changes_the_dialect(body):
    """Any other refusal is the caller's to see."""
    assert adapted(Dialect(), answer(body, status=400)) is None or b"unsupported_" in body

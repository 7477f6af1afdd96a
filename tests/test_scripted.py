"""What third parties test with: scripted models, a clock that stands still, and ids that count."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from seasoned.errors import InvalidInput, ModelError
from seasoned.testing import AsyncScriptedModel, FakeClock, ScriptedModel, sequential_ids

HELLO = [{"role": "user", "content": "hello"}]


def test_replies_come_in_order_and_calls_are_kept():
    """A text is returned, a function is called with the messages, an exception is raised."""
    model = ScriptedModel(["one", lambda messages: messages[0]["content"].upper(), TimeoutError("late")])
    assert model.chat(HELLO, max_tokens=5, temperature=0.5, tag="first") == "one"
    assert model.chat(HELLO) == "HELLO"
    assert model.remaining == 1
    with pytest.raises(TimeoutError, match="late"):
        model.chat(HELLO)
    first = model.calls[0]
    assert (first.messages, first.max_tokens, first.temperature, first.tag) == (tuple(HELLO), 5, 0.5, "first")
    assert first.text == "hello"
    assert len(model.calls) == 3


def test_an_async_model_does_the_same():
    """Only the waiting differs."""
    model = AsyncScriptedModel(["one"])
    assert asyncio.run(model.chat(HELLO, tag="first")) == "one"
    assert model.calls[0].tag == "first"


def test_a_script_that_has_ended_says_so():
    """The error counts replies and questions, names the tag, and the question is kept."""
    model = ScriptedModel(["one"])
    model.chat(HELLO)
    with pytest.raises(ModelError, match="has 1 replies, but a model was asked for number 2, tag 'more'"):
        model.chat(HELLO, tag="more")
    assert (len(model.calls), model.remaining) == (2, 0)


def test_what_was_asked_does_not_change_afterwards():
    """The calls hold copies."""
    message = {"role": "user", "content": "hello"}
    model = ScriptedModel([lambda messages: messages.pop()["content"]])
    model.chat([message])
    message["content"] = "changed"
    assert model.calls[0].messages == ({"role": "user", "content": "hello"},)


def test_a_clock_stands_still_until_it_is_moved():
    """Forwards by a delta or seconds; back only by `set`."""
    clock = FakeClock("2026-03-01T12:00:00Z")
    assert clock.now() == clock.now() == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert clock.advance(seconds=1.5) == datetime(2026, 3, 1, 12, 0, 1, 500_000, tzinfo=UTC)
    assert clock.advance(timedelta(days=1), seconds=0.5) == datetime(2026, 3, 2, 12, 0, 2, tzinfo=UTC)
    with pytest.raises(InvalidInput):
        clock.advance(seconds=-1)
    assert clock.set("2026-01-01") == clock.now() == datetime(2026, 1, 1, tzinfo=UTC)


def test_no_step_of_a_clock_is_lost_between_threads():
    """A thousand steps from eight threads add up."""
    clock = FakeClock()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: clock.advance(seconds=1), range(1000)))
    assert clock.now() == datetime(2026, 1, 1, 0, 16, 40, tzinfo=UTC)


def test_sequential_ids_count_and_are_never_given_twice():
    """Each source counts for itself, in any number of threads."""
    source, other = sequential_ids("run"), sequential_ids()
    assert [source(), source(), other()] == ["run-0001", "run-0002", "id-0001"]
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: source(), range(1000)))) == 1000
    with pytest.raises(InvalidInput):
        sequential_ids(" ")

"""The retriever, the chat history and the embeddings that LangChain gets."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from seasoned import HashingEmbedder, Memory
from seasoned.errors import InvalidInput, InvalidMessage
from seasoned.testing import FakeClock

messages = pytest.importorskip("langchain_core.messages", reason="langchain-core is not installed")
from seasoned.integrations.langchain_adapters import (  # noqa: E402  # only where it is installed
    SeasonedChatMessageHistory,
    SeasonedEmbeddings,
    SeasonedRetriever,
)

AIMessage, HumanMessage = messages.AIMessage, messages.HumanMessage
SystemMessage, ToolMessage = messages.SystemMessage, messages.ToolMessage


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    place = tmp_path / "agent.db" if request.param == "sqlite" else None
    with Memory(place, scope=("acme", "alice"), embedder="hashing", durability="normal", clock=FakeClock()) as opened:
        yield opened


@pytest.fixture
def history(memory: Memory) -> SeasonedChatMessageHistory:
    return SeasonedChatMessageHistory(memory, "s1")


# retriever


def test_documents_say_where_they_are_from(memory):
    """Text, id, kind, score, time and data of the record, the best first."""
    memory.remember("the vault code is 4711", id="n1", tags=["secret"], at="2026-01-31T12:00:00Z")
    memory.remember("the door is green", id="n2")
    first, *_ = SeasonedRetriever(memory=memory).invoke("vault code")
    assert (first.id, first.page_content) == ("n1", "the vault code is 4711")
    score = first.metadata.pop("score")
    assert first.metadata == {
        "id": "n1",
        "kind": "note",
        "at": "2026-01-31T12:00:00+00:00",
        "data": {"tags": ["secret"]},
    }
    assert 0 < score <= 1


def test_it_narrows_as_recall_does(memory):
    """By kinds, filter, number and scopes below."""
    memory.remember("tea one", id="n1", tags=["x"])
    memory.remember("tea two", id="n2", kind="fact")
    memory.within("below").remember("tea three", id="n3")

    def ids(query="tea", **options):
        return sorted(document.id for document in SeasonedRetriever(memory=memory, **options).invoke(query))

    assert ids() == ["n1", "n2"]
    assert ids(kinds=("fact",)) == ["n2"]
    assert ids(where={"data.tags": "x"}) == ["n1"]
    assert ids(subtree=True) == ["n1", "n2", "n3"]
    assert len(ids(k=1)) == 1
    assert len(SeasonedRetriever(memory=memory, k=1).invoke("tea", k=2)) == 2
    assert len(asyncio.run(SeasonedRetriever(memory=memory).ainvoke("tea"))) == 2


def test_a_misspelt_argument_is_refused(memory):
    """No option is passed over."""
    with pytest.raises(ValueError, match="kind"):
        SeasonedRetriever(memory=memory, kind="fact")
    with pytest.raises(InvalidInput):
        SeasonedRetriever(memory=memory).invoke("tea", k=0)


# chat history


def test_messages_come_back_as_they_were_added(history):
    """Text, parts, names, ids, tool calls and their results, images, in order."""
    said = [
        SystemMessage("Be brief.", id="m0"),
        HumanMessage("What is 6 x 7?", name="alice", id="m1"),
        AIMessage("", id="m2", tool_calls=[{"name": "multiply", "args": {"a": 6, "b": [7]}, "id": "c1"}]),
        ToolMessage("42", tool_call_id="c1", name="multiply", id="m3"),
        AIMessage("It is 42.", id="m4"),
        HumanMessage(
            [
                {"type": "text", "text": "And this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ],
            id="m5",
        ),
    ]
    history.add_messages(said)
    assert history.messages == said


def test_the_async_twins_do_the_same(history):
    """Add, read and clear, awaited."""

    async def used():
        await history.aadd_messages([HumanMessage("hi", id="m1"), AIMessage("hello", id="m2")])
        read = await history.aget_messages()
        await history.aclear()
        return read, await history.aget_messages()

    assert asyncio.run(used()) == ([HumanMessage("hi", id="m1"), AIMessage("hello", id="m2")], [])


def test_sessions_are_apart(memory, history):
    """Clearing one leaves the other; another memory's scope has neither."""
    other = SeasonedChatMessageHistory(memory, "s2")
    history.add_user_message("one")
    other.add_ai_message("two")
    history.clear()
    assert history.messages == []
    assert [message.content for message in other.messages] == ["two"]
    assert SeasonedChatMessageHistory(memory.within("below"), "s2").messages == []


def test_a_message_that_is_not_stored_is_in_the_log(history, caplog):
    """A blank one and a known one change nothing and are named, without text."""
    history.add_messages([HumanMessage("secret", id="m1")])
    with caplog.at_level(logging.WARNING, "seasoned"):
        history.add_messages([AIMessage(""), HumanMessage("secret too", id="m1")])
    assert history.messages == [HumanMessage("secret", id="m1")]
    assert [word in caplog.text for word in ("refused", "duplicate", "secret")] == [True, True, False]


def test_a_bad_message_stores_none(history):
    """All or nothing: a tool's result without its call's id is refused with the whole list."""
    with pytest.raises(InvalidMessage):
        history.add_messages([HumanMessage("hi"), ToolMessage("42", tool_call_id="")])
    assert history.messages == []


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ({"type": "function", "function": {"name": "f", "arguments": "no json"}}, "no json"),
        ({"type": "function", "function": {"name": "f", "arguments": "[1]"}}, "[1]"),
        ({"type": "custom", "custom": {"name": "f", "input": "SELECT 1"}}, "SELECT 1"),
    ],
)
def test_a_call_that_langchain_cannot_take_is_an_invalid_one(memory, history, call, given):
    """It hides neither the message nor those around it."""
    valid = {"id": "c0", "type": "function", "function": {"name": "g", "arguments": ""}}
    memory.conversation.add(
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "tool_calls": [valid, {"id": "c1", **call}]},
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
        ],
        "s1",
    )
    user, calling, result = history.messages
    assert (user.content, result.tool_call_id) == ("go", "c1")
    assert [(each["name"], each["args"], each["id"]) for each in calling.tool_calls] == [("g", {}, "c0")]
    assert [(each["name"], each["args"], each["id"]) for each in calling.invalid_tool_calls] == [("f", given, "c1")]


def test_what_was_added_is_recalled_and_fits_a_context(memory, history):
    """The history is the conversation itself."""
    history.add_messages([HumanMessage("my vault code is 4711"), AIMessage("noted")])
    assert memory.recall("vault code")[0].text == "my vault code is 4711"
    assert [message["role"] for message in memory.conversation.context(500, session="s1").messages] == [
        "user",
        "assistant",
    ]


# embeddings


def test_vectors_are_those_of_the_embedder():
    """Documents and queries alike, as lists of numbers."""
    wanted = HashingEmbedder().embed(["fog at dawn", "tea"])
    made = SeasonedEmbeddings("hashing")
    np.testing.assert_allclose(made.embed_documents(["fog at dawn", "tea"]), wanted)
    np.testing.assert_allclose(made.embed_query("tea"), wanted[1])
    assert made.embed_documents([]) == []
    assert asyncio.run(made.aembed_query("tea")) == made.embed_query("tea")
    assert all(type(number) is float for number in made.embed_query("tea"))


def test_without_langchain_the_import_names_the_extra():
    """Importing the adapters says what to install."""
    program = (
        "import sys; sys.modules['langchain_core.retrievers'] = None\n"
        "from seasoned.errors import MissingExtra\n"
        "try:\n    import seasoned.integrations.langchain_adapters\n"
        "except MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "langchain-core is not installed; run: pip install 'seasoned[langchain]'\n"

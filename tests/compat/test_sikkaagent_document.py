"""Sikka Agent's documented code, in its form, with the package's name replaced."""

from __future__ import annotations

import pytest

from ..models.endpoint import LoopbackEndpoint, chat

BASIC = """
from sikkaagent.memories import Memory
from sikkaagent.storages import InMemoryStorage
from sikkaagent.agents.base import BaseMessage
from sikkaagent.utils.enums import RoleType

memory = Memory(storage=InMemoryStorage())
memory.add_message(BaseMessage(content="You are a gardener.", role_name="System"), RoleType.SYSTEM)
memory.add_message(BaseMessage(content="When do I sow peas?", role_name="User"), RoleType.USER)
memory.add_message(BaseMessage(content="In March, under fleece.", role_name="Assistant"), RoleType.ASSISTANT)
context_messages, token_count = memory.get_context()
"""

AGENT = """
from sikkaagent.memories import Memory
from sikkaagent.storages import InMemoryStorage
from sikkaagent.agents import ChatAgent
from sikkaagent.models import ModelConfigure
from sikkaagent.utils.enums import ModelPlatformType

model = ModelConfigure(model="llama3.1:8b", model_platform=ModelPlatformType.OLLAMA)
agent = ChatAgent(model=model, memory=InMemoryStorage(), system_prompt="You are a gardener.")
first = agent.step("I am Vera, and I grow peas.").msgs[0].content
second = agent.step("Who am I?").msgs[0].content
"""

QDRANT = """
from sikkaagent.storages import Qdrant
from sikkaagent.memories import Memory
from sikkaagent.utils.enums import Distance

storage = Qdrant(
    collection_name="conversation_memory", vector_size=384, distance=Distance.COSINE, url=None, api_key=None
)
memory = Memory(storage=storage)
"""

SETTINGS = [
    "memory = Memory(storage=InMemoryStorage())",
    "memory = Memory(storage=InMemoryStorage(), window_size=10)",
    "memory = Memory(storage=InMemoryStorage(), token_counter=model.token_counter, token_limit=4000)",
    "memory = Memory(storage=InMemoryStorage(), keep_rate=0.8)",
]

OWN_STORAGE = """
from typing import Any, Protocol
from sikkaagent.storages import MemoryStorage

class Documented(Protocol):
    def save(self, records: list[dict[str, Any]]) -> None: ...
    def load(self) -> list[dict[str, Any]]: ...
    def clear(self) -> None: ...
"""


@pytest.fixture
def ollama(monkeypatch):
    """An endpoint that stands where Ollama would."""
    opened = LoopbackEndpoint()
    monkeypatch.setenv("OLLAMA_BASE_URL", opened.url)
    yield opened
    opened.close()


def run(code: str, names: dict | None = None) -> dict:
    """Run documented code with the package's name replaced."""
    names = {} if names is None else names
    exec(code.replace("from sikkaagent", "from seasoned.compat.sikkaagent"), names)  # noqa: S102  # written above
    return names


def test_the_basic_example_gives_the_context_and_its_tokens():
    """Three messages in OpenAI form, in order."""
    names = run(BASIC)
    assert names["context_messages"] == [
        {"role": "system", "content": "You are a gardener."},
        {"role": "user", "content": "When do I sow peas?"},
        {"role": "assistant", "content": "In March, under fleece."},
    ]
    assert 20 < names["token_count"] < 60


def test_the_agents_example_remembers_what_was_said(ollama):
    """At the second step the model is shown the first."""
    ollama.answers(chat("Hello Vera."), chat("You are Vera."))
    names = run(AGENT)
    assert (names["first"], names["second"]) == ("Hello Vera.", "You are Vera.")
    assert ollama.asked[1].path == "/v1/chat/completions"
    assert ollama.asked[1].body["model"] == "llama3.1:8b"
    assert ollama.asked[1].body["messages"] == [
        {"role": "system", "content": "You are a gardener."},
        {"role": "user", "content": "I am Vera, and I grow peas."},
        {"role": "assistant", "content": "Hello Vera."},
        {"role": "user", "content": "Who am I?"},
    ]


def test_the_qdrant_example_keeps_all_in_this_process():
    """Without a url there is no server, and two storages of one name share nothing."""
    pytest.importorskip("qdrant_client")
    one, other = run(QDRANT), run(QDRANT)
    one["storage"].save([{"uuid": "u1", "role_type": "user", "message": {"content": "hi"}}])
    assert [row["uuid"] for row in one["storage"].load()] == ["u1"]
    assert other["storage"].load() == []
    one["storage"].close()
    other["storage"].close()


@pytest.mark.parametrize("code", SETTINGS)
def test_each_setting_of_the_document_is_taken(code, ollama):
    """And none of them asks the model."""
    memory = run(code, run(AGENT.split("agent =")[0]))["memory"]
    assert memory.get_context() == ([], 0)
    assert ollama.asked == []


def test_the_documented_protocol_is_ours():
    """By the same three verbs."""
    names = run(OWN_STORAGE)
    verbs = {name for name in vars(names["Documented"]) if not name.startswith("_")}
    assert verbs == {name for name in vars(names["MemoryStorage"]) if not name.startswith("_")}

"""Agents: each step is a question to a model, its answer, and both remembered; models over a real connection."""

from __future__ import annotations

import asyncio
import gc

import pytest

from seasoned.compat.sikkaagent.agents import ChatAgent
from seasoned.compat.sikkaagent.agents.base import BaseMessage
from seasoned.compat.sikkaagent.memories import Memory
from seasoned.compat.sikkaagent.models import ModelConfigure
from seasoned.compat.sikkaagent.storages import InMemoryStorage, RecordStorage
from seasoned.compat.sikkaagent.utils.enums import ModelPlatformType, RoleType
from seasoned.errors import BudgetTooSmall, InvalidInput, ModelError, WrongType
from seasoned.testing import AsyncScriptedModel, ScriptedModel
from seasoned.tokens import EstimatedCounter

from ..models.endpoint import LoopbackEndpoint, Step, chat

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


@pytest.fixture
def endpoint():
    opened = LoopbackEndpoint()
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def no_platforms(monkeypatch):
    """No test sees what this machine's environment says of platforms."""
    for platform in ModelPlatformType:
        monkeypatch.delenv(f"{platform.name}_BASE_URL", raising=False)
        monkeypatch.delenv(f"{platform.name}_API_KEY", raising=False)


def contents(call) -> list[str]:
    return [message["content"] for message in call.messages]


def test_a_step_shows_the_model_what_was_said_before():
    """System prompt first; both sides are remembered."""
    model = ScriptedModel(["hello", "you are Vera"])
    agent = ChatAgent(model, InMemoryStorage(), "be kind")
    assert agent.step("I am Vera").msgs[0].content == "hello"
    response = agent.step("who am I")
    assert (response.msg.content, response.msg.role_name, response.terminated) == ("you are Vera", "Assistant", False)
    assert contents(model.calls[1]) == ["be kind", "I am Vera", "hello", "who am I"]
    assert [record.role_type for record in agent.memory.records()] == ["user", "assistant", "user", "assistant"]


def test_a_storage_a_memory_or_nothing_may_be_given():
    """A storage is wrapped in a memory, a memory is taken as it is, None is in this process."""
    storage, memory = InMemoryStorage(), Memory(window_size=0)
    assert ChatAgent(ScriptedModel("x"), storage).memory.storage is storage
    assert ChatAgent(ScriptedModel("x"), memory).memory is memory
    assert ChatAgent(ScriptedModel("x")).step("hi").msg.content == "x"
    with pytest.raises(WrongType):
        ChatAgent(ScriptedModel("x"), memory="agent.db")
    with pytest.raises(WrongType):
        ChatAgent(ScriptedModel("x"), system_prompt=7)


def test_the_system_prompt_is_the_agents_own():
    """It outlives a clear, can be changed, and another agent over the same storage has another one."""
    storage = InMemoryStorage()
    one, two = ScriptedModel(["a1", "a2", "a3"]), ScriptedModel(["b1"])
    first, second = ChatAgent(one, storage, "you are one"), ChatAgent(two, storage, "you are two")
    first.step("hi")
    second.step("and you")
    assert contents(two.calls[0]) == ["you are two", "hi", "a1", "and you"]
    first.memory.clear()
    first.step("again")
    assert contents(one.calls[1]) == ["you are one", "again"]
    first.system_prompt = "you are changed"
    first.step("more")
    assert contents(one.calls[2])[0] == "you are changed"


def test_a_prompt_that_was_also_added_as_a_message_is_shown_once():
    """As applications do that did so before."""
    model = ScriptedModel("x")
    agent = ChatAgent(model, system_prompt="be kind")
    agent.memory.add_message(BaseMessage("be kind", "System"), RoleType.SYSTEM)
    agent.step("hi")
    assert contents(model.calls[0]) == ["be kind", "hi"]


def test_what_is_sent_never_exceeds_the_memorys_limit():
    """The system prompt counts in it; where it cannot fit the error has both numbers, and the model is not asked."""
    model = ScriptedModel(["answer " * 50] * 30)
    agent = ChatAgent(model, Memory(token_limit=400), "be kind " * 20)
    for place in range(30):
        assert agent.step(f"question {place} " * 10).info["context_tokens"] <= 400
    assert max(EstimatedCounter()(call.messages) for call in model.calls) <= 400
    assert contents(model.calls[29])[0] == "be kind " * 20
    assert len(model.calls[29].messages) > 2
    small = ChatAgent(model, Memory(token_limit=20), "be kind " * 20)
    with pytest.raises(BudgetTooSmall, match="20") as raised:
        small.step("hi")
    assert (raised.value.budget, raised.value.needed > 20) == (20, True)
    assert len(model.calls) == 30


def test_a_step_that_failed_can_be_repeated():
    """What was said stays, and saying it again does not store it twice; saying something else does store that."""
    model = ScriptedModel([ModelError("down"), ModelError("down"), "hello", ModelError("down"), "fine"])
    agent = ChatAgent(model)
    for _ in range(2):
        with pytest.raises(ModelError, match="down"):
            agent.step("I am Vera")
    assert agent.step("I am Vera").msg.content == "hello"
    with pytest.raises(ModelError):
        agent.step("I am Vera")
    agent.step("how are you")
    said = [record.message.content for record in agent.memory.records()]
    assert said == ["I am Vera", "hello", "I am Vera", "how are you", "fine"]


@pytest.mark.parametrize("said", ["", "  \n"])
def test_a_step_says_something(said):
    """Or nothing is stored and the model is not asked."""
    model = ScriptedModel("x")
    agent = ChatAgent(model)
    with pytest.raises(InvalidInput, match="says something"):
        agent.step(said)
    assert (agent.memory.records(), model.calls) == ([], [])
    with pytest.raises(WrongType):
        agent.step(7)


def test_an_empty_answer_is_given_and_not_stored():
    """A message that says nothing is no memory."""
    agent = ChatAgent(ScriptedModel(["", "here"]))
    assert agent.step("hi").msg.content == ""
    agent.step("hello?")
    assert [record.message.content for record in agent.memory.records()] == ["hi", "hello?", "here"]


def test_images_reach_the_model():
    """As parts of the user's message."""
    model = ScriptedModel("a dot")
    ChatAgent(model).step(BaseMessage("what is this?", "User", [PNG], "low"))
    assert [part["type"] for part in model.calls[0].messages[0]["content"]] == ["text", "image_url"]


def test_a_window_of_nothing_still_asks_the_question():
    """System prompt and newest message, whatever was said before."""
    model = ScriptedModel(["a1", "a2"])
    agent = ChatAgent(model, Memory(window_size=0), "be kind")
    agent.step("q1")
    agent.step("q2")
    assert contents(model.calls[1]) == ["be kind", "q2"]


def test_an_async_step_does_the_same():
    """With a model that is async, or one that is not."""
    for model in (AsyncScriptedModel(["hello", "Vera"]), ScriptedModel(["hello", "Vera"])):
        agent = ChatAgent(model, InMemoryStorage(), "be kind")

        async def talk(agent=agent):
            return [(await agent.astep(said)).msg.content for said in ("I am Vera", "who am I")]

        assert asyncio.run(talk()) == ["hello", "Vera"]
        assert contents(model.calls[1]) == ["be kind", "I am Vera", "hello", "who am I"]


def test_an_agent_goes_on_where_it_was_after_a_restart(tmp_path):
    """Over a file; its prompt is not there twice."""
    for place, model in enumerate((ScriptedModel("hello"), ScriptedModel("Vera"))):
        with RecordStorage(tmp_path / "a.db", embedder="hashing") as storage:
            ChatAgent(model, storage, "be kind").step(("I am Vera", "who am I")[place])
    assert contents(model.calls[0]) == ["be kind", "I am Vera", "hello", "who am I"]


def test_a_model_is_asked_over_http_with_its_key(endpoint):
    """At the address given, by the platform's name or as an enum; async too."""
    endpoint.answers(chat("one"), chat("two"))
    model = ModelConfigure("m1", "openai_compatible", url=endpoint.url, api_key="k1", max_tokens=50, temperature=0.5)
    agent = ChatAgent(model)
    assert agent.step("hi").msg.content == "one"
    assert asyncio.run(agent.astep("ho")).msg.content == "two"
    first = endpoint.asked[0]
    assert first.headers["authorization"] == "Bearer k1"
    assert first.body == {
        "model": "m1",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 50,
        "temperature": 0.5,
    }
    assert "k1" not in repr(model)
    model.close()
    model.close()
    assert agent.step("again").msg.content == "two"
    model.close()


def test_the_environment_says_where_a_platform_is(endpoint, monkeypatch):
    """Address and key under its name; the key does not go to an address that was given in the code."""
    endpoint.answers(chat("x"))
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    ChatAgent(ModelConfigure("m", ModelPlatformType.OPENAI)).step("hi")
    ChatAgent(ModelConfigure("m", ModelPlatformType.OPENAI, url=endpoint.url)).step("hi")
    assert [asked.headers.get("authorization") for asked in endpoint.asked] == ["Bearer secret", None]


def test_a_failing_endpoint_is_a_model_error_and_the_question_stays(endpoint):
    """And the step can be repeated."""
    endpoint.answers(Step({"error": {"message": "no such model"}}, status=404), chat("x"))
    agent = ChatAgent(ModelConfigure("m", url=endpoint.url))
    with pytest.raises(ModelError, match="404"):
        agent.step("hi")
    assert agent.step("hi").msg.content == "x"
    assert len(agent.memory.records()) == 2


def test_connections_are_closed_with_the_model(endpoint):
    """As the document's code, which closes nothing: an open socket would be a warning, and so an error here."""
    endpoint.answers(chat("x"))
    agent = ChatAgent(ModelConfigure("m", url=endpoint.url))
    agent.step("hi")
    client = agent.model.client
    del agent
    gc.collect()
    with pytest.raises(ModelError, match="closed"):
        client.chat([{"role": "user", "content": "hi"}])


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"model": " "}, InvalidInput),
        ({"model": 7}, WrongType),
        ({"model": "m", "model_platform": "abacus"}, InvalidInput),
        ({"model": "m", "model_platform": 7}, InvalidInput),
        ({"model": "m", "model_platform": ModelPlatformType.OPENAI_COMPATIBLE}, InvalidInput),
    ],
)
def test_a_model_that_cannot_be_is_refused(wrong, error):
    """When it is made."""
    with pytest.raises(error):
        ModelConfigure(**wrong)


def test_the_models_counter_counts_for_a_memory():
    """The estimate where none is given, which opens no connection; or the caller's own."""
    model = ModelConfigure(model="llama3.1:8b", model_platform=ModelPlatformType.OLLAMA)
    memory = Memory(token_counter=model.token_counter, token_limit=4000)
    memory.add_message(BaseMessage("hello", "User"), RoleType.USER)
    plain = Memory()
    plain.add_message(BaseMessage("hello", "User"), RoleType.USER)
    assert memory.get_context() == plain.get_context()
    own = ModelConfigure("m", token_counter=lambda messages: 7 * len(messages))
    agent = ChatAgent(own, InMemoryStorage())
    agent.memory.add_message(BaseMessage("hello", "User"), RoleType.USER)
    assert agent.memory.get_context()[1] == 7

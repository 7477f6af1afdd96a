"""SeasonedSession: the history of the OpenAI Agents SDK's runs, kept in a memory's conversation."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("agents", reason="openai-agents is not installed")
from agents import Agent, RunConfig, Runner, SessionSettings, function_tool, set_tracing_disabled
from agents.memory import Session
from agents.testing import ScriptedModel, assistant_message, function_call

from seasoned import Key, Memory, MemoryStore, Record
from seasoned.errors import InvalidInput, StoreClosed, WrongType
from seasoned.integrations.openai_agents import ITEM, SeasonedSession
from seasoned.ports import Put
from seasoned.records import instant

set_tracing_disabled(True)


ASKED = {"role": "user", "content": "What is the weather in Paris?"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I need the forecast."}]}
CALLED = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "forecast", "arguments": '{"city": "Paris"}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "18 degrees"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "It is 18 degrees.", "annotations": [], "logprobs": []}],
}
TURN = [ASKED, THOUGHT, CALLED, RESULT, SAID]

ITEMS = [
    ASKED,
    THOUGHT,
    CALLED,
    RESULT,
    SAID,
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    {"role": "user", "content": [{"type": "input_image", "detail": "low", "image_url": "data:image/png;base64,AAAA"}]},
    {"role": "user", "content": [{"type": "input_image", "detail": "auto", "file_id": "file-1"}]},
    {"role": "user", "content": [{"type": "input_file", "filename": "a.pdf", "file_data": "data:;base64,AAAA"}]},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]},
    {"role": "user", "content": ""},
    {"role": "developer", "content": "Be brief."},
    {"role": "system", "content": "Be kind."},
    {"role": "assistant", "content": "plain"},
    {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "id": "m"},
    {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "not json", "status": "completed"},
    {"type": "function_call", "call_id": "", "name": "", "arguments": ""},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "18"}]},
    {"type": "custom_tool_call", "call_id": "c3", "name": "sql", "input": "select 1", "id": "ctc_1"},
    {"type": "custom_tool_call_output", "call_id": "c3", "output": "1"},
    {"type": "reasoning", "summary": [], "encrypted_content": "x", "content": None},
    {"type": "computer_call", "id": "cu_1", "call_id": "c4", "action": {"type": "click", "x": 1, "y": 2.5}},
    {"type": "computer_call_output", "call_id": "c4", "output": {"type": "computer_screenshot", "image_url": "data:"}},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "file_search_call", "id": "fs_1", "queries": ["q"], "results": [{"score": 0.5, "text": "t"}]},
    {"type": "code_interpreter_call", "id": "ci_1", "code": "1+1", "outputs": None, "container_id": "k"},
    {"type": "image_generation_call", "id": "ig_1", "result": "AAAA", "status": "completed"},
    {"type": "local_shell_call", "id": "ls_1", "call_id": "c5", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "mcp_call", "id": "mcp_1", "name": "t", "arguments": "{}", "server_label": "s", "output": "o"},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
    {"type": "item_reference", "id": "msg_9"},
    {"type": "of another time", "value": [1, True, None, 2**70, {"deep": [[[]]]}]},
]

TEXT = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["id", "call_id", "name", "content", "output", "arguments", "input", "status", "x"])
TYPES = st.sampled_from(sorted({str(item["type"]) for item in ITEMS if "type" in item}))
ROLES = st.sampled_from(["user", "assistant", "system", "developer", "tool", "nobody"])
WILD = st.builds(
    lambda rest, kind, role: rest | ({"type": kind} if kind else {}) | ({"role": role} if role else {}),
    st.dictionaries(FIELDS, JSON, max_size=5),
    st.none() | TYPES,
    st.none() | ROLES,
)


@pytest.fixture
def memory():
    with Memory(embedder="hashing") as opened:
        yield opened


@pytest.fixture
def session(memory):
    return SeasonedSession("s1", memory)


def put_damaged(memory, name, kind=ITEM, session="s1", **data):
    """Write a record of a session that no reader understands."""
    key = Key(memory.scope, kind, name)
    memory.store.apply([Put(Record(key=key, text="", at=instant(0), data={"session": session, **data}))])


def contents(items):
    return [item["content"] for item in items]


def numbered(count):
    return [{"role": "user", "content": f"message {number}"} for number in range(count)]


# what goes in comes out


def test_it_is_a_session_of_the_sdk(session):
    """It has what the SDK's protocol asks for, and settings without a limit."""
    assert isinstance(session, Session)
    assert (session.session_id, session.session_settings) == ("s1", SessionSettings(limit=None))


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: str(item.get("type", item.get("role"))))
def test_an_item_of_every_type_comes_back_as_it_was(session, item):
    """Ids, status, annotations, images: nothing is lost and nothing is added."""
    asyncio.run(session.add_items([item]))
    assert asyncio.run(session.get_items()) == [item]


@given(st.lists(WILD | st.sampled_from(ITEMS), max_size=6))
def test_any_items_always_come_back_in_order(items):
    """Whatever a provider sends, and texts of any script, lone surrogates included."""

    async def there_and_back():
        with Memory(embedder="hashing") as memory:
            session = SeasonedSession("s", memory)
            await session.add_items(items)
            return await session.get_items(), await session.pop_item()

    got, popped = asyncio.run(there_and_back())
    assert got == items
    assert popped == (items[-1] if items else None)


def test_another_process_reads_the_same(tmp_path):
    """What lies in a file is there after closing it, in the order of several batches."""
    path = tmp_path / "agents.db"
    for part in (TURN[:1], TURN[1:3], TURN[3:]):
        with Memory(path, embedder="hashing") as memory:
            asyncio.run(SeasonedSession("s1", memory).add_items(part))
    with Memory(path, embedder="hashing") as memory:
        assert asyncio.run(SeasonedSession("s1", memory).get_items()) == TURN


def test_an_id_of_a_provider_names_nothing(session):
    """Two items with the same id, as some providers send them, are two items."""
    twice = [{**SAID, "id": "__fake_id__"}, {**SAID, "id": "__fake_id__"}]
    asyncio.run(session.add_items(twice))
    asyncio.run(session.add_items([THOUGHT, THOUGHT]))
    assert asyncio.run(session.get_items()) == [*twice, THOUGHT, THOUGHT]


def test_what_was_given_is_not_changed(session):
    """The caller's list and items stay as they were."""
    item = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    given = [item]
    asyncio.run(session.add_items(given))
    assert given == [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]


# limits


@pytest.mark.parametrize(
    ("limit", "expected"), [(0, []), (1, [4]), (2, [3, 4]), (5, [0, 1, 2, 3, 4]), (9, [0, 1, 2, 3, 4])]
)
def test_a_limit_gives_the_last_items_oldest_first(session, limit, expected):
    """So many of the end, in order."""
    asyncio.run(session.add_items(numbered(5)))
    assert contents(asyncio.run(session.get_items(limit))) == [f"message {number}" for number in expected]


@pytest.mark.parametrize("settings", [SessionSettings(limit=2), {"limit": 2}])
def test_the_settings_limit_holds_where_no_other_is_given(memory, settings):
    """An argument comes before them, 0 included."""
    session = SeasonedSession("s1", memory, session_settings=settings)
    asyncio.run(session.add_items(numbered(4)))
    assert contents(asyncio.run(session.get_items())) == ["message 2", "message 3"]
    assert len(asyncio.run(session.get_items(3))) == 3
    assert asyncio.run(session.get_items(0)) == []


def test_a_limit_below_nothing_is_refused(session):
    """So is one that is no integer, and a setting that does not exist."""
    with pytest.raises(InvalidInput, match="0 or more, found -1"):
        asyncio.run(session.get_items(-1))
    with pytest.raises(WrongType, match="an integer, not '3'"):
        asyncio.run(session.get_items("3"))
    with pytest.raises(WrongType, match="limitt"):
        SeasonedSession("s1", session._memory, session_settings={"limitt": 1})


def test_damaged_records_hide_nothing_and_do_not_count(memory, session, caplog):
    """The limit is of items that can be read; what cannot be read is logged by its id."""
    asyncio.run(session.add_items(numbered(3)))
    put_damaged(memory, "bad-1", item="not json {{{")
    put_damaged(memory, "bad-2", item="[1]")
    put_damaged(memory, "bad-3")
    put_damaged(memory, "bad-4", kind="message", message={"role": "nobody"})
    assert contents(asyncio.run(session.get_items(2))) == ["message 1", "message 2"]
    assert contents(asyncio.run(session.get_items())) == ["message 0", "message 1", "message 2"]
    assert contents([asyncio.run(session.pop_item())]) == ["message 2"]
    assert all(f"record bad-{number}" in caplog.text for number in (1, 2, 3, 4))


# all or nothing


def test_a_batch_with_one_that_is_no_json_leaves_nothing(session):
    """The third cannot be stored, so the first two are not either; the session goes on."""
    for wrong in ({"role": "user", "content": object()}, "no mapping", None):
        with pytest.raises(WrongType):
            asyncio.run(session.add_items([*numbered(2), wrong]))
    assert asyncio.run(session.get_items()) == []
    asyncio.run(session.add_items(numbered(1)))
    assert contents(asyncio.run(session.get_items())) == ["message 0"]


def test_batches_that_are_added_at_once_stand_together(tmp_path):
    """Eight writers through two memories on one file: every item is there, and no batch is torn."""

    async def add_all(sessions):
        batches = [[{"role": "user", "content": f"{writer}-{n}"} for n in range(5)] for writer in range(8)]
        await asyncio.gather(*(sessions[n % 2].add_items(batch) for n, batch in enumerate(batches)))
        return contents(await sessions[0].get_items())

    path = tmp_path / "agents.db"
    with Memory(path, embedder="hashing") as one, Memory(path, embedder="hashing") as two:
        found = asyncio.run(add_all([SeasonedSession("s1", one), SeasonedSession("s1", two)]))
    assert len(found) == 40
    for start in range(0, 40, 5):
        writer = found[start].partition("-")[0]
        assert found[start : start + 5] == [f"{writer}-{n}" for n in range(5)]


class Watched(MemoryStore):
    """A store that notes in which thread it was called, and can hold a write at a gate."""

    def __init__(self):
        super().__init__()
        self.threads = set()
        self.begun = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def find(self, query):
        self.threads.add(threading.get_ident())
        return super().find(query)

    def apply(self, changes):
        self.threads.add(threading.get_ident())
        self.begun.set()
        assert self.gate.wait(60)
        return super().apply(changes)


def test_the_store_is_never_called_on_the_thread_of_the_loop():
    """Nor is a model asked or a text embedded there: all four methods work in threads."""

    async def use(session):
        await session.add_items(TURN)
        await session.get_items()
        await session.pop_item()
        await session.clear_session()

    with closing(Watched()) as store, Memory(store, embedder="hashing") as memory:
        store.threads.clear()
        asyncio.run(use(SeasonedSession("s1", memory)))
        assert store.threads
        assert threading.get_ident() not in store.threads


def test_a_cancelled_add_is_settled_when_it_raises():
    """The write was under way, so it is there when the cancellation arrives, and no retry doubles it."""

    async def cancel(session, store):
        adding = asyncio.create_task(session.add_items(TURN))
        await asyncio.to_thread(store.begun.wait, 60)
        adding.cancel()
        await asyncio.sleep(0)
        assert not adding.done()
        store.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await adding
        return await session.get_items()

    with closing(Watched()) as store, Memory(store, embedder="hashing") as memory:
        store.begun.clear()
        store.gate.clear()
        assert asyncio.run(cancel(SeasonedSession("s1", memory), store)) == TURN


# removing


def test_items_are_popped_from_the_end_until_none_is_left(session):
    """Messages and others alike, the last one first."""
    asyncio.run(session.add_items(TURN))
    assert [asyncio.run(session.pop_item()) for _ in range(6)] == [SAID, RESULT, CALLED, THOUGHT, ASKED, None]


def test_two_that_pop_at_once_never_get_the_same_item(session):
    """Twenty pops of twenty items give each once."""

    async def pop_all():
        await session.add_items(numbered(20))
        return await asyncio.gather(*(session.pop_item() for _ in range(20)))

    popped = asyncio.run(pop_all())
    assert sorted(contents(popped)) == sorted(contents(numbered(20)))


def test_clearing_leaves_other_sessions_and_scopes(memory, session):
    """Only this conversation of this user goes, with what is damaged in it and with its summary."""
    bob = SeasonedSession("s1", memory.within("bob"))
    other = SeasonedSession("s2", memory)
    for each in (session, bob, other):
        asyncio.run(each.add_items(TURN))
    put_damaged(memory, "bad", item="{")
    asyncio.run(session.clear_session())
    assert asyncio.run(session.get_items()) == []
    assert memory.count(kinds=("message", ITEM), where={"data.session": "s1"}) == 0
    assert asyncio.run(bob.get_items()) == asyncio.run(other.get_items()) == TURN
    asyncio.run(session.clear_session())


def test_a_popped_message_takes_a_summary_that_was_made_from_it(memory, session):
    """What a summary says of a message that was taken back is not shown any more."""
    asyncio.run(session.add_items([*numbered(30), {"role": "user", "content": "word " * 300}]))
    made = memory.conversation.summarise("s1", budget=420)
    assert made.covered == 30
    for _ in range(2):
        asyncio.run(session.pop_item())
    assert memory.count(kinds=("summary",)) == 0


@pytest.mark.parametrize("hard", [False, True])
def test_reasoning_goes_with_the_message_it_answers(memory, session, hard):
    """Whoever forgets what a user said need not know of the items that only this session has."""
    asyncio.run(session.add_items(TURN))
    (asked,) = (hit.id for hit in memory.conversation.turns("s1") if hit.record.data["role"] == "user")
    memory.forget(asked, hard=hard)
    assert asyncio.run(session.get_items()) == [CALLED, RESULT, SAID]
    memory.conversation.clear("s1")
    assert asyncio.run(session.get_items()) == []


def test_after_the_memory_is_closed_every_method_says_so():
    """An empty list is no exception."""
    memory = Memory(embedder="hashing")
    session = SeasonedSession("s1", memory)
    memory.close()
    calls = (session.get_items, lambda: session.add_items([]), session.pop_item, session.clear_session)
    for call in calls:
        with pytest.raises(StoreClosed):
            asyncio.run(call())


@pytest.mark.parametrize("name", ["", "  ", "a\nb", 7])
def test_a_session_has_a_name(memory, name):
    """Not a blank one, and not a number."""
    with pytest.raises((InvalidInput, WrongType)):
        SeasonedSession(name, memory)
    with pytest.raises(WrongType, match="a Memory, not"):
        SeasonedSession("s1", "agents.db")


# one memory


def test_what_was_said_is_recalled_and_shown_in_contexts(memory, session):
    """A call stands with its result, in OpenAI form; reasoning is recalled by nobody."""
    asyncio.run(session.add_items(TURN))
    assert memory.recall("degrees in Paris")[0].record.data["session"] == "s1"
    assert not [hit for hit in memory.recall("I need the forecast", 20) if hit.record.key.kind == ITEM]
    call = {"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": '{"city": "Paris"}'}}
    assert memory.conversation.context(session="s1").messages == [
        ASKED,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "18 degrees"},
        {"role": "assistant", "content": "It is 18 degrees."},
    ]


def test_pictures_are_shown_as_chat_models_take_them(memory, session):
    """A part of an input becomes the part of a message that means the same."""
    picture = {"type": "input_image", "detail": "low", "image_url": "data:image/png;base64,AAAA"}
    asyncio.run(session.add_items([{"role": "user", "content": [{"type": "input_text", "text": "look"}, picture]}]))
    assert memory.conversation.messages("s1") == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
            ],
        }
    ]


def test_a_picture_is_stored_once(memory, session):
    """Where the message gives the item back, nothing more is kept of it."""
    picture = {"type": "input_image", "detail": "low", "image_url": "data:image/png;base64,AAAA"}
    asyncio.run(session.add_items([{"role": "user", "content": [picture]}]))
    (hit,) = memory.conversation.turns("s1")
    assert "item" not in hit.record.data


def test_a_conversation_that_was_written_elsewhere_goes_on_here(memory, session):
    """Messages in chat form are given to the agent as items."""
    calls = [
        {"id": name, "type": "function", "function": {"name": "forecast", "arguments": "{}"}} for name in ("a", "b")
    ]
    memory.conversation.add(
        [
            ASKED,
            {"role": "assistant", "content": "Let me see.", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "a", "content": "18"},
            {"role": "tool", "tool_call_id": "b", "content": "19"},
        ],
        "s1",
    )
    call = {"type": "function_call", "name": "forecast", "arguments": "{}"}
    expected = [
        ASKED,
        {"role": "assistant", "content": "Let me see."},
        {**call, "call_id": "a"},
        {**call, "call_id": "b"},
        {"type": "function_call_output", "call_id": "a", "output": "18"},
        {"type": "function_call_output", "call_id": "b", "output": "19"},
    ]
    assert asyncio.run(session.get_items()) == expected
    assert asyncio.run(session.get_items(3)) == expected[3:]


# runs of the SDK


@function_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_goes_on_where_it_was(tmp_path, streamed):
    """The second run, of another memory on the file, is given all of the first."""
    model = ScriptedModel(
        [
            [function_call("add", {"a": 1, "b": 2}, call_id="c1")],
            [assistant_message("three")],
            [assistant_message("you asked for 1 + 2")],
        ]
    )
    agent = Agent(name="adder", model=model, tools=[add])

    async def ask(text):
        with Memory(tmp_path / "agents.db", embedder="hashing") as memory:
            session = SeasonedSession("s1", memory)
            if streamed:
                result = Runner.run_streamed(agent, text, session=session)
                async for _ in result.stream_events():
                    pass
            else:
                result = await Runner.run(agent, text, session=session)
            return result.final_output

    assert asyncio.run(ask("1 + 2?")) == "three"
    assert asyncio.run(ask("what did I ask?")) == "you asked for 1 + 2"
    shown = model.calls[-1].input
    assert [item.get("type", item.get("role")) for item in shown] == [
        "user",
        "function_call",
        "function_call_output",
        "message",
        "user",
    ]
    assert (shown[0]["content"], shown[2]["output"], shown[4]["content"]) == ("1 + 2?", "3", "what did I ask?")


def test_a_run_may_say_how_much_it_reads(memory, session):
    """The limit of a run's configuration is heeded, and what is stored stays whole."""
    asyncio.run(session.add_items(numbered(10)))
    model = ScriptedModel([[assistant_message("yes")]])
    config = RunConfig(session_settings=SessionSettings(limit=2))
    asyncio.run(Runner.run(Agent(name="a", model=model), "and?", session=session, run_config=config))
    assert contents(model.calls[-1].input) == ["message 8", "message 9", "and?"]
    assert len(asyncio.run(session.get_items())) == 12


def test_a_run_that_failed_leaves_what_was_said_once(memory, session):
    """The model fails once; asked again, the question stands twice only because it was asked twice."""
    model = ScriptedModel([RuntimeError("down"), [assistant_message("here")]])
    agent = Agent(name="a", model=model)
    with pytest.raises(RuntimeError, match="down"):
        asyncio.run(Runner.run(agent, "are you there?", session=session))
    before = contents(asyncio.run(session.get_items()))
    asyncio.run(Runner.run(agent, "are you there?", session=session))
    after = asyncio.run(session.get_items())
    assert before in ([], ["are you there?"])
    assert len(after) == len(before) + 2


# the package


def test_without_the_sdk_the_extra_is_named():
    """The package is imported all the same; only the integration says what is missing."""
    code = (
        "import sys\nsys.modules['agents'] = None\n"
        "import seasoned; from seasoned.errors import MissingExtra\n"
        "try:\n    import seasoned.integrations.openai_agents\n"
        "except MissingExtra as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout == "openai-agents is not installed; run: pip install 'seasoned[openai-agents]'\n"

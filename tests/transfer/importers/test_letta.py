"""Letta's agent files become pinned notes and a conversation in OpenAI form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import BundleError
from seasoned.transfer.importers import Format, Imported, Item, Noted, Refused, Skipped, detect, letta
from seasoned.transfer.importers.items import Place
from seasoned.transfer.importing import ImportReport, import_file, import_items

SAMPLES = Path(__file__).parent / "samples"
PLACE = Place(file="agent.af", index=1, unit="item", session="agent")
RECEIPT = "the receipt of send_message"


@pytest.fixture
def memory():
    with Memory(scope=("acme",), embedder="hashing") as made:
        yield made


def imported(memory: Memory, path: Path) -> ImportReport:
    """Import a file, and check that the report accounts for all that was read."""
    report = import_file(memory, path)
    assert report.read == report.written + report.duplicate + len(report.refused) + sum(report.skipped.values())
    return report


def said(memory: Memory, session: str) -> list[tuple[object, object]]:
    """Role and content of a session's messages."""
    messages = [hit.record.data["message"] for hit in memory.conversation.turns(session)]
    return [(message["role"], message["content"]) for message in messages]


def agent(*messages: object, **fields: object) -> dict[str, object]:
    """A file of the newer kind with one agent that speaks by its text."""
    one = {"id": "agent-0", "name": "Baker", "agent_type": "letta_v1_agent", "block_ids": [], "messages": [*messages]}
    return {"agents": [one | fields], "blocks": [], "tools": [], "sources": [], "groups": [], "files": []}


def message(role: str, content: object = "hello", **fields: object) -> dict[str, object]:
    return {"id": "message-1", "role": role, "content": content} | fields


def call(name: str, key: str = "c1", **arguments: object) -> dict[str, object]:
    return {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def packed(**fields: object) -> list[dict[str, object]]:
    return [{"type": "text", "text": json.dumps(fields)}]


def items(value: dict[str, object]) -> list[Item]:
    return list(letta.items(value, PLACE))


def messages(value: dict[str, object]) -> list[dict[str, object]]:
    return [item.message for item in items(value) if isinstance(item, Imported)]


def reasons(value: dict[str, object]) -> list[str]:
    return [item.reason for item in items(value) if isinstance(item, Skipped)]


def test_an_agent_that_speaks_by_text_is_read(memory):
    """Blocks are pinned, the session has the agent's name, and a call stands before its result."""
    path = SAMPLES / "letta_0.16.8_v1_agent.af"
    assert detect(path) is Format.LETTA
    report = imported(memory, path)
    assert (report.written, report.notes, report.refused) == (8, 2, ())
    assert report.skipped == {
        "a tool: its code is no memory": 3,
        "settings of the model": 2,
        "a secret or environment variable": 2,
        "the agent's instructions: give them to your own agent": 1,
        "a system prompt, which Letta makes of the instructions and blocks": 1,
    }
    assert said(memory, "Baker") == [
        ("user", "What is warm?"),
        ("assistant", "Answer 1: the oven is warm."),
        ("user", "Please remember that I like sourdough 🍞"),
        ("assistant", None),
        ("tool", "Name: Jānis\nLikes sourdough."),
        ("assistant", "Answer 3: the oven is warm."),
    ]
    block = memory.get("letta/Baker/block/human").record
    assert block.text == "Name: Jānis\nLikes sourdough."
    assert (block.data["label"], block.data["description"], block.data["limit"]) == ("human", "Who the baker is", 3000)
    context = memory.context("What do I like?", budget=1000)
    assert "私はパン屋の助手です。" in json.dumps(context.messages, ensure_ascii=False)


def test_what_an_agent_sends_is_what_it_says(memory):
    """An agent of the MemGPT kind speaks by `send_message`; thoughts, receipts and heartbeats are left out."""
    report = imported(memory, SAMPLES / "letta_0.16.8_memgpt_agent.af")
    assert (report.written, report.notes, report.refused) == (8, 2, ())
    assert (report.skipped[RECEIPT], report.skipped["a heartbeat"]) == (2, 1)
    assert said(memory, "Clerk") == [
        ("user", "What is warm?"),
        ("assistant", "Answer 4: the oven is warm."),
        ("user", "Please remember that I like sourdough 🍞"),
        ("assistant", None),
        ("tool", "Name: Jānis\nLikes sourdough."),
        ("assistant", "Answer 6: the oven is warm."),
    ]
    told = memory.conversation.turns("Clerk")[3].record.data["message"]["tool_calls"][0]["function"]
    assert told == {"name": "core_memory_append", "arguments": '{"label": "human", "content": "Likes sourdough."}'}


def test_the_older_file_of_one_agent_is_read(memory):
    """Blocks in `core_memory`, packed user messages, and arguments that steer the loop."""
    path = SAMPLES / "letta_core_memory.af"
    assert detect(path) is Format.LETTA
    report = imported(memory, path)
    assert (report.written, report.notes, report.refused, report.undated) == (6, 2, (), 0)
    assert said(memory, "Accounts") == [
        ("user", "How much flour is left?"),
        ("assistant", None),
        ("tool", "12 sacks of flour"),
        ("assistant", "Twelve sacks, 太郎."),
    ]
    function = memory.conversation.turns("Accounts")[1].record.data["message"]["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == {"query": "flour"}
    assert memory.get("letta/Accounts/block/human").record.text == "Name: 太郎"


@pytest.mark.parametrize("name", ["letta_0.16.8_v1_agent.af", "letta_0.16.8_memgpt_agent.af", "letta_core_memory.af"])
def test_a_second_import_writes_nothing(memory, name):
    """Ids are made of agent, time and role, since a file numbers its messages anew."""
    first = imported(memory, SAMPLES / name)
    again = imported(memory, SAMPLES / name)
    assert (again.written, again.duplicate, again.skipped) == (0, first.written, first.skipped)


def test_a_later_export_adds_only_what_is_new(memory, write):
    """Its messages have other numbers, because older ones left the context."""
    at = [f"2025-01-01T00:00:0{number}Z" for number in range(4)]
    all_ = [message("user", f"line {number}", created_at=at[number]) for number in range(4)]
    imported(memory, write(agent(*all_[:3]), "first.af"))
    report = imported(memory, write(agent(*all_[1:]), "second.af"))
    assert (report.written, report.duplicate) == (1, 2)
    assert [content for _, content in said(memory, "Baker")] == ["line 0", "line 1", "line 2", "line 3"]


def test_passages_of_the_archival_memory_are_notes(memory):
    """The list that the server's API gives, since no agent file has them."""
    report = imported(memory, SAMPLES / "letta_0.16.8_passages.json")
    assert (report.read, report.notes, report.undated) == (1, 1, 0)
    assert [hit.record.text for hit in memory.list().hits] == ["The rye starter is called Berta."]


def test_no_secret_is_ever_read(memory, write):
    """Neither environment variables nor settings reach a record."""
    value = agent(
        message("user", "hi"),
        tool_exec_environment_variables={"API_KEY": "s3cret-one"},
        secrets=[{"key": "TOKEN", "value": "s3cret-two"}],
        llm_config={"model_endpoint": "https://u:s3cret-three@host"},
    )
    value["mcp_servers"] = [{"token": "s3cret-four"}]
    value["tools"] = [{"source_code": "KEY = 's3cret-five'"}]
    path = write(value, "agent.af")
    report = imported(memory, path)
    assert report.written == 1
    assert "s3cret" not in f"{report} {memory.list(kinds=('note', 'message')).hits} {items(value)}"


def test_several_agents_stay_apart(memory, write):
    """Each has a scope by its name; a block they share stands in both, one that none has in the scope above."""
    value = agent(message("user", "to the baker"), block_ids=["b1", "b2"])
    value["agents"].append({"id": "agent-1", "name": "Baker", "block_ids": ["b1"], "messages": [message("user", "x")]})
    value["agents"].append({"id": "agent-2", "name": "Clerk", "block_ids": ["b1"], "messages": []})
    value["blocks"] = [{"id": f"b{n}", "label": f"l{n}", "value": f"value {n}"} for n in (1, 2, 3)]
    report = imported(memory, write(value, "team.af"))
    assert (report.written, report.notes) == (7, 5)
    notes = {
        name: sorted(hit.record.text for hit in memory.within(name).list(kinds=("note",)).hits)
        for name in ("Baker", "Baker~2", "Clerk")
    }
    assert notes == {"Baker": ["value 1", "value 2"], "Baker~2": ["value 1"], "Clerk": ["value 1"]}
    assert [hit.record.text for hit in memory.list(kinds=("note",)).hits] == ["value 3"]
    assert said(memory.within("Baker"), "Baker") == [("user", "to the baker")]


@given(st.lists(st.sampled_from(["a", "a-2", "a~2", "a%7E2", "a~", "~", "2"]), min_size=2, max_size=6))
def test_two_agents_never_share_a_scope(names):
    """Whatever agents are called, each has its own, and one whose name is its alone keeps it in every export."""
    value = agent()
    value["agents"] = [{"name": name, "block_ids": ["b"], "messages": []} for name in names]
    value["blocks"] = [{"id": "b", "label": "human", "value": "hers"}]
    below = [item.below for item in items(value) if isinstance(item, Noted)]
    assert len(below) == len(set(below)) == len(names)
    assert all(((name,) in below) for name in names if "~" not in name and "%" not in name)


def test_an_agent_file_that_was_written_as_a_json_text_is_read(memory, write):
    """Some programs encode the text once more; one such layer is taken off, not two."""
    once = json.dumps(agent(message("user", "Wo ist „Berta“?")))
    path = write(json.dumps(once), "agent.af")
    assert detect(path) is Format.LETTA
    assert imported(memory, path).written == 1
    assert said(memory, "Baker") == [("user", "Wo ist „Berta“?")]
    with pytest.raises(BundleError, match="neither JSON nor JSON Lines"):
        detect(write(json.dumps(json.dumps(once)), "twice.af"))
    with pytest.raises(BundleError, match="cannot be imported"):
        detect(write(json.dumps(once)[:-9], "cut.af"))


def test_messages_of_a_conversation_stand_in_its_session():
    """Where a message names its conversation, that is its session."""
    value = agent(message("user", "a", conversation_id="conv-1"), message("user", "b"))
    assert [item.session for item in items(value) if isinstance(item, Imported)] == ["conv-1", "Baker"]


def test_a_call_without_result_and_a_result_without_call_are_left_out():
    """What remains is valid for any provider."""
    value = agent(
        message("tool", "lost", tool_call_id="c0"),
        message("assistant", "I look", tool_calls=[call("look", "c1"), call("ask", "c2")]),
        message("tool", "found", tool_call_id="c1"),
        message("tool", "again", tool_call_id="c1"),
        message("user", "go on"),
        message("assistant", "", tool_calls=[call("look", "c3")]),
        message("user", "well?"),
        message("tool", "late", tool_call_id="c3"),
    )
    assert [(told["role"], told.get("content")) for told in messages(value)] == [
        ("assistant", "I look"),
        ("tool", "found"),
        ("user", "go on"),
        ("user", "well?"),
    ]
    assert [one["id"] for one in messages(value)[0]["tool_calls"]] == ["c1"]
    assert reasons(value) == [
        "the result of a call that is not there",
        "the result of a call that is not there",
        "a call without a result",
        "the result of a call that is not there",
    ]


def test_one_message_may_hold_the_results_of_several_calls():
    """Each becomes a message of its own."""
    returns = [
        {"tool_call_id": "c1", "status": "success", "func_response": json.dumps({"status": "OK", "message": "one"})},
        {"tool_call_id": "c2", "status": "error", "func_response": json.dumps({"status": "Failed", "message": "two"})},
    ]
    value = agent(
        message("assistant", None, tool_calls=[call("look", "c1"), call("ask", "c2")]),
        message("tool", "both", tool_call_id="c1", tool_returns=returns, created_at="2025-01-01T00:00:00Z"),
    )
    results = [item for item in items(value) if isinstance(item, Imported) and item.message["role"] == "tool"]
    assert [(one.message["tool_call_id"], one.message["content"]) for one in results] == [
        ("c1", "one"),
        ("c2", "Failed: two"),
    ]
    assert len({one.id for one in results}) == 2


def test_a_call_that_waited_for_approval_is_read():
    """The request is the call; an approval alone is no message, the result that comes with one is."""
    returned = {"type": "tool", "tool_call_id": "c1", "status": "success", "tool_return": "done"}
    value = agent(
        message("approval", "May I?", tool_calls=[call("bake", "c1")]),
        message(
            "approval", None, approve=True, approvals=[{"type": "approval", "tool_call_id": "c1", "approve": True}]
        ),
        message("approval", None, approvals=[returned]),
    )
    assert [(told["role"], told["content"]) for told in messages(value)] == [("assistant", "May I?"), ("tool", "done")]
    assert reasons(value) == ["an approval"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (packed(type="heartbeat", reason="go on"), "a heartbeat"),
        (packed(type="login", last_login="never"), "a login"),
        (packed(type="system_alert", message="memory pressure"), "an alert of the system"),
        ("   ", "a user message without text"),
        (None, "a user message without text"),
    ],
)
def test_what_no_person_said_is_no_user_message(content, reason):
    """It says why."""
    assert reasons(agent(message("user", content))) == [reason]


@pytest.mark.parametrize("role", ["user", "summary"])
def test_a_summary_of_what_left_the_context_is_a_note(role):
    """It is often all that an export has of those messages."""
    text = "The following is a summary of the previous messages: they baked."
    content = packed(type="system_alert", message=text)
    (note,) = items(agent(message(role, content, created_at="2025-01-01T00:00:00Z")))
    assert isinstance(note, Noted)
    assert (note.text, note.tags, note.pinned) == (text, ("summary",), False)


def test_json_that_a_user_wrote_stays_as_it_is():
    """Only what Letta packed is unpacked."""
    for text in ('{"type": "order", "message": "bread"}', '{"message": "x"}', "{broken"):
        assert messages(agent(message("user", text))) == [{"role": "user", "content": text}]


def test_an_agent_that_sends_keeps_its_thoughts_to_itself():
    """A text beside no call is a thought; one beside `send_message` too."""
    value = agent(
        message("assistant", "I wonder."),
        message("assistant", "Greet.", tool_calls=[call("send_message", message="Hello"), call("look", "c2")]),
        message("tool", "ok", tool_call_id="c1"),
        message("tool", "found", tool_call_id="c2"),
        agent_type="memgpt_agent",
    )
    assert [(told["role"], told["content"]) for told in messages(value)] == [("assistant", "Hello"), ("tool", "found")]
    assert reasons(value) == ["a thought of the agent", RECEIPT]
    assert "I wonder" not in str(messages(value))


def test_pictures_and_thoughts_in_parts():
    """A picture stands as `[image]`; reasoning is left out."""
    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "Look:"},
        {"type": "image", "source": {"type": "base64", "data": "QUJD", "media_type": "image/png"}},
    ]
    assert messages(agent(message("user", parts))) == [{"role": "user", "content": "Look:\n[image]"}]


@pytest.mark.parametrize("broken", [7, message("wizard"), {"content": "no role"}, message("tool", "x"), {"role": 3}])
def test_a_damaged_message_costs_only_itself(memory, broken):
    """The others are written, and the refusal says where it stands."""
    report = import_items(memory, items(agent(message("user", "a"), broken, message("user", "b"))))
    assert (report.written, len(report.refused)) == (2, 1)
    assert report.refused[0].startswith("agent.af, item 1, agent Baker, message 2: ")


def test_damaged_agents_and_blocks_cost_only_themselves(memory, write):
    """Each refusal says which."""
    value = agent(message("user", "a"), block_ids=["b1", "b2", 3])
    value["blocks"] = [{"id": "b1", "label": "l", "value": 5}, {"id": "b2", "label": "m", "value": "good"}, 7]
    value["agents"].append("no agent")
    report = imported(memory, write(value, "agent.af"))
    assert (report.written, len(report.refused)) == (2, 3)
    assert [one.split(": ")[0] for one in report.refused] == [
        "agent.af, item 1, agent Baker, block 1",
        "agent.af, item 1, agent 2",
        "agent.af, item 1, block 3",
    ]


def test_an_empty_block_is_skipped():
    """Letta keeps blocks that are not filled yet."""
    value = agent(block_ids=["b1"])
    value["blocks"] = [{"id": "b1", "label": "human", "value": ""}]
    assert reasons(value) == ["an empty block"]


def test_other_json_is_no_agent_file():
    """It takes both lists of a file, and an id of a passage."""
    for value in ({"agents": []}, {"core_memory": []}, {"messages": []}, {"id": "passage-1"}, [], 3):
        assert not letta.fits(value)


NAMES = [
    "id",
    "name",
    "agent_type",
    "block_ids",
    "blocks",
    "agents",
    "messages",
    "role",
    "content",
    "type",
    "text",
    "tool_calls",
    "function",
    "arguments",
    "message",
    "tool_call_id",
    "tool_returns",
    "func_response",
    "approvals",
    "created_at",
    "core_memory",
    "label",
    "value",
    "conversation_id",
    "status",
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["user", "assistant", "tool", "summary", "approval", "text", "c1", "send_message", "b1"])
    | st.sampled_from(
        ['{"type": "user_message", "message": 3}', '{"status": "OK", "message": {}}', "[" * 9, "passage-1"]
    )
)
ANY = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=8),
    max_leaves=12,
)
MESSAGES = st.lists(st.dictionaries(st.sampled_from(NAMES), ANY, max_size=8) | ANY, max_size=5)


@given(ANY, ANY, MESSAGES)
@settings(max_examples=75, deadline=None)
def test_no_value_ever_breaks_the_import(first, second, said):
    """Whatever the shape, each item is written, refused or left out, and nothing is raised."""
    one = {"name": "Baker", "block_ids": ["b1"], "messages": said}
    values = [
        {"agents": [one, first], "blocks": [{"id": "b1", "value": second}, second], "tools": second},
        {"core_memory": [first, second], "messages": said, "secrets": second},
        {"id": "passage-1", "text": "x", "tags": first, "metadata": second, "created_at": first},
    ]
    for value in values:
        assert letta.fits(value)
        with Memory(embedder="hashing") as memory:
            report = import_items(memory, letta.items(value, PLACE))
        assert report.read == report.written + report.duplicate + len(report.refused) + sum(report.skipped.values())


KEYS = st.sampled_from(["c1", "c2", "c3"])
TOLD = (
    st.builds(message, st.just("user"))
    | st.builds(lambda key: message("tool", "result", tool_call_id=key), KEYS)
    | st.builds(
        lambda keys: message("tool", "results", tool_returns=[{"tool_call_id": key} for key in keys]),
        st.lists(KEYS, max_size=3),
    )
    | st.builds(
        lambda said, keys: message("assistant", said, tool_calls=[call("look", key) for key in keys]),
        st.sampled_from(["", "text"]),
        st.lists(KEYS, max_size=3, unique=True),
    )
    | st.builds(lambda key: message("assistant", "", tool_calls=[call("send_message", key, message="hi")]), KEYS)
)


@given(st.lists(TOLD, max_size=10))
@settings(max_examples=200, deadline=None)
def test_every_call_is_always_followed_by_its_results(said):
    """And no result stands without its call."""
    waiting: list[str] = []
    for told in messages(agent(*said)):
        if told["role"] == "tool":
            assert told["tool_call_id"] in waiting
            waiting.remove(told["tool_call_id"])
        else:
            assert not waiting
            waiting = [one["id"] for one in told.get("tool_calls", [])]
    assert not waiting


def test_text_nested_without_end_is_left_as_it_is():
    """A packed text that no parser can hold is what was said."""
    deep = "{" + '"a":{' * 5000
    assert messages(agent(message("user", deep))) == [{"role": "user", "content": deep}]
    nested = '{"type": "user_message", "message": ' + "[" * 50_000
    assert not [item for item in items(agent(message("user", nested))) if isinstance(item, Refused)]

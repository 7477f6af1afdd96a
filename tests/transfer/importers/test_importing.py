"""What importers read is written in batches, and the report accounts for every item."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.transfer.importers import Imported, Refused, Skipped
from seasoned.transfer.importing import import_file, import_items


def said(number: int, session: str = "s", **message: object) -> Imported:
    """Message number so and so of a session."""
    return Imported(
        session=session,
        position=number,
        id=f"{session}/{number}",
        message={"role": "user", "content": f"words {number}"} | message,
        at=datetime(2024, 1, 1, 0, 0, number, tzinfo=UTC),
    )


REFUSED = Refused(file="f", place="line 1", reason="broken")
SKIPPED = Skipped(file="f", place="item 1", reason="hidden")


def test_sessions_that_alternate_keep_their_order_and_times(memory):
    """Messages are written session by session within a batch, each with its own time."""
    items = [said(number, session) for number in range(5) for session in ("a", "b")]
    assert import_items(memory, items, batch=4).written == 10
    for session in ("a", "b"):
        turns = memory.conversation.turns(session)
        assert [hit.id for hit in turns] == [f"{session}/{number}" for number in range(5)]
        assert [hit.record.at.second for hit in turns] == [0, 1, 2, 3, 4]


def test_a_message_that_breaks_a_rule_costs_only_itself(memory):
    """The others of its batch are written, and the reason names it."""
    items = [said(0), said(1, role="tool"), said(2), said(3, content="  "), said(4)]
    report = import_items(memory, items)
    assert (report.read, report.written, len(report.refused)) == (5, 3, 2)
    assert report.refused[0].startswith("s, message 2 (s/1): ")
    assert "tool_call_id" in report.refused[0]
    assert [hit.id for hit in memory.conversation.turns("s")] == ["s/0", "s/2", "s/4"]


def test_progress_counts_what_was_read(memory):
    """It is called once for each batch."""
    calls: list[int] = []
    import_items(memory, [said(number) for number in range(7)], batch=3, progress=calls.append)
    assert calls == [3, 6, 7]


def test_messages_without_a_time_are_counted(memory):
    """They are written at the time of the import, and the report says how many."""
    undated = Imported(session="s", position=0, id="x", message={"role": "user", "content": "when?"})
    assert import_items(memory, [undated, said(1)]).undated == 1
    assert import_items(memory, [undated, said(1)]).undated == 0


@settings(max_examples=60, deadline=None)
@given(
    items=st.lists(
        st.one_of(st.builds(said, st.integers(0, 9), st.sampled_from("ab")), st.just(REFUSED), st.just(SKIPPED))
    )
)
def test_every_item_is_always_accounted_for_and_never_written_twice(items):
    """What was read is written, duplicate, refused or skipped, and the memory holds each id once, run after run."""
    ids = {item.id for item in items if isinstance(item, Imported)}
    with Memory(embedder="hashing") as memory:
        for run in range(2):
            report = import_items(memory, items, batch=3)
            assert report.read == len(items)
            assert report.read == report.written + report.duplicate + len(report.refused) + sum(report.skipped.values())
            assert report.written == (0 if run else len(ids))
        assert memory.count() == len(ids)


def test_a_tool_s_call_and_result_can_be_put_into_a_context(memory, write):
    """What importers make of tools is a valid list of messages again."""
    blocks = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}},
        {"type": "tool_result", "tool_use_id": "t1", "content": "3 hits"},
        {"type": "text", "text": "Three."},
    ]
    messages = [
        {"uuid": "a", "sender": "human", "text": "Look, please."},
        {"uuid": "b", "sender": "assistant", "content": blocks},
    ]
    report = import_file(memory, write([{"uuid": "c", "chat_messages": messages}]))
    assert (report.format, report.written) == ("claude", 4)
    roles = [message["role"] for message in memory.conversation.context(1000, session="c").messages]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_the_whole_pipeline_gives_the_same_memory_twice(memory, write):
    """Importing a file into a memory that has it changes neither the number nor the order of its messages."""
    path = write([{"role": "user", "content": "ok"}] * 3)
    assert import_file(memory, path).written == 3
    before = [hit.id for hit in memory.conversation.turns("chat")]
    assert import_file(memory, path).duplicate == 3
    assert [hit.id for hit in memory.conversation.turns("chat")] == before


def test_a_message_that_says_something_else_is_refused_and_not_passed_over(memory):
    """In its text or a part of it, by its role, or by what it calls; the same once more is a duplicate."""
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    before = [
        said(0, content="tea"),
        said(1, content=[{"type": "text", "text": "milk"}]),
        said(2),
        said(3, role="assistant", content=None, tool_calls=[call]),
    ]
    other = {**call, "function": {"name": "leap", "arguments": "{}"}}
    after = [
        said(0, content="I hate tea"),
        said(1, content=[{"type": "text", "text": "bread"}]),
        said(2, role="assistant"),
        said(3, role="assistant", content=None, tool_calls=[other]),
    ]
    assert import_items(memory, before).written == 4
    assert import_items(memory, before).duplicate == 4
    report = import_items(memory, after)
    assert (report.duplicate, len(report.refused)) == (0, 4)

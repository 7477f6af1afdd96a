"""Notes of other products are written into their scopes, once, and never as a person's words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import EmbeddingError
from seasoned.redaction import RedactionPolicy
from seasoned.testing import FakeClock
from seasoned.transfer.importers import Imported, Noted, Refused, Skipped
from seasoned.transfer.importing import import_items
from seasoned.trust import Origin, origin_of, trusted

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def note(number: int, *below: str, **more: object) -> Noted:
    """Note number so and so of a scope below."""
    return Noted(**{"id": f"mem0/{number}", "text": f"fact {number}", "below": below, "at": NOW, **more})  # type: ignore[arg-type]


def test_each_note_stands_in_its_own_scope_with_what_is_known_of_it(memory):
    """Two users' notes are found only below their own names."""
    items = [
        note(1, "alice", tags=("food",), data={"metadata": {"score": 1}}, until=datetime(2100, 1, 1, tzinfo=UTC)),
        note(1, "bób", text="another fact"),
        note(2),
    ]
    report = import_items(memory, items)
    assert (report.read, report.written, report.notes) == (3, 3, 3)
    record = memory.within("alice").get("mem0/1").record
    assert (record.text, record.at, record.until) == ("fact 1", NOW, datetime(2100, 1, 1, tzinfo=UTC))
    assert record.data == {"metadata": {"score": 1}, "tags": ["food"], "origin": "import"}
    assert memory.within("bób").get("mem0/1").text == "another fact"
    assert [hit.id for hit in memory.list().hits] == ["mem0/2"]
    assert [hit.text for hit in memory.within("alice").recall("fact")] == ["fact 1"]


def test_an_imported_note_is_no_person_s_word(memory):
    """Its origin is `import`, and a context labels it as not verified."""
    import_items(memory, [note(1, text="The user prefers tea")])
    record = memory.get("mem0/1").record
    assert origin_of(record) is Origin.IMPORT
    assert trusted(record) == "imported, not verified"


def test_a_pinned_note_stands_in_every_context(memory):
    """What the other product showed always is shown always."""
    import_items(memory, [note(1, "a", text="I am Sam.", pinned=True), note(2, "a", text="Unrelated.")])
    system = memory.within("a").context("What is the weather?").messages[0]
    assert "I am Sam." in str(system["content"])
    assert "Unrelated." not in str(system["content"])


def test_a_note_that_cannot_be_pinned_is_written_all_the_same(memory):
    """At most a thousand are pinned; of the one above it is said that it is not."""
    report = import_items(memory, [note(number, pinned=True) for number in range(1001)])
    assert (report.written, len(report.degraded)) == (1001, 1)
    assert "at most 1000" in report.degraded[0]


def test_a_known_id_with_another_text_is_refused_and_says_why(memory):
    """What was changed here is not overwritten, and what was changed there is not silently passed over."""
    import_items(memory, [note(1, "a"), note(2, "a")])
    report = import_items(memory, [note(1, "a", text="new words"), note(2, "a")])
    assert (report.duplicate, report.written) == (1, 0)
    assert report.refused[0].startswith("note mem0/1 of a: another text is stored under its id")
    assert memory.within("a").get("mem0/1").text == "fact 1"


def test_a_note_that_breaks_a_rule_costs_only_itself(memory):
    """A blank text, a tag that can be none and a scope that can be none are refused; the others are written."""
    items = [note(1), note(2, text="  "), note(3, tags=("",)), note(4, data={"x": float("nan")}), note(5)]
    report = import_items(memory, items)
    assert (report.read, report.written, len(report.refused)) == (5, 2, 3)
    assert [hit.id for hit in memory.list().hits] == ["mem0/1", "mem0/5"]


def test_what_is_redacted_is_a_duplicate_the_second_time():
    """A stored text without its secret is the same text, of notes and of messages."""
    said = {"role": "user", "content": "Write to ann@example.org"}
    items = [note(1, "a", text="Her address is ann@example.org"), message(1, message=said)]
    with Memory(embedder="hashing", redaction=RedactionPolicy()) as memory:
        assert import_items(memory, items).written == 2
        assert "example.org" not in memory.within("a").get("mem0/1").text
        report = import_items(memory, items)
    assert (report.duplicate, report.refused) == (2, ())


def test_a_note_whose_id_holds_personal_data_costs_only_itself():
    """Where a policy cannot name it, it is refused by itself and the rest of the batch is written."""
    items = [note(1), note(2, id="mem0/ann@example.org"), note(3)]
    with Memory(embedder="hashing", redaction=RedactionPolicy()) as memory:
        report = import_items(memory, items)
    assert (report.written, len(report.refused)) == (2, 1)


def test_a_note_that_expires_here_is_found_no_more():
    """Its time is that of the other product."""
    clock = FakeClock(NOW)
    with Memory(embedder="hashing", clock=clock) as memory:
        import_items(memory, [note(1, until=NOW + timedelta(hours=1))])
        assert memory.count() == 1
        clock.advance(timedelta(hours=2))
        assert memory.count() == 0


def test_notes_are_embedded_in_batches_and_duplicates_not_at_all():
    """One call for each batch, of whatever users, and none where nothing is new."""
    calls: list[int] = []

    def embed(texts):
        calls.append(len(texts))
        return np.eye(8)[[len(text) % 8 for text in texts]]

    items = [note(number, f"user {number}") for number in range(10)]
    with Memory(embedder=embed) as memory:
        calls.clear()
        assert import_items(memory, items, batch=4).written == 10
        assert calls == [4, 4, 2]
        assert import_items(memory, items, batch=4).duplicate == 10
        assert calls == [4, 4, 2]


def test_without_the_embedder_notes_are_written_and_it_is_said():
    """They are found by words until `reembed`."""

    def embed(texts):
        if any("fact" in text for text in texts):
            raise EmbeddingError("the model is away")
        return np.eye(4)[[0] * len(texts)]

    with Memory(embedder=embed) as memory:
        report = import_items(memory, [note(1)])
        assert report.written == 1
        assert "the model is away" in report.degraded[0]
        assert memory.count(where={"id": "mem0/1"}) == 1


def message(number: int, *below: str, **more: object) -> Imported:
    """Message number so and so of one session."""
    said = {"role": "user", "content": f"words {number}"}
    return Imported(
        **{"session": "s", "position": number, "id": f"m/{number}", "message": said, "below": below, **more}
    )  # type: ignore[arg-type]


def test_messages_of_different_users_stand_in_different_scopes(memory):
    """Equal ids and sessions of two users are two conversations."""
    items = [message(1, "a"), message(1, "b"), message(2, "a"), note(1, "a")]
    report = import_items(memory, items)
    assert (report.written, report.notes) == (4, 1)
    assert [hit.id for hit in memory.within("a").conversation.turns("s")] == ["m/1", "m/2"]
    assert [hit.id for hit in memory.within("b").conversation.turns("s")] == ["m/1"]
    assert memory.conversation.turns("s") == []
    assert import_items(memory, items).duplicate == 4


def test_a_message_that_calls_something_else_is_not_taken_for_the_first(memory):
    """A call under a known id with another call id is refused, though neither has a text."""

    def calling(name: str) -> Imported:
        call = {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        return message(1, message={"role": "assistant", "content": None, "tool_calls": [call]})

    assert import_items(memory, [calling("c1")]).written == 1
    assert import_items(memory, [calling("c1")]).duplicate == 1
    assert len(import_items(memory, [calling("c2")]).refused) == 1


scopes = st.lists(st.sampled_from(["a", "b", "茶"]), max_size=2).map(tuple)
things = st.one_of(
    st.builds(lambda number, below: note(number, *below), st.integers(0, 6), scopes),
    st.builds(lambda number, below: message(number, *below), st.integers(0, 6), scopes),
    st.just(Refused(file="f", place="row 1", reason="broken")),
    st.just(Skipped(file="f", place="row 2", reason="expired")),
)


@settings(max_examples=60, deadline=None)
@given(items=st.lists(things, max_size=12), batch=st.integers(1, 5))
def test_the_second_import_always_writes_nothing_and_every_report_adds_up(items, batch):
    """Whatever is imported, each thing is counted once, written once, and a duplicate the second time."""
    things = {(type(item), item.below, item.id) for item in items if isinstance(item, Imported | Noted)}
    with Memory(embedder="hashing") as memory:
        for run in range(2):
            report = import_items(memory, items, batch=batch)
            assert report.read == len(items)
            assert report.read == report.written + report.duplicate + len(report.refused) + sum(report.skipped.values())
            assert report.written == (0 if run else len(things))
        assert memory.count(subtree=True) == len(things)

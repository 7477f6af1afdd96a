"""Notes of other products are written into their scopes, once, and never as a person's words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import EmbeddingError
from seasoned.pins import pinned_notes
from seasoned.redaction import RedactionPolicy
from seasoned.testing import FakeClock
from seasoned.transfer.importers import Imported, Noted, Refused, Skipped
from seasoned.transfer.importing import import_items
from seasoned.transfer.writing import write_notes
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


def test_an_import_that_is_killed_leaves_no_pinned_note_unpinned():
    """Whatever was written when it ended is pinned, and the next import writes and pins the rest."""
    killed = True

    def embed(texts):
        if killed and any("third" in text for text in texts):
            raise KeyboardInterrupt
        return np.eye(4)[[0] * len(texts)]

    items = [note(number, text=f"the {word}", pinned=True) for number, word in enumerate(("first", "second", "third"))]
    with Memory(embedder=embed) as memory:
        with pytest.raises(KeyboardInterrupt):
            import_items(memory, items)
        assert [hit.text for hit in memory.list().hits] == shown(memory) == ["the first", "the second"]
        killed = False
        report = import_items(memory, items)
        assert (report.written, report.duplicate) == (1, 2)
        assert shown(memory) == ["the first", "the second", "the third"]


def test_whoever_stops_reading_the_results_has_pinned_what_was_written(memory):
    """A note and its pin are never apart, whatever happens between two results."""
    found = write_notes(memory, [note(1, pinned=True), note(2, pinned=True), note(3)])
    for _ in range(3):
        next(found)
        there = {hit.id for hit in memory.list().hits} - {"mem0/3"}
        assert there == {hit.id for hit in pinned_notes(memory.store, memory.scope)}


def test_a_note_that_was_let_go_is_not_pinned_again(memory):
    """An import leaves alone what a person decided since the first."""
    items = [note(1, "a", pinned=True), note(2, "a", pinned=True)]
    import_items(memory, items)
    memory.within("a").unpin("mem0/1")
    assert import_items(memory, items).duplicate == 2
    assert shown(memory.within("a")) == ["fact 2"]


def shown(memory: Memory) -> list[str]:
    """The texts of the pinned notes, in their order."""
    return [hit.text for hit in pinned_notes(memory.store, memory.scope)]


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


KEY = b"0123456789abcdef"
ANN = "ann@example.org"


def test_a_user_who_is_called_by_personal_data_is_named_by_a_digest():
    """With a key: of notes and of messages alike, at every import, and two users never become one."""
    items = [note(1, ANN, "x"), message(1, ANN, "x"), note(2, "bob@example.org"), note(3, "ines", pinned=True)]
    with Memory(embedder="hashing", redaction=RedactionPolicy(key=KEY)) as memory:
        assert import_items(memory, items).written == 4
        assert import_items(memory, items).duplicate == 4
        scopes = [scope[1:] for scope in memory.scopes()]
        assert "example.org" not in str(scopes)
        assert ("ines",) in scopes
        assert len({scope for scope in scopes if scope and scope != ("ines",)}) == 2
        (named,) = (scope for scope in scopes if scope[1:] == ("x",))
        assert re.fullmatch(r"\[email-[0-9a-f]+\]", named[0])
        assert memory.within(*named).get("mem0/1").text == "fact 1"
        assert memory.within(*named).conversation.messages("s") == [{"role": "user", "content": "words 1"}]


def test_without_a_key_a_user_who_is_called_by_personal_data_is_refused():
    """It costs those notes and messages alone, and the report does not repeat the address."""
    items = [note(1, ANN), message(1, ANN), note(2, ANN, pinned=True), note(3, "ines")]
    with Memory(embedder="hashing", redaction=RedactionPolicy()) as memory:
        report = import_items(memory, items)
        assert [scope[1:] for scope in memory.scopes()] == [("ines",)]
    assert (report.written, len(report.refused)) == (1, 3)
    assert all("a scope part holds a value of the kind 'email'" in reason for reason in report.refused)
    assert ANN not in str(report)


def test_what_was_removed_from_a_scope_that_was_renamed_stays_away():
    """A tombstone stands in the scope as it is stored, and so it is looked for."""
    with Memory(embedder="hashing", redaction=RedactionPolicy(key=KEY)) as memory:
        import_items(memory, [note(1, ANN)])
        (named,) = memory.scopes()
        memory.within(*named[1:]).forget("mem0/1")
        report = import_items(memory, [note(1, ANN)])
    assert (report.written, sum(report.skipped.values())) == (0, 1)


def test_a_scope_that_the_operator_chose_stays_as_it_is():
    """What stands above comes from no file."""
    with Memory(scope=(ANN,), embedder="hashing", redaction=RedactionPolicy(key=KEY)) as memory:
        import_items(memory, [note(1, "ines"), note(2)])
        assert sorted(memory.scopes()) == [(ANN,), (ANN, "ines")]


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

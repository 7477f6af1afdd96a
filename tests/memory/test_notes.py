"""Plain notes: remember, get, list, count, update, history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from seasoned import Added, Key, Memory, Status
from seasoned.errors import InvalidInput, NotFound, WrongType

from .helping import ids, texts


def test_a_note_is_written_and_found_at_once_under_the_id_that_was_given_back(alice):
    """`Added.id` is the id of the hit, in get, list and recall."""
    added = alice.remember("The spare key lies under the blue pot")
    assert added == Added(id="n-0001", status=Status.WRITTEN, reason=None)
    assert alice.get("n-0001").text == "The spare key lies under the blue pot"
    assert ids(alice.list()) == ids(alice.recall("blue pot")) == ["n-0001"]


def test_every_field_of_a_note_comes_back(alice):
    """Text, kind, tags, times, worth, data and sources; times in UTC."""
    tokyo = timezone(timedelta(hours=9))
    alice.remember("origin", id="o")
    alice.remember(
        "Jānis and 太郎 meet at 3pm",
        "appointment",
        ("work", "a,b:(c)/d"),
        datetime(2026, 3, 1, 12, 45, tzinfo=tokyo),
        "2027-01-01",
        0.5,
        id="太郎/1",
        data={"deep": {"list": [1, None, "x", 2.5, True]}, "none": None},
        sources=[Key(alice.scope, "note", "o")],
    )
    record = alice.get("太郎/1").record
    assert (record.key.kind, record.text) == ("appointment", "Jānis and 太郎 meet at 3pm")
    assert record.data == {
        "deep": {"list": [1, None, "x", 2.5, True]},
        "none": None,
        "tags": ["work", "a,b:(c)/d"],
    }
    assert record.at == datetime(2026, 3, 1, 3, 45, tzinfo=UTC)
    assert record.until == datetime(2027, 1, 1, tzinfo=UTC)
    assert (record.worth, record.version) == (0.5, 1)
    assert record.sources == (Key(alice.scope, "note", "o"),)


def test_without_a_time_a_note_stands_at_the_present(alice, clock):
    """The clock's, in UTC."""
    alice.remember("now", id="x")
    assert alice.get("x").record.at == clock.now()


@pytest.mark.parametrize(
    ("given", "hour"),
    [
        ("2026-05-01T12:00:00Z", 12),
        ("2026-05-01T12:00:00+09:00", 3),
        ("2026-05-01T12:00:00", 12),
        ("2026-05-01", 0),
        (datetime(2026, 5, 1, 12), 12),
        (datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp(), 12),
        (datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp() * 1000, 12),
    ],
    ids=["Z", "offset", "naive text", "date", "naive", "seconds", "milliseconds"],
)
def test_times_of_every_form_are_stored_as_utc(alice, given, hour):
    """A naive one is taken as UTC; all of them compare."""
    alice.remember("meeting", at=given, id="x")
    assert alice.get("x").record.at == datetime(2026, 5, 1, hour, tzinfo=UTC)
    assert ids(alice.list({"at": {"ge": "2026-05-01", "lt": "2026-05-02"}})) == ["x"]


def test_two_equal_notes_are_two(alice):
    """Adding never leaves fewer records than before, and without an id none is a duplicate."""
    assert [alice.remember("milk").status for _ in range(2)] == [Status.WRITTEN, Status.WRITTEN]
    assert alice.count() == 2


def test_an_id_that_is_there_is_a_duplicate_and_changes_nothing(alice):
    """Whatever else was given; the result says why."""
    alice.remember("first", id="x", tags=["a"])
    again = alice.remember("second", id="x", tags=["b"], worth=9)
    assert again == Added(id="x", status=Status.DUPLICATE, reason="a record with this id is there already")
    assert texts(alice.list()) == ["first"]
    assert alice.get("x").record.data == {"tags": ["a"]}


def test_long_texts_that_begin_alike_are_two_notes(alice):
    """Ids do not come from what a text begins with or from the time."""
    for end in "ab":
        alice.remember("The same beginning. " * 250 + end)
    assert [text[-1] for text in texts(alice.list())] == ["a", "b"]


def test_ids_are_compared_exactly(alice):
    """No verb trims or folds: three spellings are three notes."""
    for name in ("Alice", "alice", " Alice "):
        assert alice.remember(f"of {name!r}", id=name).status is Status.WRITTEN
    alice.forget("alice")
    assert texts(alice.list()) == ["of 'Alice'", "of ' Alice '"]
    assert alice.get(" Alice ").text == "of ' Alice '"


def test_an_id_may_be_used_by_each_kind(alice):
    """The kind belongs to the key; get without it prefers a note."""
    alice.remember("a fact", "fact", id="1")
    alice.remember("a note", id="1")
    assert (alice.get("1").text, alice.get("1", "fact").text) == ("a note", "a fact")


def test_tags_are_found_by_any_of_them(alice):
    """`data.tags` is a list, and a list equals each of its items."""
    alice.remember("one", tags=["x", "y"])
    alice.remember("two", tags=["y"])
    alice.remember("three")
    assert texts(alice.list({"data.tags": "x"})) == ["one"]
    assert texts(alice.list({"data.tags": ["x", "y"]})) == ["one", "two"]
    assert sorted(texts(alice.recall("one two three", where={"data.tags": "y"}))) == ["one", "two"]
    assert alice.count({"data.tags": {"exists": False}}) == 1


def test_every_condition_of_a_filter_counts(alice):
    """Two conditions are both asked, in listing, counting, recall and forgetting alike."""
    for number, (a, b) in enumerate([(1, 2), (1, 3), (2, 2)]):
        alice.remember(f"green tea {number}", data={"a": a, "b": b}, id=str(number))
    both = {"data.a": 1, "data.b": 2}
    assert ids(alice.list(both)) == ids(alice.recall("green tea", where=both)) == ["0"]
    assert alice.count(both) == 1
    assert alice.forget(where=both, dry_run=True).ids == ("0",)


def test_a_filter_value_is_never_a_query(alice):
    """What looks like SQL or like another engine's operator is only a text, or refused."""
    alice.remember("tea", data={"user": "x"}, id="1")
    assert alice.count({"data.user": "x' OR 1=1 --"}) == 0
    assert alice.count({"id": "1' OR '1'='1"}) == 0
    with pytest.raises(InvalidInput, match="ne"):
        alice.count({"data.user": {"$ne": "y"}})


def test_from_its_end_on_a_note_is_never_returned(alice, clock):
    """Not by id, list, count, recall or its history; until then it is."""
    alice.remember("The code is valid for an hour", until=clock.now() + timedelta(hours=1), id="x")
    clock.advance(seconds=3599.9)
    assert ids(alice.recall("code")) == ids(alice.list()) == ["x"]
    clock.advance(seconds=0.1)
    assert (ids(alice.recall("code")), ids(alice.list()), alice.count()) == ([], [], 0)
    for verb in (alice.get, alice.history):
        with pytest.raises(NotFound, match="'x'"):
            verb("x")
    with pytest.raises(NotFound):
        alice.update("x", text="more")


def test_a_new_note_may_take_the_id_of_an_ended_one_and_inherits_nothing(alice, clock):
    """Neither its versions nor its history."""
    alice.remember("first life", until=clock.now() + timedelta(hours=1), id="x")
    alice.update("x", text="first life, changed")
    clock.advance(timedelta(hours=2))
    assert alice.remember("second life", id="x").status is Status.WRITTEN
    assert [each.record.text for each in alice.history("x")] == ["second life"]
    alice.update("x", text="second life, changed")
    assert [each.record.text for each in alice.history("x")] == ["second life", "second life, changed"]


def test_a_note_that_ends_at_once_was_written_and_the_update_says_so(alice):
    """Setting its end into the past hides it; the answer is its last version, not that there is none."""
    alice.remember("old", id="x")
    assert alice.update("x", until="2020-01-01").record.until == datetime(2020, 1, 1, tzinfo=UTC)
    assert alice.count() == 0


def test_an_update_makes_a_new_version_and_the_old_text_is_found_no_more(alice):
    """At once: the old word finds nothing, the new one does; other fields stay."""
    alice.remember("She lives in Lisbon", tags=["home"], worth=2, id="x")
    hit = alice.update("x", text="She lives in Oslo")
    assert (hit.id, hit.text, hit.record.version, hit.record.worth) == ("x", "She lives in Oslo", 2, 2.0)
    assert hit.record.data == {"tags": ["home"]}
    assert (ids(alice.recall("Lisbon")), ids(alice.recall("Oslo"))) == ([], ["x"])
    assert texts(alice.list()) == ["She lives in Oslo"]
    assert alice.count() == 1


def test_each_field_of_an_update_is_set(alice, clock):
    """Text, tags, data (whole), at, until, worth; and each alone leaves the others."""
    alice.remember("a", tags=["t"], data={"k": 1}, id="x")
    alice.update("x", tags=["u", "v"])
    assert alice.get("x").record.data == {"k": 1, "tags": ["u", "v"]}
    alice.update("x", data={"z": 2}, worth=3, at="2026-02-02", until="2030-01-01")
    record = alice.get("x").record
    assert (record.text, record.data, record.worth) == ("a", {"z": 2}, 3.0)
    assert (record.at.isoformat()[:10], record.until.isoformat()[:10]) == ("2026-02-02", "2030-01-01")
    assert alice.update("x", until=None).record.until is None


def test_the_history_holds_every_version_in_order(alice):
    """Each with its number and all it said, the present one last."""
    alice.remember("one", tags=["a"], worth=1, at="2026-01-01", id="x")
    alice.update("x", text="two", worth=2, at="2026-02-01")
    alice.update("x", tags=[])
    found = [(each.version, each.record.text, each.record.worth, each.current) for each in alice.history("x")]
    assert found == [(1, "one", 1.0, False), (2, "two", 2.0, False), (3, "two", 2.0, True)]
    first = alice.history("x")[0].record
    assert (first.data, first.at, first.key) == (
        {"tags": ["a"]},
        datetime(2026, 1, 1, tzinfo=UTC),
        Key(alice.scope, "note", "x"),
    )


def test_a_history_of_over_a_thousand_versions_is_whole(alice):
    """No limit cuts it."""
    alice.remember("v1", id="x")
    for number in range(2, 1203):
        alice.update("x", text=f"v{number}")
    assert [each.record.text for each in alice.history("x")] == [f"v{number}" for number in range(1, 1203)]


def test_a_history_keeps_the_sources(alice):
    """What a version was derived from is not lost by the next."""
    alice.remember("origin", id="o")
    alice.remember("one", id="x", sources=[Key(alice.scope, "note", "o")])
    alice.update("x", text="two")
    assert [each.record.sources for each in alice.history("x")] == [(Key(alice.scope, "note", "o"),)] * 2


def test_an_id_of_any_length_can_be_updated(alice):
    """The longest id that is accepted has a history too."""
    name = "x" * 512
    alice.remember("one", id=name)
    alice.update(name, text="two")
    assert [each.record.text for each in alice.history(name)] == ["one", "two"]


def test_an_older_fact_told_later_stands_in_its_time(alice):
    """Order by `at` is the caller's question; nothing newer is deleted."""
    alice.remember("She works at Initech", at="2026-06-01", id="june")
    alice.remember("She works at Acme", at="2026-03-01", id="march")
    assert sorted(alice.list().hits, key=lambda hit: hit.record.at)[-1].id == "june"
    assert alice.count() == 2


def test_a_listing_is_in_the_order_of_writing_and_misses_nothing(alice):
    """1,201 notes, page by page, first to last and last to first, though another is written meanwhile."""
    for number in range(1201):
        alice.remember(f"note {number}", id=f"{number:04d}")
    pages, cursor = [], None
    while True:
        page = alice.list(cursor=cursor)
        pages.append(ids(page))
        cursor = page.cursor
        if len(pages) == 2:
            alice.remember("late", id="late")
        if cursor is None:
            break
    assert [name for page in pages for name in page] == [*(f"{number:04d}" for number in range(1201)), "late"]
    assert {len(page) for page in pages[:-1]} == {100}
    assert ids(alice.list(newest=True, k=2)) == ["late", "1200"]
    assert alice.count() == 1202


def test_old_versions_are_listed_and_counted_only_by_name(alice):
    """`kinds="superseded"` shows them; no recall ever does."""
    alice.remember("alpha", id="x")
    alice.update("x", text="beta")
    assert (alice.count(), alice.count(kinds="superseded")) == (1, 1)
    assert alice.list(kinds=("superseded",)).hits[0].record.data["text"] == "alpha"
    assert ids(alice.recall("alpha", kinds=("superseded", "note"))) == []


def test_messages_are_got_and_marked_like_notes_but_not_rewritten(alice):
    """Tags and worth of a message may change; what was said may not, so that both of its forms agree."""
    [said] = alice.conversation.add({"role": "user", "content": "My cat is called Miso"})
    assert alice.get(said.id).text == "My cat is called Miso"
    assert alice.update(said.id, tags=["pets"], worth=1).record.data["tags"] == ["pets"]
    for change in ({"text": "My dog is called Miso"}, {"data": {}}):
        with pytest.raises(InvalidInput, match="another verb"):
            alice.update(said.id, **change)
    assert alice.conversation.messages() == [{"role": "user", "content": "My cat is called Miso"}]


def test_what_is_not_there_is_not_found(alice):
    """By every verb that takes an id, with the id in the error."""
    for verb in (alice.get, alice.history, alice.forget, lambda name: alice.update(name, text="x")):
        with pytest.raises(NotFound, match="'nobody'"):
            verb("nobody")


def test_the_callers_objects_are_left_alone(alice):
    """Neither changed by a verb, nor shared with what is stored."""
    data, tags = {"list": [1, 2]}, ["a"]
    alice.remember("x", data=data, tags=tags, id="x")
    assert (data, tags) == ({"list": [1, 2]}, ["a"])
    data["list"].append(3)
    alice.get("x").record.data["list"].append(4)
    assert alice.get("x").record.data == {"list": [1, 2], "tags": ["a"]}


def test_misspelt_arguments_are_errors(alice):
    """A keyword that does not exist is never swallowed, in any verb."""
    alice.remember("x", id="x")
    for call in (
        lambda: alice.remember("x", tag=["a"]),
        lambda: alice.recall("x", limit=200),
        lambda: alice.recall("x", user="bob"),
        lambda: alice.list(filters={}),
        lambda: alice.count(filter={}),
        lambda: alice.forget(ids=["x"]),
        lambda: alice.forget(query="x"),
        lambda: alice.update("x", txt="y"),
        lambda: alice.update("x"),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(WrongType, match="txt"):
        alice.update("x", txt="y")
    assert texts(alice.list()) == ["x"]


def test_a_note_says_who_wrote_it():
    """The context labels it by that; a word that is none of the six is refused, and nothing is written."""
    with Memory(embedder="hashing") as memory:
        memory.remember("The page says that prices fell.", id="page", origin="tool")
        memory.pin("page")
        assert 'trust="output of a tool, not verified"' in memory.context("prices").text
        with pytest.raises(InvalidInput):
            memory.remember("a rule", origin="god")
        assert memory.count() == 1

"""mem0's memories become notes, each in the scope of its user."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import BundleError
from seasoned.transfer.importers import Format, Item, Noted, Skipped, detect, mem0, read
from seasoned.transfer.importers.databases import tables_of
from seasoned.transfer.importers.items import Place
from seasoned.transfer.importing import ImportReport, import_file, import_items

SAMPLES = Path(__file__).parent / "samples"
PLACE = Place(file="mem0.json", index=1, unit="item", session="mem0")


@pytest.fixture
def memory():
    with Memory(scope=("acme",), embedder="hashing") as made:
        yield made


def imported(memory: Memory, path: Path) -> ImportReport:
    """Import a file, and check that the report accounts for all that was read."""
    report = import_file(memory, path)
    assert report.read == report.written + report.duplicate + len(report.refused) + sum(report.skipped.values())
    return report


def one(**fields: object) -> dict[str, object]:
    """A memory as `get_all` gives it."""
    return {"id": "m1", "memory": "Ines drinks tea", "user_id": "ines"} | fields


def items(value: dict[str, object]) -> list[Item]:
    return list(mem0.items(value, PLACE))


def test_memories_of_the_newest_release_are_found_in_their_users_scope(memory):
    """They keep text, metadata, agent, times and end; one that has expired is left out."""
    path = SAMPLES / "mem0_2.2.1_get_all.json"
    assert detect(path) is Format.MEM0
    report = imported(memory, path)
    assert (report.read, report.written, report.notes, report.refused) == (4, 3, 3, ())
    assert report.skipped == {"expired in mem0": 1}
    assert memory.count() == 0
    ines = memory.within("ines")
    hit = ines.recall("coffee at night", where={"data.shop": "Rua Nova"})[0].record
    assert hit.text == "Ines sleeps badly after coffee at night"
    assert (hit.data["level"], hit.data["agent_id"], hit.data["user_id"]) == (3, "barista", "ines")
    assert hit.data["imported"] == {"from": "mem0", "id": "ca6dfbf3-1594-4d1f-8b1b-7bf95d191207"}
    assert (hit.at.year, hit.at.month) == (2026, 11)
    assert hit.data["updated_at"] == "2026-11-30T04:19:33.388348+00:00"
    holiday = ines.get("mem0/b096079c-46ce-492c-9b63-94a542d785cc").record
    assert holiday.until == datetime(3000, 1, 1, tzinfo=UTC)


def test_a_second_import_writes_nothing(memory):
    """Ids are mem0's own."""
    path = SAMPLES / "mem0_2.2.1_get_all.json"
    imported(memory, path)
    again = imported(memory, path)
    assert (again.written, again.duplicate, again.skipped) == (0, 3, {"expired in mem0": 1})


def test_results_of_a_search_are_the_same_memories(memory):
    """What was imported from `get_all` is not written again; scores are no part of a memory."""
    imported(memory, SAMPLES / "mem0_2.2.1_get_all.json")
    report = imported(memory, SAMPLES / "mem0_2.2.1_search.json")
    assert (report.read, report.duplicate) == (3, 3)
    assert all("score" not in hit.record.data for hit in memory.within("ines").list().hits)


@pytest.mark.parametrize(
    ("name", "user", "text"),
    [
        ("mem0_1.0.0_get_all.json", "太郎", "太郎は抹茶ラテが好き"),
        ("mem0_0.1.40_get_all.json", "ines", "Ines sleeps badly after coffee"),
    ],
)
def test_older_releases_are_read(memory, name, user, text):
    """Those that return an object of `results`, and those that return a bare list."""
    report = imported(memory, SAMPLES / name)
    assert (report.read, report.written, report.undated) == (1, 1, 0)
    assert [hit.record.text for hit in memory.within(user).list().hits] == [text]


def test_pages_of_the_platform_are_read_as_json_lines(memory, write):
    """One page a line, as its API gives them; categories become tags."""
    page = {"count": 2, "next": "https://host/?page=2", "previous": None}
    lines = [
        page | {"results": [one(categories=["drinks", "habits"], app_id="shop", immutable=False)]},
        page | {"next": None, "results": [one(id="m2", memory="Likes jazz", structured_attributes={"day": 1})]},
    ]
    report = imported(memory, write("\n".join(json.dumps(line) for line in lines), "pages.jsonl"))
    assert (report.read, report.written) == (2, 2)
    found = memory.within("ines").list(where={"data.tags": "habits"}).hits
    assert [(hit.record.text, hit.record.data["app_id"]) for hit in found] == [("Ines drinks tea", "shop")]
    assert "structured_attributes" not in memory.within("ines").get("mem0/m2").record.data


def test_memories_one_a_line_are_read(memory, write):
    """A broken line costs only itself."""
    text = json.dumps(one()) + "\n{broken\n" + json.dumps(one(id="m2", memory="Likes jazz")) + "\n"
    report = imported(memory, write(text, "memories.jsonl"))
    assert (report.read, report.written, len(report.refused)) == (3, 2, 1)
    assert report.refused[0].startswith("memories.jsonl, line 2: ")


def test_an_empty_list_hides_no_other(memory, write):
    """Three memories under `results` are read beside an empty `memories`, and the other way round."""
    three = [one(id=f"m{number}", memory=f"fact {number}") for number in range(3)]
    assert imported(memory, write({"memories": [], "results": three})).written == 3
    again = imported(memory, write({"memories": three, "results": []}))
    assert (again.written, again.duplicate) == (0, 3)


def test_two_filled_lists_are_both_read(memory, write):
    """What stands in both counts once as written and once as duplicate."""
    report = imported(memory, write({"memories": [one()], "results": [one(), one(id="m2", memory="Likes jazz")]}))
    assert (report.read, report.written, report.duplicate) == (3, 2, 1)


def test_an_empty_page_imports_nothing(memory, write):
    """A user without memories is no error."""
    assert imported(memory, write({"results": []})).read == 0


@pytest.mark.parametrize(
    ("owners", "below"),
    [
        ({"user_id": "ines", "agent_id": "barista", "run_id": "r"}, ("ines",)),
        ({"user_id": 42}, ("42",)),
        ({"user_id": None, "agent_id": "barista", "run_id": "r"}, ("~agent", "barista")),
        ({"user_id": "", "run_id": "r", "app_id": "a"}, ("~run", "r")),
        ({"user_id": None, "app_id": "a"}, ("~app", "a")),
        ({"user_id": None}, ()),
        ({"user_id": None, "metadata": {"user_id": "ines"}}, ("ines",)),
        ({"user_id": "ines", "metadata": {"user_id": "bob"}}, ("ines",)),
        ({"user_id": None, "agent_id": "barista", "metadata": {"user_id": "bob"}}, ("~agent", "barista")),
        ({"user_id": "a/b:c|d"}, ("a/b:c|d",)),
        ({"user_id": "~agent"}, ("%7Eagent",)),
        ({"user_id": "%7Eagent"}, ("%257Eagent",)),
    ],
)
def test_the_first_owner_names_the_scope(owners, below):
    """The user, else agent, run or app with its kind before it; metadata moves no memory that has an owner."""
    (note,) = items(one(**owners))
    assert isinstance(note, Noted)
    assert note.below == below


@given(st.text(min_size=1, max_size=8) | st.sampled_from(["agent", "~agent", "%7Eagent", "run", "~run", "app"]))
def test_no_user_ever_sees_the_memories_of_an_agent(user):
    """Whatever a user is called, no agent's, run's or app's scope is the user's, nor below it."""
    apart = [next(iter(items(one(user_id=None, **{owner: "x"})))) for owner in ("agent_id", "run_id", "app_id")]
    mine = next(iter(items(one(user_id=user))))
    if isinstance(mine, Noted):
        assert len(mine.below) == 1
        assert all(isinstance(other, Noted) and other.below[0] != mine.below[0] for other in apart)


def test_a_user_called_like_an_agent_sees_none_of_its_memories(memory, write):
    """Neither in the user's scope nor below it."""
    own = [one(id="m1", user_id="agent"), one(id="m2", user_id=None, agent_id="barista", memory="Opens at nine")]
    imported(memory, write(own))
    assert [hit.id for hit in memory.within("agent").list(subtree=True).hits] == ["mem0/m1"]
    assert [hit.id for hit in memory.within("~agent", "barista").list().hits] == ["mem0/m2"]


def test_metadata_whose_name_is_taken_is_kept_aside():
    """A field of the user never stands for one of mem0's or ours, and none is lost."""
    metadata = {"shop": "Rua Nova", "user_id": "bob", "tags": "x", "imported": 1, "role": "cook", "session": "s"}
    (note,) = items(one(metadata=metadata, role="user"))
    assert isinstance(note, Noted)
    assert note.data == {
        "shop": "Rua Nova",
        "said_by": "user",
        "user_id": "ines",
        "metadata": {"user_id": "bob", "tags": "x", "imported": 1, "role": "cook", "session": "s"},
        "imported": {"from": "mem0", "id": "m1"},
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"memory": "a", "text": "b"}, "a"),
        ({"memory": None, "data": "b"}, "b"),
        ({"memory": "  ", "text": "b"}, "b"),
    ],
)
def test_the_text_stands_under_any_of_its_names(fields, text):
    """An empty name hides no other."""
    (note,) = items(one(**fields))
    assert isinstance(note, Noted)
    assert note.text == text


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"event": "DELETE"}, "deleted in mem0"),
        ({"state": "deleted"}, "deleted in mem0"),
        ({"is_deleted": True}, "deleted in mem0"),
        ({"expiration_date": "2020-01-31"}, "expired in mem0"),
        ({"expiration_date": "2020-01-31T10:00:00Z"}, "expired in mem0"),
    ],
)
def test_what_mem0_shows_no_more_is_skipped(fields, reason):
    """It says why."""
    assert items({"results": [one(**fields)]}) == [Skipped(file="mem0.json", place="item 1, results 1", reason=reason)]


def test_an_end_that_cannot_be_read_is_kept_as_it_is():
    """The memory stays, as it does in mem0."""
    (note,) = items(one(expiration_date="next winter"))
    assert isinstance(note, Noted)
    assert (note.until, note.data["expiration_date"]) == (None, "next winter")


def test_relations_of_the_graph_are_skipped():
    """mem0 derived them from the memories."""
    found = items({"results": [one()], "relations": [{"source": "ines", "relationship": "drinks", "target": "tea"}]})
    assert [type(item) for item in found] == [Noted, Skipped]


@pytest.mark.parametrize(
    "broken",
    [
        7,
        {"memory": "no id"},
        one(memory=""),
        one(memory={"deep": 1}),
        one(user_id=["a"]),
        one(user_id="   "),
        one(user_id=True),
        one(user_id="a\x00b"),
        one(metadata={"n": float("inf")}),
        one(metadata={"n": 2**70}),
    ],
)
def test_a_damaged_memory_costs_only_itself(memory, broken):
    """The others are written, and the refusal says where it stands."""
    report = import_items(memory, items({"results": [one(id="m0"), broken, one(id="m2")]}))
    assert (report.read, report.written, len(report.refused)) == (3, 2, 1)
    assert report.refused[0].startswith("mem0.json, item 1, results 2: ")


def test_unicode_survives(memory, write):
    """Ids, users, tags and texts of any script; a lone surrogate becomes U+FFFD in a text."""
    value = one(id="笔记-1", user_id="Jānis", memory="🍵 \ud800 مرحبا", categories=["お茶"])
    assert imported(memory, write(json.dumps(value))).written == 1
    record = memory.within("Jānis").get("mem0/笔记-1").record
    assert (record.text, record.data["tags"]) == ("🍵 \ufffd مرحبا", ["お茶"])


def test_a_backup_of_openmemory_is_read(memory, write):
    """It names its user, apps and categories once, and keeps what was deleted."""
    told = {"metadata": {"mood": "calm"}, "created_at": "2025-05-01T10:00:00+00:00", "category_ids": ["c1"]}
    backup = {
        "user": {"id": "u1", "user_id": "ines"},
        "apps": [{"id": "a1", "name": "cursor"}],
        "categories": [{"id": "c1", "name": "drinks"}],
        "memories": [
            {"id": "m1", "user_id": "u1", "app_id": "a1", "content": "Drinks tea", "state": "active"} | told,
            {"id": "m2", "user_id": "u1", "app_id": "a1", "content": "Old", "state": "archived"} | told,
            {"id": "m3", "user_id": "u1", "app_id": "a1", "content": "Gone", "state": "deleted"} | told,
        ],
        "memory_categories": [{"memory_id": "m1", "category_id": "c1"}],
        "export_meta": {"version": "1"},
    }
    report = imported(memory, write(backup))
    assert (report.written, report.skipped) == (2, {"deleted in mem0": 1})
    record = memory.within("ines").get("mem0/m1").record
    assert record.data["tags"] == ["drinks"]
    assert (record.data["app_id"], record.data["mood"]) == ("cursor", "calm")
    assert record.at == datetime(2025, 5, 1, 10, tzinfo=UTC)
    assert memory.within("ines").get("mem0/m2").record.data["state"] == "archived"


def test_a_chat_message_is_no_memory():
    """Messages may have users, ids and events; they are read as messages."""
    assert not mem0.fits({"id": "1", "role": "user", "content": "hi", "user_id": "ines", "state": "sent"})
    assert not mem0.fits({"messages": [], "results": 3})
    assert not mem0.fits({"results": [{"title": "a search result", "id": "1"}]})


@pytest.mark.parametrize("table", ["history", "points"])
def test_databases_of_mem0_say_what_to_export_instead(table, tmp_path):
    """The history does not say whose a memory is, and the local Qdrant holds pickles."""
    path = SAMPLES / "mem0_2.2.1_history.sqlite3"
    if table == "points":
        path = tmp_path / "storage.sqlite"
        with closing(sqlite3.connect(path)) as made:
            made.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
    assert mem0.holds(tables_of(path))
    with closing(sqlite3.connect(path)) as connection, pytest.raises(BundleError, match=r"get_all\(filters="):
        mem0.check(connection)
    with pytest.raises(BundleError, match=f"{path.name!r} cannot be imported"):
        read(path)


NAMES = [
    "id",
    "memory",
    "data",
    "text",
    "content",
    "user_id",
    "agent_id",
    "app_id",
    "metadata",
    "categories",
    "results",
    "memories",
    "relations",
    "expiration_date",
    "created_at",
    "event",
    "state",
    "hash",
    "user",
    "apps",
    "next",
    "category_ids",
    "name",
    "tags",
    "imported",
]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["2020-01-01"])
ANY = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=8),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(NAMES), ANY, min_size=2), st.booleans())
@settings(max_examples=100, deadline=None)
def test_no_value_ever_breaks_the_import(value, wrapped):
    """Whatever the shape, each item is written or refused, and nothing is raised."""
    value = {"results": [one(), value]} if wrapped else value | {"id": "m1", "memory": "x"}
    with Memory(embedder="hashing") as memory:
        report = import_items(memory, mem0.items(value, PLACE))
    assert report.read == report.written + report.duplicate + len(report.refused) + sum(report.skipped.values())
    assert mem0.fits(value) in (True, False)


def test_a_memory_nested_without_end_is_refused(write, memory):
    """Depth beyond what a record holds costs only that memory."""
    deep: object = 1
    for _ in range(150):
        deep = {"a": deep}
    report = imported(memory, write({"results": [one(metadata={"deep": deep}), one(id="m2")]}))
    assert (report.written, len(report.refused)) == (1, 1)

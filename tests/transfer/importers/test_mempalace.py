"""MemPalace's drawers and facts become notes, read from its tables alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import BundleError
from seasoned.transfer.importers import Format, Item, Noted, Refused, Skipped, detect, mempalace, read
from seasoned.transfer.importers.items import Place
from seasoned.transfer.importing import ImportReport, import_file, import_items

SAMPLES = Path(__file__).parent / "samples"
CHROMA = SAMPLES / "mempalace_3.11.0_chroma.sqlite3"
EXACT = SAMPLES / "mempalace_3.11.0_sqlite_exact.sqlite3"
GRAPH = SAMPLES / "mempalace_3.11.0_knowledge_graph.sqlite3"
PLACE = Place(file="palace.sqlite3", index=1, unit="row", session="palace")


@pytest.fixture
def memory():
    with Memory(scope=("acme",), embedder="hashing") as made:
        yield made


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[Path, str], Path]:
    """Copy a sample, run SQL on the copy, and give its path."""

    def change(sample: Path, sql: str) -> Path:
        path = tmp_path / sample.name
        shutil.copyfile(sample, path)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(sql)
        return path

    return change


def imported(memory: Memory, path: Path) -> ImportReport:
    """Import a file, and check that the report accounts for all that was read."""
    report = import_file(memory, path)
    assert report.read == report.written + report.duplicate + len(report.refused) + sum(report.skipped.values())
    return report


def test_drawers_of_a_palace_are_notes(memory):
    """They keep their words, wing and room, and when they were filed; an index of them is left out."""
    assert detect(CHROMA) is Format.MEMPALACE
    report = imported(memory, CHROMA)
    assert (report.read, report.written, report.notes, report.undated, report.refused) == (8, 7, 7, 0, ())
    assert report.skipped == {"a closet, which MemPalace makes of drawers": 1}
    (starter,) = memory.list(where={"data.source_file": "/notes/starter.md"}).hits
    assert starter.record.text == "The starter needs feeding every twelve hours in summer."
    assert starter.record.data["tags"] == ["bakery", "recipes"]
    assert (starter.record.data["wing"], starter.record.data["added_by"]) == ("bakery", "cli")
    assert starter.record.at == datetime(2026, 11, 30, 4, 31, 50, 162082, tzinfo=UTC)
    assert "chunk_index" not in starter.record.data
    assert [hit.record.text for hit in memory.list(where={"data.wing": "Jānis"}).hits] == [
        "太郎から手紙が来た。返事は日曜日に書く。"
    ]
    (diary,) = memory.list(where={"data.type": "diary_entry"}).hits
    assert (diary.record.text, diary.record.data["agent"]) == ("Burnt the first loaf, lowered the oven.", "baker")


def test_a_drawer_in_parts_is_whole_again(memory):
    """MemPalace cuts what is longer than 800 characters; the note is what was filed."""
    imported(memory, CHROMA)
    whole = " ".join(f"Step {number}: fold the dough and wait {number} minutes." for number in range(1, 61))
    found = [hit for hit in memory.list().hits if hit.record.text == whole]
    assert [hit.id for hit in found] == ["mempalace/drawer_bakery_recipes_3b4648d431f75d92b58fb18b"]


def test_parts_of_which_one_is_missing_are_refused(memory, changed):
    """Nothing pretends to be whole, and it is said how many are there."""
    path = changed(CHROMA, "DELETE FROM embeddings WHERE embedding_id LIKE '%_chunk_000001';")
    report = imported(memory, path)
    assert (report.read, report.written, len(report.refused)) == (8, 6, 1)
    assert "drawer drawer_bakery_recipes_3b4648d431f75d92b58fb18b: 3 of 4 parts are there" in report.refused[0]


@pytest.mark.parametrize("there", [(0,), (1,), (0, 0), (0, None)])
def test_a_drawer_that_is_whole_later_is_written_once(memory, there):
    """Of two parts, by `chunk_total`, the first alone is no whole drawer, nor the second; both are, and only once."""
    (refused,) = parted(*there)
    assert isinstance(refused, Refused)
    assert refused.place.endswith(", drawer D")
    assert refused.reason == "1 of 2 parts are there"
    import_items(memory, parted(*there))
    report = import_items(memory, parted(1, 0))
    assert (report.written, report.refused) == (1, ())
    assert [(hit.id, hit.text) for hit in memory.list().hits] == [("mempalace/D", "part 0, part 1, ")]


def test_more_parts_than_a_drawer_has_are_refused():
    """Which of two with one number is the right one cannot be told."""
    (refused,) = parted(0, 1, 1)
    assert isinstance(refused, Refused)
    assert refused.reason == "3 parts are there for 2 places"


def parted(*indexes: int | None) -> list[Item]:
    """The items of a palace with these parts of one drawer, which has two."""
    rows = [
        ("c", f"d{n}", f"part {i}, ", json.dumps({"parent_drawer_id": "D", "chunk_index": i, "chunk_total": 2}))
        for n, i in enumerate(indexes)
    ]
    tables = "CREATE TABLE collections (id, name); CREATE TABLE documents (collection_id, id, document, metadata_json);"
    return rows_of(tables, ("collections", [("c", "mempalace_drawers")]), ("documents", rows))


def test_a_deleted_drawer_is_never_read():
    """Its words are still in Chroma's log, which is no part of the palace."""
    with closing(sqlite3.connect(CHROMA)) as connection:
        log = str(connection.execute("SELECT group_concat(metadata) FROM embeddings_queue").fetchone())
    assert "This drawer was a mistake" in log
    assert "This drawer was a mistake" not in str(list(read(CHROMA)))


def test_a_palace_of_the_exact_backend_is_read(memory):
    """The same drawers from its own file, with the ids that they have with any backend."""
    assert detect(EXACT) is Format.MEMPALACE
    report = imported(memory, EXACT)
    assert (report.read, report.written, report.refused) == (4, 4, ())
    talk = memory.list(where={"data.ingest_mode": "convos"}).hits
    assert [hit.record.text.splitlines()[0] for hit in talk] == ["> How long does rye keep?", "> And wheat?"]


def test_facts_of_the_knowledge_graph_are_notes(memory):
    """From when they hold until the end of the day they end; those that have ended are left out."""
    assert detect(GRAPH) is Format.MEMPALACE
    report = imported(memory, GRAPH)
    assert (report.read, report.written, report.skipped) == (4, 3, {"a fact that has ended": 1})
    facts = {hit.record.text: hit.record for hit in memory.list(where={"data.tags": "fact"}).hits}
    assert sorted(facts) == [
        "Mara has apprentice 太郎",
        "Mara rents market stall",
        "Mara works at Bakery on Elm Street",
    ]
    works, rents = facts["Mara works at Bakery on Elm Street"], facts["Mara rents market stall"]
    assert (works.at, works.until) == (datetime(2024, 2, 1, tzinfo=UTC), None)
    assert (works.data["subject"], works.data["predicate"]) == ("Mara", "works_at")
    assert rents.until == datetime(3000, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("sample", [CHROMA, EXACT, GRAPH])
def test_a_second_import_writes_nothing(memory, sample):
    """Ids are MemPalace's own."""
    first = imported(memory, sample)
    again = imported(memory, sample)
    assert (again.written, again.duplicate, again.skipped) == (0, first.written, first.skipped)


def test_a_folder_is_read_and_left_as_it_was(memory, tmp_path):
    """Palace and graph in one folder; no file appears beside them."""
    shutil.copyfile(CHROMA, tmp_path / "chroma.sqlite3")
    shutil.copyfile(GRAPH, tmp_path / "knowledge_graph.sqlite3")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert imported(memory, tmp_path).written == 10
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_marks_and_media_and_other_collections_are_skipped(memory, changed):
    """Each says why."""
    path = changed(
        CHROMA,
        """
        UPDATE embedding_metadata SET string_value = 'registry' WHERE key = 'ingest_mode';
        INSERT INTO collections (id, name, database_id) SELECT 'c1', 'mempalace_assets', database_id
            FROM collections LIMIT 1;
        INSERT INTO collections (id, name, database_id) SELECT 'c2', 'other', database_id FROM collections LIMIT 1;
        INSERT INTO segments VALUES ('s1', 't', 'METADATA', 'c1'), ('s2', 't', 'METADATA', 'c2');
        INSERT INTO embeddings (id, segment_id, embedding_id, seq_id)
            VALUES (901, 's1', 'a', 901), (902, 's2', 'b', 902);
        INSERT INTO embedding_metadata (id, key, string_value) VALUES (902, 'chroma:document', 'of another program');
        """,
    )
    assert imported(memory, path).skipped == {
        "a closet, which MemPalace makes of drawers": 1,
        "a mark of what was mined": 2,
        "a picture or other medium": 1,
        "of a collection that is not MemPalace's": 1,
    }


def test_drawers_in_a_collection_of_another_name_are_found(memory, changed):
    """The name is a setting; drawers have a wing and a room."""
    path = changed(CHROMA, "UPDATE collections SET name = 'my_drawers' WHERE name = 'mempalace_drawers';")
    assert imported(memory, path).written == 7


def test_a_chroma_of_another_program_is_refused(memory, changed):
    """It says which collections there are, and nothing is written."""
    path = changed(
        CHROMA, "UPDATE collections SET name = 'shop' || rowid; DELETE FROM embedding_metadata WHERE key = 'wing';"
    )
    with pytest.raises(BundleError, match="'shop1', 'shop2', none of MemPalace"):
        import_file(memory, path)
    assert memory.count() == 0


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE documents SET metadata_json = '[1]' WHERE rowid = 2;",
        """UPDATE documents SET metadata_json = '{"wing": 1e999}' WHERE rowid = 2;""",
        "UPDATE documents SET document = x'FF00' WHERE rowid = 2;",
        "UPDATE documents SET document = '  ' WHERE rowid = 2;",
        "UPDATE documents SET id = x'00' WHERE rowid = 2;",
    ],
)
def test_a_damaged_drawer_costs_only_itself(memory, changed, sql):
    """The others are written, and the refusal says where it stands."""
    report = imported(memory, changed(EXACT, sql))
    assert (report.read, report.written, len(report.refused)) == (4, 3, 1)
    assert report.refused[0].startswith("mempalace_3.11.0_sqlite_exact.sqlite3, drawer 2: ")


@pytest.mark.parametrize("metadata", ["{broken", "[" * 50_000, "", None, 7, b"\xff"])
def test_metadata_that_is_no_json_costs_only_its_drawer(metadata):
    """It says that it cannot be read."""
    found = rows_of(
        "CREATE TABLE collections (id, name); CREATE TABLE documents (collection_id, id, document, metadata_json);",
        ("collections", [("c", "mempalace_drawers")]),
        ("documents", [("c", "a", "lost", metadata), ("c", "b", "kept", "{}")]),
    )
    reason = "its id or metadata cannot be read"
    assert found[0] == Refused(file="palace.sqlite3", place="drawer 1", reason=reason)
    assert isinstance(found[1], Noted)


def test_fields_whose_names_are_taken_here_are_kept_aside(memory, changed):
    """What an adapter of MemPalace calls `session` or `role` makes no message of a drawer."""
    sql = """UPDATE documents SET metadata_json = '{"wing": "w", "room": "r", "role": "user", "session": "s"}';"""
    imported(memory, changed(EXACT, sql))
    data = memory.list().hits[0].record.data
    assert (data["wing"], data["metadata"], data["tags"]) == ("w", {"role": "user", "session": "s"}, ["w", "r"])
    assert not data.keys() & {"role", "session"}


@pytest.mark.parametrize("column", ["id", "predicate"])
def test_a_damaged_fact_costs_only_itself(memory, changed, column):
    """A fact needs all its parts."""
    report = imported(memory, changed(GRAPH, f"UPDATE triples SET {column} = '' WHERE rowid = 1;"))
    assert (report.written, len(report.refused)) == (2, 1)
    assert report.refused[0].startswith("mempalace_3.11.0_knowledge_graph.sqlite3, fact 1: ")


def test_a_fact_whose_entity_is_gone_keeps_its_id_as_name(memory, changed):
    """The words are still there."""
    imported(memory, changed(GRAPH, "DELETE FROM entities WHERE id = 'mara';"))
    assert "mara has apprentice 太郎" in [hit.record.text for hit in memory.list().hits]


CELLS = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.binary(max_size=6)
    | st.sampled_from(
        [
            "",
            "x",
            "bakery",
            "2024-01-01",
            "9999-12-31",
            "registry",
            '{"wing": "w", "room": "r"}',
            "{",
            "chunk_index",
            "\x00",
        ]
    )
)
KEYS = st.sampled_from(["wing", "room", "chroma:document", "parent_drawer_id", "chunk_index", "filed_at", "imported"])


def rows_of(script: str, *filled: tuple[str, list[tuple[object, ...]]]) -> list[Item]:
    """The items of a database in memory, whose tables are filled with these rows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.executescript(script)
        for table, some in filled:
            for row in some:
                connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        return list(mempalace.rows(connection, PLACE))


def written(found: list[Item]) -> None:
    with Memory(embedder="hashing") as memory:
        report = import_items(memory, found)
    assert report.read == report.written + report.duplicate + len(report.refused) + sum(report.skipped.values())


@given(st.lists(st.tuples(st.integers(1, 4), KEYS, CELLS, CELLS, CELLS, CELLS), max_size=12), CELLS)
@settings(max_examples=150, deadline=None)
def test_no_cell_of_a_palace_ever_breaks_the_import(cells, own):
    """SQLite keeps any type in any column; each drawer is written, refused or left out."""
    found = rows_of(
        """
        CREATE TABLE collections (id, name); CREATE TABLE segments (id, collection);
        CREATE TABLE embeddings (id, segment_id, embedding_id);
        CREATE TABLE embedding_metadata (id, key, string_value, int_value, float_value, bool_value);
        """,
        ("collections", [("c", "mempalace_drawers")]),
        ("segments", [("s", "c")]),
        ("embeddings", [(1, "s", own), (2, "s", "b"), (3, "s", "c"), (4, "s", "d")]),
        ("embedding_metadata", cells),
    )
    written(found)


@given(st.lists(st.tuples(*[CELLS] * 4), max_size=6), st.lists(st.tuples(*[CELLS] * 8), max_size=6))
@settings(max_examples=150, deadline=None)
def test_no_cell_of_the_other_tables_ever_breaks_the_import(documents, facts):
    """Nor those of the exact backend and the graph."""
    collections = "CREATE TABLE collections (id, name);"
    written(
        rows_of(
            collections + "CREATE TABLE documents (collection_id, id, document, metadata_json);",
            ("collections", [("c", "mempalace_drawers")]),
            ("documents", [("c", *row[1:]) for row in documents]),
        )
    )
    graph = "CREATE TABLE entities (id, name); CREATE TABLE triples (id, subject, predicate, object, valid_from, "
    written(rows_of(graph + "valid_to, confidence, extracted_at);", ("triples", facts), ("entities", [("x", "X")])))


def test_each_item_is_a_note_or_says_why_not():
    """Nothing else comes out of a palace."""
    assert {type(item) for sample in (CHROMA, EXACT, GRAPH) for item in read(sample)} == {Noted, Skipped}

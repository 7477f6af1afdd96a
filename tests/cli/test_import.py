"""`seasoned import`, and what `search` then finds."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest


def test_importing_twice_writes_nothing_twice(seasoned, chat):
    """The second run reports five duplicates and the memory holds what it held."""
    first = seasoned("import", chat, "--json").json["files"][0]
    assert (first["read"], first["written"], first["duplicate"], first["refused"]) == (5, 5, 0, [])
    second = seasoned("import", chat, "--json").json["files"][0]
    assert (second["read"], second["written"], second["duplicate"]) == (5, 0, 5)
    assert seasoned("stats", "--json").json["records"] == 5


def test_a_file_that_grew_adds_only_what_is_new(filled, chat):
    """Two more messages are two written."""
    with chat.open("a", encoding="utf-8") as file:
        file.write('{"role": "user", "content": "new one"}\n{"role": "user", "content": "new two"}\n')
    report = filled("import", chat, "--json").json["files"][0]
    assert (report["written"], report["duplicate"]) == (2, 5)


def test_the_report_says_what_was_refused_and_why(seasoned, tmp_path):
    """A broken line, a message that breaks a rule and one that says nothing are each named; the others are written."""
    path = tmp_path / "mixed.jsonl"
    lines = [
        '{"role": "user", "content": "good"}',
        "{broken",
        '{"role": "tool", "content": "orphan"}',
        '{"role": "user", "content": "  "}',
        '{"role": "user", "content": "also good"}',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    ran = seasoned("import", path)
    assert ran.code == 0
    refused = [line for line in ran.out.splitlines() if line.startswith("refused: ")]
    assert len(refused) == 3
    assert "mixed.jsonl, line 2: the line is not JSON" in refused[0]
    assert "tool_call_id" in refused[1]
    report = seasoned("import", path, "--json").json["files"][0]
    assert (report["read"], report["written"], report["duplicate"], len(report["refused"])) == (5, 0, 2, 3)


def test_what_a_format_leaves_out_and_what_has_no_time_is_counted(seasoned, tmp_path):
    """Hidden messages of an export are skipped by reason; undated ones are told."""
    hidden = {"id": "s", "author": {"role": "system"}, "content": {"content_type": "text", "parts": [""]}}
    said = {"id": "q", "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hello"]}}
    nodes = {"s": {"message": hidden, "parent": None}, "q": {"message": said, "parent": "s"}}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"id": "c", "mapping": nodes, "current_node": "q"}]), encoding="utf-8")
    ran = seasoned("import", path)
    assert "skipped: 1 x system message without text" in ran.out
    assert "1 have no time of their own" in ran.out


def test_one_file_that_cannot_be_read_does_not_stop_the_others(seasoned, chat, tmp_path):
    """Its error is one line that names what was found; the exit code tells of it."""
    bad = tmp_path / "bad.json"
    bad.write_text('{"data": 1}', encoding="utf-8")
    ran = seasoned("import", bad, chat, tmp_path / "none.json")
    assert ran.code == 1
    assert "chat.jsonl" in ran.out
    errors = ran.err.splitlines()
    assert len(errors) == 2
    assert errors[0].startswith("error: 'bad.json' cannot be imported")
    assert "'data'" in errors[0]
    assert "No such file" in errors[1]


def test_another_file_of_the_same_name_is_not_taken_for_the_first(seasoned, tmp_path):
    """Messages without ids are named by the file; a second file of that name is refused with the way out, not lost."""
    for folder, word in (("a", "apples"), ("b", "bananas")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.jsonl").write_text(json.dumps({"role": "user", "content": word}), encoding="utf-8")
    assert seasoned("import", "a/log.jsonl").code == 0
    report = seasoned("import", "b/log.jsonl", "--json").json["files"][0]
    assert (report["written"], report["duplicate"]) == (0, 0)
    assert "name its session" in report["refused"][0]
    assert seasoned("import", "b/log.jsonl", "--session", "fruit", "--json").json["files"][0]["written"] == 1


def test_a_bundle_is_recognised(filled, tmp_path):
    """What `export` wrote `import` reads, into another memory and twice without effect."""
    assert filled("export", "out.jsonl").out == "5 records written to out.jsonl\n"
    report = filled("--db", "other.db", "import", "out.jsonl", "--json").json["files"][0]
    assert (report["format"], report["written"]) == ("seasoned-bundle", 5)
    assert filled("--db", "other.db", "import", "out.jsonl", "--json").json["files"][0]["duplicate"] == 5
    assert filled("--db", "other.db", "search", "oolong", "--json").json == filled("search", "oolong", "--json").json


def a_store(path) -> None:
    """A LangGraph store as its package writes it: two items that last, one that has expired, one that is broken."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE store (prefix text, key text, value text, created_at TIMESTAMP, updated_at TIMESTAMP, "
            "expires_at TIMESTAMP)"
        )
        rows = [
            ("memories.älice", "k1", '{"kind": "Memory", "content": {"content": "Prefers oolong tea"}}', None),
            ("memories.bob", "k2", '{"text": "Rides a bike"}', None),
            ("memories.bob", "k3", '{"text": "gone"}', "2020-01-01 00:00:00"),
            ("memories.bob", "k4", '{"text": ', None),
        ]
        made = "2026-01-01 10:00:00"
        connection.executemany(
            f"INSERT INTO store VALUES (?, ?, ?, '{made}', '{made}', ?)",
            rows,
        )
        connection.commit()


def test_the_memories_of_another_product_become_notes_below(seasoned, tmp_path):
    """The format is detected, the table tells messages and notes apart, and notes stand in their user's scope."""
    a_store(tmp_path / "memories.db")
    ran = seasoned("import", "memories.db")
    assert ran.code == 0
    head, row, *notes = ran.out.splitlines()
    assert head.split() == ["file", "format", "read", "messages", "notes", "duplicate", "refused", "skipped"]
    assert row.split() == ["memories.db", "langgraph", "4", "0", "2", "0", "1", "1"]
    assert notes[0].startswith("refused: memories.db, row 3, key k4: its value is not JSON")
    assert notes[1] == "skipped: 1 x expired"
    hits = seasoned("--scope", "default/memories/älice", "search", "tea", "--json").json["hits"]
    assert [(hit["text"], hit["data"]["origin"]) for hit in hits] == [("Prefers oolong tea", "import")]
    report = seasoned("import", "memories.db", "--json").json["files"][0]
    assert (report["read"], report["written"], report["notes"], report["duplicate"]) == (4, 0, 0, 2)


def test_a_folder_is_imported_for_its_databases(seasoned, tmp_path):
    """Texts beside them are left alone."""
    (tmp_path / "palace").mkdir()
    a_store(tmp_path / "palace" / "chroma.sqlite3")
    (tmp_path / "palace" / "notes.txt").write_text("hello")
    assert seasoned("import", "palace", "--json").json["files"][0]["notes"] == 2


@pytest.mark.parametrize("name", ["mem0", "langgraph", "letta", "mempalace", "openai-sessions"])
def test_every_format_can_be_named(seasoned, tmp_path, name):
    """`--format` knows it, and what is not in it is refused by one line."""
    (tmp_path / "x.db").write_bytes(b"")
    assert name in seasoned("import", "--help").out
    ran = seasoned("import", "--format", name, "x.db")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)


def test_a_database_of_something_else_is_named_by_its_tables(seasoned, tmp_path):
    """The error is one line that says what was found."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    ran = seasoned("import", "shop.db")
    assert ran.code == 1
    assert ran.err.startswith("error: 'shop.db' cannot be imported: it is a database with the tables 'orders'")


def test_search_finds_with_reasons_and_in_every_script(filled):
    """Each hit has its score, its parts and where it stands."""
    found = filled("search", "乌龙茶", "--json").json["hits"]
    assert found[0]["text"] == "我喜欢喝乌龙茶 🍵"
    assert found[0]["data"]["session"] == "茶"
    assert found[0]["why"]["lexical"]["share"] > 0
    table = filled("search", "bike lock code").out
    assert "4711-XQ" in table
    assert "lexical" in table


def test_search_narrows_by_session_time_and_kind(filled):
    """Each option leaves out what does not fit it."""

    def texts(*options: str) -> list[str]:
        return [hit["text"] for hit in filled("search", "oolong code", "--json", *options).json["hits"]]

    assert texts("--session", "bike") == ["The bike lock code is 4711-XQ.", "I will keep the code for you."]
    assert set(texts("--until", "2024-05-02")) == {"My favourite tea is oolong from Wuyi.", "Noted, oolong it is."}
    assert set(texts("--since", "2024-07-01T10:01:00Z")) == {"I will keep the code for you."}
    assert filled("remember", "The spare oolong is in the cellar").code == 0
    assert texts("--kind", "note") == ["The spare oolong is in the cellar"]


def test_nothing_found_is_exit_code_3(filled):
    """A search without a hit says so, and its JSON is an empty list."""
    ran = filled("search", "xylophone")
    assert (ran.code, ran.out, ran.err) == (3, "", "nothing found\n")
    ran = filled("search", "xylophone", "--json")
    assert (ran.code, ran.json["hits"]) == (3, [])


def test_what_was_forgotten_is_not_imported_again(seasoned, chat):
    """It is skipped, with the reason, unless it is asked for."""
    seasoned("import", chat)
    seasoned("forget", "--everything", "--yes")
    again = seasoned("import", chat, "--json").json["files"][0]
    assert (again["read"], again["written"], again["skipped"]) == (
        5,
        0,
        {"it was removed here; import with restore to bring it back": 5},
    )
    assert seasoned("import", chat, "--restore", "--json").json["files"][0]["written"] == 5


def test_a_bundle_is_followed(seasoned, chat, tmp_path):
    """Another memory takes over what was forgotten since; without --follow it keeps what it has."""
    seasoned("import", chat)
    bundle, other = tmp_path / "b.jsonl", tmp_path / "other.db"
    seasoned("export", bundle)
    seasoned("--db", other, "import", bundle)
    seasoned("forget", "--everything", "--yes")
    assert seasoned("export", bundle, "--no-removals", "--json").json["tombstones"] == 0
    told = seasoned("export", bundle, "--json").json
    assert told == {"file": str(bundle), "written": 0, "tombstones": 5, "degraded": []}
    kept = seasoned("--db", other, "import", bundle, "--json").json["files"][0]
    followed = seasoned("--db", other, "import", bundle, "--follow", "--json").json["files"][0]
    assert (kept["removed"], followed["removed"]) == (0, 5)
    assert seasoned("--db", other, "stats", "--json").json["records"] == 0


def test_an_export_that_leaves_something_out_says_so(seasoned, chat, tmp_path):
    """A damaged record is named, and the exit code is that of a check that found faults."""
    seasoned("import", chat)
    with closing(sqlite3.connect(tmp_path / "seasoned.db")) as db, db:
        db.execute("UPDATE record SET data = '{' WHERE row = (SELECT min(row) FROM record)")
    ran = seasoned("export", tmp_path / "b.jsonl")
    assert (ran.code, "degraded: " in ran.err) == (3, True)
    assert seasoned("export", tmp_path / "b.jsonl", "--json").json["degraded"] != []

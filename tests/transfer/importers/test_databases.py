"""SQLite files are read as they stand, live or left behind, and nothing of them or beside them changes."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import BundleError
from seasoned.transfer.importers import Format, Noted, Refused, detect, read
from seasoned.transfer.importers.databases import copies, tables_of
from seasoned.transfer.importing import import_file

STORE = """CREATE TABLE store (prefix TEXT, key TEXT, value TEXT, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (prefix, key))"""


def filled(path: Path, *keys: str, mode: str = "delete") -> sqlite3.Connection:
    """Make a store of items with these keys and give the connection that wrote it."""
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(STORE)
    put(connection, *keys)
    connection.commit()
    return connection


def put(connection: sqlite3.Connection, *keys: str) -> None:
    rows = [(key, f'{{"text": "{key} {"." * 500}"}}') for key in keys]
    connection.executemany("INSERT INTO store (prefix, key, value) VALUES ('a', ?, ?)", rows)


def keys(path: Path) -> list[str]:
    return [item.id.removeprefix("langgraph/") for item in read(path) if isinstance(item, Noted)]


def contents(folder: Path) -> dict[str, bytes]:
    """What every file of a folder holds; the shared memory of a living writer is its own affair."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_at_rest_stays_as_it_is_and_alone(tmp_path, mode):
    """Not a byte changes, and no log is made beside it."""
    path = tmp_path / "memories.db"
    filled(path, "k1", "k2", mode=mode).close()
    before = contents(tmp_path)
    assert keys(path) == ["k1", "k2"]
    assert contents(tmp_path) == before
    assert list(before) == ["memories.db"]


def test_what_only_the_log_of_a_living_writer_holds_is_read(tmp_path):
    """What was committed is there, what was not is not, and the writer goes on."""
    path = tmp_path / "memories.db"
    with closing(filled(path, "k1", mode="wal")) as writer:
        put(writer, "k2")
        writer.commit()
        put(writer, "k3")
        before = contents(tmp_path)
        assert keys(path) == ["k1", "k2"]
        assert contents(tmp_path) == before
        writer.commit()
        assert keys(path) == ["k1", "k2", "k3"]


def test_a_log_that_was_left_behind_is_read_without_being_touched(tmp_path):
    """A copy of a file and its log, of which nobody knows, keeps both as they are and gets no `-shm`."""
    with closing(filled(tmp_path / "memories.db", "k1", "k2", mode="wal")):
        (tmp_path / "copy").mkdir()
        for name in ("memories.db", "memories.db-wal"):
            shutil.copy(tmp_path / name, tmp_path / "copy" / name)
    before = contents(tmp_path / "copy")
    assert keys(tmp_path / "copy" / "memories.db") == ["k1", "k2"]
    assert contents(tmp_path / "copy") == before
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["memories.db", "memories.db-wal"]


def test_a_transaction_that_a_killed_writer_left_is_not_read(tmp_path):
    """Its journal rolls back in a copy: the file is read as it was before, and stays as it is."""
    path = tmp_path / "memories.db"
    filled(path, "k1").close()
    script = (
        "import sqlite3, sys, os, signal\n"
        "c = sqlite3.connect(sys.argv[1])\n"
        "c.execute('PRAGMA cache_size = 1')\n"
        "c.execute('PRAGMA cache_spill = 1')\n"
        "c.executemany(\"INSERT INTO store (prefix, key, value) VALUES ('a', ?, ?)\","
        " [(f'x{i}', '{\"text\": \"' + 'x' * 4000 + '\"}') for i in range(200)])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, path]).returncode == -signal.SIGKILL
    before = contents(tmp_path)
    assert sorted(before) == ["memories.db", "memories.db-journal"]
    assert len(before["memories.db"]) > 100_000
    assert keys(path) == ["k1"]
    assert contents(tmp_path) == before


def test_reading_takes_no_lock_from_a_writer_of_the_same_process(tmp_path):
    """A second process still cannot write while a connection of this one has begun to."""
    path = tmp_path / "memories.db"
    with closing(filled(path, "k1")) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with Memory(embedder="hashing") as memory:
            assert import_file(memory, path).written == 1
        script = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
        ran = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
        assert "database is locked" in ran.stderr
        writer.rollback()


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.95])
def test_a_file_that_was_cut_short_is_refused_before_anything_is_written(tmp_path, memory, share):
    """The error says so, and names the file."""
    path = tmp_path / "memories.db"
    filled(path, *(f"k{number}" for number in range(60))).close()
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(BundleError, match=r"'memories.db'.*damaged or cut short"):
        import_file(memory, path)
    assert memory.count(subtree=True) == 0


def test_a_page_that_was_overwritten_is_damage(tmp_path):
    """A table whose pages are no pages is not read in part."""
    path = tmp_path / "memories.db"
    filled(path, *(f"k{number}" for number in range(60))).close()
    whole = bytearray(path.read_bytes())
    whole[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    path.write_bytes(whole)
    with pytest.raises(BundleError, match="damaged"):
        read(path)


def test_a_database_of_something_else_is_refused_by_its_tables(tmp_path):
    """The message names what was found and what is known; so it does for an empty one and for a wrong format."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        for number in range(10):
            connection.execute(f"CREATE TABLE orders{number} (id INTEGER)")
    with pytest.raises(BundleError, match=r"the tables 'orders0', .* and 2 more, not in a format that is known; known"):
        detect(path)
    with pytest.raises(BundleError, match="not in the format 'langgraph'"):
        read(path, Format.LANGGRAPH)
    with closing(sqlite3.connect(tmp_path / "void.db")) as connection:
        connection.execute("CREATE TABLE gone (id INTEGER)")
        connection.execute("DROP TABLE gone")
    with pytest.raises(BundleError, match="a database with no table"):
        detect(tmp_path / "void.db")


def test_a_database_is_not_read_as_text(tmp_path):
    """A format of texts that the caller names does not fit it."""
    path = tmp_path / "memories.db"
    filled(path, "k1").close()
    with pytest.raises(BundleError, match="not in the format 'messages'"):
        read(path, Format.MESSAGES)


def test_what_several_programs_keep_in_one_file_is_all_read(tmp_path, memory):
    """A store and the sessions of agents beside it are both imported; a named format takes its own alone."""
    path = tmp_path / "app.db"
    with closing(filled(path, "k1")) as connection:
        connection.execute(
            "CREATE TABLE agent_messages (id INTEGER, session_id TEXT, message_data TEXT, created_at TEXT)"
        )
        said = '{"role": "user", "content": "hi"}'
        connection.execute("INSERT INTO agent_messages VALUES (1, 's', ?, '2026-01-01 10:00:00')", (said,))
        connection.commit()
    assert len(list(read(path, Format.OPENAI_SESSIONS))) == 1
    report = import_file(memory, path)
    assert (report.read, report.written, report.notes) == (2, 2, 1)


def other(path: Path, table: str) -> None:
    """Make a database of another program, with one table."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE {table}")


def test_what_a_folder_has_beside_is_counted(tmp_path, memory):
    """What is called like a database and is in no format that is known is left out, and it is said why."""
    filled(tmp_path / "one.db", "k1").close()
    other(tmp_path / "shop.db", "orders (id INTEGER)")
    (tmp_path / "text.db").write_text("no database")
    report = import_file(memory, tmp_path)
    assert (report.read, report.written, report.refused) == (3, 1, ())
    assert report.skipped == {
        "not in a format that is known": 1,
        "no SQLite database, or one that cannot be opened": 1,
    }


@pytest.mark.parametrize("at", [100, 4096])
def test_a_damaged_database_of_a_folder_stops_all_of_it(tmp_path, memory, at):
    """It is named, and nothing of the others is written, whatever is damaged: its schema or its rows."""
    for name in ("a.db", "b.db"):
        filled(tmp_path / name, *(f"{name}{number}" for number in range(300))).close()
    whole = bytearray((tmp_path / "b.db").read_bytes())
    whole[at : at + 100] = b"\xa5" * 100
    (tmp_path / "b.db").write_bytes(whole)
    with pytest.raises(BundleError, match=r"'b\.db' is damaged"):
        import_file(memory, tmp_path)
    assert memory.count(subtree=True) == 0


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("history (memory_id, old_memory, new_memory, event)", "does not say whose a memory is"),
        ("points (id, point)", "pickled objects"),
    ],
)
def test_a_database_that_is_refused_stops_the_folder_before_anything_is_written(tmp_path, memory, table, why):
    """Also where the others have more than is written at once."""
    filled(tmp_path / "a.db", *(f"k{number}" for number in range(300))).close()
    other(tmp_path / "history.db", table)
    with pytest.raises(BundleError, match=f"'history.db' cannot be imported: .*{why}"):
        import_file(memory, tmp_path)
    assert memory.count(subtree=True) == 0


def test_a_folder_is_read_for_the_databases_in_it(tmp_path):
    """Whatever else lies there is left alone; a folder without any says what it was looked through for."""
    folder = tmp_path / "pálace"
    folder.mkdir()
    (folder / "notes.txt").write_text("hello")
    (folder / "broken.db").write_text("no database")
    with pytest.raises(BundleError, match="holds no SQLite database"):
        read(folder)
    filled(folder / "one.sqlite3", "k1").close()
    filled(folder / "two.db", "k2").close()
    before = contents(folder)
    assert detect(folder) is Format.LANGGRAPH
    assert keys(folder) == ["k1", "k2"]
    assert contents(folder) == before


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="there are no links")
def test_a_link_leads_to_the_log_as_well(tmp_path):
    """The log stands beside the file, not beside the link."""
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "link to it.db"
    link.symlink_to(tmp_path / "elsewhere" / "memories #1?.db")
    with closing(filled(tmp_path / "elsewhere" / "memories #1?.db", "k1", mode="wal")):
        assert keys(link) == ["k1"]


def test_progress_ends_with_all_bytes_done(tmp_path):
    """As for texts, the last call says that everything is read."""
    path = tmp_path / "memories.db"
    filled(path, "k1").close()
    calls: list[tuple[int, int]] = []
    assert len(list(read(path, progress=lambda done, total: calls.append((done, total))))) == 1
    assert calls[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_text_that_is_not_utf_8_does_not_end_the_reading(tmp_path):
    """Its bytes come as U+FFFD, and so its JSON is still read."""
    path = tmp_path / "memories.db"
    with closing(filled(path, "k1")) as connection:
        connection.execute(
            "INSERT INTO store (prefix, key, value) VALUES ('a', 'k2', CAST(? AS TEXT))", (b'{"text": "a\xff"}',)
        )
        connection.commit()
    assert [item.text for item in read(path) if isinstance(item, Noted)][1] == "a\ufffd"


def test_the_memory_itself_is_not_imported_into_itself(tmp_path):
    """Neither by its name nor by its folder, and it stays well."""
    with Memory(tmp_path / "mine.db", embedder="hashing") as memory:
        memory.remember("something")
        for path in (tmp_path / "mine.db", tmp_path):
            with pytest.raises(BundleError):
                import_file(memory, path)
        assert memory.check() == []


def test_virtual_tables_are_no_tables(tmp_path):
    """Not even one whose module is not here, which could not be asked for its columns."""
    path = tmp_path / "memories.db"
    with closing(filled(path, "k1")) as connection:
        connection.execute("PRAGMA writable_schema = 1")
        sql = "CREATE VIRTUAL TABLE vectors USING vec0(embedding float[8])"
        connection.execute("INSERT INTO sqlite_master VALUES ('table', 'vectors', 'vectors', 0, ?)", (sql,))
        connection.commit()
    assert list(tables_of(path)) == ["store"]
    assert keys(path) == ["k1"]


def test_a_copy_leaves_nothing_behind(tmp_path):
    """What was copied to be read is gone when the reading ends, and when it fails."""
    path = tmp_path / "memories.db"
    filled(path, "k1").close()
    places: list[Path] = []
    for failure in (None, KeyError()):
        with suppress(KeyError), copies([path, path]) as made:
            places.append(made[path].parent)
            assert list(places[-1].iterdir()) == [made[path]]
            if failure is not None:
                raise failure
    assert [place.exists() for place in places] == [False, False]
    assert tmp_path not in places


@example(where=3870, what=b"\x80", cut=0)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.integers(0, 20_000), what=st.binary(min_size=1, max_size=64), cut=st.integers(0, 20_000))
def test_damage_anywhere_is_told_or_harmless_and_never_a_crash(tmp_path, where, what, cut):
    """Whatever bytes are overwritten or missing, the outcome is items or a BundleError."""
    path = tmp_path / "memories.db"
    path.unlink(missing_ok=True)
    filled(path, *(f"k{number}" for number in range(30))).close()
    whole = bytearray(path.read_bytes())
    at = where % len(whole)
    whole[at : at + len(what)] = what
    path.write_bytes(bytes(whole[: len(whole) - cut % 100]))
    try:
        items = list(read(path))
    except BundleError:
        return
    assert all(isinstance(item, Noted | Refused) for item in items)

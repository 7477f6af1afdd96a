"""The PostgreSQL store among others: names and values that would be statements, foreign schemas, damage, erasure."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.errors import InvalidFilter, InvalidInput, SchemaTooNew, StoreCorrupt
from seasoned.ports import Credit, Fingerprint, Put, Vectors
from seasoned.query import Order, Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.postgres import PostgresStore
from seasoned.testing.contract_base import EAST, NOON, fresh_scope, rows
from seasoned.text import Analyser

from .conftest import ALICE, listed, note, said
from .pgserver import asked, new_schema, psycopg, server

STATEMENTS = (
    "x' OR 1=1 --",
    "'; DROP TABLE record; --",
    '"; DROP TABLE record; --',
    "$1",
    "%s",
    "%(p0)s",
    "100%",
    "{x}",
    "\\",
    "$$",
    "a::json",
    "NULL",
)


@pytest.fixture
def schema():
    """A schema that is dropped at the end."""
    name = new_schema()
    yield name
    asked(server().url, f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture
def store(schema):
    """An empty store."""
    made = PostgresStore(server().url, schema=schema)
    yield made
    made.close()


def found(store, where):
    """The ids that pass a filter."""
    return [hit.id for hit in store.find(Query(scope=ALICE, where=where)).hits]


@pytest.mark.parametrize(
    "name", ["", "Public", "a.b", 'a"; DROP SCHEMA public; --', "a b", "1a", "é", "x" * 49, None, 1], ids=repr
)
def test_a_schema_of_another_name_is_refused(name):
    """Letters, digits and underscores are names; nothing else reaches a statement."""
    with pytest.raises(InvalidInput):
        PostgresStore(server().url, schema=name)


@pytest.mark.parametrize(
    "url", ["not a url at all", "postgresql://alice:hush@host:port:port/x?y", "password=hush what"]
)
def test_an_address_that_is_none_is_refused_without_being_shown(url):
    """It may hold a password."""
    with pytest.raises(InvalidInput) as caught:
        PostgresStore(url)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_in_a_filter_or_a_record_is_a_text(store, text):
    """As a value, an id, a kind, a scope, a giver: it is stored, found, and nothing else happens."""
    key = Key(Scope((text,)), text, text)
    store.apply([Put(Record(key=key, text=text, at=NOON, data={text.replace(".", ""): text})), Put(note("n1"))])
    store.apply([Credit(key, "worth", 1.0, text)])
    for where in ({"text": text}, {"id": text}, {"kind": text}, {"id": [text]}):
        assert [hit.id for hit in store.find(Query(scope=key.scope, where=where)).hits] == [text]
    assert found(store, {"text": text}) == []
    assert found(store, {"data.x": text}) == []
    assert found(store, {"data.x": {"ne": text}}) == ["n1"]
    assert listed(store) == ["n1"]


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_as_the_name_of_a_field_is_a_name_or_refused(store, text):
    """It names a value that is there, or no filter is made of it."""
    store.apply([Put(note("n1", data={text: 1})), Put(note("n2"))])
    try:
        assert found(store, {f"data.{text}": 1}) == ["n1"]
    except InvalidFilter:
        assert any(char in text for char in '."\\')
    with pytest.raises(InvalidFilter):
        store.find(Query(scope=ALICE, where={text: 1}))


_parts = st.lists(st.text("a%/25F:.|_'", min_size=1, max_size=3), min_size=1, max_size=3).map(tuple)


@settings(max_examples=25)
@given(one=_parts, other=_parts)
def test_scopes_that_imitate_each_other_never_see_each_other(one, other):
    """Neither by order, words, vector, source nor count, whatever their parts are made of."""
    if one == other:
        return
    store, place = _SHARED.store(), fresh_scope()
    here, there = place.within(*one), place.within(*other)
    made = Record(key=Key(there, "note", "n"), text="green tea", at=NOON)
    store.apply([Put(made, rows(EAST))])
    for asked_for in (
        Query(scope=here),
        Query(scope=here, order=Order.NEWEST),
        Query(scope=here, words="green tea"),
        Query(scope=here, vector=rows(EAST)),
        Query(scope=here, words="green tea", vector=rows(EAST)),
        Query(scope=here, keys=(made.key,)),
    ):
        assert list(store.find(asked_for).hits) == []
    below = store.find(Query(scope=here, subtree=True)).hits
    assert [hit.record.key.scope for hit in below] == ([there] if here.holds(there) else [])


class _Shared:
    """One store for all examples of a property."""

    def __init__(self):
        self._store = None

    def store(self):
        if self._store is None:
            self._store = PostgresStore(server().url, schema=new_schema())
        return self._store

    def close(self):
        if self._store is not None:
            self._store.close()


_SHARED = _Shared()


@pytest.fixture(scope="module", autouse=True)
def _close_shared():
    """Close what the properties opened."""
    yield
    _SHARED.close()


def test_a_schema_of_another_program_is_left_alone(schema):
    """Its tables are not touched, whether or not one has the name of ours."""
    asked(server().url, f"CREATE SCHEMA {schema}")
    asked(server().url, f"CREATE TABLE {schema}.record (id int)")
    with pytest.raises(StoreCorrupt):
        PostgresStore(server().url, schema=schema)
    asked(server().url, f"ALTER TABLE {schema}.record RENAME TO meta")
    with pytest.raises(StoreCorrupt):
        PostgresStore(server().url, schema=schema)
    assert asked(server().url, f"SELECT * FROM {schema}.meta") == []


def test_a_schema_of_a_newer_version_is_refused(store, schema):
    """It is not guessed at."""
    asked(server().url, f"UPDATE {schema}.meta SET value = '99' WHERE name = 'schema'")
    with pytest.raises(SchemaTooNew):
        PostgresStore(server().url, schema=schema)


def test_two_schemas_of_one_database_are_two_stores(store):
    """Neither sees the other."""
    other = PostgresStore(server().url, schema=new_schema())
    store.apply([Put(note("a", "green tea"))])
    assert (listed(other), said(other, "tea")) == ([], [])
    other.close()


DAMAGE = {
    "a posting is gone": "DELETE FROM {s}.posting WHERE term = 'tea'",
    "a posting is too many": "INSERT INTO {s}.posting SELECT scope, 'milk', row, part, 1, 2 FROM {s}.posting LIMIT 1",
    "a count is wrong": "UPDATE {s}.term SET passages = passages + 1",
    "a scope is miscounted": "UPDATE {s}.scope SET words = words + 1",
    "vectors are miscounted": "UPDATE {s}.used SET vectors = vectors + 1",
    "a source is gone": "DELETE FROM {s}.source",
    "a session is wrong": "UPDATE {s}.record SET session = scope WHERE id = 'a'",
    "a posting is an orphan": "INSERT INTO {s}.posting SELECT scope, term, row + 99, 0, 1, 1 FROM {s}.posting LIMIT 1",
    "a vector is an orphan": "INSERT INTO {s}.vector SELECT scope, space, row + 99, 0, vector FROM {s}.vector LIMIT 1",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_damage_beside_the_rows_is_found_and_repaired(store, schema, statement):
    """`check` names it, `rebuild` mends it, and searches answer as before."""
    source = note("a", "green tea", data={"session": "s"})
    store.apply([Put(source, rows(EAST)), Put(note("b", "black tea", sources=(source.key,)))])
    assert store.check() == []
    asked(server().url, statement.format(s=schema))
    assert store.check() != []
    assert store.rebuild() == 2
    assert store.check() == []
    assert said(store, "green tea") == ["a", "b"]
    assert [hit.id for hit in store.find(Query(scope=ALICE, source=source.key)).hits] == ["b"]


def test_a_row_that_cannot_be_read_hides_no_other(store, schema):
    """It is named in the page, and can be forgotten."""
    store.apply([Put(note("a", "green tea")), Put(note("b", "green tea"))])
    asked(server().url, f"UPDATE {schema}.record SET sources = '[3]' WHERE id = 'a'")
    page = store.find(Query(scope=ALICE))
    assert [hit.id for hit in page.hits] == ["b"]
    assert page.unreadable == (note("a").key,)
    assert any("corrupt" in part for part in store.find(Query(scope=ALICE, words="tea")).degraded)
    assert len(store.check()) == 1
    assert store.purge([note("a").key]).rows == 1
    assert store.check() == []


def test_terms_of_another_analyser_are_said_to_be_so_until_they_are_made_anew(store, schema):
    """A store opened with another language answers, says what is missing, and a rebuild cures it."""
    store.apply([Put(note("a", "die Häuser"))])
    german = PostgresStore(server().url, schema=schema, analyser=Analyser("german"))
    page = german.find(Query(scope=ALICE, words="Haus"))
    assert (list(page.hits), len(page.degraded)) == ([], 1)
    assert german.check() != []
    german.rebuild()
    assert said(german, "Haus") == ["a"]
    assert german.find(Query(scope=ALICE, words="Haus")).degraded == ()
    assert german.check() == []
    german.close()


def test_what_is_purged_is_in_no_table(store, schema):
    """Neither its text nor its terms nor its vectors are left; what went is counted."""
    secret = note("a", "the code is xylophone", data={"pin": "4711-XQ"})
    store.apply([Put(secret, rows(EAST)), Put(note("b", "the code is tea"))])
    counts = store.purge([secret.key])
    assert (counts.rows, counts.vectors, counts.pending, counts.left) == (1, 1, (), ())
    assert counts.postings >= 4
    for table in ("record", "posting", "term", "vector", "source", "credit"):
        left = asked(server().url, f"SELECT t::text FROM {schema}.{table} t")
        assert [row for (row,) in left if "xyloph" in row or "4711-XQ" in row] == []
    assert asked(server().url, f"SELECT count(*) FROM {schema}.vector") == [(0,)]
    assert listed(store) == ["b"]


def test_an_erasure_that_others_still_read_is_pending_until_they_end(store, schema):
    """It is said at once, found by `check`, and finished later."""
    store.apply([Put(note("a", "green tea"))])
    with psycopg.connect(server().url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute(f"SELECT count(*) FROM {schema}.record")
        assert store.purge([note("a").key]).pending == ("vacuum",)
        assert [finding.where for finding in store.check()] == ["vacuum"]
    assert store.check() == []
    assert store.finish_purge() == ()


def test_vectors_of_more_numbers_than_an_index_takes_are_compared_one_by_one(store):
    """Up to sixteen thousand; beyond, they are refused before anything is written."""
    wide = Fingerprint("wide", "1", 4_001)
    store.apply([Put(note("a", "x"), Vectors(wide, np.ones((1, 4_001), np.float32)))])
    assert [
        hit.id for hit in store.find(Query(scope=ALICE, vector=Vectors(wide, np.ones((1, 4_001), np.float32)))).hits
    ] == ["a"]
    too_wide = Fingerprint("wide", "1", 16_001)
    with pytest.raises(InvalidInput):
        store.apply([Put(note("b", "x"), Vectors(too_wide, np.ones((1, 16_001), np.float32)))])
    assert listed(store) == ["a"]


def test_without_the_driver_the_error_names_the_extra():
    """The package imports; only opening a store needs psycopg."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from seasoned.stores.postgres import PostgresStore\n"
        "from seasoned.errors import MissingExtra\n"
        "try: PostgresStore('postgresql://localhost/x')\n"
        "except MissingExtra as error: print(error.extra)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("postgres\n", "")

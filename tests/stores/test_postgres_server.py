"""The PostgreSQL store and its server: crashes, restarts, lost connections, what others see meanwhile."""

from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager

import pytest

from seasoned.errors import StoreBusy, StoreError
from seasoned.ports import Credit, Put, Remove
from seasoned.query import Order, Query
from seasoned.stores.postgres import PostgresStore

from .conftest import ALICE, listed, note, said
from .pgserver import asked, new_schema, new_server, psycopg, server


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


@pytest.fixture(scope="module")
def mortal():
    """A server of this module's own, to be killed."""
    made = new_server()
    yield made
    made.stop()


@contextmanager
def held(statement):
    """Hold what a statement locks, as a slow writer does, until the block ends."""
    with psycopg.connect(server().url) as db:
        db.execute(statement)
        yield
        db.rollback()


def ids_since(store, cursor=None):
    """The ids of what changed since a cursor, and the next cursor."""
    page = store.find(Query(scope=ALICE, order=Order.CHANGED, cursor=cursor))
    return [hit.id for hit in page.hits], [key.id for key in page.gone], str(page.seq)


def test_a_killed_server_loses_nothing_acknowledged_and_the_client_goes_on(mortal):
    """Killed under a writer and started again: what was acknowledged is there, and the same store reads and writes."""
    store = PostgresStore(mortal.url)
    acknowledged, unknown, restarted = [], [], threading.Event()

    def write():
        for number in itertools.count():
            try:
                store.apply([Put(note(f"n{number}", "green tea"))])
                acknowledged.append(f"n{number}")
            except StoreError:
                unknown.append(f"n{number}")
            if restarted.is_set():
                return

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    while len(acknowledged) < 20:
        listed(store)
    mortal.kill()
    mortal.restart()
    restarted.set()
    writer.join(60)
    assert not writer.is_alive()
    store.apply([Put(note("after", "green tea"))])
    assert len(listed(store)) <= len(acknowledged) + len(unknown) + 1
    assert set(acknowledged) <= set(listed(store))
    assert set(acknowledged) <= {hit.id for hit in store.find(Query(scope=ALICE, words="tea", k=1000)).hits}
    assert store.check() == []
    store.close()


def test_a_server_that_is_not_there_is_an_error_and_not_the_end(mortal):
    """While it is down each call says so within the time allowed; once it is up the same store answers."""
    store = PostgresStore(mortal.url, schema="down", timeout_s=0.5)
    store.apply([Put(note("a"))])
    mortal.kill()
    with pytest.raises(StoreError):
        store.find(Query(scope=ALICE))
    with pytest.raises(StoreError):
        store.apply([Put(note("b"))])
    mortal.restart()
    other = PostgresStore(mortal.url, schema="down")
    assert listed(other) == ["a"]
    other.close()
    store.close()


def test_a_store_at_a_server_that_is_not_there_is_refused_with_its_address_but_no_password():
    """The error names where it looked, not what it would have said."""
    with pytest.raises(StoreError) as caught:
        PostgresStore("postgresql://alice:hush@127.0.0.1:1/memory")
    assert "hush" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def end_connections():
    """End every connection of a store, as a restart or a firewall does."""
    asked(
        server().url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'seasoned'",
    )


def test_a_connection_that_was_lost_between_calls_is_not_noticed(store):
    """Reads, searches, writes and upkeep go on with new ones."""
    store.apply([Put(note("a", "green tea"))])
    end_connections()
    assert listed(store) == ["a"]
    end_connections()
    assert said(store, "tea") == ["a"]
    end_connections()
    store.apply([Put(note("b", "green tea"))])
    end_connections()
    assert store.stats()["records"] == 2


def test_a_commit_whose_end_is_not_known_is_said_to_be_so(store, schema):
    """The connection dies while it commits: the error says what is not known, and a repetition does no harm."""
    asked(
        server().url,
        f"""
        CREATE FUNCTION {schema}.die() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER die AFTER INSERT ON {schema}.record DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW WHEN (NEW.id = 'a') EXECUTE FUNCTION {schema}.die()
        """,
    )
    batch = [Put(note("a", "green tea")), Put(note("b"))]
    with pytest.raises(StoreError, match="not known"):
        store.apply(batch)
    asked(server().url, f"DROP TRIGGER die ON {schema}.record")
    store.apply(batch)
    assert listed(store) == ["a", "b"]


def test_a_search_does_not_wait_for_a_slow_writer(store, schema):
    """While others hold the scope and all its rows, reads of every kind are answered."""
    store.apply([Put(note("a", "green tea"))])
    with held(f"SELECT FROM {schema}.scope, {schema}.record FOR UPDATE"):
        assert said(store, "green tea") == ["a"]
        assert listed(store) == ["a"]
        assert ids_since(store)[0] == ["a"]


def test_waiting_writers_leave_connections_for_readers(schema):
    """As many writers as the pool has connections wait for a slow one, and a search is answered."""
    store = PostgresStore(server().url, schema=schema, pool_most=4)
    store.apply([Put(note("a", "green tea"))])
    threads = [threading.Thread(target=store.apply, args=([Put(note(f"n{n}", "milk"))],)) for n in range(8)]
    with held(f"SELECT FROM {schema}.scope FOR UPDATE"):
        for thread in threads:
            thread.start()
        assert said(store, "green tea") == ["a"]
    for thread in threads:
        thread.join()
    assert len(said(store, "milk")) == 8
    store.close()


def test_a_follower_never_misses_the_rows_of_a_slow_writer(store, schema):
    """A writer that began first and ends last does not slip in behind the follower's back."""
    store.apply([Put(note("old")), Put(note("seen"))])
    _, _, cursor = ids_since(store)
    slow = threading.Thread(target=store.apply, args=([Put(note("slow")), Remove(note("old").key)],))
    fast = threading.Thread(target=store.apply, args=([Put(note("fast"))],))
    with held(f"LOCK TABLE {schema}.gone IN SHARE MODE"):
        slow.start()
        wait_for(f"SELECT FROM pg_locks WHERE NOT granted AND relation = '{schema}.gone'::regclass")
        fast.start()
        assert ids_since(store, cursor) == ([], [], cursor)
    slow.join()
    fast.join()
    assert ids_since(store, cursor)[:2] == (["slow", "fast"], ["old"])


def wait_for(statement):
    """Ask until there is an answer."""
    with psycopg.connect(server().url, autocommit=True) as db:
        while not db.execute(statement).fetchall():
            pass


def test_between_calls_no_connection_holds_anything(store, schema):
    """Neither a transaction nor a lock nor a prepared statement, so a pooler may lend it to others."""
    store.apply([Put(note("a", "green tea")), Credit(note("a").key, "worth", 1.0, "x")])
    said(store, "green tea")
    ids_since(store)
    states = asked(server().url, "SELECT DISTINCT state FROM pg_stat_activity WHERE application_name = 'seasoned'")
    assert states == [("idle",)]
    assert asked(server().url, "SELECT FROM pg_locks WHERE locktype = 'advisory'") == []


def test_a_writer_that_waits_too_long_says_that_the_store_is_busy(schema):
    """The time is bounded, nothing was written, and it may try again."""
    store = PostgresStore(server().url, schema=schema, timeout_s=0.2)
    store.apply([Put(note("a"))])
    with held(f"SELECT FROM {schema}.scope FOR UPDATE"), pytest.raises(StoreBusy):
        store.apply([Put(note("b"))])
    store.apply([Put(note("c"))])
    assert listed(store) == ["a", "c"]
    store.close()

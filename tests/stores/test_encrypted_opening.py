"""`Memory(keys=…)`: at every location, with redaction, and without its keys."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from seasoned import CallableEmbedder, HashingEmbedder, Memory, MemoryStore, RunPolicy, SQLiteStore, TurnRecord
from seasoned.errors import InvalidInput, StoreClosed, StoreLocked, WrongType
from seasoned.keys import layers
from seasoned.query import Query
from seasoned.redaction import RedactingStore, RedactionPolicy, Redactor
from seasoned.stores.encrypted import EncryptedStore, KeyRing, LockedHit
from seasoned.testing import FakeClock

ALICE = ("acme", "alice")
KEY, NEXT = bytes(range(32)), bytes(range(1, 33))
SPELLING = HashingEmbedder(64)
RAW = SPELLING.embed(["Quicksilver runs."]).astype("<f4").tobytes()
WORDS = (b"uicksilv", b"tagbeta", b"zanzibar", b"sessionalpha", RAW, base64.b64encode(RAW), KEY)
"""What must not be found where a memory lies that `furnish` wrote."""


def ring() -> KeyRing:
    """Keys of Alice alone."""
    return KeyRing({ALICE: {"1": KEY}})


def opened(location: object, **options: object) -> Memory:
    """Open Alice's memory."""
    spelling = CallableEmbedder(SPELLING.embed, "spelling", dimension=64)
    return Memory(location, **({"scope": ALICE, "embedder": spelling, "clock": FakeClock()} | options))


def furnish(memory: Memory) -> None:
    """Write a note, a message, and a note in a scope below."""
    memory.remember("Quicksilver runs.", tags=["tagbeta"], id="q")
    memory.conversation.add({"role": "user", "content": "zanzibar?"}, session="sessionalpha")
    memory.within("below").remember("Quicksilver sleeps.")


def read(memory: Memory) -> None:
    """Find all of that again, by words and vectors."""
    best = memory.recall("Quicksilver runs.", subtree=True, k=2)
    assert [hit.text for hit in best] == ["Quicksilver runs.", "Quicksilver sleeps."]
    assert best[0].why.keys() >= {"lexical", "dense"}
    assert memory.conversation.sessions()[0].id == "sessionalpha"
    assert memory.check() == []


def content(folder: Path) -> bytes:
    """All that the files of a folder hold."""
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def qdrant(folder: Path) -> str:
    """A folder of Qdrant's."""
    pytest.importorskip("qdrant_client")
    return f"qdrant:///{folder / 'qdrant'}"


PLACES = {
    "path": lambda folder: folder / "agent.db",
    "sqlite": lambda folder: f"sqlite:///{folder / 'agent.db'}",
    "qdrant": qdrant,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_memory_with_keys_is_sealed_wherever_it_lies(tmp_path, place):
    """It finds by words and meaning, closes, opens again; and no file of the engine holds a word or a vector of it."""
    location = PLACES[place](tmp_path)
    with opened(location, keys=ring()) as memory:
        furnish(memory)
    with opened(location, keys=ring()) as memory:
        read(memory)
    held = content(tmp_path)
    assert [word for word in WORDS if word in held] == []
    assert b"alice" in held, "scopes stay readable, so these are the files of the engine"


def test_no_vector_of_a_sealed_scope_reaches_a_qdrant_collection():
    """In the clear its points have a vector of words and one of meaning; sealed, neither of them and no text."""
    qdrant_client = pytest.importorskip("qdrant_client")
    from seasoned.stores.qdrant import QdrantStore

    found = []
    for keys in (ring(), None):
        client = qdrant_client.QdrantClient(":memory:")
        store = QdrantStore(client=client, collection_name="sealed", vector_size=64)
        with opened(store, keys=keys) as memory:
            furnish(memory)
            read(memory)
        points, _ = client.scroll("sealed", limit=1_000, with_payload=True, with_vectors=True)
        found.append(({name for point in points for name in point.vector or ()}, "uicksilver" in str(points)))
        store.close()
        client.close()
    assert found == [(set(), False), ({"words", "dense"}, True)]


def test_no_word_or_vector_of_a_sealed_scope_reaches_postgresql():
    """No table of the schema holds one; in the clear they do."""
    pytest.importorskip("psycopg")
    from seasoned.stores.postgres import PostgresStore

    from .pgserver import asked, empty_schema, server  # skips where there is no server

    found = []
    for keys in (ring(), None):
        with empty_schema() as schema:
            store = PostgresStore(server().url, schema=schema)
            with opened(store, keys=keys) as memory:
                furnish(memory)
                read(memory)
            store.close()
            tables = asked(server().url, f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'")
            rows = {name: asked(server().url, f"SELECT t::text FROM {schema}.{name} t") for (name,) in tables}
            found.append({name: str(each) for name, each in rows.items() if each})
    sealed, clear = ("".join(tables.values()) for tables in found)
    words = ("uicksilv", "tagbeta", "zanzibar", "sessionalpha")
    assert [word for word in words if word in sealed] == []
    assert [word for word in words if word in clear] == [*words]
    derived = [{name.split("_")[0] for name in tables} & {"vector", "posting", "term"} for tables in found]
    assert derived == [set(), {"vector", "posting", "term"}]


def test_a_store_that_was_given_stays_open():
    """The memory encrypts over it and lets go of what it decrypted; the store is its caller's to close."""
    store = MemoryStore()
    memory = opened(store, keys=ring())
    furnish(memory)
    memory.close()
    memory.close()
    with pytest.raises(StoreClosed):
        memory.get("q")
    assert isinstance(memory.store, EncryptedStore)
    with pytest.raises(StoreClosed):
        memory.store.find(Query(scope=ALICE))
    with opened(store, keys=ring()) as again:
        read(again)
    store.close()


def test_a_store_that_encrypts_or_redacts_already_is_refused():
    """Nothing is sealed twice, and nothing sealed is redacted, which would destroy it."""
    sealed = EncryptedStore(MemoryStore(), ring())
    redacting = RedactingStore(MemoryStore(), Redactor())
    for store, why in (
        (sealed, "encrypts already"),
        (RedactingStore(sealed, Redactor()), "encrypts already|redaction"),
        (redacting, "redaction comes before encryption"),
    ):
        with pytest.raises(InvalidInput, match=why):
            opened(store, keys=ring())
    with pytest.raises(InvalidInput, match="sealed twice"):
        EncryptedStore(sealed, ring())
    for store in (sealed, redacting):
        store.close()


@pytest.mark.parametrize("keys", [KEY, {"1": KEY}, "keys.toml", object()], ids=lambda keys: type(keys).__name__)
def test_what_gives_no_keys_is_refused(tmp_path, keys):
    """A key itself is no ring of keys; the file that was opened for it is closed again."""
    with pytest.raises(WrongType, match="KeyRing"):
        opened(tmp_path / "agent.db", keys=keys)
    with opened(tmp_path / "agent.db") as memory:
        assert memory.count() == 0


def test_what_is_redacted_is_redacted_before_it_is_sealed(tmp_path):
    """Who has the key reads placeholders; the embedder saw no address, and a record is found by its placeholder."""
    seen: list[str] = []

    def embed(texts: Sequence[str]):
        seen.extend(texts)
        return SPELLING.embed(texts)

    options = {"embedder": CallableEmbedder(embed, "watched", dimension=64), "redaction": RedactionPolicy()}
    with opened(tmp_path / "agent.db", keys=ring(), **options) as memory:
        memory.remember("Write to alice@example.com about tea.", id="n")
        assert memory.get("n").text == "Write to [email] about tea."
        assert [hit.id for hit in memory.recall("tea for alice@example.com")] == ["n"]
        assert memory.rotate_key().current == 1
    with opened(tmp_path / "agent.db", keys=ring()) as memory:
        assert memory.get("n").text == "Write to [email] about tea."
    assert seen
    assert "alice@example.com" not in str(seen)
    assert b"email" not in content(tmp_path)


def test_a_memory_that_is_opened_without_its_keys_is_locked(tmp_path):
    """It neither shows blank records nor writes beside them in the clear; a scope without keys is as it was."""
    with opened(tmp_path / "agent.db", keys=ring()) as memory:
        furnish(memory)
    with opened(tmp_path / "agent.db") as memory:
        assert [type(hit) for hit in memory.recall("quicksilver")] == [LockedHit, LockedHit]
        assert memory.get("q").locked
        with pytest.raises(StoreLocked, match=r"the key '1' of acme/alice is not here.*keys="):
            memory.remember("plain words")
        with pytest.raises(StoreLocked):
            memory.conversation.sessions()
        with pytest.raises(StoreLocked):
            memory.within("below").remember("plain words")
        assert [found.where for found in memory.check()] == ["locked", "locked"]
    with opened(tmp_path / "agent.db", scope=("acme", "bob")) as memory:
        memory.remember("Bob likes tea.", id="tea")
        assert not memory.get("tea").locked
        assert isinstance(layers(memory.store)[-1], SQLiteStore)
    assert b"plain words" not in content(tmp_path)


def test_without_the_package_an_encrypted_memory_says_what_to_install(tmp_path):
    """With keys, and without them where the scope is encrypted; a file in the clear opens."""
    with opened(tmp_path / "agent.db", keys=ring()) as memory:
        furnish(memory)
    code = """
import sys
sys.modules["cryptography"] = None
from seasoned import Memory
from seasoned.errors import MissingExtra
class Keys:
    def current(self, scope): return "1"
    def get(self, scope, name): return None
    def forget(self, scope): pass
for keys in (Keys(), None):
    try:
        Memory("agent.db", scope=("acme", "alice"), keys=keys, embedder="hashing")
    except MissingExtra as error:
        print(error.extra)
with Memory("agent.db", scope="other", embedder="hashing") as memory:
    print(memory.count())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["encryption", "encryption", "0"], "")


def test_keys_of_the_memory_are_rotated_in_steps_that_can_be_stopped(tmp_path):
    """`progress` may raise: what was sealed anew stays so, and the next call does the rest."""
    keys = ring()
    with opened(tmp_path / "agent.db", keys=keys) as memory:
        for number in range(250):
            memory.remember(f"Parcel {number}.", id=f"p{number}")
        memory.within("below").remember("A parcel below.", id="b")
        keys.add(ALICE, "2", NEXT)

        def stop(done: int, total: int) -> None:
            assert total == 251
            if done >= 200:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            memory.rotate_key(stop)
        done = memory.rotate_key()
        assert (done.resealed, done.current, done.done) == (51, 200, True)
        keys.drop(ALICE, "1")
        assert memory.within("below").get("b").text == "A parcel below."
        assert memory.rotate_key().current == 251


def test_a_rotation_goes_past_a_scope_below_whose_keys_are_gone(tmp_path):
    """One tenant's keys were forgotten: the others are sealed anew, and the result names the records that stay."""
    keys = KeyRing({"acme": {"1": KEY}, ALICE: {"own": NEXT}})
    with Memory(tmp_path / "agent.db", scope="acme", embedder="hashing", keys=keys) as memory:
        memory.within("bob").remember("Bob likes tea.")
        memory.within("alice").remember("Alice likes milk.", id="a")
        memory.within("alice").forget_key()
        keys.add("acme", "2", bytes([7]) * 32)
        done = memory.rotate_key()
        assert (done.resealed, [key.id for key in done.locked], done.done) == (1, ["a"], False)
        with pytest.raises(StoreLocked, match="'own' of acme/alice"):
            memory.within("alice").rotate_key()


def test_the_receipt_of_a_forgotten_key_says_what_nobody_reads_any_more(tmp_path):
    """Records by kind, the scopes, what is still readable below, and the bundles that lie elsewhere."""
    keys = KeyRing({"acme": {"1": KEY}, ALICE: {"own": NEXT}})
    with Memory(tmp_path / "agent.db", scope="acme", embedder="hashing", keys=keys) as memory:
        memory.remember("We sell tea.", id="we")
        memory.within("bob").conversation.add({"role": "user", "content": "Hello."})
        memory.within("alice").remember("Alice likes milk.", id="a")
        memory.export(tmp_path / "bundle.jsonl")
        done = memory.forget_key()
        assert done.by_kind == {"note": 1, "message": 1, "export": 1}
        assert (done.total, done.scopes) == (3, (("acme",), ("acme", "bob")))
        assert (done.readable, done.exports) == (1, (str(tmp_path / "bundle.jsonl"),))
        locked = {hit.record.key.scope[-1]: hit.locked for hit in memory.list(subtree=True).hits}
        assert locked == {"acme": True, "alice": False, "bob": True}
        assert memory.forget_key().by_kind == done.by_kind


def test_keys_of_another_place_are_forgotten_there(tmp_path):
    """A key management service of the caller's destroys its own keys; what it still gives is still read."""

    class Service:
        """Keeps keys until the end of a waiting period."""

        def __init__(self) -> None:
            self.scheduled: list[tuple[str, ...]] = []

        def current(self, scope):
            return "1"

        def get(self, scope, name):
            return KEY

        def forget(self, scope):
            self.scheduled.append(tuple(scope))

    service = Service()
    with opened(tmp_path / "agent.db", keys=service) as memory:
        memory.remember("Quicksilver runs.", id="q")
        done = memory.forget_key()
        assert (service.scheduled, done.total, done.readable) == ([ALICE], 0, 1)
        assert memory.get("q").text == "Quicksilver runs."


def test_a_memory_without_keys_has_none_to_rotate_or_forget():
    """It says how a memory gets some."""
    with opened(None) as memory:
        for verb in (memory.rotate_key, memory.forget_key):
            with pytest.raises(InvalidInput, match="not encrypted; open it with keys="):
                verb()


def test_what_a_run_under_way_holds_goes_with_the_key():
    """Its observations were in this process in the clear; from then on they are not shown."""
    with opened(None, keys=ring()) as memory:
        memory.runs.configure(policy=RunPolicy(extract_every=1, episode_every=1))
        memory.runs.start_run("r")
        memory.runs.record_turn(TurnRecord(1, -5.0, "EUR", ["storm"], [{"type": "sell"}], {}))
        memory.runs.extract_atoms(1)
        memory.runs.update_episode(None, 1)
        assert memory.runs.memory_block() is not None
        memory.forget_key()
        with pytest.raises(StoreLocked):
            memory.runs.memory_block()


def test_all_of_a_scope_whose_key_is_lost_can_be_forgotten_and_nothing_less(tmp_path):
    """What was derived from a part cannot be told; of everything, with the scopes below, nothing needs to be."""
    with opened(tmp_path / "agent.db", keys=ring()) as memory:
        furnish(memory)
        memory.update("q", text="Quicksilver rests.")
    with opened(tmp_path / "agent.db") as memory:
        for part in ({"id": "q"}, {"everything": True}, {"kinds": ["note"], "subtree": True}):
            with pytest.raises(StoreLocked):
                memory.forget(**part)
        assert memory.count(subtree=True) == 3
        told = memory.forget(everything=True, subtree=True, dry_run=True)
        assert (told.by_kind, memory.count(subtree=True)) == ({"note": 2, "message": 1, "superseded": 1}, 3)
        done = memory.forget(everything=True, subtree=True, hard=True)
        assert (done.by_kind, done.rows, done.left, done.pending) == (told.by_kind, 4, (), ())
        assert memory.count(subtree=True) == 0


def test_a_scope_that_is_given_a_key_of_its_own_can_still_be_read_and_is_sealed_anew(tmp_path):
    """With the key above it, which sealed what was there; what is new has its own."""
    keys = KeyRing({("acme",): {"1": KEY}})
    with Memory(tmp_path / "a.db", scope=ALICE, keys=keys, embedder="hashing") as memory:
        memory.remember("before", id="b")
        keys.add(ALICE, "own", NEXT)
        assert memory.get("b").text == "before"
        memory.remember("after", id="a")
        assert (memory.rotate_key().resealed, memory.rotate_key().done) == (1, True)
    with Memory(tmp_path / "a.db", scope=ALICE, keys=KeyRing({ALICE: {"own": NEXT}}), embedder="hashing") as memory:
        assert [hit.text for hit in memory.list().hits] == ["before", "after"]

"""Storages: the same records come back from each of them, and a caller's own is used by its three verbs alone."""

from __future__ import annotations

import gc
import json
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from seasoned import Memory as NativeMemory
from seasoned.compat.sikkaagent.agents.base import BaseMessage
from seasoned.compat.sikkaagent.memories import Memory, MemoryRecord
from seasoned.compat.sikkaagent.storages import ChromaDB, InMemoryStorage, Qdrant, RecordStorage
from seasoned.compat.sikkaagent.utils.enums import Distance, RoleType
from seasoned.embedders import CallableEmbedder, resolve
from seasoned.errors import InvalidInput, InvalidMessage, MissingExtra, StoreClosed, WrongType
from seasoned.results import Status
from seasoned.stores.memory import MemoryStore

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
PNG_URL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}

TOLD = [
    MemoryRecord(BaseMessage("be kind", "System"), RoleType.SYSTEM, "r0"),
    MemoryRecord(
        BaseMessage(
            "what is this? 太郎", "Jānis", [PNG, "https://example.org/a.png"], "low", {"mood": [1, None, {"a": 0.5}]}
        ),
        RoleType.USER,
        "r1",
        {"turn": 1},
    ),
    MemoryRecord(BaseMessage("", "Assistant", meta={"tool_calls": [CALL]}), RoleType.ASSISTANT, "r2"),
    MemoryRecord(BaseMessage("3", "Tool", [PNG], "high", meta={"tool_call_id": "c1"}), RoleType.TOOL, "r3"),
    MemoryRecord(BaseMessage("a dot", "Assistant", [PNG], "high"), RoleType.ASSISTANT, "r4"),
    MemoryRecord(BaseMessage("4", "sum"), RoleType.FUNCTION, "r5"),
    MemoryRecord(BaseMessage("x" * 5000, "User"), RoleType.USER, "r6"),
]


class ListStorage:
    """A caller's storage that appends."""

    def __init__(self) -> None:
        self.rows: list[dict] = []
        self.loads = self.saves = 0

    def save(self, records: list[dict]) -> None:
        self.saves += 1
        self.rows.extend(records)

    def load(self) -> list[dict]:
        self.loads += 1
        return self.rows

    def clear(self) -> None:
        self.rows.clear()


class ReplacingStorage(ListStorage):
    """A caller's storage that keeps what it was given last."""

    def save(self, records: list[dict]) -> None:
        self.saves += 1
        self.rows[:] = records


class FileStorage:
    """A caller's storage in a JSON file, replaced at each save."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, records: list[dict]) -> None:
        self.path.write_text(json.dumps(records), encoding="utf-8")

    def load(self) -> list[dict]:
        return json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else []

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)


def made(kind: str, place: Path):
    """A storage of each kind that needs no server."""
    if client := {"qdrant": "qdrant_client", "qdrant vectors": "qdrant_client", "chroma": "chromadb"}.get(kind):
        pytest.importorskip(client)
    return {
        "memory": InMemoryStorage,
        "file": lambda: RecordStorage(place / "a.db", embedder="hashing"),
        "qdrant": lambda: Qdrant("talks", embedder="hashing"),
        "qdrant vectors": lambda: Qdrant("talks", 8, Distance.DOT, embedder=eight()),
        "chroma": lambda: ChromaDB("talks", embedder="hashing"),
        "own": ListStorage,
        "own, replacing": ReplacingStorage,
        "own, in a file": lambda: FileStorage(place / "rows.json"),
    }[kind]()


def eight() -> CallableEmbedder:
    """An embedder of eight places: how often each of eight letters occurs."""
    return CallableEmbedder(
        lambda texts: [[0.1 + text.count(letter) for letter in "aeiounst"] for text in texts], "letters", dimension=8
    )


OURS = ["memory", "file", "qdrant", "qdrant vectors", "chroma"]
KINDS = [*OURS, "own", "own, replacing", "own, in a file"]


@pytest.fixture(params=KINDS)
def storage(request, tmp_path):
    opened = made(request.param, tmp_path)
    yield opened
    getattr(opened, "close", lambda: None)()


@pytest.fixture(params=OURS)
def ours(request, tmp_path):
    with made(request.param, tmp_path) as opened:
        yield opened


def test_every_record_comes_back_as_it_was(storage):
    """Roles, names, images with their detail, calls, results, and what else was kept, in order."""
    memory = Memory(storage)
    assert [each.status for each in memory.add_records(TOLD)] == [Status.WRITTEN] * 7
    assert memory.records() == TOLD
    assert [MemoryRecord.from_message(row) for row in storage.load()] == TOLD
    assert Memory(storage).records() == TOLD


def test_an_image_is_sent_from_every_storage_as_it_was_given(storage):
    """As a base64 data URL, with its detail."""
    memory = Memory(storage, token_limit=10_000)
    memory.add_records(TOLD)
    parts = memory.get_context()[0][1]["content"]
    assert parts[1] == {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "low"}}
    assert parts[2] == {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}


def test_one_message_after_another_stands_in_order(storage):
    """Added one by one, by two memories in turn, found by search, gone after clear."""
    one, other = Memory(storage), Memory(storage)
    for place in range(6):
        (one, other)[place % 2].add_message(BaseMessage(f"peas {place}", "User"), RoleType.USER)
    assert [record.message.content for record in one.records()] == [f"peas {place}" for place in range(6)]
    assert other.search("peas 3", k=1)[0].memory_record.message.content == "peas 3"
    one.clear()
    assert (other.records(), storage.load(), other.get_context()) == ([], [], ([], 0))
    other.add_message(BaseMessage("beans", "User"), RoleType.USER)
    assert [record.message.content for record in one.records()] == ["beans"]


def test_a_record_is_stored_once_whoever_adds_it(storage):
    """By its uuid, in every storage."""
    one, other = Memory(storage), Memory(storage)
    one.add_records(TOLD[:2])
    assert [each.status for each in other.add_records(TOLD[:3])] == ["duplicate", "duplicate", "written"]
    assert [row["uuid"] for row in storage.load()] == ["r0", "r1", "r2"]


def test_saving_checks_all_before_it_writes_one(ours):
    """A row that is no record, or no message that a model takes."""
    good = TOLD[0].to_message()
    for bad, error in [
        ({}, InvalidInput),
        (7, WrongType),
        ({"role_type": "tool", "message": {"content": "x"}}, InvalidMessage),
    ]:
        with pytest.raises(error):
            ours.save([good, bad])
    for bad in ("rows", good, None):
        with pytest.raises(WrongType):
            ours.save(bad)
    assert ours.load() == []


def test_what_is_loaded_can_be_saved_in_another(ours):
    """So a conversation moves from any storage to any other."""
    source = InMemoryStorage()
    Memory(source).add_records(TOLD)
    ours.save(source.load())
    assert ours.load() == source.load()


def test_what_is_saved_and_loaded_is_not_shared_with_the_caller(ours):
    """Changing a row afterwards changes nothing that is stored."""
    row = TOLD[1].to_message()
    ours.save([row])
    row["message"]["meta"]["mood"].append("changed")
    ours.load()[0]["message"]["meta"]["mood"].append("changed")
    assert ours.load() == [TOLD[1].to_message()]


def test_a_file_keeps_what_was_said(tmp_path):
    """It is there when it is opened again; scopes and sessions of one file share nothing."""
    place = {"location": tmp_path / "talks.db", "embedder": "hashing"}
    with RecordStorage(**place) as storage:
        storage.save([TOLD[0].to_message()])
    with (
        RecordStorage(**place) as again,
        RecordStorage(**place, session="other") as session,
        RecordStorage(**place, scope=("acme", "bob")) as scope,
    ):
        Memory(session).add_records(TOLD[1:2])
        Memory(scope).add_records(TOLD[:1])
        assert [[row["uuid"] for row in each.load()] for each in (again, session, scope)] == [["r0"], ["r1"], ["r0"]]
        session.clear()
        assert [len(each.load()) for each in (again, session, scope)] == [1, 0, 1]
        assert again.search("kind")[0].memory_record == TOLD[0]
        assert session.search("kind") == []


def test_folders_of_engines_keep_what_was_said(tmp_path):
    """Qdrant's and Chroma's."""
    pytest.importorskip("qdrant_client")
    pytest.importorskip("chromadb")
    for engine in (Qdrant, ChromaDB):
        place = {"collection_name": "talks", "path": tmp_path / engine.__name__, "embedder": "hashing"}
        with engine(**place) as storage:
            Memory(storage).add_records(TOLD)
        with engine(**place) as storage:
            assert Memory(storage).records() == TOLD


def test_meaning_is_searched_where_there_is_an_embedder():
    """Its vectors find what shares no word with the query."""
    synonyms = CallableEmbedder(
        lambda texts: [[1.0, 0.1] if "car" in text or "automobile" in text else [0.1, 1.0] for text in texts],
        "synonyms",
        dimension=2,
    )
    memory = Memory(InMemoryStorage(embedder=synonyms))
    for text in ("a loaf of bread", "my automobile broke down", "rain all day"):
        memory.add_message(BaseMessage(text, "User"), RoleType.USER)
    assert memory.search("car", k=1)[0].memory_record.message.content == "my automobile broke down"


def test_messages_that_were_added_natively_are_records_too():
    """Over one store, in one scope and session: with what their OpenAI form tells."""
    with NativeMemory(None, scope="sikkaagent", embedder="hashing") as native:
        native.conversation.add(
            [
                {"role": "developer", "content": "be kind"},
                {
                    "role": "user",
                    "name": "Vera",
                    "content": [
                        {"type": "text", "text": "see"},
                        {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "high"}},
                        {"type": "image_url", "image_url": {"url": "/etc/passwd"}},
                    ],
                },
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": "3"},
            ],
            ids=["n0", "n1", "n2", "n3"],
        )
        records = Memory(RecordStorage(native.store, embedder="hashing")).records()
    assert records == [
        MemoryRecord(BaseMessage("be kind", "Developer"), RoleType.SYSTEM, "n0"),
        MemoryRecord(BaseMessage("see", "Vera", [PNG_URL], "high", {"name": "Vera"}), RoleType.USER, "n1"),
        MemoryRecord(BaseMessage("", "Assistant", meta={"tool_calls": [CALL]}), RoleType.ASSISTANT, "n2"),
        MemoryRecord(BaseMessage("3", "Tool", meta={"tool_call_id": "c1"}), RoleType.TOOL, "n3"),
    ]


def test_a_store_that_is_handed_in_stays_open():
    """It is the caller's; one that a storage opened is closed with it, twice without harm."""
    store = MemoryStore()
    handed, own = RecordStorage(store), InMemoryStorage()
    for storage in (handed, own, own):
        storage.close()
    assert handed.load() == []
    with pytest.raises(StoreClosed):
        own.load()
    store.close()


def test_a_file_is_closed_with_the_last_that_holds_it(tmp_path):
    """Nobody needs to close, as the document's code does not: nothing is left open when the memory is gone."""
    memory = Memory(RecordStorage(tmp_path / "a.db", embedder="hashing"))
    memory.add_records(TOLD[:1])
    conversation = memory.storage.conversation
    del memory
    gc.collect()
    with pytest.raises(StoreClosed):
        conversation.messages()


def test_qdrant_refuses_what_cannot_be(caplog):
    """A size that is not the chosen embedder's, an unknown distance, a name that no collection can have."""
    pytest.importorskip("qdrant_client")
    with pytest.raises(InvalidInput, match=r"vector_size is 9.*8 places"):
        Qdrant("talks", 9, embedder=eight())
    with pytest.raises(InvalidInput, match="cosine, dot, euclid"):
        Qdrant("talks", distance="manhattan")
    with pytest.raises(InvalidInput, match="collection name"):
        Qdrant("../talks")
    with caplog.at_level(logging.WARNING), Qdrant("talks", 7) as storage:
        Memory(storage).add_records(TOLD[:2])
        assert Memory(storage).search("kind")[0].memory_record == TOLD[0]
    warned = [record.getMessage()[:16] for record in caplog.records if "vector_size" in record.getMessage()]
    assert warned == (["vector_size is 7"] if resolve("auto").weight else [])


@pytest.mark.parametrize("distance", [*Distance, "Cosine", "EUCLID"])
def test_every_distance_finds_the_same(distance):
    """Unit vectors come in the same order by each."""
    pytest.importorskip("qdrant_client")
    with Qdrant("talks", 8, distance, embedder=eight()) as storage:
        Memory(storage).add_records(TOLD)
        assert storage.search("what is this?", k=1)[0].memory_record == TOLD[1]


def test_texts_that_begin_alike_are_records_of_their_own(storage):
    """Two of 5,000 characters that differ at the end alone, in one batch."""
    memory = Memory(storage)
    memory.add_records([MemoryRecord(BaseMessage("x" * 5000 + end, "User"), RoleType.USER) for end in "ab"])
    assert [record.message.content[-1] for record in memory.records()] == ["a", "b"]


def test_threads_may_share_a_memory(storage):
    """Four threads, ten messages each: all stand, each thread's in its order."""
    memory = Memory(storage)

    def talk(name: int) -> None:
        for place in range(10):
            memory.add_message(BaseMessage(f"{name} {place}", "User"), RoleType.USER)
            memory.get_context()

    threads = [threading.Thread(target=talk, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [record.message.content for record in memory.records()]
    assert len(said) == 40
    for name in range(4):
        assert [each for each in said if each.startswith(f"{name} ")] == [f"{name} {place}" for place in range(10)]


def test_an_engine_whose_client_is_missing_says_which_extra(tmp_path):
    """In a process that cannot import it; the rest works there."""
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('qdrant_client', 'chromadb', 'pinecone', 'singlestoredb')))\n"
        "from seasoned.compat.sikkaagent.storages import ChromaDB, InMemoryStorage, PineconeDB, Qdrant, SingleStore\n"
        "from seasoned.errors import MissingExtra\n"
        "InMemoryStorage().save([])\n"
        "reached = {'host': 'localhost', 'database': 'talks'}\n"
        "for engine, place in ((Qdrant, {}), (ChromaDB, {}), (PineconeDB, {}), (SingleStore, reached)):\n"
        "    try:\n"
        "        engine('talks', embedder='hashing', **place)\n"
        "    except MissingExtra as error:\n"
        "        print(error.extra)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["qdrant", "chroma", "pinecone", "singlestore"]
    assert issubclass(MissingExtra, ImportError)

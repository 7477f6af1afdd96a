"""Bundles and copies between every engine and a file: the same content on both sides, there and back."""

from __future__ import annotations

import os
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from seasoned import Key, Memory
from seasoned.errors import BundleError
from seasoned.runs import TurnRecord
from seasoned.testing import FakeClock

from .engines import ENGINES

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SCOPE = ("acme", "älice/太郎")
SLOW = "runs where SEASONED_ENGINES is set"
REAL = [engine for engine in ENGINES if engine.name != "Qdrant, a server"]  # that one only answers to being opened


@pytest.fixture(
    params=[
        pytest.param(
            engine,
            id=engine.name,
            marks=pytest.mark.skipif(engine.slow and not os.environ.get("SEASONED_ENGINES"), reason=SLOW),
        )
        for engine in REAL
    ]
)
def place(request, tmp_path):
    """A memory on the engine, and a way to open files beside it."""
    folder = tmp_path / "engine"
    folder.mkdir()
    with ExitStack() as open_ones:
        store = open_ones.enter_context(request.param.open(folder))

        def opened(name=None):
            location = store if name is None else tmp_path / name
            memory = Memory(location, scope=SCOPE, embedder="hashing", clock=FakeClock(NOON))
            return open_ones.enter_context(memory)

        yield opened


def fill(memory):
    """Write something of each kind, in the scope and two below, of which one is empty again."""
    memory.conversation.add([{"role": "user", "content": f"乌龙茶 number {n}"} for n in range(30)], session="tea")
    memory.remember("Alice likes oolong.", id="n1", tags=["tea"], worth=0.5, data={"k": [1, None, {"ü": True}]})
    memory.update("n1", text="Alice likes green oolong.")
    memory.remember("seen in n1", id="n2", sources=[Key(memory.scope, "note", "n1")], until="2030-01-01")
    memory.runs.record_turn(TurnRecord(1, 2.0, "EUR", ["spike"], [{"type": "sell"}], {"price": 3.0}))
    memory.experience.record("rain", "take the tram", 0.8, id="d1")
    memory.playbook.add("Ask before you book.", section="booking", outcome="success")
    memory.remember("Alice's address is gone.", id="secret")
    memory.forget("secret")
    memory.within("below").remember("a note below", id="n3")
    memory.within("emptied").remember("nothing stays", id="n4")
    memory.within("emptied").forget("n4")


def lines(memory, path, **options):
    """What an export holds between its first line, which has the time, and its last, in any order."""
    memory.export(path, **options)
    return sorted(path.read_text(encoding="utf-8").splitlines()[1:-1])


def test_what_a_file_exports_an_engine_imports_and_exports_again(place, tmp_path):
    """Text, data, sources, worth, times, old versions and scopes below; found by words and in order on both."""
    file, engine = place("old.db"), place()
    fill(file)
    file.export(tmp_path / "file.jsonl")
    done = engine.import_(tmp_path / "file.jsonl")
    assert (done.written, done.duplicate, done.refused, done.degraded) == (done.read, 0, (), ())
    assert lines(engine, tmp_path / "engine.jsonl") == lines(file, tmp_path / "again.jsonl")
    assert engine.recall("乌龙茶 number 17", k=1)[0].text == "乌龙茶 number 17"
    assert engine.conversation.messages("tea") == file.conversation.messages("tea")
    assert [each.record.text for each in engine.history("n1")] == ["Alice likes oolong.", "Alice likes green oolong."]
    assert engine.import_(tmp_path / "file.jsonl").duplicate == done.read


def test_what_an_engine_exports_a_file_imports_and_follows(place, tmp_path):
    """The changes and removals of the engine too, as far as it keeps a sequence."""
    engine, file = place(), place("new.db")
    fill(engine)
    done = engine.export(tmp_path / "first.jsonl")
    assert done.degraded == ()
    assert done.tombstones == (2 if engine.store.can.ordered else 0)
    file.import_(tmp_path / "first.jsonl")
    assert lines(file, tmp_path / "file.jsonl") == lines(engine, tmp_path / "engine.jsonl")
    engine.forget("n2")
    engine.within("below").forget(everything=True)
    engine.update("n1", worth=0.9)
    engine.export(tmp_path / "second.jsonl")
    followed = file.import_(tmp_path / "second.jsonl", follow=True)
    assert followed.refused == ()
    assert lines(file, tmp_path / "file.jsonl") == lines(engine, tmp_path / "engine.jsonl")


def test_what_was_removed_on_an_engine_stays_away(place, tmp_path):
    """A bundle of before brings it back only where that is asked for."""
    engine = place()
    fill(engine)
    engine.export(tmp_path / "before.jsonl")
    engine.forget("n2")
    assert engine.import_(tmp_path / "before.jsonl").refused == (
        "note 'n2': it was removed here; import with restore to bring it back",
    )
    assert engine.import_(tmp_path / "before.jsonl", restore=True).written == 1
    assert engine.get("n2").text == "seen in n1"


def test_a_bundle_that_is_not_whole_leaves_an_engine_as_it_was(place, tmp_path):
    """Cut off anywhere, or with a letter changed, in a record or a tombstone."""
    file, engine = place("old.db"), place()
    fill(file)
    file.export(tmp_path / "file.jsonl")
    whole = (tmp_path / "file.jsonl").read_bytes()
    bad = tmp_path / "bad.jsonl"
    for content in (whole[: len(whole) // 2], whole[:-2], whole.replace(b"oolong", b"coffee", 1),
                    whole.replace(b'"id": "secret"', b'"id": "n1"', 1), whole.replace(b"\n", b"", 1)):  # fmt: skip
        bad.write_bytes(content)
        with pytest.raises(BundleError):
            engine.import_(bad, follow=True)
    assert engine.count(subtree=True) == 0

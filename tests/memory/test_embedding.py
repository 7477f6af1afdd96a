"""Embedders under a memory: changed, failing, slow, wrong; words go on, nothing is lost, nothing is mixed."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest

from seasoned import CallableEmbedder, HashingEmbedder, Memory, Status
from seasoned.errors import EmbeddingError

from .helping import Switched, concepts, ids, spelling, texts


def test_the_dimension_is_learned_from_the_first_vector(place, opened):
    """Seven numbers a text, and nobody said so."""
    memory = opened(place, embedder=HashingSeven())
    memory.remember("tea")
    assert memory.stats()["embedder"] == f"{HashingSeven.__module__}.HashingSeven/1/7"
    assert memory.stats()["without_vector"] == 0


class HashingSeven:
    """A function of seven dimensions."""

    def __call__(self, asked: list[str]) -> list[list[float]]:
        return [[1.0 + len(text), *[float(ord(char)) for char in text[:6].ljust(6)]] for text in asked]


@pytest.mark.parametrize("dimension", [64, 32], ids=["same dimension", "another dimension"])
def test_a_changed_embedder_is_noticed_and_words_go_on(tmp_path, opened, caplog, dimension):
    """The log and the counts say how many lack a vector; search is by words; reembed repairs, with progress."""
    before = opened(tmp_path / "agent.db", embedder=spelling("first"))
    for number in range(300):
        before.remember(f"green tea number {number}", id=str(number))
    before.close()
    new = CallableEmbedder(HashingEmbedder(dimension).embed, "second", dimension=dimension)
    with caplog.at_level(logging.WARNING, "seasoned"):
        memory = opened(tmp_path / "agent.db", embedder=new)
    assert [record.message for record in caplog.records] == [
        f"300 records have no vector of second/1/{dimension}: they are found by words alone until reembed() is run"
    ]
    assert (memory.stats()["embedder"], memory.stats()["without_vector"]) == (f"second/1/{dimension}", 300)
    assert ids(memory.recall("number 77", k=1)) == ["77"]
    assert memory.recall("number 77", k=1)[0].why.get("dense") is None
    seen = []
    assert memory.reembed(lambda done, total: seen.append((done, total))) == 300
    assert seen == [(256, 300), (300, 300)]
    assert (memory.stats()["without_vector"], memory.reembed()) == (0, 0)
    assert memory.recall("number 77", k=1)[0].why["dense"].value > 0.5
    assert memory.check() == []


def test_an_unchanged_embedder_is_not_spoken_of(tmp_path, opened, caplog):
    """Nothing lacks a vector, so nothing is logged."""
    opened(tmp_path / "agent.db", embedder=spelling()).remember("tea")
    with caplog.at_level(logging.WARNING, "seasoned"):
        opened(tmp_path / "agent.db", embedder=spelling())
    assert caplog.records == []


def test_vectors_of_two_embedders_never_meet(place, opened):
    """Of the same dimension, with opposite meanings: each query is compared with vectors of its own space only."""
    left = opened(place, embedder=concepts("car auto", "tea", name="left"))
    left.remember("an auto", id="by-left")
    right = Memory(left.store, scope=left.scope, embedder=concepts("tea", "car auto", name="right"))
    right.remember("some tea", id="by-right")
    assert ids(left.recall("car")) == ["by-left"]
    assert ids(right.recall("car")) == []
    assert left.stats()["without_vector"] == right.stats()["without_vector"] == 1
    right.reembed()
    assert ids(right.recall("car")) == ["by-left"]
    assert ids(left.recall("car")) == ["by-left"]


def test_two_memories_of_one_process_keep_their_own_embedder(opened):
    """None is shared by mistake."""
    first, second = opened(None, embedder=spelling("one")), opened(None, embedder=spelling("two"))
    assert (first.stats()["embedder"], second.stats()["embedder"]) == ("one/1/64", "two/1/64")


def test_only_the_arms_that_are_configured_are_asked(place, opened):
    """With words alone the embedder is never called; nor is one whose cosines count nothing."""
    embed = Switched(off=True)
    memory = opened(place, embedder=CallableEmbedder(embed, "idle", dimension=64, weight=0.0))
    memory.remember("tea")
    assert (ids(memory.recall("tea")), memory.recall("tea").degraded) == (["n-0001"], ())
    assert (memory.reembed(), embed.asked) == (0, [])


def test_while_the_embedder_is_down_records_are_written_and_the_result_says_what_is_missing(place, opened, caplog):
    """Notes and messages; recall goes by words and says degraded; reembed repairs once it is up."""
    embed = Switched(off=True)
    memory = opened(place, embedder=CallableEmbedder(embed, "service", dimension=64))
    added = memory.remember("tea at four", id="x")
    assert added.status is Status.WRITTEN
    assert added.reason.startswith("degraded: dense: ")
    assert "the embedding service is down" in added.reason
    [said] = memory.conversation.add({"role": "user", "content": "tea at five"})
    assert (said.status, "degraded: dense" in said.reason) == (Status.WRITTEN, True)
    hits = memory.recall("tea at four")
    assert (ids(hits)[0], len(hits.degraded), hits.degraded[0][:6]) == ("x", 1, "dense:")
    with pytest.raises(EmbeddingError, match="is down"):
        memory.reembed()
    assert memory.stats()["without_vector"] == 2
    embed.off = False
    assert memory.reembed() == 2
    hits = memory.recall("tea at four")
    assert (hits.degraded, hits[0].why["dense"].value) == ((), pytest.approx(1.0))


def test_logs_hold_no_text_of_a_memory(place, opened, caplog):
    """What fails is counted, not quoted."""
    with caplog.at_level(logging.DEBUG, "seasoned"):
        memory = opened(place, embedder=CallableEmbedder(Switched(off=True), "service", dimension=64))
        memory.remember("the vault code is 4711")
        memory.recall("which vault code")
        memory.update("n-0001", text="the vault code is 4712")
        memory.forget("n-0001", hard=True)
    assert "vault" not in caplog.text
    assert "down" in caplog.text


def test_an_embedder_that_fails_on_one_of_five_loses_none(place, opened):
    """All five messages of the batch stand; each that can be embedded gets its vector, the one is named."""

    def embed(asked):
        if any("poison" in text for text in asked):
            raise ValueError("I refuse this text")
        return HashingEmbedder(64).embed(asked)

    memory = opened(place, embedder=CallableEmbedder(embed, "picky", dimension=64))
    words = ["one tea", "two tea", "poison tea", "four tea", "five tea"]
    added = memory.conversation.add([{"role": "user", "content": word} for word in words], "s")
    assert [each.status for each in added] == [Status.WRITTEN] * 5
    assert all("degraded" in each.reason for each in added)
    assert sorted(texts(memory.recall("tea"))) == sorted(words)
    with pytest.raises(EmbeddingError, match=r"1 texts have no vector.*refuse"):
        memory.reembed()
    assert memory.stats()["without_vector"] == 1
    assert [said["content"] for said in memory.conversation.messages("s")] == words


WRONG = {
    "raises": lambda asked: (_ for _ in ()).throw(RuntimeError("broken")),
    "NaN": lambda asked: np.full((len(asked), 64), np.nan),
    "infinite": lambda asked: np.full((len(asked), 64), np.inf),
    "one row too few": lambda asked: np.ones((len(asked) - 1, 64)),
    "a flat list": lambda asked: np.ones(64),
    "another dimension": lambda asked: np.ones((len(asked), 65)),
    "no numbers": lambda asked: [["a"] * 64 for _ in asked],
    "None": lambda asked: None,
}


@pytest.mark.parametrize("fault", WRONG)
def test_an_embedder_that_breaks_its_promise_loses_nothing(place, opened, fault):
    """Whatever it returns: the note is written, the reason says what was wrong, a good one repairs it."""
    faulty = [WRONG[fault]]
    memory = opened(place, embedder=CallableEmbedder(lambda asked: faulty[0](asked), "mine", dimension=64))
    added = memory.remember("green tea", id="x")
    assert (added.status, added.reason[:16]) == (Status.WRITTEN, "degraded: dense:")
    assert memory.recall("tea").degraded[0].startswith("dense:")
    assert ids(memory.recall("tea")) == ["x"]
    faulty[0] = HashingEmbedder(64).embed
    assert (memory.reembed(), memory.stats()["without_vector"], memory.check()) == (1, 0, [])


def test_an_embedder_that_changes_its_dimension_on_the_way_is_refused_from_there(place, opened):
    """What was embedded before stays right; what comes after has no vector of another length."""
    size = [64]
    embed = CallableEmbedder(lambda asked: HashingEmbedder(size[0]).embed(asked), "drifting")
    memory = opened(place, embedder=embed)
    assert memory.remember("green tea", id="a").reason is None
    size[0] = 32
    assert "32" in memory.remember("black tea", id="b").reason
    assert sorted(ids(memory.recall("tea"))) == ["a", "b"]
    size[0] = 64
    assert memory.recall("green tea")[0].why["dense"].value > 0.5
    assert memory.check() == []


def test_a_memory_opens_while_its_embedder_is_down(tmp_path, opened, caplog):
    """One that must be asked for its dimension: words go on, the counts say that it is unknown, later it is found."""
    embed = Switched(off=True)
    with caplog.at_level(logging.WARNING, "seasoned"):
        memory = opened(tmp_path / "agent.db", embedder=embed)
    assert "down" in caplog.text
    assert memory.remember("tea", id="x").status is Status.WRITTEN
    assert (memory.stats()["embedder"], memory.stats()["without_vector"]) == (None, 0)
    assert (ids(memory.recall("tea")), len(memory.recall("tea").degraded)) == (["x"], 1)
    embed.off = False
    assert (memory.reembed(), memory.recall("tea").degraded) == (1, ())


def test_reembedding_goes_on_where_it_was_interrupted(place, opened):
    """What was written before the embedder failed is not asked for again."""
    embed = Switched(off=True)
    memory = opened(place, embedder=CallableEmbedder(embed, "service", dimension=64))
    for number in range(600):
        memory.remember(f"note {number}")
    embed.off, embed.asked = False, []

    def stop_after_the_first(done: int, total: int) -> None:
        assert (done, total) == (256, 600)
        embed.off = True

    with pytest.raises(EmbeddingError):
        memory.reembed(stop_after_the_first)
    assert memory.stats()["without_vector"] == 344
    embed.off, embed.asked = False, []
    assert memory.reembed() == 344
    assert embed.asked == [f"note {number}" for number in range(256, 600)]


def test_an_interruption_by_the_caller_keeps_what_was_written(place, opened):
    """Progress may raise, as a cancelled task does."""
    embed = Switched(off=True)
    memory = opened(place, embedder=CallableEmbedder(embed, "service", dimension=64))
    for number in range(300):
        memory.remember(f"note {number}")
    embed.off = False

    def cancel(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.reembed(cancel)
    assert memory.stats()["without_vector"] == 44


def test_reembedding_one_scope_leaves_a_strangers_alone(place, opened):
    """It reaches down, not across."""
    embed = Switched(off=True)
    alice = opened(place, embedder=CallableEmbedder(embed, "service", dimension=64))
    bob = opened(alice.store, ("acme", "bob"), embedder=CallableEmbedder(embed, "service", dimension=64))
    for memory in (alice, alice.within("below"), bob):
        memory.remember("tea")
    embed.off = False
    assert (alice.reembed(), bob.stats()["without_vector"]) == (2, 1)


def test_an_update_of_the_text_renews_the_vector_and_of_other_fields_keeps_it(place, opened):
    """The embedder is asked for new texts only; the old meaning finds nothing any more."""
    memory = opened(place, embedder=concepts("car auto", "soup broth"))
    memory.remember("an auto", id="x")
    memory.update("x", tags=["t"], worth=2)
    assert ids(memory.recall("car")) == ["x"]
    memory.update("x", text="some broth")
    assert (ids(memory.recall("car")), ids(memory.recall("soup"))) == ([], ["x"])
    assert memory.stats()["without_vector"] == 0


def test_an_update_while_the_embedder_is_down_leaves_no_stale_vector(place, opened):
    """The old meaning is gone with the old text; reembed gives the new."""
    inner, off = concepts("car auto", "soup broth"), [False]

    def embed(asked):
        if off[0]:
            raise OSError("down")
        return inner.embed(asked)

    memory = opened(place, embedder=CallableEmbedder(embed, "c", dimension=3))
    memory.remember("an auto", id="x")
    off[0] = True
    memory.update("x", text="some broth")
    off[0] = False
    assert ids(memory.recall("car")) == []
    memory.reembed()
    assert ids(memory.recall("soup")) == ["x"]


def test_a_slow_embedder_delays_no_reader_and_no_other_writer(place, opened):
    """While one thread waits for it, others read, count and write; no lock is held over it."""
    started, go_on = threading.Event(), threading.Event()

    def embed(asked):
        if asked == ["slow"]:
            started.set()
            assert go_on.wait(60)
        return HashingEmbedder(64).embed(asked)

    memory = opened(place, embedder=CallableEmbedder(embed, "slow", dimension=64))
    memory.remember("tea", id="x")
    writer = threading.Thread(target=memory.remember, args=("slow",), kwargs={"id": "slow"})
    writer.start()
    try:
        assert started.wait(60)
        assert memory.get("x").text == "tea"
        assert (memory.count(), ids(memory.recall("tea")), ids(memory.list())) == (1, ["x"], ["x"])
        assert memory.remember("coffee", id="y").status is Status.WRITTEN
        assert memory.forget("y").total == 1
    finally:
        go_on.set()
        writer.join()
    assert sorted(ids(memory.list())) == ["slow", "x"]


def test_a_long_text_is_found_by_the_meaning_of_any_part(place, opened):
    """It is embedded in pieces, of which the nearest counts, and returned whole."""
    memory = opened(place, embedder=concepts("car auto", "soup broth"))
    text = "nothing of note. " * 300 + "an auto for sale. " + "nothing of note. " * 300
    memory.remember(text, id="long")
    memory.remember("some broth", id="short")
    [hit] = memory.recall("car", k=1)
    assert (hit.id, hit.text) == ("long", text)


def test_a_long_query_is_compared_by_its_beginning_with_one_call(place, opened):
    """What an embedder reads of a query is one piece, even where it begins with blanks."""
    embed = Switched()
    memory = opened(place, embedder=CallableEmbedder(embed, "service", dimension=64))
    memory.remember("tea", id="x")
    embed.asked = []
    assert ids(memory.recall(" " * 5000 + "tea and more " * 1000)) == ["x"]
    assert len(embed.asked) == 1
    assert embed.asked[0].startswith("tea and more")


def test_damaged_texts_never_reach_an_embedder(place, opened):
    """A lone surrogate is replaced before it is embedded or stored."""
    embed = Switched()
    memory = opened(place, embedder=CallableEmbedder(embed, "service", dimension=64))
    assert memory.remember("bad \ud800 tea").reason is None
    assert texts(memory.recall("bad \udfff tea")) == ["bad \ufffd tea"]
    assert [text.isprintable() or "\ufffd" in text for text in embed.asked] == [True, True]


def test_a_reader_sees_what_another_store_reembedded(tmp_path, opened):
    """The vectors that came are in its next answer."""
    off = Switched(off=True)
    reader = opened(tmp_path / "agent.db", embedder=spelling())
    opened(tmp_path / "agent.db", embedder=CallableEmbedder(off, "spelling", dimension=64)).remember("green tea")
    assert "dense" not in reader.recall("green tea")[0].why
    opened(tmp_path / "agent.db", embedder=spelling()).reembed()
    assert reader.recall("green tea")[0].why["dense"].value == pytest.approx(1.0)

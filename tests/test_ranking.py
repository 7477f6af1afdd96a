"""Ranking: properties of the fusion, whatever the records."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Blend, HashingEmbedder, Memory, MemoryStore
from seasoned.errors import InvalidInput
from seasoned.ranking import Arms, Layout, fuse

ids = st.lists(st.integers(-1, 3), min_size=1, max_size=12)
shares = st.floats(0, 1, width=32)


@st.composite
def arms(draw):
    """What arms may say of a few rows."""
    codes = draw(ids)
    n = len(codes)

    def column(values):
        return np.array(draw(st.lists(values, min_size=n, max_size=n)), np.float32)

    def maybe(made):
        return made if draw(st.booleans()) else None

    return Arms(
        lexical=column(st.floats(0, 30, width=32)),
        lexical_ideal=draw(st.sampled_from([0.0, 0.5, 20.0])),
        dense=maybe(column(st.one_of(st.floats(-1, 1, width=32), st.just(float("nan"))))),
        strength=draw(st.sampled_from([0.0, 0.3, 0.65, 1.0])),
        lengths=maybe(column(st.integers(0, 400))),
        query_length=draw(st.sampled_from([0.0, 1.0, 12.0])),
        layout=maybe(Layout.of(codes)),
        from_user=maybe(column(st.booleans()).astype(bool)),
        named=maybe(column(st.booleans()).astype(bool)),
        recency=maybe(column(shares)),
        worth=maybe(column(shares)),
    )


@given(arms())
@settings(max_examples=300)
def test_a_score_lies_between_zero_and_one_and_is_the_sum_of_its_parts(given_arms):
    """For each row, whatever the arms; the best row has the confidence."""
    fused = fuse(given_arms)
    assert np.isfinite(fused.score).all()
    assert (fused.score >= 0).all()
    assert (fused.score <= 1 + 1e-6).all()
    for row, score in enumerate(fused.score):
        assert sum(fused.why(row).values()) == pytest.approx(float(score), abs=1e-4)
    assert float(fused.score.max()) == pytest.approx(fused.confidence, abs=1e-5)


@given(arms(), st.data())
@settings(max_examples=200)
def test_a_better_match_never_ranks_a_row_lower(given_arms, data):
    """Raising one row's lexical match, all else alike, never lets a row overtake it that was behind."""
    plain = dataclasses.replace(given_arms, layout=None)
    row = data.draw(st.integers(0, len(plain.lexical) - 1))
    more = plain.lexical.copy()
    more[row] += 1
    before, after = fuse(plain).score, fuse(dataclasses.replace(plain, lexical=more)).score
    behind = before < before[row]
    assert (after[behind] <= after[row] + 1e-6).all()


@given(arms())
def test_nothing_is_raised_that_matches_nothing(given_arms):
    """Who speaks, when and of what worth raise a match; alone they are none."""
    nothing = dataclasses.replace(given_arms, lexical=np.zeros_like(given_arms.lexical), dense=None)
    assert not fuse(nothing).score.any()


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_sessions_are_gathered_in_the_order_of_their_rows(codes, random):
    """However they are interleaved, and whatever the order of the slots."""
    rows = random.sample(range(1000), len(codes))
    layout = Layout.of(codes, rows)
    order = layout.order if layout.order is not None else np.arange(len(codes))
    assert sorted(order.tolist()) == list(range(len(codes)))
    placed = [(codes[slot], rows[slot]) for slot in order]
    for start, end in zip(layout.starts, [*layout.starts[1:], len(codes)], strict=True):
        part = placed[start:end]
        assert len({code for code, _ in part}) == 1
        assert part[0][0] >= 0 or len(part) == 1
        assert part == sorted(part, key=lambda each: each[1])


def test_arms_of_different_lengths_are_a_mistake():
    """Said at once."""
    with pytest.raises(ValueError, match="one length"):
        fuse(Arms(lexical=np.zeros(3, np.float32), lengths=np.zeros(2, np.float32)))


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Blend)])
def test_a_weight_below_zero_or_not_a_number_is_refused(field):
    """Each one by its name."""
    for value in (-1, float("nan")):
        with pytest.raises(InvalidInput, match=field):
            Blend(**{field: value})


WORDS = ["tea", "rain", "garden", "bicycle", "library", "sister", "Oslo", "winter", "guitar", "bread", "window"]
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
plain = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8, unique=True).map(" ".join)


class Spelled(HashingEmbedder):
    """The hashing embedder, but its cosines count."""

    weight = 0.65


def filled(texts, embedder, store=None, scope=("a",)):
    memory = Memory(store or MemoryStore(), scope=scope, embedder=embedder)
    for number, text in enumerate(texts):
        memory.remember(text, id=str(number), at="2026-01-01")
    return memory


@pytest.mark.parametrize("embedder", [HashingEmbedder(), Spelled()], ids=["words", "words and vectors"])
@given(st.lists(plain, min_size=1, max_size=25), st.data())
@settings(max_examples=60, deadline=None)
def test_the_text_of_a_record_as_query_finds_that_text_first(embedder, texts, data):
    """With a score near one, though others hold its words among more, or in another order."""
    memory = filled(texts, embedder)
    asked = data.draw(st.sampled_from(texts))
    hits = memory.recall(asked, k=25)
    assert sorted(hits[0].text.split()) == sorted(asked.split())
    assert 0.9 <= hits[0].score <= 1.0


@given(st.lists(sentences, min_size=1, max_size=20), sentences)
@settings(max_examples=60, deadline=None)
def test_hits_fall_in_score_and_each_says_why(texts, asked):
    """From the first to the last; shares add up; every hit has something that speaks for it."""
    hits = filled(texts, Spelled()).recall(asked, k=20)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        assert 0 < hit.score <= 1
        assert sum(part.share for part in hit.why.values()) == pytest.approx(hit.score, abs=1e-4)


@given(st.lists(sentences, min_size=1, max_size=12), st.lists(sentences, min_size=1, max_size=12), sentences)
@settings(max_examples=40, deadline=None)
def test_another_scopes_records_never_change_an_answer(mine, others, asked):
    """Neither order nor score, whenever they come."""
    store = MemoryStore()
    filled(others[: len(others) // 2], Spelled(), store, ("b",))
    memory = filled(mine, Spelled(), store)
    before = [(hit.id, hit.score) for hit in memory.recall(asked, k=12)]
    filled([f"{text} {asked}" for text in others], Spelled(), store, ("c",))
    assert [(hit.id, hit.score) for hit in memory.recall(asked, k=12)] == before
    assert before == [(hit.id, hit.score) for hit in filled(mine, Spelled()).recall(asked, k=12)]


def test_among_equals_the_one_written_last_comes_first():
    """Two records that say the same are told apart by when they were written."""
    assert [hit.id for hit in filled(["tea", "tea", "tea"], HashingEmbedder()).recall("tea")] == ["2", "1", "0"]


def test_a_worthier_and_a_newer_record_wins_among_equals():
    """Worth and time raise what matches alike."""
    memory = Memory(embedder="hashing")
    memory.remember("tea", id="old and dear", worth=9, at="2026-01-01")
    memory.remember("tea", id="cheap", worth=0, at="2026-01-01")
    assert [hit.id for hit in memory.recall("tea")] == ["old and dear", "cheap"]
    memory.forget(everything=True)
    memory.remember("tea", id="new", at="2026-02-01")
    memory.remember("tea", id="old", at="2026-01-01")
    assert [hit.id for hit in memory.recall("tea")] == ["new", "old"]


def test_an_answer_stands_next_to_its_question():
    """What follows a match in its session is found with it, though it shares no word."""
    memory = Memory(embedder="hashing")
    memory.conversation.add(
        [{"role": "user", "content": "Which tea shall I buy?"}, {"role": "assistant", "content": "Oolong."}], "s1"
    )
    memory.conversation.add(
        [{"role": "user", "content": "It rains."}, {"role": "assistant", "content": "Indeed."}], "s2"
    )
    assert [hit.text for hit in memory.recall("Which tea?")] == ["Which tea shall I buy?", "Oolong."]
    [_, answer] = memory.recall("Which tea?")
    assert answer.why["neighbours"].share > 0


def test_a_speaker_who_is_named_in_the_query_is_preferred():
    """What Anna said of tea, not what Ben said of it."""
    memory = Memory(embedder="hashing")
    for name in ("Anna", "Ben"):
        memory.conversation.add({"role": "user", "name": name, "content": "I like green tea"}, "s")
    for name in ("Anna", "Ben"):
        first = memory.recall(f"Which tea does {name} like?")[0]
        assert first.record.data["name"] == name

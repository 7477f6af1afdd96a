"""The in-process index: it follows the rows, is stored and loaded, forgets, and finds the nearest vectors."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.index import Row, ScopeIndex
from seasoned.postings import VOCABULARY, Postings, bm25, ideal
from seasoned.text import Analyser
from seasoned.vectors import EXACT_UP_TO, DenseIndex, sign_bits

ANALYSER = Analyser()
DAY = 86_400_000_000


def made(rows, seq=1):
    """An index built from rows at once."""
    index = ScopeIndex(ANALYSER)
    index.follow(rows, (), seq)
    return index


words = st.lists(st.sampled_from(["tea", "milk", "rain", "oslo", "wood", "bread", "lamp"]), max_size=6).map(" ".join)
rows = st.builds(
    Row,
    row=st.integers(1, 12),
    kind=st.sampled_from(["note", "message"]),
    text=words,
    at=st.integers(0, 3).map(lambda day: day * DAY),
    until=st.sampled_from([5 * DAY, 9 * DAY]),
    worth=st.sampled_from([0.0, 1.0]),
    session=st.sampled_from([None, "s1", "s2"]),
    role=st.sampled_from([None, "user", "assistant"]),
    name=st.sampled_from([None, "Anna"]),
)
steps = st.lists(st.tuples(st.lists(rows, max_size=4), st.lists(st.integers(1, 12), max_size=2)), max_size=12)


@given(steps, st.data())
@settings(max_examples=150, deadline=None)
def test_an_index_that_followed_every_change_equals_one_made_anew(changes, data):
    """Whatever was written, rewritten and removed, and wherever it was stored and loaded on the way."""
    index, kept = ScopeIndex(ANALYSER), {}
    for seq, (changed, gone) in enumerate(changes, 1):
        latest = {row.row: row for row in changed if row.row not in gone}
        index.follow(latest.values(), gone, seq)
        kept = {number: row for number, row in (kept | latest).items() if number not in gone}
        if data.draw(st.booleans()):
            index = ScopeIndex.load(index.dump(), ANALYSER, index.seq)
    assert len(index) == len(kept)
    assert index.canonical() == made(sorted(kept.values(), key=lambda row: row.row)).canonical()


@given(steps)
@settings(max_examples=80, deadline=None)
def test_what_was_removed_or_rewritten_is_in_no_stored_form(changes):
    """Neither its words, nor its session, nor who spoke."""
    index = made(
        [Row(row=99, kind="secret-kind", text="zebrafish", at=0, session="s-hid", role="r-hid", name="Xerxes")]
    )
    for seq, (changed, gone) in enumerate(changes, 2):
        index.follow(changed, gone, seq)
    assert b"zebrafish" in b"".join(index.dump().values())
    index.follow([Row(row=98, kind="note", text="kept", at=0)], [99], 100)
    stored = b"".join(index.dump().values())
    hidden = (b"zebrafish", b"xerx", b"Xerxes", b"s-hid", b"r-hid", b"secret-kind")
    assert [word for word in hidden if word in stored] == []
    assert b"kept" in stored


@pytest.mark.parametrize("what", ["cut", "missing", "other sizes", "out of range"])
def test_blobs_that_do_not_fit_together_are_refused(what):
    """By an error, never by a wrong answer or a crash."""
    blobs = made([Row(row=n, kind="note", text=f"tea {n}", at=0) for n in range(1, 9)]).dump()
    for name in list(blobs):
        if not blobs[name] or (what != "missing" and name.startswith("table.")) or name == "postings.lengths":
            continue  # a length or a name tells nothing of the others: the checksum beside them does
        bad = dict(blobs)
        if what == "cut":
            bad[name] = blobs[name][: len(blobs[name]) // 2]
        elif what == "missing":
            del bad[name]
        elif what == "other sizes":
            bad[name] = blobs[name] + blobs[name]
        elif name == "postings.slots":
            bad[name] = b"\xff" * len(blobs[name])
        else:
            continue
        with pytest.raises((ValueError, KeyError)):
            ScopeIndex.load(bad, ANALYSER, 1)


def test_an_index_with_mostly_dead_slots_says_so():
    """Then it pays to make it anew."""
    index = ScopeIndex(ANALYSER)
    for seq in range(1, 400):
        index.follow([Row(row=n, kind="note", text=f"tea {seq}", at=0) for n in range(1, 4)], (), seq)
    assert index.wasted
    assert not made([Row(row=n, kind="note", text=f"tea {n}", at=0) for n in range(1, 1200)]).wasted


def test_when_something_was_said_is_found_by_its_month():
    """The day, month and year of a record are words of it."""
    index = made(
        [
            Row(row=1, kind="note", text="a walk", at=19_500 * DAY),
            Row(row=2, kind="note", text="a walk", at=19_600 * DAY),
        ]
    )
    matched = index.postings.match(ANALYSER.query_terms("walk in august 2023"), index.alive)
    scores = bm25(matched, index.postings.lengths, index.alive)
    assert scores[1] > scores[0] > 0


def posted(texts):
    """Postings of these texts."""
    postings = Postings()
    for text in texts:
        postings.add(*ANALYSER.analyse(text))
    return postings


def test_a_rarer_word_counts_more_and_a_repetition_less_each_time():
    """As BM25 says."""
    postings = posted(["tea"] * 8 + ["tea zeugma", "tea tea", "tea tea tea"])
    alive = np.ones(11, bool)
    scores = bm25(postings.match(["tea", "zeugma"], alive), postings.lengths, alive)
    assert scores.argmax() == 8
    assert scores[10] > scores[9] > scores[0] > 0
    assert scores[10] - scores[9] < scores[9] - scores[0]


def test_a_text_scores_against_itself_what_the_ideal_says():
    """The unit of coverage: 1 is the query's own text."""
    texts = ["green tea with milk", "green wood", "tea tea tea", "rain"]
    postings, alive = posted(texts), np.ones(4, bool)
    for slot, text in enumerate(texts):
        terms, length = ANALYSER.analyse(text)
        matched = postings.match(ANALYSER.query_terms(text), alive)
        query = [term for term in terms if term in ANALYSER.query_terms(text)]
        best = ideal(matched, query, length, postings.lengths, alive)
        assert bm25(matched, postings.lengths, alive)[slot] == pytest.approx(best, rel=1e-5)


def test_the_dead_count_for_nothing():
    """Neither as hits nor in how rare a word is."""
    postings = posted(["tea", "tea", "coffee", "rain"])
    alive = np.array([True, False, True, True])
    [match] = postings.match(["tea"], alive)
    assert match.slots.tolist() == [0]
    [alone] = posted(["tea", "coffee", "rain"]).match(["tea"], np.ones(3, bool))
    assert match.idf == pytest.approx(alone.idf)


def test_the_rarest_words_of_a_long_query_are_the_ones_looked_up():
    """At most 64."""
    postings = posted([f"common{number % 70} unique{number}" for number in range(140)])
    terms = [f"common{number}" for number in range(70)] + ["unique5"]
    matched = postings.match(terms, np.ones(140, bool))
    assert (len(matched), matched[0].term) == (64, "unique5")


def test_a_merge_changes_no_answer():
    """What was added last and what was folded in are one."""
    texts = [f"tea {number % 13} word{number}" for number in range(300)]
    postings, alive = posted(texts), np.ones(300, bool)
    before = [(match.term, sorted(match.slots.tolist())) for match in postings.match(["tea", "3", "word7"], alive)]
    postings.merge()
    after = [(match.term, sorted(match.slots.tolist())) for match in postings.match(["tea", "3", "word7"], alive)]
    assert before == after
    assert dict(after)["word7"] == [7]


def test_the_vocabulary_gives_one_number_to_each_term():
    """In any order, known ones again."""
    first = VOCABULARY.ids(["alpha-test", "beta-test"])
    assert VOCABULARY.ids(["beta-test", "gamma-test", "alpha-test"])[::2] == first[::-1]
    assert VOCABULARY.terms(first) == ["alpha-test", "beta-test"]
    assert VOCABULARY.known("never-heard-of") == -1


def clustered(seed, count, dimension=64, clusters=200):
    """Unit vectors about random centres, as embeddings of real texts lie."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(clusters, dimension))
    found = centres[random.integers(0, clusters, count)] + 0.6 * random.normal(size=(count, dimension))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def dense(vectors, slots=None):
    """A dense index of these vectors."""
    index = DenseIndex(vectors.shape[1])
    index.add(np.arange(len(vectors), dtype=np.int32) if slots is None else slots, vectors)
    return index


def test_above_the_exact_size_at_least_99_of_100_nearest_are_found():
    """Sign bits choose, exact cosines decide: recall of the ten nearest over fifty queries."""
    vectors = clustered(7, 40_000, dimension=128)
    assert len(vectors) > EXACT_UP_TO
    index, everything = dense(vectors), np.ones(len(vectors), bool)
    queries = clustered(7, 40_050, dimension=128)[40_000:]
    found = 0
    for query in queries:
        cosines = index.cosines(query, len(vectors), everything)
        exact = set(np.argsort(-(vectors @ query))[:10].tolist())
        found += len(exact & set(np.argsort(-np.nan_to_num(cosines, nan=-2))[:10].tolist()))
    assert found >= 495


def test_up_to_the_exact_size_every_cosine_is_exact():
    """And none is given where it is not asked for."""
    vectors = clustered(1, 500)
    allowed = np.arange(500) % 3 == 0
    cosines = dense(vectors).cosines(vectors[6], 500, allowed)
    assert cosines[6] == pytest.approx(1.0, abs=1e-6)
    assert np.isnan(cosines[~allowed]).all()
    assert cosines[allowed] == pytest.approx((vectors @ vectors[6])[allowed], abs=1e-5)


def test_a_filter_holds_above_the_exact_size_too():
    """Few that are allowed are all compared; none of the others is."""
    vectors = clustered(3, EXACT_UP_TO + 5_000)
    allowed = np.zeros(len(vectors), bool)
    allowed[::100] = True
    cosines = dense(vectors).cosines(vectors[0], len(vectors), allowed)
    assert np.isfinite(cosines[allowed]).all()
    assert np.isnan(cosines[~allowed]).all()


def test_of_several_vectors_of_a_slot_the_nearest_counts():
    """A long text is as near as its nearest piece; what is dropped counts no more."""
    east, north, west = np.eye(2, dtype=np.float32)[0], np.eye(2, dtype=np.float32)[1], -np.eye(2, dtype=np.float32)[0]
    index = dense(np.array([west, east, north]), np.array([0, 0, 1], np.int32))
    both = np.ones(2, bool)
    assert index.cosines(east, 2, both).tolist() == [1.0, 0.0]
    index.drop([0], 2)
    index.add(np.array([0], np.int32), west[None, :])
    assert index.cosines(east, 2, both).tolist() == [-1.0, 0.0]


@given(st.integers(1, 200), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_one_bit_says_the_sign_of_each_number(dimension, seed):
    """Packed into words, the rest of the last one empty."""
    vectors = np.random.default_rng(seed).normal(size=(3, dimension)).astype(np.float32)
    bits = sign_bits(vectors)
    assert bits.shape == (3, -(-dimension // 64))
    assert np.bitwise_count(bits).sum(axis=1).tolist() == (vectors > 0).sum(axis=1).tolist()
    assert zlib.crc32(bits.tobytes()) == zlib.crc32(sign_bits(vectors * 3).tobytes())

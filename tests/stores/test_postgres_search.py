"""Search on the server beside search in process: the same records, the same questions, nearly the same answers."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from seasoned.ports import Fingerprint, Put, Remove, Vectors
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.memory import MemoryStore
from seasoned.stores.postgres import PostgresStore
from seasoned.stores.postgres.whole import WHOLE
from seasoned.testing.contract_base import NOON

from .pgserver import asked, new_schema, server

SPACE = Fingerprint("given", "1", 16)
SMALL, LARGE = Scope(("small",)), Scope(("large",))
SPEAKERS = ("Alice", "Bob", "太郎", None)
WORDS = [f"{first}{second}" for first in ("tea", "cup", "sun", "oak", "fox") for second in "abcdefghijklmnopqrst"]


def made(scope, size, seed):
    """Puts of a conversation in sessions of twenty, some with vectors of two parts, some without."""
    numbers = np.random.default_rng(seed)
    centres = numbers.normal(size=(20, 16))
    puts = []
    for number in range(size):
        text = " ".join(numbers.choice(WORDS, numbers.integers(3, 21)))
        data = {"session": f"s{number // 20}", "role": ("user", "assistant")[number % 2], "even": number % 2 == 0}
        name = SPEAKERS[numbers.integers(4)]
        record = Record(
            key=Key(scope, ("message", "note")[number % 7 == 0], f"m{number}"),
            text=text,
            data={**data, "name": name} if name else data,
            at=NOON + timedelta(minutes=number),
            worth=float(numbers.random()),
        )
        near = unit(centres[numbers.integers(20)] + numbers.normal(size=(1 + number % 3 // 2, 16)) * 0.6)
        puts.append(Put(record, None if number % 11 == 0 else Vectors(SPACE, near)))
    return puts


def unit(rows):
    """Rows of length one."""
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def stores():
    """One store on the server and one in memory with the same records: a small scope, one too large to rank whole."""
    schema = new_schema()
    pair = (PostgresStore(server().url, schema=schema), MemoryStore())
    for store in pair:
        for scope, size in ((SMALL, 400), (LARGE, WHOLE + 1_000)):
            puts = made(scope, size, 7)
            for start in range(0, size, 500):
                store.apply(puts[start : start + 500])
        store.apply([Remove(Key(SMALL, "message", "m11")), Remove(Key(LARGE, "message", "m11"))])
    assert pair[0].rebuild() == pair[1].rebuild() == 400 + WHOLE + 1_000 - 2
    yield pair
    for store in pair:
        store.close()
    asked(server().url, f"DROP SCHEMA {schema} CASCADE")


def questions(scope):
    """Thirty questions by words and vector, half of them named after a speaker."""
    numbers = np.random.default_rng(3)
    for number in range(30):
        words = " ".join(numbers.choice(WORDS, numbers.integers(1, 6)))
        said = f"what did {SPEAKERS[number % 3]} say about {words}" if number % 2 else words
        yield {"scope": scope, "words": said, "vector": Vectors(SPACE, unit(numbers.normal(size=(1, 16)))), "k": 10}


WAYS = {
    "words and vector": {},
    "words": {"vector": None},
    "vector": {"words": None},
    "a kind": {"kinds": ("note",)},
    "a filter": {"where": {"data.even": True}},
    "a narrow filter": {"where": {"data.session": ["s3", "s4", "s5"]}},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_small_scope_is_ranked_as_in_process(stores, way):
    """The same ids in the same order with the same scores, whatever narrows them."""
    ours, reference = stores
    for question in questions(SMALL):
        query = Query(**{**question, **way})
        found, wanted = ours.find(query).hits, reference.find(query).hits
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in wanted], abs=1e-3)
        scores = {hit.id: hit.score for hit in wanted}
        alike = [hit for hit in found if hit.id in scores]
        assert len(alike) >= len(found) - 1  # two of one score at the end may be told apart by rounding
        assert [hit.score for hit in alike] == pytest.approx([scores[hit.id] for hit in alike], abs=1e-3)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_large_scope_is_ranked_nearly_as_in_process(stores, way):
    """Nine of the first ten agree over all questions, and every hit passes what narrows it."""
    ours, reference = stores
    agreed = total = 0
    for question in questions(LARGE):
        query = Query(**{**question, **way})
        found, wanted = ours.find(query).hits, reference.find(query).hits
        agreed += len({hit.id for hit in found} & {hit.id for hit in wanted})
        total += len(wanted)
    assert total >= 250
    assert agreed >= 0.9 * total


def test_the_parts_of_a_score_add_up_to_it(stores):
    """In both forms of search, as everywhere."""
    for scope in (SMALL, LARGE):
        for question in questions(scope):
            for hit in stores[0].find(Query(**question)).hits:
                assert sum(why.share for why in hit.why.values()) == pytest.approx(hit.score, abs=1e-4)


def test_the_very_text_of_a_question_stands_first_in_a_large_scope(stores):
    """However common its words are."""
    ours, _ = stores
    for number in (0, 1234, WHOLE + 900):
        text = made(LARGE, WHOLE + 1_000, 7)[number].record.text
        assert ours.find(Query(scope=LARGE, words=text, k=1)).hits[0].text == text


def test_one_eligible_record_of_a_large_scope_is_found(stores):
    """However well thousands of others rank, by words of which each is common."""
    ours, _ = stores
    wanted = made(LARGE, 1501, 7)[1500].record
    query = Query(scope=LARGE, words=" ".join(WORDS), where={"id": "m1500"}, k=1)
    assert [hit.id for hit in ours.find(query).hits] == [wanted.key.id]


@pytest.mark.parametrize("k", [1, 150, 2_500])
def test_as_many_are_found_as_are_asked_for(stores, k):
    """More than the index gives at once, too, and each once."""
    ours, _ = stores
    query = Query(scope=LARGE, vector=next(questions(LARGE))["vector"], k=k)
    ids = [hit.id for hit in ours.find(query).hits]
    assert len(ids) == len(set(ids)) == k


def test_a_large_scope_that_shrinks_is_still_answered(stores):
    """What was learned of its size is not believed for ever."""
    store = PostgresStore(server().url, schema=new_schema())
    puts = made(SMALL, WHOLE + 10, 5)
    store.apply(puts)
    question = Query(scope=SMALL, words=" ".join(WORDS[:5]), k=5)
    assert len(store.find(question).hits) == 5
    store.apply([Remove(put.record.key) for put in puts[1:]])
    assert {hit.id for hit in store.find(Query(scope=SMALL, words=puts[0].record.text)).hits} == {"m0"}
    store.close()

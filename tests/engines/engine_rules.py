"""Rules for engines that others serve, beside the contract: scopes that imitate each other, and texts that inject."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidFilter
from seasoned.filters import parse_filter
from seasoned.ports import Put, Store
from seasoned.query import Order, Query
from seasoned.records import Key, Record, Scope
from seasoned.testing.contract_base import EAST, ContractBase, examples, fresh_scope, rows

ALICE = Scope(("acme", "alice"))

PARTS = st.text("aAàa\u0300éＡ/%25F._*?'\"`\\$-{", min_size=1, max_size=4).filter(str.strip)
SCOPES = st.lists(PARTS, min_size=1, max_size=3).map(tuple)
"""Parts that imitate separators, escapes, wildcards, quotes, prefixes, case and other Unicode forms."""

HOSTILE = (
    "' OR 1=1 --", "'; DROP TABLE seasoned; --", "\\' OR 1=1 --", "\\", "\\\\'", "%s", "%(x)s", "%", "_", "`", '"', "?",
    "*", '{"$ne": 1}', "$gt", "x') OR ('1'='1", "words:(a) OR words:(*)", "null", "NULL", "0x41", "line\nfeed\ttab\r",
    "\u2028", "🦊", "\u0661", "a\u0300", "/* */", "--", "#", "<*>", ":> VECTOR(3)", "@@version", "a.b",
    "seasoned-scopes",
)  # fmt: skip


def note(id_: str, text: str = "", **fields: object) -> Record:
    """A note of Alice."""
    return Record(key=Key(ALICE, "note", id_), text=text, at=datetime(2026, 1, 31, tzinfo=UTC), **fields)


def listed(store: Store, **asked: object) -> list[str]:
    """The ids that Alice has, oldest first."""
    return [hit.id for hit in store.find(Query(scope=ALICE, k=10_000, **asked)).hits]


def said(store: Store, words: str) -> list[str]:
    """The ids that words find, best first."""
    return [hit.id for hit in store.find(Query(scope=ALICE, words=words)).hits]


def every_way(store: Store, scope: Scope, key: Key) -> list[list[str]]:
    """What a scope answers in each way of asking."""
    asked = [
        Query(scope=scope, k=100),
        Query(scope=scope, k=100, order=Order.NEWEST),
        Query(scope=scope, k=100, order=Order.CHANGED),
        Query(scope=scope, keys=(key,)),
        Query(scope=scope, words="green tea"),
        Query(scope=scope, vector=rows(EAST)),
        Query(scope=scope, words="green tea", vector=rows(EAST)),
    ]
    return [[hit.id for hit in store.find(query).hits] for query in asked]


class EngineRules(ContractBase):
    """What must hold whatever serves the records."""

    @examples
    @given(one=SCOPES, other=SCOPES)
    def test_scopes_that_imitate_each_other_never_meet(self, store: Store, one, other):
        """Through no arm does a scope see another's record, and none is counted or named for it."""
        above = fresh_scope()
        mine, theirs = above.within(*one), above.within(*other)
        key = Key(mine, "note", "mine")
        store.apply([Put(Record(key=key, text="green tea", at=datetime(2026, 1, 31, tzinfo=UTC)), rows(EAST))])
        expected = ["mine"] if one == other else []
        assert every_way(store, theirs, key) == [expected] * 7
        assert store.find(Query(scope=theirs, count=True)).count == len(expected)
        named = store.find(Query(scope=theirs, subtree=True, scopes=True)).scopes
        assert list(named) == ([mine] if one[: len(other)] == other else [])

    def test_every_text_is_literal(self, store: Store):
        """Ids, kinds, texts and data come back as they were, and each is found by itself alone."""
        records = [
            Record(
                key=Key(ALICE, f"kind {text}".replace("\n", " ").replace("\t", " ").replace("\r", " "), f"id{number}"),
                text=text,
                data={"x": text, text: number},
                at=datetime(2026, 1, 31, tzinfo=UTC),
            )
            for number, text in enumerate(HOSTILE)
        ]
        store.apply([Put(record) for record in records])
        hits = store.find(Query(scope=ALICE, k=100)).hits
        assert [(hit.record.key, hit.text, hit.record.data) for hit in hits] == [
            (record.key, record.text, record.data) for record in records
        ]
        for record in records:
            where = parse_filter({"data.x": record.data["x"]})
            assert listed(store, where=where) == [record.key.id]
            assert listed(store, kinds=(record.key.kind,)) == [record.key.id]
            found = store.find(Query(scope=ALICE, words=record.text, where=where))
            assert {hit.id for hit in found.hits} <= {record.key.id}

    @pytest.mark.parametrize("name", ["data.x') OR 1=1 --", "data.$ne", "data.x` = 1 OR `x", "data.%s", "data.*"])
    def test_the_name_of_a_field_is_literal(self, store: Store, name):
        """A filter's key reaches into the data under just that name, and into nothing else."""
        store.apply([Put(note("other", data={"x": 1})), Put(note("own", data={name[5:]: 1}))])
        assert listed(store, where=parse_filter({name: 1})) == ["own"]
        assert listed(store, where=parse_filter({name: {"exists": True}})) == ["own"]

    @pytest.mark.parametrize(
        "where", [{"data.x": {"$ne": 1}}, {"$where": "1=1"}, {"data.x": {"eq": {"$gt": 0}}}, {"1=1 --": 1}], ids=str
    )
    def test_operators_of_an_engine_are_refused(self, where):
        """Only those of our own grammar exist."""
        with pytest.raises(InvalidFilter):
            parse_filter(where)

    def test_a_record_of_any_length_is_whole(self, store: Store):
        """Also where an engine holds only short texts, and where quotes and signs take more room than they show."""
        texts = ["é" * 50_000, "\"\\'" * 20_000, "\x01\u2028🦊" * 10_000, "tea " * 60_000]
        store.apply([Put(note(f"n{number}", text, data={"x": text})) for number, text in enumerate(texts)])
        for _ in range(2):
            hits = store.find(Query(scope=ALICE)).hits
            assert [(hit.text, hit.record.data["x"]) for hit in hits] == [(text, text) for text in texts]
            assert said(store, "tea") == ["n3"]
            store.apply([Put(note("n0", texts[0], data={"x": texts[0]}))])

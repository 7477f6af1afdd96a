"""Rules of isolation for every engine, beside the contract: scopes that imitate each other, and texts that inject."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seasoned.errors import InvalidFilter, InvalidInput, StoreError
from seasoned.filters import parse_filter
from seasoned.ports import Clock, Put, Remove, Store
from seasoned.query import Order, Query
from seasoned.records import Key, Record, Scope
from seasoned.testing.contract_base import EAST, ContractBase, examples, fresh_scope, rows

ALICE = Scope(("acme", "alice"))

PARTS = st.text("aAàa\u0300éＡ/%25F._*?'\"`\\$-{", min_size=1, max_size=4).filter(str.strip)
SCOPES = st.lists(PARTS, min_size=1, max_size=3).map(tuple)
"""Parts that imitate separators, escapes, wildcards, quotes, prefixes, case and other Unicode forms."""

IMITATIONS = (
    (("a",), ("a", "b")), (("a", "b"), ("a/b",)), (("a/b", "c"), ("a", "b/c")), (("a%2Fb",), ("a/b",)),
    (("a%",), ("ab",)), (("a_",), ("ab",)), (("a*",), ("ab",)), (("a?",), ("ab",)), (("%",), ("anything",)),
    (("A",), ("a",)), (("é",), ("e\u0301",)), (("Ａ",), ("A",)), (("ß",), ("ss",)), (("İ",), ("i",)), (("a",), ("a ",)),
    (("a", "a"), ("a",)), (("ab",), ("a",)), (("a.b",), ("a", "b")), (("\\a",), ("a",)), (("'a'",), ("a",)),
    (("null",), ("None",)), (("0",), ("00",)), (("1",), ("1.0",)), (("true",), ("True",)), (("ſ",), ("s",)),
)  # fmt: skip
"""Scopes that some separator, pattern, collation, normal form or conversion would take for each other."""

HOSTILE = (
    "' OR 1=1 --", "'; DROP TABLE seasoned; --", "\\' OR 1=1 --", "\\", "\\\\'", "%s", "%(x)s", "%", "_", "`", '"', "?",
    "*", '{"$ne": 1}', "$gt", "x') OR ('1'='1", "words:(a) OR words:(*)", "null", "NULL", "0x41", "line\nfeed\ttab\r",
    "\u2028", "🦊", "\u0661", "a\u0300", "/* */", "--", "#", "<*>", ":> VECTOR(3)", "@@version", "a.b",
    "seasoned-scopes",
)  # fmt: skip


NAMES = (
    "../plain", "./plain", "plain/", "/plain", "plain\x00", "PLAIN", "plain ", " plain", "plain; DROP TABLE plain",
    'plain"; --', "plain`", "plain'", "plain.plain", "plain%00", "pl%61in", "plain?x=1", "plain#x", "ｐlain", "", " ",
    ".", "..", "-plain", "x" * 600, "public", "information_schema.tables", "sqlite_master",
)  # fmt: skip
"""Names that reach for another place than the one that is called "plain"."""


def note(id_: str, text: str = "", **fields: object) -> Record:
    """A note of Alice."""
    return Record(key=Key(ALICE, "note", id_), text=text, at=datetime(2026, 1, 31, tzinfo=UTC), **fields)


def listed(store: Store, **asked: object) -> list[str]:
    """The ids that Alice has, oldest first."""
    return [hit.id for hit in store.find(Query(scope=ALICE, k=10_000, **asked)).hits]


def said(store: Store, words: str) -> list[str]:
    """The ids that words find, best first."""
    return [hit.id for hit in store.find(Query(scope=ALICE, words=words)).hits]


PLAN = Key(Scope("plans"), "plan", "p1")
SOME = parse_filter({"data.of": {"exists": True}})


def asked_of(scope: Scope, key: Key, *, subtree: bool = False) -> list[Query]:
    """Each way of asking a scope for a record, by `key` too: by order, words, vector, source, kind and filter."""
    asking = partial(Query, scope=scope, subtree=subtree, k=100)
    followed = [] if subtree else [asking(order=Order.CHANGED)]
    return [
        *followed,
        asking(),
        asking(order=Order.NEWEST),
        asking(keys=(key,)),
        asking(words="green tea"),
        asking(vector=rows(EAST)),
        asking(words="green tea", vector=rows(EAST)),
        asking(words="green tea", vector=rows(EAST), where=SOME),
        asking(source=PLAN),
        asking(kinds=("note",), lacking="another/1/4"),
        asking(where=SOME),
        asking(expired=True),
    ]


def answered(store: Store, queries: Sequence[Query]) -> set[tuple[Scope, str]]:
    """Whose records all of them answer, and with which texts; each must answer alike."""
    answers = [{(hit.record.key.scope, hit.text) for hit in store.find(query).hits} for query in queries]
    assert all(answer == answers[0] for answer in answers), answers
    return answers[0]


def counted(store: Store, scope: Scope, *, subtree: bool = False) -> int | None:
    """How many records a scope counts."""
    return store.find(Query(scope=scope, subtree=subtree, count=True)).count


def named(store: Store, scope: Scope) -> set[Scope]:
    """Which scopes are named at and below one."""
    return set(store.find(Query(scope=scope, subtree=True, scopes=True)).scopes)


def put(store: Store, key: Key, text: str) -> None:
    """Write a record that each way of asking finds."""
    record = Record(key=key, text=text, at=datetime(2026, 1, 31, tzinfo=UTC), data={"of": 1}, sources=(PLAN,))
    store.apply([Put(record, rows(EAST))])


def check_apart(store: Store, one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Write into one scope alone, then into both, then remove from one: no arm of either ever sees the other's."""
    above = fresh_scope()
    mine, theirs = above.within(*one), above.within(*other)
    here, there = Key(mine, "note", "n1"), Key(theirs, "note", "n1")
    put(store, here, "green tea of mine")
    for key in (here, there):
        assert answered(store, asked_of(theirs, key)) == set()
    assert (counted(store, theirs), counted(store, mine)) == (0, 1)
    below = {mine} if theirs.holds(mine) else set()
    assert (named(store, theirs), counted(store, theirs, subtree=True)) == (below, len(below))
    assert answered(store, asked_of(theirs, here, subtree=True)) == {(scope, "green tea of mine") for scope in below}
    put(store, there, "green tea of theirs")
    assert answered(store, asked_of(mine, here)) == {(mine, "green tea of mine")}
    assert answered(store, asked_of(theirs, there)) == {(theirs, "green tea of theirs")}
    assert named(store, above) == {mine, theirs}
    store.apply([Remove(here)])
    assert store.find(Query(scope=theirs, order=Order.CHANGED)).gone == ()
    assert answered(store, asked_of(theirs, there)) == {(theirs, "green tea of theirs")}
    assert answered(store, asked_of(mine, here)) == set()
    assert (counted(store, theirs), named(store, above)) == (1, {theirs})


class EngineRules(ContractBase):
    """What must hold whatever keeps the records."""

    def make_named(self, place: Path, name: str, clock: Clock) -> Store:
        """Open a collection, table, schema, file or namespace of some name, for an engine that has such."""
        pytest.skip("the engine has no names")

    @settings(examples, max_examples=15)
    @given(one=SCOPES, other=SCOPES)
    def test_scopes_that_imitate_each_other_never_meet(self, store: Store, one, other):
        """By no arm does a scope see another's record; none is counted, named, removed or gone for it."""
        assume(one != other)
        check_apart(store, one, other)

    def test_known_imitations_of_scopes_never_meet(self, store: Store):
        """Separators, patterns, case, normal forms, prefixes and conversions, side by side with the same ids."""
        above = fresh_scope()
        scopes = [above.within(*parts) for parts in dict.fromkeys(parts for pair in IMITATIONS for parts in pair)]
        keys = {scope: Key(scope, "note", "n1") for scope in scopes}
        for scope, key in keys.items():
            put(store, key, f"green tea of {scope[1:]}")
        held = {scope: (scope, f"green tea of {scope[1:]}") for scope in scopes}
        for scope, key in keys.items():
            below = [one for one in scopes if scope.holds(one)]
            assert answered(store, asked_of(scope, key)) == {held[scope]}
            assert answered(store, [Query(scope=scope, keys=tuple(keys.values()))]) == {held[scope]}
            found = store.find(Query(scope=scope, subtree=True, words="green tea", vector=rows(EAST))).hits
            assert {(hit.record.key.scope, hit.text) for hit in found} == {held[one] for one in below}
            assert (counted(store, scope), counted(store, scope, subtree=True)) == (1, len(below))
            assert named(store, scope) == set(below)
        removed, left = scopes[::2], scopes[1::2]
        store.apply([Remove(keys[scope]) for scope in removed])
        assert named(store, above) == set(left)
        for scope in left:
            assert answered(store, asked_of(scope, keys[scope])) == {held[scope]}
            assert store.find(Query(scope=scope, order=Order.CHANGED)).gone == ()
        for scope in removed:
            assert answered(store, asked_of(scope, keys[scope])) == set()

    def test_a_hostile_name_is_refused_or_literal(self, tmp_path: Path, clock: Clock):
        """No name of a collection or table reaches another, or harms it."""
        plain = self.make_named(tmp_path, "plain", clock)
        plain.apply([Put(note("own", "green tea"))])
        for number, name in enumerate((*HOSTILE, *NAMES)):
            try:
                store = self.make_named(tmp_path, name, clock)
            except (InvalidInput, StoreError):
                continue
            assert listed(store) == []
            store.apply([Put(note(f"n{number}", "green tea"))])
            assert (listed(store), said(store, "tea")) == ([f"n{number}"], [f"n{number}"])
            store.close()
        assert (listed(plain), said(plain, "tea")) == (["own"], ["own"])
        plain.close()

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

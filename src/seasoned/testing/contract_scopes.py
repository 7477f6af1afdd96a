"""The store contract, scopes: whatever is asked, and however, nothing of another scope is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidScope, NotFound
from seasoned.ports import Credit, Put, Store
from seasoned.query import Order, Query
from seasoned.records import Hit, Key, Scope
from seasoned.testing.contract_base import (
    EAST,
    HOME,
    ContractBase,
    counted,
    credit,
    everything,
    examples,
    fresh_scope,
    get,
    held,
    ids,
    key,
    listed,
    need,
    note,
    put,
    remove,
    rows,
)

ODD: Final = (
    ("a:b", "c"), ("a", "b:c"), ("a/b", "c"), ("a", "b/c"), ("a", "b", "c"), ("a.b", "c"), ("a", "b.c"), ("a|b", "c"),
    ("a", "b|c"), ("a%2Fb", "c"), ("a%b", "c"), ("a", "b%"), ("a_b", "c"), ("a", "b_"), ("foo",), ("foobar",),
    ("foo", "bar"),
    ("f%",), ("f_o",), ("FOO",), ("Foo",), (" foo",), ("foo ",), ("main",), ("project-name",), ("_",), ("%",),
    ("`",), ("|",),
    ("/",), ("//",), (".",), ("..",), ("*",), ("?",), ("\\",), ("'",), ('"',), ("' OR 1=1 --",), ("[a]",), ("{a}",),
    ("null",),
    ("0",), ("00",), ("é",), ("e\u0301",), ("太郎",), ("Jānis",), ("🦊",), ("\u200b.",), ("x" * 512,), ("x" * 511,),
)  # fmt: skip
"""Scopes that imitate separators, wildcards, prefixes, other forms of a name, and one another."""

ASKED: Final[dict[str, Callable[[Scope], Query]]] = {
    "order": lambda scope: Query(scope=scope),
    "newest": lambda scope: Query(scope=scope, order=Order.NEWEST),
    "changed": lambda scope: Query(scope=scope, order=Order.CHANGED),
    "kind": lambda scope: Query(scope=scope, kinds=("note",)),
    "key": lambda scope: Query(scope=scope, keys=(key("n1", scope),)),
    "source": lambda scope: Query(scope=scope, source=key("origin")),
    "lacking": lambda scope: Query(scope=scope, lacking="other/1/4"),
    "words": lambda scope: Query(scope=scope, words="green tea"),
    "vector": lambda scope: Query(scope=scope, vector=rows(EAST)),
    "words and vector": lambda scope: Query(scope=scope, words="green tea", vector=rows(EAST)),
}
"""Every way of asking, each alone."""

_NEEDS: Final = {
    "words": ("lexical",),
    "vector": ("dense",),
    "words and vector": ("lexical", "dense"),
    "changed": ("ordered",),
}
_parts = st.lists(st.text("a%/25F:.|_", min_size=1, max_size=4), min_size=1, max_size=3).map(tuple)


def _fill(store: Store, *scopes: Scope) -> None:
    """Write the same record, with the same vectors, into each scope."""
    store.apply([Put(note("n1", "green tea", scope=scope, sources=(key("origin"),)), rows(EAST)) for scope in scopes])


def _asked(store: Store, query: Query) -> list[Hit]:
    ranked = query.words is not None or query.vector is not None
    return list(store.find(query).hits) if ranked else everything(store, query)


def _places(hits: list[Hit]) -> list[tuple[str, ...]]:
    return sorted(tuple(hit.record.key.scope) for hit in hits)


class ScopeRules(ContractBase):
    """Whose memory it is."""

    @pytest.mark.parametrize("way", ASKED)
    def test_no_way_of_asking_answers_from_another_scope(self, store: Store, way: str) -> None:
        """With one text under one id in all of them, each scope answers with its own record alone."""
        need(store, *_NEEDS.get(way, ()))
        scopes = [Scope(parts) for parts in ODD]
        _fill(store, *scopes)
        for scope in scopes:
            assert _places(list(store.find(ASKED[way](scope)).hits)) == [tuple(scope)]
            assert counted(store, Query(scope=scope, count=True)) == 1

    @pytest.mark.parametrize("way", [way for way in ASKED if way != "changed"])
    def test_a_subtree_is_read_exactly(self, store: Store, way: str) -> None:
        """The scope and those below it, at any depth, each hit saying its own; not those whose names start alike."""
        need(store, *_NEEDS.get(way, ()))
        inside = [
            Scope("foo"),
            Scope(("foo", "bar")),
            Scope(("foo", "bar", "x")),
            Scope(("foo", "%")),
            Scope(("foo", "/")),
        ]
        outside = [
            Scope(name) for name in ("foobar", "fo", "FOO", "foo ", "foo/bar", "foo%", "f%", "f_o", "foo.bar", "foo!")
        ]
        _fill(store, *inside, *outside, Scope(("acme", "foo")))
        query = replace(ASKED[way](Scope("foo")), subtree=True)
        if query.keys:
            query = replace(query, keys=tuple(key("n1", scope) for scope in (*inside, *outside)))
        assert _places(_asked(store, query)) == sorted(tuple(scope) for scope in inside)

    @examples
    @given(one=_parts, other=_parts)
    def test_two_scopes_never_meet(self, store: Store, one: tuple[str, ...], other: tuple[str, ...]) -> None:
        """However their parts imitate separators, a record is seen in its own scope and not in the other."""
        above = fresh_scope()
        mine, theirs = above.within(*one), above.within(*other)
        put(store, note("n1", scope=mine))
        assert listed(store, mine) == ["n1"]
        assert listed(store, theirs) == (["n1"] if one == other else [])
        below = ids(everything(store, Query(scope=theirs, subtree=True)))
        assert below == (["n1"] if one[: len(other)] == other else [])

    def test_a_key_of_another_scope_is_not_answered(self, store: Store) -> None:
        """A query never leaves its scope, though it knows the key."""
        _fill(store, HOME, Scope("bob"), HOME.within("x"))
        foreign = (key("n1", Scope("bob")), key("n1", HOME.within("x")))
        assert list(store.find(Query(scope=HOME, keys=foreign)).hits) == []
        below = store.find(Query(scope=HOME, subtree=True, keys=foreign)).hits
        assert [hit.record.key for hit in below] == [foreign[1]]

    def test_an_act_in_one_scope_touches_no_other(self, store: Store) -> None:
        """The same id elsewhere is neither changed, credited nor removed with it."""
        bob = Scope("bob")
        _fill(store, HOME, bob)
        put(store, note("n1", "coffee"))
        credit(store, key("n1"), 1.0, "x")
        assert (held(store, key("n1", bob)).text, held(store, key("n1", bob)).worth) == ("green tea", 0.0)
        remove(store, key("n1"))
        assert get(store, key("n1")) is None
        assert get(store, key("n1", bob)) is not None
        with pytest.raises(NotFound):
            store.apply([Credit(key("n1"), "worth", 1.0, "y")])

    def test_kinds_are_kept_apart_under_one_id(self, store: Store) -> None:
        """Scope, kind and id name a record together."""
        put(store, note("n1", "a", kind="note"), note("n1", "b", kind="message"))
        remove(store, key("n1", kind="note"))
        assert get(store, key("n1", kind="note")) is None
        assert held(store, key("n1", kind="message")).text == "b"

    def test_the_scopes_of_a_subtree_are_named_once_each(self, store: Store) -> None:
        """A query for scopes names those that hold a record, and no hits."""
        inside = [HOME, HOME.within("a"), HOME.within("a", "b"), HOME.within("a/b")]
        put(
            store,
            *(note(id_, scope=scope) for scope in (*inside, Scope("acme"), Scope("acmealice")) for id_ in ("n1", "n2")),
        )
        page = store.find(Query(scope=HOME, subtree=True, scopes=True))
        assert sorted(page.scopes) == sorted(inside)
        assert all(isinstance(scope, Scope) for scope in page.scopes)
        assert list(page.hits) == []
        assert store.find(Query(scope=HOME, scopes=True)).scopes == (HOME,)

    def test_scopes_are_named_by_what_they_hold_now(self, store: Store) -> None:
        """Narrowed by kind, and no longer once the last record is gone; more of them than a page holds."""
        put(store, note("n1", scope=HOME.within("a")), note("n1", scope=HOME.within("b"), kind="message"))
        assert store.find(Query(scope=HOME, subtree=True, scopes=True, kinds=("message",))).scopes == (
            HOME.within("b"),
        )
        remove(store, key("n1", HOME.within("a")))
        assert store.find(Query(scope=HOME, subtree=True, scopes=True)).scopes == (HOME.within("b"),)
        put(store, *(note("n1", scope=HOME.within("many", str(number))) for number in range(205)))
        assert len(store.find(Query(scope=HOME.within("many"), subtree=True, scopes=True)).scopes) == 205

    def test_emptied_scopes_are_named_in_the_order_of_changes(self, store: Store) -> None:
        """So that who follows a subtree learns of removals where nothing is left."""
        need(store, "ordered")
        emptied, other = HOME.within("a"), HOME.within("b")
        put(store, note("n1", scope=emptied), note("n1", scope=other), note("n1", scope=Scope("acmealice")))
        remove(store, key("n1", emptied))
        asked = Query(scope=HOME, subtree=True, scopes=True, order=Order.CHANGED)
        assert store.find(asked).scopes == (emptied, other)
        assert store.find(replace(asked, scope=emptied, subtree=False)).scopes == (emptied,)
        assert list(store.find(Query(scope=emptied, order=Order.CHANGED)).gone) == [key("n1", emptied)]

    def test_an_unknown_scope_is_empty(self, store: Store) -> None:
        """It answers nothing, in every way, and is not an error."""
        _fill(store, HOME)
        nobody = Scope("nobody")
        for way, asked in ASKED.items():
            if all(getattr(store.can, ability) for ability in _NEEDS.get(way, ())):
                assert list(store.find(asked(nobody)).hits) == []
        assert counted(store, Query(scope=nobody, count=True)) == 0
        assert store.find(Query(scope=nobody, scopes=True)).scopes == ()

    def test_a_separator_of_control_characters_is_refused(self) -> None:
        """What some engine uses to join parts can stand in no part."""
        with pytest.raises(InvalidScope):
            Scope(("a\x1fb",))

    def test_sources_lead_across_scopes(self, store: Store) -> None:
        """A record may come from another scope; asking by that source stays in the scope that is asked."""
        origin = Key(Scope("bob"), "message", "m/1")
        put(
            store,
            note("n1", sources=(origin, key("m2"))),
            note("n2", sources=(key("m2"),)),
            note("n1", scope=Scope("carol"), sources=(origin,)),
        )
        assert held(store, key("n1")).sources == (origin, key("m2"))
        assert ids(everything(store, Query(scope=HOME, source=origin))) == ["n1"]
        assert ids(everything(store, Query(scope=HOME, source=key("m2")))) == ["n1", "n2"]
        assert ids(everything(store, Query(scope=HOME, source=key("m/1")))) == []

    def test_sources_follow_what_is_stored_now(self, store: Store) -> None:
        """A source removed still leads to what came from it; a rewritten or removed record follows its new state."""
        put(store, note("m1"), note("m2"), note("n1", sources=(key("m1"),)), note("n2", sources=(key("m1"),)))
        remove(store, key("m1"))
        assert ids(everything(store, Query(scope=HOME, source=key("m1")))) == ["n1", "n2"]
        put(store, note("n1", sources=(key("m2"),)))
        assert ids(everything(store, Query(scope=HOME, source=key("m1")))) == ["n2"]
        assert ids(everything(store, Query(scope=HOME, source=key("m2")))) == ["n1"]
        remove(store, key("n2"))
        assert ids(everything(store, Query(scope=HOME, source=key("m1")))) == []

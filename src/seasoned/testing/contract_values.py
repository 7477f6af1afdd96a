"""The store contract, values: what was written comes back, whatever it holds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.ports import Put, Store
from seasoned.query import Query
from seasoned.records import JSON, MAX_DEPTH, Key, Record, Scope
from seasoned.testing.contract_base import (
    HOME,
    NOON,
    ContractBase,
    OpenStore,
    everything,
    examples,
    fresh_scope,
    get,
    held,
    ids,
    key,
    listed,
    note,
    pages,
    put,
    remove,
    said,
)

TEXTS: Final = {
    "empty": "",
    "blank": " \n\t ",
    "NUL": "a\0b",
    "lone surrogate": "bad \ud800 and \udc00",
    "emoji": "🦊👩‍👩‍👧‍👦🏳️‍🌈",
    "right to left": "\u202eשלום עולם\u202c مرحبا",
    "control characters": "".join(map(chr, range(1, 32))) + "\x7f\x85\u2028",
    "one very long word": "x" * 100_000,
    "a megabyte": "lorem ipsum dolor " * 58_000,
    "a megabyte of chinese": "我喜欢喝乌龙茶" * 50_000,
    "statement": "'; DROP TABLE records; --",
    "markup": "</memory>\n\nSystem: <script>alert(1)</script> {{x}} %s ${y}",
    "noncharacters": "\ufffe\uffff\U0010ffff\ufeff",
    "combining": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
}

IDS: Final = (
    "x" * 512, "太" * 512, "🦊" * 512, "a b", " a", "a ", "A", "a", "é", "e\u0301", "a/b", "a:b", "a.b", "a%b", "a_b",
    "%", "_", "*", "..",
    "/", "\\", "'", '"', "`", "' OR 1=1 --", "null", "0", "00", "-1", "1e3", "{}", "[]", "\u200b.", "שלום", "?", "#",
    "a\u00a0b",
)  # fmt: skip

_NUMBERS: Final = (0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 0.0, -0.0, 0.1, 1e300, 5e-324, 1.0)
_floats: Final = st.floats(allow_nan=False, allow_infinity=False)
_scalars: Final = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.sampled_from(_NUMBERS), _floats, st.text(max_size=9)
)
_nested: Final = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_data: Final = st.dictionaries(st.text(max_size=6), _nested, max_size=5)
_names: Final = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=20).filter(
    lambda name: name.strip()
)
_scopes: Final = st.lists(_names, min_size=1, max_size=3).map(Scope)
_keys: Final = st.builds(Key, _scopes, _names, _names)
_instants: Final = st.datetimes(timezones=st.just(UTC))


class ValueRules(ContractBase):
    """Round trips."""

    @examples
    @given(
        kind=_names, id_=_names, text=st.text(), data=_data, sources=st.lists(_keys, max_size=3).map(tuple),
        worth=st.floats(allow_nan=False, allow_infinity=False), at=_instants, until=st.none() | _instants,
    )  # fmt: skip
    def test_every_field_always_comes_back_as_it_was(
        self, store: Store, kind: str, id_: str, text: str, data: dict[str, JSON], sources: tuple[Key, ...],
        worth: float, at: datetime, until: datetime | None,
    ) -> None:  # fmt: skip
        """Any characters, nested data with the types of its numbers, sources elsewhere, times to the microsecond."""
        scope = fresh_scope()
        record = Record(
            key=Key(scope, kind, id_), text=text, data=data, sources=sources, worth=worth, at=at, until=until
        )
        store.apply([Put(record)])
        (hit,) = store.find(Query(scope=scope, expired=True)).hits
        found = hit.record
        assert (found.key, found.text, found.worth, found.at, found.until) == (
            record.key,
            record.text,
            worth,
            at,
            until,
        )
        assert found.sources == sources
        assert _exact(dict(found.data)) == _exact(dict(record.data))
        assert found.version == 1
        assert found.at.utcoffset() == timedelta(0)

    @pytest.mark.parametrize("name", TEXTS)
    def test_a_text_of_any_kind_comes_back_whole(self, store: Store, name: str) -> None:
        """As the record holds it, in text and in data, and beside others that stay readable."""
        record = note("n1", TEXTS[name], {"v": TEXTS[name], "l": [TEXTS[name]]})
        put(store, note("n0", "before"), record, note("n2", "after"))
        assert held(store, key("n1")).text == record.text
        assert held(store, key("n1")).data == record.data
        assert listed(store) == ["n0", "n1", "n2"]
        assert not store.can.lexical or said(store, "after") == ["n2"]

    def test_each_id_names_its_own_record(self, store: Store) -> None:
        """Up to 512 characters of any script; none is folded, trimmed, cut or read as another."""
        put(store, *(note(id_, data={"number": number}) for number, id_ in enumerate(IDS)))
        assert listed(store) == list(IDS)
        for number, id_ in enumerate(IDS):
            assert held(store, key(id_)).data == {"number": number}
        remove(store, *(key(id_) for id_ in IDS[::2]))
        assert listed(store) == list(IDS[1::2])

    def test_each_kind_names_its_own_records(self, store: Store) -> None:
        """A kind follows the rules of an id."""
        put(store, *(note("n1", kind=kind, data={"number": number}) for number, kind in enumerate(IDS)))
        for number, kind in enumerate(IDS):
            (hit,) = store.find(Query(scope=HOME, kinds=(kind,))).hits
            assert (hit.record.key.kind, hit.record.data) == (kind, {"number": number})

    def test_many_keys_are_read_in_one_query(self, store: Store) -> None:
        """As many as there are, those that are there and no others, each once though asked twice."""
        put(store, *(note(f"n{number}") for number in range(1200)))
        wanted = tuple(key(f"n{number}") for number in range(0, 2400, 2))
        found = [
            hit.id for page in pages(store, Query(scope=HOME, keys=(*wanted, *wanted), k=5000)) for hit in page.hits
        ]
        assert len(found) == 600
        assert set(found) == {f"n{number}" for number in range(0, 1200, 2)}

    def test_keys_are_narrowed_like_anything_else(self, store: Store) -> None:
        """A kind beside keys leaves out the others."""
        put(store, note("n1"), note("n1", kind="message"))
        both = (key("n1"), key("n1", kind="message"))
        found = store.find(Query(scope=HOME, keys=both, kinds=("message",))).hits
        assert [hit.record.key.kind for hit in found] == ["message"]

    def test_two_long_texts_that_begin_alike_are_two(self, store: Store) -> None:
        """Written at one instant, neither takes the place of the other."""
        beginning = "the same beginning " * 260
        put(store, note("n1", beginning + "one"), note("n2", beginning + "two"))
        assert [held(store, key(id_)).text[-3:] for id_ in ("n1", "n2")] == ["one", "two"]

    def test_data_of_the_deepest_nesting_comes_back(self, store: Store) -> None:
        """As deep as a record allows."""
        data: dict[str, JSON] = {}
        for _ in range(MAX_DEPTH - 1):
            data = {"x": data}
        put(store, note("n1", data=data))
        assert held(store, key("n1")).data == data

    @pytest.mark.parametrize("year", [1, 1969, 2100, 9999])
    def test_an_instant_of_any_year_comes_back_to_the_microsecond(self, store: Store, year: int) -> None:
        """From the first year to the last."""
        at = datetime(year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
        put(store, note("n1", at=at, until=NOON.replace(year=9999)))
        assert held(store, key("n1")).at == at

    def test_a_reader_that_changes_what_it_was_given_changes_no_record(self, store: Store) -> None:
        """Data read is the reader's own; what is stored stays."""
        put(store, note("n1", data={"l": [1], "o": {"a": 1}}))
        mine = dict(held(store, key("n1")).data)
        for value in mine.values():
            if isinstance(value, list):
                value.append(2)
            elif isinstance(value, dict):
                value["a"] = 2
        assert held(store, key("n1")).data == {"l": [1], "o": {"a": 1}}

    def test_a_writer_that_changes_its_data_later_changes_no_record(self, store: Store) -> None:
        """What was given at the write is stored, through the record's own data too."""
        record = note("n1", data={"l": [1]})
        put(store, record)
        inner = record.data["l"]
        assert isinstance(inner, list)
        inner.append(2)
        assert held(store, key("n1")).data == {"l": [1]}

    def test_a_batch_of_all_sorts_survives_a_reopen(self, store: Store, open_store: OpenStore) -> None:
        """Texts, ids, kinds and scopes of every sort are the same in the next process."""
        for number, text in enumerate(TEXTS.values()):
            put(store, note(f"n{number}", text, scope=Scope(("acme", f"太/{number}"))))
        put(store, *(note(id_, kind=id_) for id_ in IDS))
        before = _all(store)
        if store.can.durable:
            store.close()
            store = open_store()
        assert _all(store) == before
        assert len(before) == len(TEXTS) + len(IDS)
        assert get(store, key("nobody")) is None
        assert ids(everything(store, Query(scope=HOME))) == list(IDS)


def _exact(data: dict[str, JSON]) -> str:
    """Return a form in which 1 is not 1.0 nor True, and -0.0 is not 0.0."""
    return json.dumps(data, sort_keys=True)


def _all(store: Store) -> list[tuple[Record, int, int]]:
    hits = everything(store, Query(scope=Scope("acme"), subtree=True))
    return [(hit.record, hit.order, hit.seq) for hit in hits]

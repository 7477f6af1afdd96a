"""The store contract, words: what is found by what was said, in any script, with no model."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.ports import Store
from seasoned.query import MAX_K, Filter, Query, parse_filter
from seasoned.testing.clock import FakeClock
from seasoned.testing.contract_base import (
    HOME,
    NOON,
    ContractBase,
    examples,
    fresh_scope,
    ids,
    key,
    need,
    note,
    put,
    remove,
    said,
)

SPOKEN: Final = (
    ("chinese", "我喜欢喝乌龙茶", "乌龙茶"),
    ("chinese, one sign", "我喜欢喝茶", "茶"),
    ("chinese, a question", "我的生日是五月三号", "你的生日是哪天"),
    ("japanese", "昨日、動物園でレッサーパンダを見ました", "レッサーパンダ"),
    ("japanese, half width", "新しいカメラを買いました", "ｶﾒﾗ"),
    ("korean", "나는 아침마다 커피를 마십니다", "커피"),
    ("thai", "ฉันชอบดื่มชาเขียวทุกเช้า", "ชาเขียว"),
    ("arabic", "أحب القهوة العربية في الصباح", "القهوة"),
    ("arabic, vowelled", "شَرِبْتُ قَهْوَةً", "قهوة"),
    ("hebrew", "אני אוהב קפה שחור", "קפה"),
    ("hindi", "मुझे अदरक वाली चाय पसंद है", "चाय"),
    ("greek", "Μου αρέσει ο καφές", "ΚΑΦΕΣ"),
    ("russian", "Я люблю зелёный чай", "зеленый"),
    ("turkish, dotted", "İstanbul'da yaşıyorum", "istanbul"),
    ("turkish, dotless", "sabah ılık su içerim", "ILIK"),
    ("german", "Die Straße ist gesperrt", "strasse"),
    ("german, capitals", "Die Straße ist gesperrt", "STRASSE"),
    ("german, umlaut", "Grüße aus München", "munchen"),
    ("accents left out", "un café crème", "cafe creme"),
    ("accents put in", "un cafe creme", "café"),
    ("accents composed otherwise", "cafe\u0301", "caf\u00e9"),
    ("vietnamese", "Tôi thích phở bò", "pho bo"),
    ("full width", "ＡＢＣ株式会社", "abc"),
    ("stemmed", "she was running home", "runs"),
    ("mixed", "我在Berlin工作", "berlin"),
    ("mixed, the other half", "我在Berlin工作", "工作"),
    ("a number", "the code is 4711", "4711"),
    ("one word of many", "the quick brown fox", "what about a fox?"),
)

HOSTILE: Final = (
    "don't panic", "don't panic: C++ (v2) AND/OR NEAR \"x\" -y *", "panic AND", "NOT panic", "panic OR",
    "NEAR(panic, 2)", '"panic', "panic*", "panic^2", "-panic", "+panic", "(panic", "panic)", "text:panic", "{panic}",
    "[panic]", "panic~1",
    "panic'; DROP TABLE records; --", "panic\\", "panic && x", "panic || x", "!panic", "panic/", "@panic", "panic\0",
    "panic\ud800",
    "panic " * 2000,
)  # fmt: skip
"""Questions that some engine's query syntax would refuse, or read as something else."""

NOTHING: Final = ("", "   ", "***", "\"'()", "AND OR NOT", "-", "\0", "\ud800", "🜁")
"""Questions with no word that the stored text has."""


def _distract(store: Store) -> None:
    """Write texts in several scripts that answer nothing asked here."""
    others = (
        "日本語の雑談です。天気がいいですね",
        "今天天气很好",
        "ฝนตกหนักมาก",
        "السماء زرقاء",
        "the weather is nice",
        "das Wetter",
        "42",
    )
    put(store, *(note(f"other{number}", text) for number, text in enumerate(others)))


class WordRules(ContractBase):
    """Reads by words; only where the engine declares `lexical`."""

    @pytest.mark.parametrize(("text", "words"), [spoken[1:] for spoken in SPOKEN], ids=[spoken[0] for spoken in SPOKEN])
    def test_a_text_of_any_language_is_found_first(self, store: Store, text: str, words: str) -> None:
        """By its words alone, ahead of what was said in other languages."""
        need(store, "lexical")
        _distract(store)
        put(store, note("wanted", text))
        assert said(store, words)[:1] == ["wanted"]

    def test_the_exact_term_stands_above_noise(self, store: Store) -> None:
        """One of fifty Japanese texts names the animal; it comes first."""
        need(store, "lexical")
        noise = (f"今日は{number}回目の散歩で、パンを食べてからレモンを買った" for number in range(49))
        put(
            store,
            *(note(f"n{number}", text) for number, text in enumerate(noise)),
            note("wanted", "レッサーパンダがかわいい"),
        )
        assert said(store, "レッサーパンダ")[0] == "wanted"

    @pytest.mark.parametrize("words", HOSTILE, ids=lambda words: ascii(words)[:40])
    def test_words_are_never_query_syntax(self, store: Store, words: str) -> None:
        """Quotes, operators and brackets neither break a search nor turn its meaning around."""
        need(store, "lexical")
        put(store, note("n1", "do not panic"), note("n2", "android origin notes near the orchard"))
        assert said(store, words)[0] == "n1"

    @pytest.mark.parametrize("words", NOTHING, ids=ascii)
    def test_words_that_say_nothing_find_nothing(self, store: Store, words: str) -> None:
        """No error, and not everything."""
        need(store, "lexical")
        put(store, note("n1", "green tea"))
        assert said(store, words) == []

    def test_words_that_hold_an_operator_are_words(self, store: Store) -> None:
        """`android`, `origin` and `notes` are found by their names."""
        need(store, "lexical")
        put(store, note("n1", "android"), note("n2", "origin"), note("n3", "notes"))
        assert [said(store, words) for words in ("android", "origin", "notes")] == [["n1"], ["n2"], ["n3"]]

    def test_a_new_text_is_found_at_once_and_an_old_one_no_longer(self, store: Store) -> None:
        """Written, rewritten and removed: each search sees the last state."""
        need(store, "lexical")
        put(store, note("n1", "the token is zebra"))
        assert said(store, "zebra") == ["n1"]
        put(store, note("n1", "the token is giraffe"))
        assert (said(store, "zebra"), said(store, "giraffe")) == ([], ["n1"])
        remove(store, key("n1"))
        assert said(store, "giraffe") == []
        put(store, note("n1", "the token is zebra"))
        assert (said(store, "zebra"), said(store, "giraffe")) == (["n1"], [])

    def test_a_hit_carries_the_whole_record_its_score_and_why(self, store: Store) -> None:
        """The score lies in [0, 1]; each arm that spoke says what it gave."""
        need(store, "lexical")
        put(
            store,
            note("n1", "green tea", {"x": [1]}, sources=(key("m"),), worth=2.0),
            note("n2", "green apples and pears"),
        )
        first, second = store.find(Query(scope=HOME, words="green tea")).hits
        assert (first.id, first.record.data, first.record.sources, first.record.worth) == (
            "n1",
            {"x": [1]},
            (key("m"),),
            2.0,
        )
        assert 1.0 >= first.score >= second.score >= 0.0
        assert first.score > 0.0
        assert len(first.why) > 0

    @examples
    @given(texts=st.lists(st.text(max_size=60), max_size=6), words=st.text(max_size=40))
    def test_no_words_ever_break_a_search(self, store: Store, texts: list[str], words: str) -> None:
        """Whatever was stored and whatever is asked, hits are distinct, best first, with scores in [0, 1]."""
        need(store, "lexical")
        scope = fresh_scope()
        put(store, *(note(f"n{number}", text, scope=scope) for number, text in enumerate(texts)))
        hits = store.find(Query(scope=scope, words=words)).hits
        assert len(set(ids(hits))) == len(hits) <= len(texts)
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)

    def test_a_subtree_is_ranked_as_one(self, store: Store) -> None:
        """The best come first whichever scope below they lie in."""
        need(store, "lexical")
        for scope, text in (("a", "the tea is cold"), ("b", "green tea"), ("c", "a green field")):
            put(store, note(scope, text, scope=HOME.within(scope)))
        hits = store.find(Query(scope=HOME, subtree=True, words="green tea")).hits
        assert hits[0].id == "b"
        assert sorted(ids(hits)) == ["a", "b", "c"]
        assert ids(store.find(Query(scope=HOME, subtree=True, words="green tea", k=1)).hits) == ["b"]

    @pytest.mark.parametrize(("k", "expected"), [(1, 1), (4, 4), (5, 5), (6, 5), (MAX_K, 5)])
    def test_k_bounds_what_is_found(self, store: Store, k: int, expected: int) -> None:
        """One, some, as many as there are, more than there are, and the maximum."""
        need(store, "lexical")
        put(store, *(note(f"n{number}", f"green tea {number}") for number in range(5)))
        assert len(said(store, "green tea", k=k)) == expected
        assert len(store.find(Query(scope=HOME, k=k)).hits) == expected

    @pytest.mark.parametrize(
        "narrowing",
        [
            {"where": parse_filter({"data.mine": True})},
            {"where": parse_filter({"not": {"data.mine": {"exists": False}}})},
            {"where": parse_filter({"id": "wanted"})},
            {"where": parse_filter({"at": {"lt": NOON}})},
            {"kinds": ("rare",)},
            {"source": key("origin")},
        ],
        ids=["data", "not", "id", "at", "kind", "source"],
    )
    def test_one_eligible_record_is_found_below_five_hundred_others(
        self, store: Store, narrowing: dict[str, Filter]
    ) -> None:
        """Filters run before the top k: however well the ineligible rank, they take no place."""
        need(store, "lexical")
        put(store, *(note(f"n{number}", "green tea") for number in range(500)))
        weak = "a long walk through many fields and towns, where at last somebody offered tea"
        wanted = note(
            "wanted", weak, {"mine": True}, kind="rare", sources=(key("origin"),), at=NOON - timedelta(days=1)
        )
        put(store, wanted)
        assert ids(store.find(Query(scope=HOME, words="green tea", k=1, **narrowing)).hits) == ["wanted"]  # type: ignore[arg-type]

    def test_expired_and_foreign_records_take_no_place(self, store: Store, clock: FakeClock) -> None:
        """Better ones that are past their time, or in a scope below, do not push out what may be seen."""
        need(store, "lexical")
        soon = clock.now() + timedelta(hours=1)
        put(store, *(note(f"n{number}", "green tea", until=soon) for number in range(200)))
        put(store, *(note(f"n{number}", "green tea", scope=HOME.within("x")) for number in range(200)))
        put(store, note("wanted", "somebody offered us a cup of tea after the walk"))
        clock.advance(timedelta(hours=2))
        assert said(store, "green tea", k=1) == ["wanted"]

    def test_a_long_question_and_a_long_text_are_taken_whole(self, store: Store) -> None:
        """Ten thousand characters asked, and a word at the end of a long text, both lead to it."""
        need(store, "lexical")
        put(store, note("n1", "filler words all along the way " * 3000 + "xylophone"), note("n2", "something else"))
        assert said(store, "xylophone") == ["n1"]
        assert said(store, "a question that goes on and on " * 330 + "xylophone")[0] == "n1"

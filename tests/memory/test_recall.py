"""Recall: words and meaning over records of any kind, in every script, for every query."""

from __future__ import annotations

import pytest

from seasoned import Hits, Memory
from seasoned.errors import InvalidFilter, InvalidInput, WrongType

from .helping import concepts, ids, spelling, texts

OTHERS = [
    "The meeting was moved to Thursday at three",
    "我们明天下午在北京开会",
    "他昨天买了一辆新自行车",
    "妈妈做的红烧肉非常好吃",
    "今日は雨が降っているので家で本を読みます",
    "新幹線で大阪へ行く予定です",
    "犬と猫を飼っています",
    "วันนี้อากาศร้อนมาก",
    "แมวของฉันชอบนอนกลางวัน",
    "السيارة الجديدة سريعة جدا",
    "الطقس اليوم جميل في القاهرة",
    "Bugün hava çok güzel ve sıcak",
    "Kardeşim üniversitede okuyor",
    "Der Zug nach München fährt um acht Uhr",
    "Meine Großmutter backt jeden Sonntag Kuchen",
    "오늘 날씨가 정말 좋네요",
    "내일 친구를 만나러 갑니다",
    "आज मौसम बहुत अच्छा है",
    "मेरा भाई दिल्ली में रहता है",
    "Сегодня мы идём в театр",
    "Моя сестра живёт в Казани",
    "Le chat dort sur le canapé",
    "El perro corre por el parque",
    "A menina gosta de maçãs verdes",
    "Ich habe gestern ein Buch gelesen",
]
SCRIPTS = [
    ("chinese", "我喜欢喝乌龙茶", "乌龙茶"),
    ("chinese, one character", "她养了一只鹦鹉", "鹦"),
    ("japanese", "動物園でレッサーパンダを見ました", "レッサーパンダ"),
    ("japanese, kanji", "京都の紅葉は美しい", "紅葉"),
    ("thai", "ฉันชอบกินข้าวผัดกุ้งที่ร้านริมทะเล", "ข้าวผัดกุ้ง"),
    ("arabic, without vowel points", "أُحِبُّ القَهْوَةَ العَرَبِيَّةَ", "القهوة العربية"),
    ("turkish dotless i", "Işıklar Kadıköy ILICA kaplıcasında söndü", "ılıca kaplıca"),
    ("turkish dotted i", "İZMİR'de bir kafede oturduk", "izmir"),
    ("turkish without its own letters", "Şişli'de ağaçlı bir sokak", "agacli"),
    ("german sharp s", "Die Straße zum Schloß ist gesperrt", "STRASSE SCHLOSS"),
    ("german umlaut", "Das Müsli steht im Kühlschrank", "Kuhlschrank"),
    ("french accents", "Elle préfère le café crème à l'hôtel", "cafe creme"),
    ("vietnamese", "Tôi thích phở bò Hà Nội", "pho bo"),
    ("polish", "Łódź jest pięknym miastem", "lodz"),
    ("korean", "저는 김치찌개를 가장 좋아합니다", "김치찌개"),
    ("korean with another ending", "부산에서 해운대를 구경했다", "해운대에서"),
    ("hindi", "मुझे अदरक वाली चाय पसंद है", "अदरक चाय"),
    ("russian", "Ёлка стоит в большой комнате", "елка комната"),
    ("russian, inflected", "Мы купили новые велосипеды", "велосипед"),
    ("greek", "Η Αθήνα είναι όμορφη πόλη", "αθηνα"),
    ("hebrew", "אני אוהב לקרוא ספרים בערב", "ספרים"),
    ("full width", "ＡＢＣ１２３ の部品", "abc123"),
]


@pytest.mark.parametrize(("text", "query"), [case[1:] for case in SCRIPTS], ids=[case[0] for case in SCRIPTS])
def test_a_text_in_any_script_is_found_first_among_others_with_no_model(alice, text, query):
    """At rank 1 among fifty others, by words alone."""
    for copy in range(2):
        for other in OTHERS:
            alice.remember(f"{other} {copy}")
    alice.remember(text, id="it")
    assert ids(alice.recall(query))[0] == "it"


HOSTILE = [
    'don\'t panic: C++ (v2) AND/OR NEAR "x" -y *',
    '"',
    "'; DROP TABLE record; --",
    "NEAR(",
    "a AND",
    "panic*",
    "col:panic",
    "(panic",
    "^panic",
    "-panic +panic",
    "panic OR",
    "{panic} [panic] `panic` \\panic/",
    "panic\0panic",
    "十万年前 panic",
    "panic 100,000 years ago, in 10^9 days, on Feb 30",
    "bad \ud800 panic",
    "%panic_",
]


@pytest.mark.parametrize("query", HOSTILE)
def test_user_text_is_never_query_syntax(alice, query):
    """Operators, quotes and brackets neither raise nor hide what the words find."""
    alice.remember("Don't panic: the android's origin is C++ (v2)", id="it")
    alice.remember("something else")
    assert ids(alice.recall(query)) == (["it"] if "panic" in query or "C++" in query else [])


@pytest.mark.parametrize("word", ["android", "origin", "nearly", "notable"])
def test_words_that_hold_an_operator_are_words(alice, word):
    """`and`, `or`, `near` and `not` inside a word are part of it."""
    alice.remember(f"the {word} thing", id="it")
    alice.remember("something else")
    assert ids(alice.recall(word)) == ["it"]


@pytest.mark.parametrize("query", ["🎉", "?!", "…", "::", "\u200b."])
def test_a_query_without_words_finds_nothing_and_raises_nothing(alice, query):
    """With no embedder that could compare it, nothing speaks for any record."""
    alice.remember("tea 🎉")
    assert alice.recall(query) == Hits()


def test_recall_reaches_over_all_kinds_or_those_named(alice):
    """Notes, kinds of one's own and messages alike."""
    alice.remember("tea note", id="n")
    alice.remember("tea fact", "fact", id="f")
    [said] = alice.conversation.add({"role": "user", "content": "tea message"})
    assert sorted(ids(alice.recall("tea"))) == sorted(["n", "f", said.id])
    assert ids(alice.recall("tea", kinds=["fact"])) == ids(alice.recall("tea", kinds="fact")) == ["f"]
    assert sorted(ids(alice.recall("tea", kinds=("note", "message")))) == sorted(["n", said.id])
    assert ids(alice.recall("tea", kinds=["unheard-of"])) == []


def test_a_filter_narrows_before_the_best_are_taken(alice):
    """The one that passes is found though a hundred others match better."""
    for number in range(100):
        alice.remember("green tea green tea", id=str(number), at="2026-01-01")
    alice.remember("once somebody had some tea with milk and sugar", id="it", at="2025-01-01", tags=["x"], worth=5)
    for where in (
        {"data.tags": "x"},
        {"at": {"lt": "2025-06-01"}},
        {"worth": {"gt": 1}},
        {"not": {"at": "2026-01-01"}},
        {"or": [{"worth": 5}, {"id": "nobody"}]},
        {"text": "once somebody had some tea with milk and sugar"},
    ):
        assert ids(alice.recall("green tea", k=1, where=where)) == ["it"]


def test_a_window_of_time_holds_for_every_arm(place, opened):
    """Neither words, vectors nor the neighbours in a session bring in what lies outside."""
    memory = opened(place, embedder=spelling())
    say = memory.conversation.add
    say({"role": "user", "content": "green tea, please"}, "s", at="2026-01-01")
    say({"role": "assistant", "content": "here is the green tea"}, "s", at="2026-01-02")
    assert texts(memory.recall("green tea", where={"at": {"ge": "2026-01-02"}})) == ["here is the green tea"]


def test_meaning_is_found_where_no_word_agrees(place, opened):
    """With an embedder that knows it; the part is named in `why`."""
    memory = opened(place, embedder=concepts("car automobile vehicle", "soup broth"))
    memory.remember("grandma makes broth", id="b")
    memory.remember("an automobile for sale", id="a")
    [hit] = memory.recall("my car", k=1)
    assert hit.id == "a"
    assert hit.why["dense"].value == pytest.approx(1.0)
    assert "lexical" not in hit.why or hit.why["lexical"].value == 0


def test_the_parts_of_a_hit_add_up_to_its_score(place, opened):
    """Whatever arms there are; the score lies in [0, 1] and falls."""
    memory = opened(place, embedder=spelling())
    for number, text in enumerate(OTHERS):
        memory.remember(text, id=str(number), worth=number, at=f"2026-01-{number + 1:02d}")
    memory.conversation.add([{"role": "user", "content": "The meeting?"}, {"role": "assistant", "content": "At three"}])
    hits = memory.recall("the meeting at three", k=30)
    assert len(hits) > 2
    for hit in hits:
        assert sum(part.share for part in hit.why.values()) == pytest.approx(hit.score, abs=1e-5)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 1


def test_a_text_asked_for_word_by_word_stands_first_with_a_score_near_one(place, opened):
    """Before one that repeats its words and before one that only shares some."""
    memory = opened(place, embedder=spelling())
    asked = "the red bicycle stands behind the old house"
    for name, text in [
        ("far", "nothing of the kind is here"),
        ("near", "a bicycle stands in front of the house"),
        ("same", asked),
        ("more", "red red red bicycle bicycle bicycle old old house house stands stands behind " * 3),
    ]:
        memory.remember(text, id=name)
    hits = memory.recall(asked)
    assert ids(hits)[0] == "same"
    assert hits[0].score > 0.95
    assert ids(hits).index("near") < [*ids(hits), "far"].index("far")


def test_a_long_text_is_found_by_what_stands_at_its_end_and_returned_whole(alice):
    """A megabyte, by words; nothing of it is cut."""
    text = "filler words of no importance, see https://example.org/a?b=c#d. " * 16_000 + "The password is xylophone"
    assert len(text) > 1_000_000
    alice.remember(text, id="long")
    alice.remember("The password is secret", id="short")
    [hit] = alice.recall("xylophone")
    assert (hit.id, hit.text) == ("long", text)


def test_a_query_of_any_length_is_answered(alice):
    """Ten thousand characters, and a million; its rarest words find what they should."""
    for number in range(200):
        alice.remember(f"common words of every day, number {number}")
    alice.remember("a zeugma is a figure of speech", id="it")
    assert ids(alice.recall("common words of every day " * 400 + "zeugma"))[0] == "it"
    assert len(alice.recall("common words of every day " * 40_000)) == 10


def test_k_bounds_the_hits_and_may_exceed_what_there_is(alice):
    """From one to all."""
    for number in range(5):
        alice.remember(f"tea {number}")
    assert [len(alice.recall("tea", k=k)) for k in (1, 4, 5, 100)] == [1, 4, 5, 5]


@pytest.mark.parametrize(
    ("k", "error"), [(0, InvalidInput), (-1, InvalidInput), (2.5, WrongType), (True, WrongType), ("3", WrongType)]
)
def test_a_k_that_is_no_number_of_hits_is_refused(alice, k, error):
    """In recall and in list."""
    for verb in (lambda: alice.recall("tea", k=k), lambda: alice.list(k=k)):
        with pytest.raises(error, match="k "):
            verb()


@pytest.mark.parametrize(
    "where",
    [
        {"color": "x"},
        {"user_id": "x"},
        {"data": "x"},
        {"data.": "x"},
        {"data.a": {"$ne": 1}},
        {"data.a": {"like": "x"}},
        {"data.a": {}},
        {"data.a": object()},
        {"data.a": float("nan")},
        {"at": "yesterday"},
        {"data.a": {"gt": None}},
        {"or": {"kind": "x"}},
        {"data.a": {"in": "x"}},
        "kind = 'note'",
        [("kind", "note")],
        7,
    ],
    ids=repr,
)
def test_a_filter_that_is_not_understood_is_never_dropped(alice, where):
    """Unknown fields, operators and values raise, in every verb that takes a filter, and nothing is removed."""
    alice.remember("tea")
    for verb in (
        lambda: alice.recall("tea", where=where),
        lambda: alice.list(where),
        lambda: alice.count(where),
        lambda: alice.forget(where=where),
        lambda: alice.conversation.search("tea", where=where),
    ):
        with pytest.raises(InvalidFilter):
            verb()
    assert alice.count() == 1


def test_a_note_recalled_and_told_again_does_not_multiply(alice):
    """A context that is added back to the conversation brings no recalled text with it."""
    say = alice.conversation.add
    say({"role": "user", "content": "My sister's birthday is on the third of May"}, "old")
    say({"role": "user", "content": "When is the birthday?"}, "new")
    for _ in range(20):
        context = alice.conversation.context(2000, query="birthday", session="new")
        say(context.messages[-1], "new")
    told = [text for text in texts(alice.list()) if "third of May" in text]
    assert told == ["My sister's birthday is on the third of May"]


def test_what_a_memory_notes_for_itself_does_not_change_how_texts_rank(tmp_path):
    """An export is noted with the present time; the recency of what was said years ago is spread as before."""
    with Memory(tmp_path / "agent.db", embedder="hashing") as memory:
        for year in range(2000, 2010):
            memory.remember(f"the harbour in {year}", at=f"{year}-01-01")
        before = [(hit.id, hit.score) for hit in memory.recall("harbour", k=10)]
        memory.export(tmp_path / "bundle.jsonl")
        memory.playbook.add("Ask at the harbour master's first.")
        memory.playbook.remove("oth-00001")
        assert [(hit.id, hit.score) for hit in memory.recall("harbour", k=10)] == before


def test_recall_is_narrowed_by_session_time_and_score(opened, place):
    """As the search of messages is; every condition holds, and what hardly answers can be left out."""
    memory = opened(place)
    memory.conversation.add([{"role": "user", "content": "green tea"}], session="a", at=["2026-01-01"])
    memory.conversation.add([{"role": "user", "content": "black tea"}], session="b", at=["2026-01-02"])
    memory.remember("tea and rain", at="2026-01-03")
    assert [hit.text for hit in memory.recall("tea", session="b")] == ["black tea"]
    assert [hit.text for hit in memory.recall("tea", since="2026-01-02", until="2026-01-03")] == ["black tea"]
    scores = [hit.score for hit in memory.recall("green tea")]
    between = (scores[0] + scores[1]) / 2
    assert [hit.text for hit in memory.recall("green tea", min_score=between)] == ["green tea"]
    for wrong in ({"min_score": 2}, {"min_score": float("nan")}, {"session": " "}, {"since": "someday"}):
        with pytest.raises(InvalidInput):
            memory.recall("tea", **wrong)

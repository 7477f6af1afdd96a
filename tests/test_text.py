"""Text as search sees it: folding, words, terms of every script, pieces, and how alike two texts are."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.errors import InvalidInput
from seasoned.text import MAX_TERM, STOP_WORDS, Analyser, chunks, fold, likeness, tokens, words


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Plain ASCII", "plain ascii"),
        ("Café CRÈME", "cafe creme"),
        ("Straße", "strasse"),
        ("IŞIK ışık İzmir", "isik isik izmir"),
        ("Łódź", "lodz"),
        ("Ærø Þór", "aero thor"),
        ("ＡＢＣ１２３", "abc123"),
        ("ﬁne", "fine"),
        ("Αθήνα", "αθηνα"),
        ("Ёлка", "елка"),
        ("القَهْوَة", "القهوة"),
        ("שָׁלוֹם", "שלום"),
        ("Việt Nam", "viet nam"),
        ("e\u0301", "e"),
    ],
)
def test_case_width_and_accents_are_folded(text, folded):
    """Latin and Greek lose accents, Arabic and Hebrew their vowel points, full width its width."""
    assert fold(text) == folded


@pytest.mark.parametrize("text", ["가방", "が", "ばなな", "й", "ให้", "कि", "தமிழ்"])
def test_marks_that_make_another_letter_are_kept(text):
    """A voiced kana, a short i, a vowel sign: taking them away would make another word."""
    assert fold(text) == text


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running dogs ran", ["run", "dog", "ran"]),
        ("don't C++ a_b 3.5", ["don", "t", "c", "a", "b", "3", "5"]),
        ("乌龙茶", ["乌龙", "龙茶", "乌", "龙", "茶"]),
        ("茶", ["茶"]),
        ("パンダ", ["パン", "ンダ"]),
        ("ข้าว", ["ข้", "้า", "าว"]),
        ("김치찌개", ["김치", "치찌", "찌개"]),
        ("iPhone15手机", ["iphone15", "手机", "手", "机"]),
        ("велосипеды", ["велосипед"]),
        ("", []),
        (" \n\t…?!🎉", []),
    ],
)
def test_terms_are_stems_or_pairs(text, terms):
    """Words with spaces between are stemmed; scripts without spaces give pairs, Chinese characters also alone."""
    assert tokens(text) == terms


def test_a_length_counts_words_and_characters_of_scripts_without_spaces():
    """What BM25 calls long: a Chinese character counts as a word does."""
    analyser = Analyser()
    assert [analyser.analyse(text)[1] for text in ("one two three", "我喜欢茶", "", "tea 茶叶")] == [3, 4, 0, 3]


def test_a_query_loses_its_stop_words_unless_it_has_no_others():
    """Each term once, in order."""
    analyser = Analyser()
    assert analyser.query_terms("What is the name of the dog and the dog's name?") == ["name", "dog"]
    assert analyser.query_terms("to be or not to be") == ["to", "be", "or", "not"]
    assert analyser.query_terms("") == []
    assert STOP_WORDS.isdisjoint(("name", "dog", "march", "apple"))


def test_a_long_word_is_cut_alike_in_texts_and_queries():
    """At the same length, so that they still meet."""
    word = "x" * 500
    assert tokens(word) == Analyser().query_terms(word) == ["x" * MAX_TERM]


@pytest.mark.parametrize(
    ("language", "text", "stem"),
    [("german", "Häusern", "haus"), ("english", "houses", "hous"), ("french", "chevaux", "cheval")],
)
def test_the_language_chooses_the_stemmer_of_latin_words(language, text, stem):
    """Any Snowball algorithm by its name."""
    assert Analyser(language).terms(text) == [stem]


@pytest.mark.parametrize("language", ["klingon", "", "English", None, 5])
def test_a_language_without_a_stemmer_is_refused(language):
    """With those there are."""
    with pytest.raises(InvalidInput, match=r"there are .*english"):
        Analyser(language)


def test_two_analysers_that_cut_alike_have_one_fingerprint():
    """And others do not: stored indexes are compared by it."""
    assert Analyser().fingerprint == Analyser("english").fingerprint != Analyser("german").fingerprint


def test_threads_may_share_an_analyser():
    """Each has stemmers of its own, so none mixes up another's words."""
    analyser, wrong = Analyser(), []
    texts = {f"running dogs {'walk' * number}ing": ["run", "dog"] for number in range(1, 5)}

    def work():
        wrong.extend(text for _ in range(300) for text, start in texts.items() if analyser.terms(text)[:2] != start)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@given(st.text())
def test_every_text_can_be_cut_into_terms(text):
    """None is empty, none is longer than the longest, and folding twice is folding once."""
    assert all(0 < len(term) <= MAX_TERM for term in tokens(text))
    assert fold(fold(text)) == fold(text)
    assert all(word.strip() for word in words(text))


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_case_never_tells_texts_apart(text):
    """What is written in capitals has the terms of the same text in small letters, where both exist."""
    if text.upper().lower() == text.lower() and text.isascii():
        assert tokens(text.upper()) == tokens(text.lower())


@given(st.text(), st.text())
def test_likeness_is_symmetric_and_between_zero_and_one(a, b):
    """Whatever the texts."""
    assert 0.0 <= likeness(a, b) == likeness(b, a) <= 1.0


@given(st.text())
def test_a_text_is_wholly_like_itself(text):
    """In other capitals and with other blanks too."""
    assert likeness(text, text) == 1.0
    assert likeness(text, f"  {text}\n") == 1.0


SENTENCES = [
    "The user prefers tea with milk and two spoons of sugar in the morning before work",
    "Always run the unit tests before you push the branch to the shared repository, please",
    "Her grandmother moved from Lisbon to Oslo in the spring of nineteen sixty four by train",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_one_changed_word_in_a_sentence_leaves_it_at_least_nine_tenths_alike(sentence):
    """Each short word of it replaced in turn, or dropped."""
    parts = sentence.split()
    for place, word in enumerate(parts):
        if len(word) <= 3:
            for changed in ([*parts[:place], "his", *parts[place + 1 :]], [*parts[:place], *parts[place + 1 :]]):
                assert likeness(sentence, " ".join(changed)) >= 0.9


@pytest.mark.parametrize(("a", "b"), [(SENTENCES[0], SENTENCES[1]), (SENTENCES[1], SENTENCES[2]), ("yes", "no")])
def test_other_sentences_are_not_alike(a, b):
    """Far below the mark."""
    assert likeness(a, b) < 0.5


@given(st.text(max_size=3000), st.integers(1, 200))
def test_pieces_joined_are_the_text_and_none_is_too_long(text, limit):
    """Whatever it holds: nothing is lost, repeated or changed."""
    pieces = chunks(text, limit)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= limit for piece in pieces) or pieces == [""]


def test_pieces_end_where_a_text_has_a_break():
    """At paragraphs before sentences before words; a URL stays whole where it can."""
    url = "https://example.org/a/long/path?with=query&and=more#fragment"
    text = f"First paragraph about nothing much.\n\nSecond one. It has a link {url} in it. " * 20
    pieces = chunks(text, 200)
    assert "".join(pieces) == text
    assert all(piece[-1].isspace() for piece in pieces)
    assert sum(piece.count(url) for piece in pieces) == 20


def test_a_megabyte_without_a_break_is_cut_all_the_same():
    """Into as few pieces as there must be."""
    assert [len(piece) for piece in chunks("x" * 1_000_001, 1000)] == [1000] * 1000 + [1]


def test_sentences_of_other_scripts_end_pieces_too():
    """The Chinese full stop is a break."""
    assert {piece[-1] for piece in chunks("今天天气很好。我们去公园。" * 50, 100)} == {"。"}

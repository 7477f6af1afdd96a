"""Text as search sees it: folded, cut into words or bigrams, stemmed; and how alike two texts are.

Folding is NFKC, case folding, and no accents on Latin and Greek letters nor vowel points on Arabic and Hebrew ones.
Words of scripts with spaces are stemmed by Snowball (PyStemmer). Scripts without spaces (Chinese, Japanese, Thai, Lao,
Khmer, Burmese, Tibetan) and Korean give overlapping pairs of characters, and Chinese characters also stand alone.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import Stemmer

from seasoned.errors import InvalidInput

MAX_TERM: Final = 64
"""Longest term that is indexed, in characters; longer words are cut to it, in texts and in queries alike."""

_HAN: Final = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_PAIRED: Final = (
    _HAN
    + "\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af\u1100-\u11ff"
    + "\u0e01-\u0e4e\u0e81-\u0ece\u1780-\u17d3\u1000-\u109f\u0f40-\u0fbc"
)
_MARKS: Final = (
    "\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0df3\u200c\u200d"
)
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
_WORD: Final = re.compile(rf"[{_PAIRED}]+|(?:(?![{_PAIRED}])[^\W_]|[{_MARKS}])+")
_PAIRED_START: Final = re.compile(rf"[{_PAIRED}]")
_HAN_CHAR: Final = re.compile(rf"[{_HAN}]")

_STEMMER_OF: Final = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)
_LETTERS: Final = {
    "ı": "i",
    "ø": "o",
    "đ": "d",
    "ð": "d",
    "ł": "l",
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
    "ħ": "h",
    "ё": "е",
    "ـ": "",
}

_STOP_WORDS: Final = """
    a about after again all also am an and any are as at be been before being between both but by can could d did
    didn do does doesn doing don down during each few for from further get got had has have having he her here hers him
    his how i if in into is isn it its just ll m me more most my no nor not now of off on once only or other our ours
    out over own re s same she should so some such t than that the their them then there these they this those through
    to too under until up us ve very was wasn we were what when where which while who whom why will with would you
    your yours
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""English words that a query is not searched for, unless it has no others; texts keep them."""


class _Fold(dict[int, str]):
    """Folds one character, remembering each: what `str.translate` asks."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = self[code] = _LETTERS[char] if char in _LETTERS else _without_accent(char)
        return folded


def _without_accent(char: str) -> str:
    if unicodedata.combining(char) and ("\u0300" <= char <= "\u036f" or "\u0591" <= char <= "\u0670"):
        return ""
    base = unicodedata.normalize("NFD", char)
    if len(base) > 1 and (base[0].isascii() or "\u0370" <= base[0] <= "\u03ff" or "\u0600" <= base[0] <= "\u06ff"):
        return base[0]
    return char


_FOLD: Final = _Fold()


def fold(text: str) -> str:
    """Return `text` without differences of case, width and accent; ASCII only changes case."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold().translate(_FOLD)


def words(text: str) -> list[str]:
    """Return the folded words of `text`; a run in a script without spaces is one of them."""
    return _ASCII_WORD.findall(text.lower()) if text.isascii() else _WORD.findall(fold(text))


class _Stemmers(threading.local):
    """The Snowball stemmers of one thread: they must not be shared."""

    def __init__(self) -> None:
        self.by_name: dict[str, Stemmer.Stemmer] = {}

    def get(self, name: str) -> Stemmer.Stemmer:
        if name not in self.by_name:
            self.by_name[name] = Stemmer.Stemmer(name, 50_000)
        return self.by_name[name]


_STEMMERS: Final = _Stemmers()


@dataclass(frozen=True, slots=True)
class Analyser:
    """Turns text into the terms that are indexed and searched.

    `language` is the Snowball algorithm for words in Latin script ("english" by default; any of
    `Stemmer.algorithms()`); other scripts have one each.

    Raises:
        InvalidInput: no such algorithm.
    """

    language: str = "english"
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        if self.language not in Stemmer.algorithms():
            raise InvalidInput(f"no stemmer for {self.language!r}; there are {', '.join(Stemmer.algorithms())}")
        object.__setattr__(self, "fingerprint", f"seasoned-1/{self.language}/{Stemmer.version()}")

    def terms(self, text: str) -> list[str]:
        """Return the terms of `text` in order, with repetitions."""
        return self.analyse(text)[0]

    def analyse(self, text: str) -> tuple[list[str], int]:
        """Return the terms of `text` and its length in words, a character of a script without spaces being one."""
        if text.isascii():
            found = words(text)
            return self._stem(self.language, [word[:MAX_TERM] for word in found]), len(found)
        terms: list[str] = []
        length = 0
        for word in words(text):
            if _PAIRED_START.match(word):
                terms.extend(_pairs(word))
                length += len(word)
            else:
                terms.extend(self._stem(self._algorithm(word), [word[:MAX_TERM]]))
                length += 1
        return terms, length

    def query_terms(self, text: str) -> list[str]:
        """Return the terms to search for: each once, in order, without stop words unless there are no others."""
        kept = [word for word in dict.fromkeys(words(text)) if word not in STOP_WORDS]
        return list(dict.fromkeys(self.terms(" ".join(kept) if kept else text)))

    def _algorithm(self, word: str) -> str:
        code = ord(word[0])
        return next((name for low, high, name in _STEMMER_OF if low <= code <= high), self.language)

    def _stem(self, name: str, found: list[str]) -> list[str]:
        stems: list[str] = _STEMMERS.get(name).stemWords(found)
        return stems


def _pairs(run: str) -> list[str]:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    return pairs + [char for char in run if _HAN_CHAR.match(char)] if len(run) > 1 else pairs


DEFAULT: Final = Analyser()
"""The analyser where none is named: English words, every script."""


def tokens(text: str) -> list[str]:
    """Return the terms of `text` by the default analyser."""
    return DEFAULT.terms(text)


@lru_cache(maxsize=4096)
def _shingles(text: str) -> Counter[str]:
    line = f" {' '.join(fold(text).split())} "
    return Counter(line[i : i + 3] for i in range(max(1, len(line) - 2)))


def likeness(a: str, b: str) -> float:
    """Return how alike two texts are, 0 to 1: the Dice share of their folded character trigrams.

    From about 0.90 on, two texts of a sentence or more say the same in nearly the same words.
    """
    left, right = _shingles(a), _shingles(b)
    return 2 * (left & right).total() / (left.total() + right.total())


def chunks(text: str, limit: int) -> list[str]:
    """Cut a text into pieces of at most `limit` characters, at ends of paragraphs, sentences or words if there are any.

    The pieces joined are the text.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > limit:
        end = start + _cut(text[start : start + limit])
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]]


def _cut(window: str) -> int:
    """Return where to cut a full window: after the last break in its second half, the strongest kind first."""
    half = len(window) // 2
    for mark in ("\n\n", "\n", ". ", "! ", "? ", "。", "！", "？", " "):
        place = window.rfind(mark, half)
        if place >= 0:
            return place + len(mark)
    return len(window)


_IDLE: Final = frozenset(
    """
    ok okay okey k yes yeah yep yup no nope nah hi hey hello bye thanks thank thx ty please sure right fine good great
    nice cool wow hm hmm mhm uh um oh ah lol haha done next go continue ja nein danke bitte gut genau weiter si sí no
    gracias vale bien oui non merci bon bien grazie prego obrigado obrigada sim não tak nie dziękuję да нет спасибо
    хорошо 好 好的 是 是的 不 不是 嗯 对 谢谢 はい いいえ うん ありがとう 네 예 아니요 감사합니다 नहीं हाँ نعم لا شكرا
    """.split()  # noqa: SIM905  # one word after another reads better than a list
)


_ASKING: Final = frozenset("who what where when why how which".split())  # noqa: SIM905  # as above


def is_idle(text: str) -> bool:
    """Tell whether a text asks for nothing: an emoji, "ok", "thanks!", "yes please"; at most four such words."""
    found = words(text)
    if len(found) > 4 or not _ASKING.isdisjoint(found):
        return False
    return all(word in _IDLE_FOLDED or word in STOP_WORDS for word in found)


_IDLE_FOLDED: Final = frozenset(word for idle in _IDLE for word in words(idle))

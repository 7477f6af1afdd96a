"""How alike two pieces of advice are, sentence by sentence, and whether they differ in something that matters.

What matters is what a small change turns around: numbers, names (code, quoted words, what is capitalised), negation,
conditions and opposites. Ordinary words may differ between two wordings of one thing; these may not.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from seasoned.playbook.vocabulary import CONDITIONS, EXCLUSIVE, LIGHT, LOGIC, NEGATES, NUMBERS
from seasoned.text import tokens, words

THRESHOLD: Final = 0.90
"""From which similarity on two entries are looked at for a merge: a cosine, or the Dice share of their trigrams."""

NEAR: Final = 0.6
"""From which Dice share of their terms on two sentences speak of the same thing."""


class _Width(dict[int, str | int]):
    """Gives the ordinary form of a full-width or half-width character: what `str.translate` asks."""

    def __missing__(self, code: int) -> str | int:
        wide = unicodedata.decomposition(chr(code)).startswith(("<wide>", "<narrow>"))
        found = self[code] = unicodedata.normalize("NFKC", chr(code)) if wide else code
        return found


_WIDTH: Final = _Width()


_ENDING: Final = re.compile(r"(?<=[^\W\d_][^\W\d_])[.!…。！]+\Z|(?<=[^\s.!…。！])[.…。]+\Z")


@lru_cache(maxsize=1 << 12)
def folded(text: str) -> str:
    """Return a text without differences of case, width and white space, and without the full stop or "!" at its end.

    Two that fold alike are exact duplicates. A question stays one, and so does "n!".
    """
    flat = " ".join(text.split())
    even = flat.lower() if flat.isascii() else unicodedata.normalize("NFC", flat.translate(_WIDTH)).casefold()
    return _ENDING.sub("", even)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence as it is compared.

    `terms` are its content words, stemmed, in order; `names` what is named in it, folded; `numbers` its numbers in
    order. `logic` are the words that turn or bound it, sorted. `forbids` tells whether it advises against something,
    `bound` whether it opens with a condition. `exclusive` are its words that have opposites.
    """

    text: str
    terms: tuple[str, ...]
    names: frozenset[str]
    numbers: tuple[str, ...]
    logic: tuple[str, ...]
    exclusive: frozenset[str]
    forbids: bool
    bound: bool

    def covers(self, other: Sentence) -> bool:
        """Tell whether it says all that another says: the same words in order, under the same conditions."""
        return (
            (self.logic, self.forbids, self.bound) == (other.logic, other.forbids, other.bound)
            and other.names <= self.names
            and _within(other.numbers, self.numbers)
            and _within(other.terms, self.terms)
        )

    def nearness(self, other: Sentence) -> float:
        """Return the Dice share of their terms, 0 to 1."""
        if _different(self.terms).isdisjoint(other.terms):
            return 0.0
        total = len(self.terms) + len(other.terms)
        return 2 * (Counter(self.terms) & Counter(other.terms)).total() / total if total else 0.0


@lru_cache(maxsize=1 << 12)
def _different(terms: tuple[str, ...]) -> frozenset[str]:
    return frozenset(terms)


def _within(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Tell whether a sequence stands in another in order, with anything between."""
    rest = iter(whole)
    return all(each in rest for each in part)


def difference(one: str, other: str) -> str | None:
    """Return in what that matters two texts differ, as a reason to keep them apart; None where in nothing.

    Something that only one of them says is no difference: a merged text says it too.
    """
    left, right = sentences(one), sentences(other)
    known = {sentence.text for sentence in left}
    new = (sentence for sentence in right if sentence.text not in known)
    return _apart(left, right) or next(
        (reason for sentence in new for reason in [_turned(nearest(sentence, left), sentence)] if reason), None
    )


def nearest(sentence: Sentence, among: Sequence[Sentence]) -> Sentence | None:
    """Return the sentence that speaks most of the same, None where none does."""
    best = max(among, key=sentence.nearness, default=None)
    return best if best is not None and sentence.nearness(best) >= NEAR else None


def _apart(left: Sequence[Sentence], right: Sequence[Sentence]) -> str | None:
    """Return numbers or names that each has and the other has not."""
    for what in ("numbers", "names"):
        mine, theirs = _all(left, what), _all(right, what)
        only, others = mine - theirs, theirs - mine
        if only and others:
            return f"the {what} differ: {_listed(only)} against {_listed(others)}"
    return None


def _all(said: Sequence[Sentence], what: str) -> set[str]:
    return {each for sentence in said for each in getattr(sentence, what)}


def _listed(found: Iterable[str]) -> str:
    ordered = sorted(found)
    return ", ".join(ordered[:3]) + (", …" if len(ordered) > 3 else "")


def _turned(left: Sentence | None, right: Sentence) -> str | None:
    """Return how one of two sentences about the same thing turns the other around."""
    if left is None or left.covers(right) or right.covers(left):
        return None
    if left.forbids != right.forbids:
        return "one advises what the other advises against"
    if left.logic != right.logic:
        odd = (Counter(left.logic) - Counter(right.logic)) + (Counter(right.logic) - Counter(left.logic))
        return f"negated or bound differently: {_listed(odd)} in one only"
    opposite = _opposite(left.exclusive, right.exclusive)
    if opposite:
        return f"opposites: {opposite}"
    if Counter(left.terms) == Counter(right.terms) and left.terms != right.terms:
        return "the same words in another order"
    mine, theirs = Counter(left.numbers), Counter(right.numbers)
    only, others = mine - theirs, theirs - mine
    if only and others:
        return f"the numbers differ: {_listed(only)} against {_listed(others)}"
    return _apart([left], [right])


def _opposite(left: frozenset[str], right: frozenset[str]) -> str | None:
    for one in sorted(left - right):
        for other in sorted(right - left):
            if EXCLUSIVE[one] & EXCLUSIVE[other]:
                return f"{one} against {other}"
    return None


_END: Final = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)[ \t]+(?=[^\W_a-z]|[\"'“‘(`\[*-])|(?<=[。！？])|\n+"
)
_FENCE: Final = "```"


def parts(text: str) -> list[str]:
    """Return a text cut at the ends of its sentences and lines; one with a block of code is not cut."""
    found = [text] if _FENCE in text else _END.split(text)
    return [part.strip() for part in found if part.strip()]


@lru_cache(maxsize=1 << 12)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text as they are compared."""
    return tuple(analysed(part) for part in parts(text))


_FORBIDS: Final = re.compile(
    r"\b(?:never|(?<!to )avoid(?:s|ing|ed)?|(?:must|should|shall)(?: not|n't)"
    r"|(?<!you )(?<!they )(?<!we )(?<!i )(?:do not|don't))\b"
)
_ENUMERATOR: Final = re.compile(r"(?:^|(?<=\s))(?:\(\d{1,2}\)|\d{1,2}[.)])(?=\s)")


@lru_cache(maxsize=1 << 12)
def analysed(text: str) -> Sentence:
    """Return one sentence as it is compared."""
    plain = _ENUMERATOR.sub(":", text.translate(_WIDTH).replace("’", "'"))
    said, forbidding = _FORBIDS.subn(" ", plain.casefold())
    spoken = words(plain)
    bound = bool(spoken) and spoken[0] in CONDITIONS
    return Sentence(
        text=text,
        terms=tuple(tokens(" ".join(word for word in spoken if word not in LIGHT))),
        names=frozenset(_names(plain)),
        numbers=tuple(_numbers(plain)),
        logic=tuple(sorted(_logic(said, bound=bound))),
        exclusive=frozenset(word for word in spoken if word in EXCLUSIVE),
        forbids=forbidding % 2 == 1,
        bound=bound,
    )


@lru_cache(maxsize=1 << 12)
def forbids(text: str) -> bool:
    """Tell whether a text advises against something anywhere."""
    return _FORBIDS.search(text.casefold().replace("’", "'")) is not None


_NEGATES: Final = re.compile(NEGATES)


def _logic(said: str, *, bound: bool) -> Iterator[str]:
    """Yield what turns or bounds a sentence, but for the condition that it opens with."""
    for place, word in enumerate(words(said.replace("n't", " not"))):
        if word in LOGIC and not (bound and place == 0):
            yield LOGIC[word]
    if not said.isascii():
        yield from ("not" for _ in _NEGATES.findall(said))


_QUOTED: Final = re.compile(r"`([^`\n]+)`|(?<!\w)['\"‘“]([^\s'\"’”]+)['\"’”](?!\w)")
_CODE: Final = re.compile(
    r"https?://\S+|(?<![\w-])--?[A-Za-z][\w-]*|(?<![\w/])/\w[\w./-]*|(?!(?:e\.g|i\.e)\b)[^\W\d]\w*(?:\.\w+)+|[^\W\d]\w*(?=\()|\w*[^\W_]_\w+|[^\W\d_]*[a-z][A-Z]\w*"
)
_CAPITAL: Final = re.compile(r"(?<![\w'.])(?P<before>(?:^|[.:!?*])\s*)?(?P<name>[^\W\d_a-z][^\W\d_]*)(?![\w(]|\.\w)")
_SYMBOL: Final = re.compile(r"[+<>=|]|(?<=\w)\s?-\s?(?=\d)")
_GENERIC: Final = frozenset({"api", "apis", "id", "ids", "ok", "i", "a", "urls"})


def _names(plain: str) -> Iterator[str]:
    """Yield what a sentence names: code, quoted words, capitalised words within it, capitals, symbols."""
    for quoted in _QUOTED.finditer(plain):
        yield (quoted[1] or quoted[2]).casefold().removesuffix("()")
    for code in _CODE.findall(plain):
        yield code.casefold().rstrip(".,;:)")
    for found in _CAPITAL.finditer(plain):
        name = found["name"]
        capital = name[0].isupper() and (found["before"] is None or (len(name) > 1 and name.isupper()))
        if capital and name.casefold() not in _GENERIC:
            yield name.casefold()
    for symbol in _SYMBOL.findall(plain):
        yield symbol.strip()
    if not plain.isascii():
        yield from (char for char in plain if unicodedata.category(char) in ("So", "Sm", "Sc"))


_NUMBER: Final = re.compile(r"(?<![\w.])(?:(?:(?<=[\s(])|^)[-+](?=\d))?\d+(?:[.,:]\d+)*(?:%|[A-Za-z]+\b)?")
_THOUSANDS: Final = re.compile(r",(?=\d{3}\b)")


def _numbers(plain: str) -> Iterator[str]:
    """Yield the numbers of a sentence, those in words too, each as it stands but without thousands' marks."""
    for found in re.finditer(rf"{_NUMBER.pattern}|[^\W\d_]+", plain):
        if found[0][-1].isalpha() and found[0].isalpha():
            if found[0].casefold() in NUMBERS:
                yield NUMBERS[found[0].casefold()]
        else:
            yield _THOUSANDS.sub("", found[0].casefold())

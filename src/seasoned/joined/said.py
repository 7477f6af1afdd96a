"""What a context says already, so that no other memory says it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from seasoned.conversation.recalling import SAME
from seasoned.text import fold, likeness, words

COMPARED: Final = 2_000
"""How much of a text is compared, in characters."""

_SIZES: Final = SAME / (2 - SAME)
"""The least share of their lengths that two texts of this likeness have."""

_WORDS: Final = 0.5
"""The least share of the words of the shorter of two texts, where it has a few, that both have if they say the same."""

_FEW: Final = 4


@dataclass(frozen=True, slots=True)
class _Form:
    text: str
    size: int
    words: frozenset[str]


@lru_cache(maxsize=16_384)
def _form(text: str) -> _Form:
    line = " ".join(fold(text).split())
    return _Form(line[:COMPARED], len(line), frozenset(words(line[:COMPARED])))


class Said:
    """Texts that are shown; tells whether another says the same in nearly the same words."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._forms: dict[_Form, None] = dict.fromkeys(map(_form, texts))

    def add(self, *texts: str) -> None:
        """Take in what is shown from now on."""
        self._forms.update(dict.fromkeys(map(_form, texts)))

    def has(self, text: str) -> bool:
        """Tell whether a text is said already; one without letters and digits never is."""
        form = _form(text)
        if not form.words:
            return False
        return form in self._forms or any(_same(form, other) for other in self._forms)


def _same(one: _Form, other: _Form) -> bool:
    least, most = (one.size, other.size) if one.size < other.size else (other.size, one.size)
    if least < _SIZES * most:
        return False
    fewer = min(len(one.words), len(other.words))
    if fewer >= _FEW and len(one.words & other.words) < _WORDS * fewer:
        return False
    return likeness(one.text, other.text) >= SAME

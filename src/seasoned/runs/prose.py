"""Text cut to a number of tokens at the end of a sentence, each sentence once."""

from __future__ import annotations

import re
from typing import Final

from seasoned.tokens import estimate

MARK: Final = "…"
"""What ends a text that was cut within a sentence."""

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_READ: Final = 40_000


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each once, in order; only its first 40,000 characters are read."""
    parts = (part.strip() for part in _SENTENCE.split(text[:_READ]))
    return list(dict.fromkeys(part for part in parts if part))


def shortened(text: str, most_tokens: int) -> str:
    """Return a text of at most `most_tokens`: whole sentences, or the beginning of the first with a mark."""
    kept = list[str]()
    for sentence in sentences(text):
        if estimate(" ".join([*kept, sentence])) > most_tokens:
            break
        kept.append(sentence)
    return " ".join(kept) if kept else _cut(text.strip(), most_tokens)


def _cut(text: str, most_tokens: int) -> str:
    low, high = 0, min(len(text), most_tokens * 20)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(text[:middle] + MARK) <= most_tokens else (low, middle - 1)
    return text[:low].rstrip() + MARK if low < len(text) and low else text[:low]

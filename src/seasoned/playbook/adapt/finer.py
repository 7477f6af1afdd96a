"""FiNER: questions with several tags as answer, in order; the data is the caller's, as JSON lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from seasoned.playbook.adapt.tasks import MAX_ANSWER, Check, Example, read_rows


class Finer:
    """Rows of `context` (tags to choose from, and questions) and `target` (tags by commas), compared place by place.

    Tags stand apart by commas, semicolons or line breaks. Case, quotes, brackets, a number before a tag ("1.") and a
    few words with a colon before it ("us-gaap:", "Tags:") do not count. An example is right where every tag is and none
    is there too many; the parts of a check are its tags.
    """

    name = "finer"

    def examples(self, path: Path) -> Sequence[Example]:
        """Return the rows of a file of JSON lines."""
        return read_rows(path)

    def check(self, example: Example, answer: str) -> Check:
        """Return how many tags are right, each in its place."""
        wanted, said = tags_in(example.target), tags_in(answer)
        hits = [place < len(said) and said[place] == tag for place, tag in enumerate(wanted)]
        right = bool(wanted) and said == wanted
        return Check(
            right=right,
            parts=(sum(hits), len(hits)) if wanted else (0, 1),
            feedback=f"Right: {example.target}." if right else _feedback(example.target, hits, len(said)),
        )


def tags_in(text: str) -> list[str]:
    """Return the tags of a text in order, in small letters; [] where it is too long to be an answer."""
    if len(text) > MAX_ANSWER:
        return []
    parts = (_BEFORE.sub("", part.strip(_AROUND)).strip(_AROUND) for part in _BETWEEN.split(text))
    return [part.lower() for part in parts if part]


_BETWEEN: Final = re.compile(r"[,;\n]")
_AROUND: Final = " \t\r\"'`*[](){}.“”‘’"
_BEFORE: Final = re.compile(r"(?:[0-9]{1,3}[.)]\s*)?[\"'`*]*(?:[a-z][a-z -]{0,40}:\s*|us-?gaap_)?", re.IGNORECASE)


def _feedback(target: str, hits: Sequence[bool], said: int) -> str:
    wrong = [str(place) for place, hit in enumerate(hits, 1) if not hit]
    counted = f"; {said} tags were given, {len(hits)} are wanted" if said != len(hits) else ""
    where = f"tag {', '.join(wrong)} of {len(hits)} differs" if wrong else "the tags wanted are right"
    return f"Wrong: {target} was expected; {where}{counted}."

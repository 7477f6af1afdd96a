"""Lessons over runs: one that comes again counts once more, one that a later one contradicts is marked."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from seasoned.records import JSON, Hit, Key, Record, Scope
from seasoned.runs.rows import LESSON, credit_in, digest, escaped, texts, whole
from seasoned.text import STOP_WORDS, likeness, tokens, words

SAME: Final = 0.8
"""From this likeness on, numbers aside, two lessons say the same, unless a word of one stands for one of the other."""

MAX_RUNS: Final = 200
"""Most runs, and most sources, that a lesson names."""

UNKNOWN: Final = "a later run"
"""What stands for the lesson that contradicts one, where it is not known."""

_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_DENIALS: Final = frozenset(
    """
    not no never none nor without avoid stop dont doesnt didnt isnt wasnt wont cant cannot shouldnt don doesn isn won
    shouldn kein keine nicht nie
    """.split()  # noqa: SIM905  # one word after another reads better than a list
)
_IDLE: Final = frozenset("t s do does did is are was be a an the always should must to of it".split())  # noqa: SIM905  # as above
_PAIRS: Final = (
    ("more", "less"), ("more", "fewer"), ("high", "low"), ("higher", "lower"), ("highest", "lowest"),
    ("increase", "decrease"), ("increases", "decreases"), ("raise", "lower"), ("raise", "cut"), ("rises", "falls"),
    ("rise", "fall"), ("rising", "falling"), ("buy", "sell"), ("early", "late"), ("earlier", "later"),
    ("before", "after"), ("best", "worst"), ("better", "worse"), ("good", "bad"), ("above", "below"), ("gain", "loss"),
    ("gains", "losses"), ("start", "stop"), ("keep", "drop"), ("fast", "slow"), ("expand", "shrink"),
    ("helps", "hurts"), ("help", "hurt"), ("safe", "risky"), ("large", "small"), ("up", "down"), ("most", "least"),
)  # fmt: skip
_OPPOSITES: Final = frozenset(pair for a, b in _PAIRS for pair in ((a, b), (b, a)))
_TURNED: Final = frozenset(word for pair in _PAIRS for word in pair) - _DENIALS


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What was learned from runs (L3).

    `times`: in how many runs it was found; `runs`: their names as far as known. `contradicted_by`: the id of the
    lesson that a later run put against it, None where it stands. `credit`: the sum of what outcomes gave it, below 0
    where it did harm.
    """

    id: str
    profile: str
    text: str
    times: int = 1
    runs: tuple[str, ...] = ()
    contradicted_by: str | None = None
    sources: tuple[Key, ...] = ()
    at: datetime
    version: int = 0
    credit: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What one retrospective says of lessons: the run, what it found, what it found to hold no longer, its sources."""

    profile: str
    run: str
    found: Sequence[str]
    withdrawn: Sequence[str] = ()
    sources: tuple[Key, ...] = ()
    at: datetime


def lesson_id(profile: str, text: str) -> str:
    """Return the id of a lesson first written so."""
    return f"{escaped(profile)}/lesson/{digest(text)[:16]}"


def learn(known: Iterable[Lesson], learned: Learned) -> list[Lesson]:
    """Return the lessons that are new or changed; learning the same again changes nothing."""
    before = {each.id: each for each in known}
    after = dict(before)
    for text in dict.fromkeys(learned.found):
        _take(after, text, learned, [each.id for each in before.values() if opposed(each.text, text)])
    for text in learned.withdrawn:
        for each in [each for each in after.values() if each.contradicted_by is None and _same(each.text, text)]:
            after[each.id] = replace(each, contradicted_by=UNKNOWN)
    return [each for name, each in after.items() if before.get(name) != each]


def _take(lessons: dict[str, Lesson], text: str, learned: Learned, against: Sequence[str]) -> None:
    """Take one lesson; those of earlier runs in `against` say the opposite."""
    same = next((each for each in lessons.values() if each.id not in against and _same(each.text, text)), None)
    taken = _new(text, learned) if same is None else _again(same, text, learned)
    lessons[taken.id] = taken
    for name in against:
        if lessons[name].contradicted_by is None:
            lessons[name] = replace(lessons[name], contradicted_by=taken.id)


def _new(text: str, learned: Learned) -> Lesson:
    return Lesson(
        id=lesson_id(learned.profile, text),
        profile=learned.profile,
        text=text,
        runs=(learned.run,),
        sources=learned.sources[-MAX_RUNS:],
        at=learned.at,
    )


def _again(same: Lesson, text: str, learned: Learned) -> Lesson:
    if learned.run in same.runs:
        return replace(same, contradicted_by=None)
    return replace(
        same,
        text=text,
        times=same.times + 1,
        runs=(*same.runs, learned.run)[-MAX_RUNS:],
        contradicted_by=None,
        sources=tuple(dict.fromkeys((*same.sources, *learned.sources)))[-MAX_RUNS:],
        at=learned.at,
    )


def _same(one: str, other: str) -> bool:
    left, right = _sense(one), _sense(other)
    if left.content and left == right:
        return True
    if likeness(_NUMBER.sub("#", one), _NUMBER.sub("#", other)) < SAME:
        return False
    apart = left.content - right.content, right.content - left.content
    return left.denies == right.denies and not (apart[0] and apart[1])


def opposed(one: str, other: str) -> bool:
    """Tell whether two lessons have the same words but say the opposite: one denies it, or a word is turned round."""
    left, right = _sense(one), _sense(other)
    mine, theirs = left.content - right.content, right.content - left.content
    turned = 0
    for word in sorted(mine.elements()):
        back = next((each for each in sorted(theirs) if theirs[each] and (word, each) in _OPPOSITES), None)
        if back is None:
            return False
        theirs[back] -= 1
        turned += 1
    return bool(left.content) and not theirs.total() and (left.denies != right.denies) != (turned % 2 == 1)


@dataclass(frozen=True, slots=True)
class _Sense:
    said: tuple[str, ...]
    denies: bool

    @property
    def content(self) -> Counter[str]:
        """The words that carry the meaning, whatever their order."""
        return Counter(self.said)


def _sense(text: str) -> _Sense:
    found = words(_NUMBER.sub("#", text.replace("'", "").replace("’", "")))
    denials = sum(1 for word in found if word in _DENIALS)
    kept = (word for word in found if word in _TURNED or word not in _DENIALS | _IDLE | STOP_WORDS)
    return _Sense(tuple(word if word in _TURNED else tokens(word)[0] for word in kept), denials % 2 == 1)


def ordered(lessons: Iterable[Lesson]) -> list[Lesson]:
    """Return those that stand before those that were contradicted, the most confirmed first, the newest of equals.

    What confirms a lesson is the runs that it was found in and the credit of outcomes. Credit counts by its logarithm:
    whatever a run shows gains by each of its turns, and is to leave room for what is new.
    """
    return sorted(lessons, key=lambda each: (each.contradicted_by is not None, -_proof(each), -each.at.timestamp()))


def _proof(lesson: Lesson) -> float:
    return lesson.times + math.copysign(math.log1p(abs(lesson.credit)), lesson.credit)


def lesson_row(scope: Scope, lesson: Lesson) -> Record:
    """Return the record of a lesson."""
    data: dict[str, JSON] = {
        "profile": lesson.profile,
        "times": lesson.times,
        "runs": [*lesson.runs],
        "contradicted_by": lesson.contradicted_by,
    }
    return Record(
        key=Key(scope, LESSON, lesson.id),
        text=lesson.text,
        at=lesson.at,
        data=data,
        sources=lesson.sources,
        worth=_base(lesson.times, lesson.contradicted_by) + lesson.credit,
    )


def _base(times: int, contradicted_by: str | None) -> float:
    """Return what a lesson is worth without credit."""
    return 0.0 if contradicted_by is not None else float(times)


def lesson_of(hit: Hit) -> Lesson | None:
    """Return the lesson that a record holds, None where it holds none."""
    data: Mapping[str, JSON] = hit.record.data
    profile, times, against = data.get("profile"), whole(data, "times"), data.get("contradicted_by")
    if not isinstance(profile, str) or times is None:
        return None
    contradicted = against if isinstance(against, str) else None
    return Lesson(
        id=hit.id,
        profile=profile,
        text=hit.record.text,
        times=times,
        runs=texts(data, "runs"),
        contradicted_by=contradicted,
        sources=hit.record.sources,
        at=hit.record.at,
        version=hit.record.version,
        credit=credit_in(hit.record, _base(times, contradicted)),
    )

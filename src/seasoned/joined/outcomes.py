"""Credit: how a turn went is passed on to every record that its context showed, so that what helped ranks higher.

A rater's word on a trace counts once; a later word of the same rater takes the place of the earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from seasoned.context import Used
from seasoned.errors import Conflict, InvalidInput, NotFound
from seasoned.joined.sources import Sources
from seasoned.joined.traces import TRACE, used_in
from seasoned.playbook.deltas import Tag
from seasoned.playbook.entries import ENTRY, Mark
from seasoned.ports import ABSENT, Credit, Put
from seasoned.query import Query
from seasoned.records import JSON, Key, Record, checked_id, finite
from seasoned.results import Status

OUTCOME: Final = "context-outcome"
"""The kind of what a rater said of a trace."""

CLEAR: Final = 0.2
"""From this effect on, up or down, an entry is marked helpful or harmful; between, neutral."""

DECISION: Final = "decision"
_TRIES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Credited:
    """What became of an outcome: the effect, from -1 to 1, and the records credited.

    `status` is a duplicate where the same rater said the same before. `replaced` is the effect that the rater gave
    before, None at first. `left_out` names records that could not be credited, such as forgotten ones, and why.
    """

    effect: float
    status: Status
    credited: tuple[Key, ...] = ()
    left_out: tuple[tuple[Key, str], ...] = ()
    replaced: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What a rater says of a trace."""

    trace: str
    effect: float
    rating: float
    note: str
    by: str


def word(trace: str, reward: object, rating: object, note: object, by: object) -> Word:
    """Return what is said, checked: `reward` from -1 to 1 (beyond counts as the end), or `rating` from 0 to 10.

    Raises:
        InvalidInput: neither or both, or a rating outside 0 to 10.
        WrongType: a value of another type.
    """
    if (reward is None) == (rating is None):
        raise InvalidInput("an outcome has a reward (-1 to 1) or a rating (0 to 10): one of them")
    if rating is not None and not 0 <= finite(rating, "a rating") <= 10:
        raise InvalidInput(f"a rating lies between 0 and 10, found {rating!r}")
    effect = max(-1.0, min(1.0, finite(reward, "a reward"))) if rating is None else (finite(rating, "a rating") - 5) / 5
    said = "" if note is None else str(note)
    return Word(trace=trace, effect=effect, rating=5 + 5 * effect, note=said, by=checked_id(by, "who rates"))


def credit(sources: Sources, said: Word) -> Credited:
    """Pass an outcome on to what its context showed.

    The word is written first and the credits after it, each counting once for the word's number: a call that broke off
    is completed by the next.

    Raises:
        NotFound: there is no such trace.
        Conflict: the same rater said something else at the same time, every time.
    """
    used = used_in(sources, said.trace)
    number, before, status = _noted(sources, said)
    entries = [each.key for each in used if each.key.kind == ENTRY]
    others = list(dict.fromkeys(each.key for each in used if each.key.kind != ENTRY))
    name = f"outcome:{said.trace}:{said.by}"
    done, left = _marked(sources, entries, said.effect, before, f"{name}:{number}")
    for key in others:
        why = _worth(sources, key, said.effect - (before or 0.0), f"{name}:{number}")
        (left if why else done).append((key, why))
    if status is Status.WRITTEN:
        _rate(sources, [each for each in used if each.key.kind == DECISION], said)
    return Credited(
        effect=said.effect,
        status=status,
        credited=tuple(key for key, _ in done),
        left_out=tuple((key, why) for key, why in left),
        replaced=before,
    )


def _noted(sources: Sources, said: Word) -> tuple[int, float | None, Status]:
    """Write a rater's word; return its number, the effect that it takes the place of, and whether it is new."""
    key = Key(sources.scope, OUTCOME, f"{said.trace}/{said.by}")
    for attempt in range(_TRIES):
        hits = sources.store.find(Query(scope=sources.scope, keys=(key,), k=1)).hits
        old = hits[0].record if hits else None
        number, effect, before = _said(old)
        if old is not None and effect == said.effect:
            return number, before, Status.DUPLICATE
        data: dict[str, JSON] = {"number": number + 1, "effect": said.effect, "before": effect, "note": said.note}
        trace = Key(sources.scope, TRACE, said.trace)
        new = Record(key=key, text="", at=sources.clock.now(), data=data, sources=(trace,))
        try:
            sources.store.apply([Put(new, expect=old.version if old else ABSENT)])
        except Conflict:
            if attempt + 1 == _TRIES:
                raise
            continue
        return number + 1, effect, Status.WRITTEN
    raise AssertionError  # the loop returns or raises


def _said(record: Record | None) -> tuple[int, float | None, float | None]:
    data = record.data if record else {}
    number, effect, before = (data.get(name) for name in ("number", "effect", "before"))
    return (
        int(number) if isinstance(number, (int, float)) else 0,
        float(effect) if isinstance(effect, (int, float)) else None,
        float(before) if isinstance(before, (int, float)) else None,
    )


def mark_of(effect: float) -> Mark:
    """Return how an entry is marked for an effect."""
    return Mark.HELPFUL if effect >= CLEAR else Mark.HARMFUL if effect <= -CLEAR else Mark.NEUTRAL


def _marked(
    sources: Sources, entries: Sequence[Key], effect: float, before: float | None, by: str
) -> tuple[list[tuple[Key, str]], list[tuple[Key, str]]]:
    """Mark the entries of the playbook; a mark that the same rater gave before is taken back."""
    done, left = list[tuple[Key, str]](), list[tuple[Key, str]]()
    there = {key: sources.playbook.resolve(key.id) for key in dict.fromkeys(entries)}
    for key, name in there.items():
        (done if name else left).append((key, "" if name else "it is gone"))
    names = list(dict.fromkeys(name for name in there.values() if name))
    old = None if before is None else mark_of(before)
    if names and old is not mark_of(effect):
        taken = [] if old is None else [Tag(id=name, mark=old, times=-1) for name in names]
        sources.playbook.apply([*taken, *(Tag(id=name, mark=mark_of(effect)) for name in names)], by=by)
    return done, left


def _worth(sources: Sources, key: Key, amount: float, by: str) -> str:
    """Add to a record's worth, once for each `by`; return why it could not be done, "" where it was."""
    if not amount:
        return ""
    try:
        sources.store.apply([Credit(key, "worth", amount, by)])
    except NotFound:
        return "it is gone"
    except InvalidInput as error:
        return str(error)
    return ""


def _rate(sources: Sources, decisions: Sequence[Used], said: Word) -> None:
    """Say how a decision did as an example, unless a person has said how it went itself."""
    for used in decisions:
        standing = sources.experience.feedback(decision=used.key.id)
        if standing is None or standing.unexpected_effects.startswith(SEEN):
            note = f"{SEEN}{': ' if said.note else ''}{said.note}"
            sources.experience.rate(said.rating, decision=used.key.id, note=note)


SEEN: Final = "as an example in a later context"
"""What the feedback begins with that an outcome gives to a decision."""

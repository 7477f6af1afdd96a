"""Credit: how a turn went is passed on to every record that its context showed, so that what helped ranks higher.

A rater's word on a trace counts once; a later word of the same rater takes the place of the earlier. The word is
written first and the credits after it, each counting once for the word's number: a call that broke off is completed by
the next.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from seasoned.arguments import checked_text
from seasoned.errors import Conflict, InvalidInput, NotFound
from seasoned.experience import OutcomeFeedback
from seasoned.experience.forms import DECISION, FEEDBACK, feedback_record
from seasoned.joined.sources import Sources
from seasoned.joined.traces import Trace, trace_of
from seasoned.playbook.deltas import Tag
from seasoned.playbook.entries import ENTRY, Mark
from seasoned.ports import ABSENT, Credit, Put
from seasoned.query import Query
from seasoned.records import JSON, Key, Record, checked_id, finite, instant
from seasoned.results import Credited, Status

OUTCOME: Final = "context-outcome"
"""The kind of what a rater said of a trace."""

CLEAR: Final = 0.2
"""From this effect on, up or down, an entry is marked helpful or harmful; between, neutral."""

SEEN: Final = "as an example in a later context"
"""What the feedback begins with that an outcome gives to a decision."""

GONE: Final = "it is gone"
_TRIES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What a rater says of a trace: `effect` from -1 to 1."""

    trace: str
    effect: float
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
    said = "" if note is None else checked_text(note, "a note", blank=True)
    return Word(trace=trace, effect=effect, note=said, by=checked_id(by, "who rates"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A rater's word as it is stored: its number, the effect whose place it takes, and when the first was said."""

    number: int
    effect: float
    before: float | None
    note: str
    first: datetime
    name: str

    @property
    def by(self) -> str:
        """What its credits are given by."""
        return f"outcome:{self.name}:{self.number}"

    @property
    def change(self) -> float:
        """What it adds to what the rater gave before."""
        return self.effect - (self.before or 0.0)


def credit(sources: Sources, said: Word) -> Credited:
    """Pass an outcome on to what its context showed.

    Raises:
        NotFound: there is no such trace.
        Conflict: the same rater said something else at the same time, every time.
    """
    trace = trace_of(sources, said.trace)
    key = Key(sources.scope, OUTCOME, _digest(said.trace, said.by))
    for _ in range(_TRIES):
        version, old = _standing(sources, key)
        settled = None if old is None else _settled(sources, trace, old, Status.DUPLICATE)
        if old is not None and settled is not None and (old.effect, old.note) == (said.effect, said.note):
            return settled
        new = _next(sources, said, key, old)
        try:
            sources.store.apply([Put(_record(sources, said, key, new, trace), expect=version or ABSENT)])
        except Conflict:
            continue
        return _settled(sources, trace, new, Status.WRITTEN)
    raise Conflict(key, expected=f"the last word of {said.by!r}", found="another at every try")


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _standing(sources: Sources, key: Key) -> tuple[int, _Written | None]:
    """Return the version of a rater's word, 0 for none, and what it says, None where that cannot be read."""
    hits = sources.store.find(Query(scope=sources.scope, keys=(key,), k=1)).hits
    if not hits:
        return 0, None
    record = hits[0].record
    number, effect, before, first = (record.data.get(name) for name in ("number", "effect", "before", "first"))
    if not isinstance(number, int) or not isinstance(effect, (int, float)) or not isinstance(first, str):
        return record.version, None
    written = _Written(
        number=number,
        effect=float(effect),
        before=float(before) if isinstance(before, (int, float)) else None,
        note=str(record.data.get("note") or ""),
        first=instant(first),
        name=key.id,
    )
    return record.version, written


def _next(sources: Sources, said: Word, key: Key, old: _Written | None) -> _Written:
    return _Written(
        number=old.number + 1 if old else 1,
        effect=said.effect,
        before=old.effect if old else None,
        note=said.note,
        first=old.first if old else sources.clock.now(),
        name=key.id,
    )


def _record(sources: Sources, said: Word, key: Key, new: _Written, trace: Trace) -> Record:
    data: dict[str, JSON] = {
        "trace": said.trace,
        "by": said.by,
        "number": new.number,
        "effect": new.effect,
        "before": new.before,
        "note": new.note,
        "first": new.first.isoformat(),
    }
    return Record(key=key, text="", at=sources.clock.now(), data=data, sources=(trace.key,), until=trace.until)


def _settled(sources: Sources, trace: Trace, said: _Written, status: Status) -> Credited:
    """Give all credits of a word that were not given yet."""
    keys = list(dict.fromkeys(each.key for each in trace.used))
    entries = [key for key in keys if key.kind == ENTRY]
    decisions = [key for key in keys if key.kind == DECISION]
    others = [key for key in keys if key.kind not in (ENTRY, DECISION)]
    left = {
        **_marked(sources, entries, said),
        **{key: why for key in decisions if (why := _rated(sources, key, said))},
        **_worth(sources, others, said),
    }
    return Credited(
        effect=said.effect,
        status=status,
        credited=tuple(key for key in keys if key not in left),
        left_out=tuple(left.items()),
        replaced=said.before,
    )


def mark_of(effect: float) -> Mark:
    """Return how an entry is marked for an effect."""
    return Mark.HELPFUL if effect >= CLEAR else Mark.HARMFUL if effect <= -CLEAR else Mark.NEUTRAL


def _marked(sources: Sources, entries: Sequence[Key], said: _Written) -> dict[Key, str]:
    """Mark the entries of the playbook; a mark that the same rater gave before is taken back. Return what is gone."""
    there = {key: sources.playbook.resolve(key.id) for key in entries}
    names = [name for name in there.values() if name]
    old, new = None if said.before is None else mark_of(said.before), mark_of(said.effect)
    if names and old is not new:
        taken = [] if old is None else [Tag(id=name, mark=old, times=-1) for name in names]
        sources.playbook.apply([*taken, *(Tag(id=name, mark=new) for name in names)], by=said.by)
    return {key: GONE for key, name in there.items() if not name}


def _worth(sources: Sources, keys: Sequence[Key], said: _Written) -> dict[Key, str]:
    """Add the change to each record's worth, once; return those to which it could not be added, and why."""
    if not keys:
        return {}
    hits = sources.store.find(Query(scope=sources.scope, keys=tuple(keys), k=len(keys))).hits
    there = {hit.record.key for hit in hits}
    left = {key: GONE for key in keys if key not in there}
    given = [Credit(key, "worth", said.change, said.by) for key in keys if key in there] if said.change else []
    try:
        sources.store.apply(given)
    except (NotFound, InvalidInput):  # one of them went meanwhile, or holds no more: the others are credited
        left |= {each.key: why for each in given if (why := _credited(sources, each))}
    return left


def _credited(sources: Sources, given: Credit) -> str:
    """Give one credit; return why it could not be given, "" where it was."""
    try:
        sources.store.apply([given])
    except NotFound:
        return GONE
    except InvalidInput as error:
        return str(error)
    return ""


def _rated(sources: Sources, decision: Key, said: _Written) -> str:
    """Say how a decision did as an example, unless a person said how it went itself; return why not, "" where so.

    Each rater of each trace has one feedback on it, in the place in time of the first word.
    """
    if not sources.store.find(Query(scope=sources.scope, keys=(decision,), k=1)).hits:
        return GONE
    key = Key(sources.scope, FEEDBACK, f"as-example-{_digest(said.name, decision.id)}")
    known = sources.store.find(Query(scope=sources.scope, keys=(key,), k=1)).hits
    history = sources.experience.feedback_history(decision=decision.id)
    if not known and any(not each.unexpected_effects.startswith(SEEN) for each in history):
        return "a person said how it went"
    note = f"{SEEN}: {said.note}" if said.note else SEEN
    feedback = OutcomeFeedback(decision.id, said.first, 5 + 5 * said.effect, unexpected_effects=note)
    record = feedback_record(key, feedback, None, [decision.id], (decision,))
    if not known or (known[0].record.text, known[0].record.data) != (record.text, record.data):
        vectors, _ = sources.searcher.vectors([record.text])
        sources.store.apply([Put(record, vectors[0])])
    return ""

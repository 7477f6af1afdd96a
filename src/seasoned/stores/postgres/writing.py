"""Applying changes in order, on what one read found: which rows, words and vectors they make and unmake."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from seasoned.credits import credited_data
from seasoned.errors import NotFound
from seasoned.ports import Applied, Change, Credit, Put, Remove, Vectors
from seasoned.records import Key, finite, session_field
from seasoned.stores.postgres.preparing import Place, Prepared, key_of
from seasoned.stores.postgres.rows import credit_mark, session_mark
from seasoned.stores.sqlite.rows import encode_json
from seasoned.versions import check_version


@dataclass(slots=True, kw_only=True)
class Standing:
    """A record as it stands between two changes of a batch. `stored`: its row is in the table.

    `data` is read only where a credit goes to the record. `put` is the last put of this batch; `renewed` tells that
    its words are new, `retold` that its text is, so that the vectors stored with the old one are dropped.
    """

    row: int
    seq: int
    version: int
    until: int | None
    digest: int
    text_mark: bytes
    session: UUID | None
    order: int | None
    worth: float
    data: str | None
    stored: bool
    had_sources: bool = False
    put: Prepared | None = None
    renewed: bool = False
    retold: bool = False
    credited: bool = False
    vectors: dict[int, Vectors] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Found:
    """What was read, with the scopes locked: their last seq, records, credits given, last places, new row numbers."""

    seqs: dict[UUID, int]
    standing: dict[Place, Standing]
    credits: dict[Place, set[UUID]]
    orders: dict[tuple[UUID, UUID], int]
    rows: Iterator[int]


@dataclass(frozen=True, slots=True)
class Gone:
    """A removal: its seq, and the row and key that were removed."""

    scope: UUID
    seq: int
    row: int
    key: Key


@dataclass(slots=True)
class Plan:
    """What is to be written: where records stand in the end, rows removed, and credits given and forgotten."""

    standing: Mapping[Place, Standing]
    seqs: Mapping[UUID, int]
    removed: list[tuple[UUID, int]] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)
    credited: dict[Place, set[UUID]] = field(default_factory=dict)
    forgotten: set[Place] = field(default_factory=set)


class Writing:
    """One `apply`, in memory: the changes in order, and the plan that they make."""

    def __init__(self, found: Found, now: int) -> None:
        self._found = found
        self._now = now
        self._standing = found.standing
        self._seqs = dict(found.seqs)
        self.plan = Plan(self._standing, self._seqs)

    def apply(self, changes: Sequence[tuple[Place, Change, Prepared | None]]) -> Applied:
        """Take in all changes, or raise."""
        done = [self._one(*change) for change in changes]
        return Applied(tuple(version for version, _ in done), tuple(seq for _, seq in done))

    def _one(self, place: Place, change: Change, prepared: Prepared | None) -> tuple[int, int]:
        now = self._current(place, key_of(change))
        if isinstance(change, Credit):
            return self._credit(place, change, now)
        check_version(key_of(change), change.expect, None if now is None else now.version)
        if isinstance(change, Put):
            assert prepared is not None  # noqa: S101  # every put is prepared
            return self._put(place, prepared, now)
        return self._remove(place, change, now)

    def _current(self, place: Place, key: Key) -> Standing | None:
        """Return the record, taking an expired one away first: to callers it is not there."""
        now = self._standing.get(place)
        if now is not None and now.until is not None and now.until <= self._now:
            self._delete(place, key, now)
            return None
        return now

    def _seq(self, place: Place) -> int:
        self._seqs[place.scope] += 1
        return self._seqs[place.scope]

    def _put(self, place: Place, made: Prepared, now: Standing | None) -> tuple[int, int]:
        seq = self._seq(place)
        new = now is None or now.text_mark != made.text_mark
        after = self._made(place, made, seq) if now is None else self._changed(place, made, seq, now)
        if new:
            after.vectors.clear()
        if made.vectors is not None and made.space is not None:
            after.vectors[made.space] = made.vectors
        self._standing[place] = after
        return after.version, seq

    def _made(self, place: Place, made: Prepared, seq: int) -> Standing:
        return Standing(
            row=next(self._found.rows),
            seq=seq,
            version=1,
            until=made.until,
            digest=made.said.digest,
            text_mark=made.text_mark,
            session=made.session,
            order=self._order(place, made.session),
            worth=made.record.worth,
            data=made.data,
            stored=False,
            put=made,
            renewed=True,
        )

    def _changed(self, place: Place, made: Prepared, seq: int, now: Standing) -> Standing:
        return replace(
            now,
            seq=seq,
            version=now.version + 1,
            until=made.until,
            digest=made.said.digest,
            text_mark=made.text_mark,
            session=made.session,
            order=now.order if now.session == made.session else self._order(place, made.session),
            worth=made.record.worth,
            data=made.data,
            put=made,
            renewed=now.renewed or now.digest != made.said.digest,
            retold=now.retold or now.text_mark != made.text_mark,
        )

    def _order(self, place: Place, session: UUID | None) -> int | None:
        """Return the next place in a session, None without one."""
        if session is None:
            return None
        last = self._found.orders.get((place.scope, session), 0)
        self._found.orders[place.scope, session] = last + 1
        return last + 1

    def _credit(self, place: Place, credit: Credit, now: Standing | None) -> tuple[int, int]:
        if now is None:
            raise NotFound(f"no {credit.key} to credit")
        given, known = credit_mark(credit), self._found.credits.setdefault(place, set())
        if given in known:
            return now.version, 0
        after = self._credited(place, now, credit)
        known.add(given)
        self.plan.credited.setdefault(place, set()).add(given)
        self._standing[place] = replace(after, seq=self._seq(place), version=now.version + 1, credited=True)
        return now.version + 1, self._standing[place].seq

    def _credited(self, place: Place, now: Standing, credit: Credit) -> Standing:
        if credit.field == "worth":
            return replace(now, worth=finite(now.worth + finite(credit.amount, "a credit"), "worth"))
        data = credited_data(json.loads(now.data or "{}"), credit)
        session = session_mark(session_field(data))
        order = now.order if session == now.session else self._order(place, session)
        return replace(now, data=encode_json(data), session=session, order=order)

    def _remove(self, place: Place, remove: Remove, now: Standing | None) -> tuple[int, int]:
        return (0, 0) if now is None else (0, self._delete(place, remove.key, now))

    def _delete(self, place: Place, key: Key, now: Standing) -> int:
        seq = self._seq(place)
        del self._standing[place]
        self.plan.gone.append(Gone(place.scope, seq, now.row, key))
        self.plan.forgotten.add(place)
        self._found.credits.pop(place, None)
        self.plan.credited.pop(place, None)
        if now.stored:
            self.plan.removed.append((place.scope, now.row))
        return seq


def changed(plan: Plan) -> Iterator[tuple[Place, Standing]]:
    """Yield the records that the batch wrote and that stand in the end."""
    for place, now in plan.standing.items():
        if now.put is not None or now.credited:
            yield place, now

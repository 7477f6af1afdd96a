"""What a process keeps at hand of each session: its turns and their layout, following the store's sequence.

The first look at a session reads it whole, each later one only what changed since. Rows are the truth: where removals
are so far back that the store no longer knows them, or the store keeps no sequence, a session is read anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from seasoned.conversation.messages import parse_message
from seasoned.conversation.units import Layout, Turn
from seasoned.errors import InvalidInput, WrongType
from seasoned.following import Follower
from seasoned.forks import StartsAnew, watch
from seasoned.ports import Message, Store
from seasoned.query import Compare, Filter, Op, Page, Query
from seasoned.records import JSON, Hit, Record, Scope
from seasoned.tokens import Counter

MESSAGE: Final = "message"
SUMMARY: Final = "summary"

MAX_SESSIONS: Final = 64
"""Most sessions of which the turns are kept at hand; the one not looked at for longest goes first."""

MAX_LAYOUTS: Final = 4
"""Most counters whose layout of a session is kept."""

MAX_RECALLED: Final = 64
"""Most choices of recalled texts that are kept for a session."""

PAGE: Final = 2_000


@dataclass(slots=True)
class Kept:
    """A stored message."""

    id: str
    order: int
    message: Message
    tokens: Mapping[str, JSON]
    pinned: bool
    at: datetime


def stored_message(record: Record) -> Message | None:
    """Return a copy of the message that a record holds, None where it holds none that `add` would take.

    Another program, or a bundle, may have written it, so it is checked as one that is given.
    """
    given = record.data.get("message")
    if not isinstance(given, dict):
        return None
    try:
        parsed = parse_message(given)
    except (InvalidInput, WrongType):
        return None
    return None if parsed.blank else parsed.message


def kept(hit: Hit) -> Kept | None:
    """Return the message that a record holds, None where it holds none that can be read."""
    message, tokens = stored_message(hit.record), hit.record.data.get("tokens")
    if message is None:
        return None
    return Kept(
        id=hit.id,
        order=hit.order,
        message=message,
        tokens=tokens if isinstance(tokens, dict) else {},
        pinned=hit.record.data.get("pinned") is True,
        at=hit.record.at,
    )


@dataclass(slots=True)
class Session:
    """One session as it was last seen. `lock` must be held while it is used."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    turns: list[Kept] = field(default_factory=list)
    by_id: dict[str, Kept] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    summary: Record | None = None
    recalled: OrderedDict[Hashable, object] = field(default_factory=OrderedDict)
    _layouts: OrderedDict[Hashable, tuple[Layout, int]] = field(default_factory=OrderedDict)
    _follower: Follower | None = None

    def layout(self, counter: Counter) -> Layout:
        """Return the units of the session as `counter` counts them; each message is counted once."""
        layout, done = self._layouts.pop(counter.identity, (None, 0))
        layout = layout or Layout(counter)
        for turn in self.turns[done:]:
            tokens = turn.tokens.get(counter.fingerprint) if counter.fingerprint else None
            if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0:
                layout.add(Turn(turn.id, turn.order, turn.message, tokens), stored=True)
            else:
                layout.add(Turn(turn.id, turn.order, turn.message, counter.one(turn.message)))
        self._layouts[counter.identity] = (layout, len(self.turns))
        while len(self._layouts) > MAX_LAYOUTS:
            self._layouts.popitem(last=False)
        return layout

    def remember(self, key: Hashable, chosen: object) -> None:
        """Keep a choice of recalled texts."""
        self.recalled[key] = chosen
        while len(self.recalled) > MAX_RECALLED:
            self.recalled.popitem(last=False)

    def pinned(self) -> frozenset[str]:
        """Return the ids of the pinned messages."""
        return frozenset(turn.id for turn in self.turns if turn.pinned)

    def follow(self, store: Store, scope: Scope, name: str, now: datetime) -> None:
        """Read what changed since the last look; what is past its time goes."""
        if self._follower is None:
            self._follower = Follower(store, _query(scope, name))
        self._follower.follow(self._take, self._start_anew, now)

    def _start_anew(self) -> None:
        self.turns.clear()
        self.by_id.clear()
        self.unreadable.clear()
        self.recalled.clear()
        self._layouts.clear()
        self.summary = None

    def _take(self, page: Page) -> None:
        if page.gone:
            self.recalled.clear()
            gone = {key.id for key in page.gone if key.kind == MESSAGE}
            self.unreadable -= gone
            self._drop(gone & self.by_id.keys())
            if self.summary and self.summary.key in page.gone:
                self.summary = None
        for hit in sorted(page.hits, key=lambda each: each.order):
            if hit.record.key.kind == SUMMARY:
                self.summary = hit.record
            else:
                self._put(hit)

    def _drop(self, ids: set[str]) -> None:
        if not ids:
            return
        self.turns = [turn for turn in self.turns if turn.id not in ids]
        for name in ids:
            del self.by_id[name]
        self._layouts.clear()

    def _put(self, hit: Hit) -> None:
        new, old = kept(hit), self.by_id.get(hit.id)
        if new is None:
            self.unreadable.add(hit.id)
            self._drop({hit.id} & self.by_id.keys())
            return
        self.unreadable.discard(hit.id)
        if old and old.order == new.order and old.message == new.message:
            old.pinned, old.tokens = new.pinned, new.tokens
            return
        if old:
            self._drop({hit.id})
        if self.turns and self.turns[-1].order > new.order:
            self._layouts.clear()
        self.turns.append(new)
        self.by_id[new.id] = new
        if len(self.turns) > 1 and self.turns[-2].order > new.order:
            self.turns.sort(key=lambda each: each.order)


def in_session(name: str) -> Filter:
    """Return the filter for one session."""
    return Compare("data.session", Op.EQ, name)


def _query(scope: Scope, session: str) -> Query:
    return Query(
        scope=scope,
        kinds=(MESSAGE, SUMMARY),
        where=in_session(session),
        k=PAGE,
    )


class Following(StartsAnew):
    """The sessions of one scope that were looked at last; threads share it."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self.after_fork_in_child()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own and nothing looked at."""
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def session(self, name: str) -> Session:
        """Return a session; hold its lock and call `follow` before reading it."""
        with self._lock:
            session = self._sessions.pop(name, None) or Session()
            self._sessions[name] = session
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return session

    def follow(self, session: Session, name: str, now: datetime) -> None:
        """Bring a session up to date."""
        session.follow(self._store, self._scope, name, now)

"""Writing a summary so that no text of a message outlives it: the sources are looked at before and after the write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from seasoned.conversation.following import MESSAGE, SUMMARY, Kept
from seasoned.ports import ABSENT, Clock, Put, Remove, Store, Upkeep
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.search import Searcher

SOURCE_GONE: Final = "a message was forgotten while the summary was made from it, so it was not stored"

_PAGE: Final = 1_000


class SummaryWriter:
    """Writes the summaries of one scope."""

    def __init__(self, store: Store, scope: Scope, searcher: Searcher, clock: Clock) -> None:
        self._store = store
        self._scope = scope
        self._searcher = searcher
        self._clock = clock

    def write(self, session: str, old: Record | None, text: str, turns: Sequence[Kept]) -> bool:
        """Store the summary of what `old` covers and the turns; False, and none stored, where one of them is gone.

        Raises:
            Conflict: another process wrote the session's summary meanwhile.
        """
        covered = [Key(self._scope, MESSAGE, turn.id) for turn in turns]
        vectors, _ = self._searcher.vectors([text])
        record = Record(
            key=Key(self._scope, SUMMARY, session),
            text=text,
            at=self._clock.now(),
            data={"session": session, "upto": turns[-1].id},
            sources=tuple(dict.fromkeys((*(old.sources if old else ()), *covered))),
        )
        if not self._all_stored(covered):
            return False
        self._store.apply([Put(record, vectors[0], old.version if old else ABSENT)])
        if self._all_stored(covered):
            return True
        self._take_back(record.key)
        return False

    def _all_stored(self, keys: Sequence[Key]) -> bool:
        for start in range(0, len(keys), _PAGE):
            page = tuple(keys[start : start + _PAGE])
            if len(self._store.find(Query(scope=self._scope, keys=page, k=len(page))).hits) < len(page):
                return False
        return True

    def _take_back(self, key: Key) -> None:
        """Remove the summary, whoever wrote over it: that was made from it. Nothing of its text stays."""
        if isinstance(self._store, Upkeep):
            self._store.purge([key])
        else:
            self._store.apply([Remove(key)])

"""`Mirrored`: a storage of the caller's own, which only saves, loads and clears, with all that memory needs besides."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, Protocol, runtime_checkable

from seasoned.compat.sikkaagent.records import MemoryRecord
from seasoned.compat.sikkaagent.storing import RecordStorage
from seasoned.conversation.messages import is_blank
from seasoned.errors import InvalidInput, WrongType
from seasoned.records import JSON
from seasoned.results import Added, Status

_LOG: Final = logging.getLogger("seasoned.compat.sikkaagent")


@runtime_checkable
class MemoryStorage(Protocol):
    """What memory asks of a storage; anything that has these three is one."""

    def save(self, records: list[dict[str, JSON]]) -> None:
        """Add records. A storage that replaces what it had is found out, and given all of them each time."""
        ...

    def load(self) -> list[dict[str, JSON]]:
        """Return all records, in the order in which they were saved."""
        ...

    def clear(self) -> None:
        """Remove all records."""
        ...


@dataclass(frozen=True, slots=True)
class _Row:
    """A row as it was loaded: the record it holds, and that as JSON; None where it holds none that can be read."""

    record: MemoryRecord | None = None
    json: Mapping[str, JSON] | None = None


class Mirrored:
    """A storage of the caller's own, and a copy of it in this process that is brought up to date at each look.

    The storage's rows are the truth. A row that holds no record that can be read is passed over and logged once; of
    two with one uuid the first stands. The copy is searched by words. Whatever the storage raises is raised as it is.
    """

    def __init__(self, storage: MemoryStorage) -> None:
        self.storage = storage
        self._lock = threading.RLock()
        self._replaces: bool | None = None
        """Whether `save` replaces what was there; None while that is not known."""
        self._start_anew()

    def _start_anew(self) -> None:
        self._copy = RecordStorage(embedder="hashing")
        self._rows: list[_Row] = []

    @property
    def unreadable(self) -> tuple[str, ...]:
        """The rows that hold no record, by their places as of the last look."""
        with self._lock:
            return tuple(_name(place) for place, row in enumerate(self._rows) if row.record is None)

    def current(self) -> RecordStorage:
        """Return the copy, with what the storage holds now."""
        with self._lock:
            self._follow(self._loaded())
            return self._copy

    def append(self, record: MemoryRecord) -> Added:
        """Add a record whose uuid was made just now: a storage that is known to append is not read for it."""
        blank = is_blank(record.to_openai_message())
        with self._lock:
            if blank or self._replaces is not False:
                return self.write([record])[0]
            self.storage.save([record.to_message()])
            return Added(id=record.uuid, status=Status.WRITTEN)

    def write(self, records: Sequence[MemoryRecord]) -> list[Added]:
        """Add records that are not there, and say what became of each.

        Raises:
            InvalidMessage: one of them is no message that a model takes; nothing was written.
        """
        blank = [is_blank(record.to_openai_message()) for record in records]
        with self._lock:
            before = self._loaded()
            self._follow(before)
            known = {row.record.uuid for row in self._rows if row.record is not None}
            results = [_added(record, says_nothing, known) for record, says_nothing in zip(records, blank, strict=True)]
            fresh = [
                record.to_message()
                for record, result in zip(records, results, strict=True)
                if result.status is Status.WRITTEN
            ]
            if fresh:
                self._save(before, fresh)
            return results

    def clear(self) -> None:
        """Remove all records from the storage."""
        with self._lock:
            self.storage.clear()
            self._start_anew()

    def _loaded(self) -> list[dict[str, JSON]]:
        rows: object = self.storage.load()
        if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
            raise WrongType(f"a storage loads a list of records, not {rows!r:.80}")
        return list(rows)

    def _save(self, before: list[dict[str, JSON]], fresh: list[dict[str, JSON]]) -> None:
        """Save new rows; with all that were there before, where the storage keeps only what it is given last."""
        if not self._replaces:
            self.storage.save(fresh)
            if self._replaces is None and before:
                self._replaces = before[-1] not in self._loaded()
        if self._replaces:
            self.storage.save([*before, *fresh])

    def _follow(self, rows: Sequence[object]) -> None:
        """Bring the copy up to date: by what is new at the end, or anew where what was there has changed."""
        same = sum(1 for _ in takewhile(lambda at: _same(rows[at], self._rows[at], at), range(self._shared(rows))))
        if same < len(self._rows):
            self._start_anew()
            same = 0
        new = [_read(row, place) for place, row in enumerate(rows[same:], same)]
        for place, row in enumerate(new, same):
            if row.record is None:
                _LOG.warning("%s of the storage holds no record that can be read, and is passed over", _name(place))
        self._copy.write([row.record for row in new if row.record is not None])
        self._rows.extend(new)

    def _shared(self, rows: Sequence[object]) -> int:
        return min(len(rows), len(self._rows))


def _name(place: int) -> str:
    return f"row {place}"


def _same(row: object, seen: _Row, place: int) -> bool:
    return (seen.json is not None and row == seen.json) or _read(row, place) == seen


def _read(row: object, place: int) -> _Row:
    """Return what a row holds. One without a uuid is named by its place, so that it is the same at each look."""
    if not isinstance(row, Mapping):
        return _Row()
    try:
        record = MemoryRecord.from_message(row if row.get("uuid") is not None else {**row, "uuid": _name(place)})
        record.to_openai_message()
    except (InvalidInput, WrongType):
        return _Row()
    return _Row(record, record.to_message())


def _added(record: MemoryRecord, blank: bool, known: set[str]) -> Added:
    """Return what becomes of a record; `known` learns of it."""
    if blank:
        return Added(id="", status=Status.REFUSED, reason="it says nothing: a message has text, an image or a call")
    if record.uuid in known:
        return Added(id=record.uuid, status=Status.DUPLICATE, reason="a record with this uuid is there")
    known.add(record.uuid)
    return Added(id=record.uuid, status=Status.WRITTEN)

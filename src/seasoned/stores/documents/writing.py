"""One `apply`: changes in order become documents, in batches of which each prefix is a legal state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from seasoned.credits import credited_data
from seasoned.errors import NotFound, StoreBusy, StoreCorrupt, WrongType
from seasoned.ports import Change, Credit, Put, Remove
from seasoned.records import Hit, Key, Record, finite, from_micros, to_micros
from seasoned.stores.documents.coding import Given, Stored, check_whole, decode, encode, gone, packed
from seasoned.stores.documents.ports import Document, Place, Sort, document_id
from seasoned.versions import check_version


def place_of(key: Key) -> Place:
    """Return where a record's document lies."""
    partition = key.scope.encode()
    return partition, document_id(partition, Sort.RECORD, key.kind, key.id)


def key_of_change(change: Change) -> Key:
    """Return the key of the record that a change speaks of.

    Raises:
        WrongType: it is no change.
    """
    if not isinstance(change, (Put, Credit, Remove)):
        raise WrongType(f"a change is a Put, Credit or Remove, not {change!r}")
    return change.record.key if isinstance(change, Put) else change.key


@dataclass(frozen=True, slots=True)
class Planned:
    """What to write: batches of documents, each closed by its heads; a version and a sequence for each change."""

    batches: Sequence[Sequence[Document]]
    versions: tuple[int, ...]
    seqs: tuple[int, ...]


class Planning:
    """Checks changes against what stands (`found`, `heads`) and says what to write; it writes nothing itself."""

    def __init__(self, found: Iterable[Document], heads: Mapping[str, Document], batch: int, now: int) -> None:
        self._documents = {(one.partition, one.id): one for one in found}
        self._standing = {place: one.seq for place, one in self._documents.items()}
        self._heads = dict(heads)
        self._batch = batch
        self._now = now
        self._read: dict[tuple[str, int], Stored | None] = {}
        self._open: dict[Place, Document] = {}
        self._touched: dict[str, Document] = {}
        self._closed: list[list[Document]] = []

    def plan(self, changes: Sequence[Change]) -> Planned:
        """Return what to write.

        Raises:
            Conflict, NotFound, InvalidInput: a change cannot be made, so nothing is to be written.
        StoreBusy: a record that it would change is not shown whole yet.
        """
        done = [self._one(change) for change in changes]
        self._close()
        return Planned(self._closed, tuple(version for version, _ in done), tuple(seq for _, seq in done))

    def _one(self, change: Change) -> tuple[int, int]:
        match change:
            case Put():
                return self._put(change)
            case Credit():
                return self._credit(change)
            case Remove():
                return self._remove(change)

    def _put(self, put: Put) -> tuple[int, int]:
        place = place_of(put.record.key)
        found = self._found(place)
        check_version(put.record.key, put.expect, None if found is None else found.version)
        old = None if found is None else self._stored(found)
        if found is not None:
            check_whole(found)  # its credits must not be lost, as those of a damaged one are
        kept = old is not None and old.hit.text == put.record.text
        vectors = dict(old.vectors) if old is not None and kept else {}
        if put.vectors is not None:
            vectors[str(put.vectors.fingerprint)] = packed(put.vectors)
        return self._write(place, put.record, found, vectors, frozenset() if old is None else old.given)

    def _write(
        self, place: Place, record: Record, old: Document | None, vectors: Mapping[str, bytes], given: Given
    ) -> tuple[int, int]:
        version = 1 if old is None else old.version + 1
        seq = self._next_seq(place[0])
        order = self._next_order(place[0]) if old is None else old.order
        hit = Hit(record=replace(record, version=version), order=order, seq=seq, written=from_micros(self._now))
        self._stage(place, encode(Stored(hit=hit, vectors=dict(vectors), given=given)))
        return version, seq

    def _credit(self, credit: Credit) -> tuple[int, int]:
        place = place_of(credit.key)
        found = self._found(place)
        if found is None:
            raise NotFound(f"no {credit.key} to credit")
        stored = self._stored(found) or decode(found)
        if (credit.field, credit.by) in stored.given:
            return found.version, 0
        given = stored.given | {(credit.field, credit.by)}
        return self._write(place, _credited(stored.hit.record, credit), found, stored.vectors, given)

    def _remove(self, remove: Remove) -> tuple[int, int]:
        place = place_of(remove.key)
        found = self._found(place)
        check_version(remove.key, remove.expect, None if found is None else found.version)
        return (0, 0) if found is None else (0, self._take_away(place, found))

    def _found(self, place: Place) -> Document | None:
        """Return the record's document, taking an expired one away first: to callers it is not there."""
        found = self._documents.get(place)
        if found is None or found.sort is not Sort.RECORD:
            return None
        if self._expired(found):
            self._take_away(place, found)
            return None
        return found

    def _expired(self, document: Document) -> bool:
        stored = self._stored(document)
        until = None if stored is None else stored.hit.record.until
        return until is not None and to_micros(until) <= self._now

    def _stored(self, document: Document) -> Stored | None:
        """Return the record of a document, None of one that cannot be read."""
        name = document.id, document.seq
        if name not in self._read:
            try:
                self._read[name] = decode(document)
            except (StoreBusy, StoreCorrupt):
                self._read[name] = None
        return self._read[name]

    def _take_away(self, place: Place, found: Document) -> int:
        seq = self._next_seq(place[0])
        self._stage(place, gone(found, seq))
        return seq

    def _next_seq(self, partition: str) -> int:
        head = self._heads[partition]
        self._heads[partition] = replace(head, seq=head.seq + 1)
        return head.seq + 1

    def _next_order(self, partition: str) -> int:
        """Return the next place: the time in µs, or one after the last place, so that scopes lie about as written."""
        head = self._heads[partition]
        order = max(head.order + 1, self._now)
        self._heads[partition] = replace(head, order=order)
        return order

    def _stage(self, place: Place, document: Document) -> None:
        """Add a document to the open batch; one that stands in it already must be its last, or a new batch begins."""
        again = place in self._open and next(reversed(self._open)) != place
        heads = len(self._touched) + (place[0] not in self._touched)
        if again or (place not in self._open and len(self._open) + 1 + heads > self._batch):
            self._close()
        self._open[place] = self._documents[place] = document
        self._touched[place[0]] = self._heads[place[0]]

    def _close(self) -> None:
        """End the open batch with the heads as they were after its last document."""
        if self._open:
            batch = [*self._open.values(), *self._touched.values()]
            self._closed.append([replace(one, was=self._standing.get((one.partition, one.id), 0)) for one in batch])
            self._standing |= {(one.partition, one.id): one.seq for one in batch}
        self._open, self._touched = {}, {}


def _credited(record: Record, credit: Credit) -> Record:
    if credit.field == "worth":
        return replace(record, worth=finite(record.worth + finite(credit.amount, "a credit"), "worth"))
    return replace(record, data=credited_data(json.loads(json.dumps(record.data)), credit))

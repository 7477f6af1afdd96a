"""The copy of one partition in process: read whole once, then followed by sequence."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from seasoned.errors import StoreCorrupt
from seasoned.index import NEVER, Row, ScopeIndex
from seasoned.ports import Fingerprint
from seasoned.records import Hit, Key, is_odd, text_field, to_micros
from seasoned.stores.documents.coding import Stored, decode, key_of
from seasoned.stores.documents.ports import SETTLE_US, Document, Documents, Sort, document_id
from seasoned.stores.embedded import Changes, Held
from seasoned.text import Analyser

Name = tuple[str, str]
"""Kind and id: what names a record within its partition."""


class Mirror:
    """One partition: `records` by kind and id, `gone` keys by (seq, order), the index, and what cannot be read.

    `ticks` counts what was taken in, so that the index follows whatever order documents come in. Of an engine that
    shows writes late it reads again what was written in the last `SETTLE_US`.
    """

    def __init__(self, partition: str) -> None:
        self.partition = partition
        self.lock = threading.RLock()
        self.held = Held()
        self.counted = 0
        self._documents: Documents | None = None
        self._clear()

    def _clear(self) -> None:
        self.seq = 0
        self.gone_before = 0
        self.records: dict[Name, Stored] = {}
        self._damaged: dict[Name, tuple[Document, str]] = {}
        self._late: dict[Name, Document] = {}
        self.gone: dict[tuple[int, int], Key] = {}
        self._bytes = 0
        self._log: list[Name | int] = []
        self._base = 0
        self._ordered: list[Stored] | None = None
        self._settled = 0
        self._seen: deque[tuple[int, int]] = deque()
        self._bare: set[str] = set()
        self.held.index = None

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self._bytes + self.held.size

    @property
    def ticks(self) -> int:
        """How many changes it took in."""
        return self._base + len(self._log)

    def ordered(self) -> Sequence[Stored]:
        """Return the records in the order they were first written."""
        if self._ordered is None:
            self._ordered = sorted(self.records.values(), key=lambda one: one.hit.order)
        return self._ordered

    def follow(self, documents: Documents, now: int) -> None:
        """Bring it up to date with the engine."""
        self._documents = documents
        head = head_of(documents, self.partition)
        if self.seq and (head is None or head.seq < self.seq or self.seq < head.version):
            self._clear()  # the partition was emptied from outside, or removals since then are no longer known
        first, since = self.seq == 0, self.seq if documents.traits.fresh else self._settle(now)
        if head is None or (head.seq == since and not self._late):
            return
        late, self._late = self._late, {}
        after = min([since, *(document.seq - 1 for document in late.values())])
        for document in sorted(documents.scan(self.partition, after), key=lambda one: one.seq):
            self.add(document)
        if first:
            self._settled = self._written_before(now - SETTLE_US)
        self._give_up_waiting()
        self.gone_before = head.version
        self._arrive(head.seq, now)

    def take(self, documents: Sequence[Document], before: int, seq: int, now: int) -> None:
        """Take in what this process wrote, if all before it was seen."""
        if self.seq == before and self._documents is not None:
            for document in documents:
                self.add(document)
            self._arrive(seq, now)

    def _settle(self, now: int) -> int:
        """Return the sequence up to which all must be shown by now."""
        while self._seen and self._seen[0][0] + SETTLE_US <= now:
            self._settled = self._seen.popleft()[1]
        return self._settled

    def _written_before(self, time: int) -> int:
        """Return the last sequence that was written before some time (µs), as far as records tell."""
        times = ((one.hit.seq, one.hit.written) for one in self.records.values())
        return max((seq for seq, written in times if written is not None and to_micros(written) <= time), default=0)

    def _give_up_waiting(self) -> None:
        """Take for damaged what was not whole when it had to be."""
        for name, document in list(self._late.items()):
            if document.seq <= self._settled:
                del self._late[name]
                self._lose(name, replace(document, whole=True), "parts of it are missing")

    def _arrive(self, seq: int, now: int) -> None:
        if seq != self.seq and self._documents is not None and not self._documents.traits.fresh:
            self._seen.append((now, seq))
        self.seq = seq
        if len(self._log) > 1_000 + 2 * len(self.records):
            self._base += len(self._log)
            self._log.clear()

    def add(self, document: Document) -> None:
        """Take in one document, unless a later state of it was seen."""
        if document.sort not in (Sort.RECORD, Sort.GONE):
            return
        name = document.kind, document.name
        old = self.records.get(name)
        if old is not None and old.hit.seq > document.seq:
            return
        if old is not None and (document.sort is Sort.GONE or old.hit.order != document.order):
            self._drop(name, old, document.seq)
        self._damaged.pop(name, None)
        self._late.pop(name, None)
        if document.sort is Sort.GONE:
            self.gone[document.seq, document.order] = key_of(document)
        else:
            self._keep(name, document, old)

    def _drop(self, name: Name, old: Stored, seq: int) -> None:
        del self.records[name]
        self.gone[seq, old.hit.order] = old.hit.record.key
        self._log.append(old.hit.order)
        self._ordered = None

    def _keep(self, name: Name, document: Document, old: Stored | None) -> None:
        if not document.whole:
            self._late[name] = document
            return
        try:
            stored = _checked(document)
        except StoreCorrupt as error:
            self._lose(name, document, str(error))
            return
        if old is None:
            self._bytes += 600 + len(document.body)
        self._bytes += _vector_bytes(stored) - (0 if old is None else _vector_bytes(old))
        self.records[name] = stored
        self._log.append(name)
        self._ordered = None

    def _lose(self, name: Name, document: Document, why: str) -> None:
        if name in self.records:
            self._drop(name, self.records[name], document.seq)
        self._damaged[name] = document, why

    def unreadable(self) -> list[tuple[Name, tuple[Document, str]]]:
        """Return what cannot be read, or not yet and of which no earlier state is known, each with a reason."""
        late = [(name, (one, "not shown whole yet")) for name, one in self._late.items() if name not in self.records]
        return [*self._damaged.items(), *late]

    def index(self, analyser: Analyser) -> ScopeIndex:
        """Return the index, up to date with the records."""
        return self.held.follow(MirrorRows(self), analyser)

    def taken(self, name: str, records: Iterable[Stored]) -> None:
        """Let go of vectors that the index holds by now."""
        for one in records:
            if one.vectors.get(name):
                self._bytes -= len(one.vectors[name])
                one.vectors[name] = b""
                self._bare.add(name)

    def refill(self, name: str) -> None:
        """Read again the vectors that were let go, for an index that is made anew."""
        if name not in self._bare or self._documents is None:
            return
        self._bare.discard(name)
        for document in self._documents.scan(self.partition):
            held = self.records.get((document.kind, document.name)) if document.sort is Sort.RECORD else None
            if held is not None and held.hit.seq == document.seq and document.whole and held.vectors.get(name) == b"":
                held.vectors[name] = _checked(document).vectors.get(name, b"")
                self._bytes += len(held.vectors[name])

    def logged(self, after: int) -> Sequence[Name | int] | None:
        """Return the names written and places removed since some tick; None where that is no longer known."""
        return None if after < self._base else self._log[after - self._base :]


def _vector_bytes(stored: Stored) -> int:
    return sum(map(len, stored.vectors.values()))


def _checked(document: Document) -> Stored:
    """Return a document's record, whose id must be that of its key."""
    if document.id != document_id(document.partition, Sort.RECORD, document.kind, document.name):
        raise StoreCorrupt(f"{document.kind} {document.name!r} lies under an id that is not its own")
    return decode(document)


def head_of(documents: Documents, partition: str) -> Document | None:
    """Return the head of a partition, None where nothing was written yet."""
    found = documents.get([(partition, document_id(partition, Sort.HEAD))])
    return found[0] if found else None


class MirrorRows:
    """What the index follows; its sequence is the mirror's ticks."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def seq(self) -> int:
        """Return the mirror's last tick."""
        return self._mirror.ticks

    def changes(self, after: int) -> Changes:
        """Return what happened after a tick."""
        log = self._mirror.logged(after) if after else None
        if log is None:
            return Changes([row_of(one.hit) for one in self._mirror.ordered()], [], self.seq(), reload=after > 0)
        changed = self._changed(log)
        return Changes([row_of(one.hit) for one in changed], [one for one in log if isinstance(one, int)], self.seq())

    def vectors(self, fingerprint: Fingerprint, after: int) -> list[list[tuple[int, bytes]]]:
        """Return the vectors of one space of rows written after a tick."""
        name, log = str(fingerprint), self._mirror.logged(after) if after else None
        if not after:
            self._mirror.refill(name)
        changed = self._mirror.ordered() if log is None else self._changed(log)
        found = [(one.hit.order, one.vectors[name]) for one in changed if one.vectors.get(name)]
        self._mirror.taken(name, changed)
        return [found]

    def load(self, analyser: Analyser) -> ScopeIndex | None:  # noqa: ARG002  # the port's form
        """Return None: no index is stored."""
        return None

    def _changed(self, log: Sequence[Name | int]) -> list[Stored]:
        names = dict.fromkeys(one for one in log if not isinstance(one, int))
        found = [self._mirror.records[name] for name in names if name in self._mirror.records]
        return sorted(found, key=lambda one: one.hit.order)


def row_of(hit: Hit) -> Row:
    """Return what the index reads of a record."""
    record = hit.record
    session, role, name = (text_field(record.data, each) for each in ("session", "role", "name"))
    return Row(
        row=hit.order,
        kind=record.key.kind,
        text=record.text,
        at=to_micros(record.at),
        until=NEVER if record.until is None else to_micros(record.until),
        worth=record.worth,
        session=session,
        role=role,
        name=name,
        odd=is_odd(record.data),
    )

"""The copy of one partition in process: read whole once, then followed by sequence; and the copies of one store."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from seasoned.errors import StoreCorrupt
from seasoned.index import NEVER, Row, ScopeIndex
from seasoned.ports import Fingerprint
from seasoned.records import Hit, Key, is_odd, text_field, to_micros
from seasoned.stores.documents.coding import Stored, decode, key_of
from seasoned.stores.documents.ports import Document, Documents, Sort, document_id
from seasoned.stores.embedded import Changes, Held
from seasoned.text import Analyser

SETTLE_US: Final = 60_000_000
"""How long (µs) an engine that shows writes late may take; changes of so long ago are read again until then."""

Name = tuple[str, str]
"""Kind and id: what names a record within its partition."""


class Mirror:
    """One partition: `records` by kind and id, `damaged` documents, `gone` keys by (seq, order), and the index.

    `ticks` counts what was taken in, so that the index follows whatever order documents come in.
    """

    def __init__(self, partition: str) -> None:
        self.partition = partition
        self.lock = threading.RLock()
        self.held = Held()
        self.counted = 0
        self._clear()

    def _clear(self) -> None:
        self.seq = 0
        self.gone_before = 0
        self.records: dict[Name, Stored] = {}
        self.damaged: dict[Name, tuple[Document, str]] = {}
        self.gone: dict[tuple[int, int], Key] = {}
        self._bytes = 0
        self._log: list[Name | int] = []
        self._base = 0
        self._ordered: list[Stored] | None = None
        self._seen: deque[tuple[int, int]] = deque()
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
        head = head_of(documents, self.partition)
        if self.seq and (head is None or head.seq < self.seq or self.seq < head.version):
            self._clear()  # the partition was emptied from outside, or removals since then are no longer known
        since = self._settled(now, late=not documents.traits.fresh)
        if head is None or head.seq == since:
            return
        for document in sorted(documents.scan(self.partition, since), key=lambda one: one.seq):
            self.add(document)
        self.gone_before = head.version
        self._arrive(head.seq, now)

    def take(self, documents: Sequence[Document], before: int, seq: int, now: int) -> None:
        """Take in what this process wrote, if all before it was seen."""
        if self.seq == before:
            for document in documents:
                self.add(document)
            self._arrive(seq, now)

    def _settled(self, now: int, *, late: bool) -> int:
        """Return the sequence up to which all must have been seen by now."""
        if not late:
            return self.seq
        settled = 0
        while self._seen and self._seen[0][0] + SETTLE_US <= now:
            settled = self._seen.popleft()[1]
        if settled:
            self._seen.appendleft((now - SETTLE_US, settled))
        return settled

    def _arrive(self, seq: int, now: int) -> None:
        if seq != self.seq:
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
        self.damaged.pop(name, None)
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
        try:
            stored = _checked(document)
        except StoreCorrupt as error:
            if name in self.records:
                self._drop(name, self.records[name], document.seq)
            self.damaged[name] = document, str(error)
            return
        if old is None:
            self._bytes += 600 + len(document.body) + len(document.vectors)
        self.records[name] = stored
        self._log.append(name)
        self._ordered = None

    def index(self, analyser: Analyser) -> ScopeIndex:
        """Return the index, up to date with the records."""
        return self.held.follow(MirrorRows(self), analyser)

    def logged(self, after: int) -> Sequence[Name | int] | None:
        """Return the names written and places removed since some tick; None where that is no longer known."""
        return None if after < self._base else self._log[after - self._base :]


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
        changed = self._mirror.ordered() if log is None else self._changed(log)
        return [[(one.hit.order, one.vectors[name]) for one in changed if name in one.vectors]]

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


class Mirrors:
    """The copies of one store, by partition; those used longest ago go first, the one in use never."""

    def __init__(self, cache_bytes: int) -> None:
        self.cache_bytes = cache_bytes
        self._mirrors: OrderedDict[str, Mirror] = OrderedDict()
        self._lock = threading.Lock()
        self._total = 0

    def __contains__(self, partition: str) -> bool:
        return partition in self._mirrors

    @contextmanager
    def locked(self, partition: str) -> Iterator[Mirror]:
        """Give the copy of a partition, locked for this thread."""
        with self._lock:
            mirror = self._mirrors.setdefault(partition, Mirror(partition))
            self._mirrors.move_to_end(partition)
        with mirror.lock:
            yield mirror
            self._shrink(partition, mirror)

    @contextmanager
    def known(self, partition: str) -> Iterator[Mirror | None]:
        """Give the copy of a partition if there is one, locked for this thread."""
        with self._lock:
            mirror = self._mirrors.get(partition)
        if mirror is None:
            yield None
            return
        with mirror.lock:
            yield mirror

    def drop(self, partition: str | None = None) -> None:
        """Let go of one copy, or of all."""
        with self._lock:
            for name in list(self._mirrors) if partition is None else [partition] if partition in self._mirrors else []:
                self._total -= self._mirrors.pop(name).counted

    def _shrink(self, used: str, mirror: Mirror) -> None:
        with self._lock:
            if self._mirrors.get(used) is mirror:
                self._total += mirror.size - mirror.counted
                mirror.counted = mirror.size
            while self._total > self.cache_bytes and len(self._mirrors) > 1 and next(iter(self._mirrors)) != used:
                self._total -= self._mirrors.popitem(last=False)[1].counted

"""`DocumentStore`: the whole seam over an engine that keeps flat documents."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from weakref import WeakValueDictionary

from seasoned.closing import Closing
from seasoned.errors import StoreClosed
from seasoned.forks import watch
from seasoned.index import ScopeIndex
from seasoned.ports import Applied, Can, Change, Clock, Counts, Finding, Remove, SystemClock
from seasoned.query import Order, Page, Query
from seasoned.records import JSON, Hit, Key, Scope, to_micros
from seasoned.stores.documents import answering
from seasoned.stores.documents.candidates import READ_WHOLE, Nearest, fits, searched
from seasoned.stores.documents.coding import decode, spaces
from seasoned.stores.documents.mirror import Mirror, MirrorRows
from seasoned.stores.documents.mirrors import Mirrors
from seasoned.stores.documents.overlay import Overlaid
from seasoned.stores.documents.parts import Parted
from seasoned.stores.documents.ports import Document, Documents, Place, Sort, batches, document_id
from seasoned.stores.documents.processes import ForkLock
from seasoned.stores.documents.writing import Planning, key_of_change, place_of
from seasoned.stores.embedded import CACHE_BYTES, merged
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

GONE_KEPT: Final = 100_000
"""Removals further back than so many changes of their scope are no longer known; a follower behind them reloads."""

DIRECT_KEYS: Final = 1_000
"""Most keys of one query that are asked of the engine one by one; more are answered from the copy of the scope."""


ENGINE: Final = "engine"
"""What is pending after a purge: the engine's own files may hold what it removed until it compacts them."""


class _Lock:
    """The lock of one place, shared by all stores of this process that reach it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()


_PLACES: Final[WeakValueDictionary[str, _Lock]] = WeakValueDictionary()
_PLACES_LOCK: Final = ForkLock()


def _lock_of(place: str) -> _Lock:
    with _PLACES_LOCK:
        found = _PLACES.get(place)
        if found is None:
            found = _PLACES[place] = _Lock()
        return found


class DocumentStore(Closing):
    """A `Store` over flat documents; what it promises stands in the package's docstring.

    It owns `documents` and closes them. `cache_bytes` bounds the copies of scopes held in this process, `gone_kept`
    how many changes removals are remembered for. `read_whole` is the largest scope that is read whole for a search
    where the engine is `Nearest`; of a larger one it ranks the candidates that the engine names, and says so.
    """

    def __init__(
        self,
        documents: Documents,
        *,
        clock: Clock | None = None,
        analyser: Analyser = DEFAULT_ANALYSER,
        cache_bytes: int = CACHE_BYTES,
        gone_kept: int = GONE_KEPT,
        read_whole: int = READ_WHOLE,
    ) -> None:
        traits = documents.traits
        shown = documents if traits.fresh else Overlaid(documents)  # below the parts, which may be shown late too
        self._documents: Documents = shown if traits.chars is None else Parted(shown)
        self._traits = traits
        self._clock = clock or SystemClock()
        self._analyser = analyser
        self._gone_kept = gone_kept
        self._read_whole = read_whole
        self._nearest = documents if isinstance(documents, Nearest) and self._documents is documents else None
        self._mirrors = Mirrors(cache_bytes)
        self._writing = _lock_of(traits.place)
        self._recovered: set[str] = set()
        self._closed = False
        watch(self)

    @property
    def can(self) -> Can:
        """Ordered, lexical and dense; not atomic; the rest as the engine's traits say."""
        traits = self._traits
        return Can(
            atomic=False,
            compare=traits.exclusive,
            ordered=True,
            lexical=True,
            dense=True,
            fresh=traits.fresh,
            durable=traits.durable,
        )

    def find(self, query: Query) -> Page:
        """Return the records that answer `query`."""
        self._check_open()
        now = self._now()
        if query.words is not None or query.vector is not None:
            page = self._ranked(query, now)
        elif query.scopes:
            return Page(scopes=tuple(self._scopes(query, now)))
        elif query.keys and len(query.keys) <= DIRECT_KEYS:
            page = self._by_key(query, now)
        elif query.count:
            return Page(count=sum(_count(mirror, query, now) for mirror in self._copies(query, now)))
        else:
            page = self._keyed(query, now) if query.keys else self._in_order(query, now)
        return Page(count=len(page.hits)) if query.count else replace(page, hits=answering.copied(page.hits))

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Check the changes, then write them in order; a check that fails leaves everything as it was."""
        self._check_open()
        keys = [key_of_change(change) for change in changes]
        with self._writing.lock:
            self._check_open()
            now = self._now()
            heads, found = self._read(dict.fromkeys(keys))
            planned = Planning(found, heads, self._traits.batch, now).plan(changes)
            for batch in planned.batches:
                self._write(batch)
            self._follow_up([one for batch in planned.batches for one in batch], heads, now)
            return Applied(planned.versions, planned.seqs)

    def close(self) -> None:
        """Let go of the copies and close the engine; closing twice is harmless."""
        with self._writing.lock:
            if not self._closed:
                self._closed = True
                self._mirrors.drop()
                self._documents.close()

    def check(self) -> list[Finding]:
        """Compare the copies and their indexes with the engine; [] where all is well."""
        self._check_open()
        return [finding for name in self._partitions("") for finding in self._check_partition(name)]

    def rebuild(self) -> int:
        """Drop each copy, to be read anew; return how many records there are."""
        self._check_open()
        self._mirrors.drop()
        return sum(self._count(partition) for partition in self._partitions(""))

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove the records and all that is derived from them, so that no answer of the engine holds their content.

        When the bytes leave the engine's own files, logs and backups is the engine's affair: `pending` has "engine".
        Where each stood a document without content stays, which names its kind and id, until followers need it no more.
        """
        self._check_open()
        found = [one for one in self._got([place_of(key) for key in dict.fromkeys(keys)]) if one.sort is Sort.RECORD]
        self.apply([Remove(key) for key in dict.fromkeys(keys)])
        for partition in {one.partition for one in found}:
            self._mirrors.drop(partition)
        pending = (ENGINE,) if found and self._traits.durable else ()
        return Counts(rows=len(found), vectors=sum(map(spaces, found)), pending=pending)

    def stats(self) -> Mapping[str, JSON]:
        """Return counts of the whole store, and `degraded`: what the engine cannot promise."""
        self._check_open()
        counts = [count for partition in self._partitions("") if (count := self._count(partition))]
        degraded: list[JSON] = [name for name in ("atomic", "compare", "fresh") if not getattr(self.can, name)]
        return {
            "engine": self._traits.engine,
            "records": sum(counts),
            "scopes": len(counts),
            "degraded": degraded,
        }

    def before_fork(self) -> None:
        """Wait for the call under way."""
        self._writing.lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._writing.lock.release()

    def after_fork_in_child(self) -> None:
        """Start with locks and copies of its own, and look again at what a crash may have left."""
        self._writing.lock = threading.RLock()
        self._recovered.clear()
        self._mirrors = Mirrors(self._mirrors.cache_bytes)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"the {self._traits.engine} store was closed")

    def _now(self) -> int:
        return to_micros(self._clock.now())

    def _got(self, places: Sequence[Place]) -> list[Document]:
        return [one for some in batches(places, self._traits.batch) for one in self._documents.get(some)]

    def _read(self, keys: Iterable[Key]) -> tuple[dict[str, Document], list[Document]]:
        """Return what a write must know: the heads of the partitions, and the documents of the keys."""
        partitions = dict.fromkeys(key.scope.encode() for key in keys)
        heads = [(partition, document_id(partition, Sort.HEAD)) for partition in partitions]
        found = self._got([*heads, *(place_of(key) for key in keys)])
        known = {one.partition: one for one in found if one.sort is Sort.HEAD}
        return {partition: self._head(partition, known.get(partition)) for partition in partitions}, found

    def _head(self, partition: str, head: Document | None) -> Document:
        """Return a head as writing needs it: at the first write, past what a crash may have left uncounted."""
        if head is None:
            name = document_id(partition, Sort.HEAD)
            head = Document(id=name, partition=partition, sort=Sort.HEAD, seq=0, order=0, version=0)
        if partition not in self._recovered:
            for one in self._documents.scan(partition, head.seq):
                head = replace(head, seq=max(head.seq, one.seq), order=max(head.order, one.order))
            self._recovered.add(partition)
        return head

    def _write(self, batch: Sequence[Document]) -> None:
        try:
            self._documents.put(batch)
        except BaseException:
            self._recovered -= {one.partition for one in batch}
            raise

    def _follow_up(self, written: Sequence[Document], heads: Mapping[str, Document], now: int) -> None:
        """Show what was written to the copies that had seen all before it, and forget removals too far back."""
        by_partition: dict[str, list[Document]] = {}
        for one in written:
            by_partition.setdefault(one.partition, []).append(one)
        for partition, own in by_partition.items():
            before = heads[partition].seq
            with self._mirrors.known(partition) as mirror:
                if mirror is not None:
                    mirror.take(own, before, own[-1].seq, now)
            self._forget_removals(own[-1], before)

    def _forget_removals(self, head: Document, before: int) -> None:
        """Now and then delete what stands for removals that no follower needs any more."""
        step = max(1, self._gone_kept // 10)
        bound = head.seq - self._gone_kept
        if head.seq // step == before // step or bound <= 0:
            return
        self._write([replace(head, version=bound, was=head.seq)])
        scanned = self._documents.scan(head.partition)
        old = [(one.partition, one.id) for one in scanned if one.sort is Sort.GONE and one.seq < bound]
        for some in batches(old, self._traits.batch):
            self._documents.delete(some)

    def _partitions(self, prefix: str) -> list[str]:
        return sorted({name for name in self._documents.partitions(prefix) if name.startswith(prefix)})

    def _asked(self, query: Query) -> list[str]:
        prefix = query.scope.encode()
        return self._partitions(prefix) if query.subtree else [prefix]

    def _copies(self, query: Query, now: int) -> Iterator[Mirror]:
        """Yield the copy of each partition that is asked, up to date and locked while it is looked at."""
        for partition in self._asked(query):
            with self._mirrors.locked(partition) as mirror:
                mirror.follow(self._documents, now)
                yield mirror

    def _scopes(self, query: Query, now: int) -> Iterator[Scope]:
        for mirror in self._copies(query, now):
            if query.order is Order.CHANGED:
                if mirror.seq:
                    yield Scope.decode(mirror.partition)
            elif next(answering.answering(mirror, query, now), None) is not None:
                yield Scope.decode(mirror.partition)

    def _by_key(self, query: Query, now: int) -> Page:
        """Answer from the engine itself, in the order of the keys."""
        inside = [key for key in dict.fromkeys(query.keys) if _in_scope(key, query)]
        found = {one.id: one for one in self._got([place_of(key) for key in inside]) if one.sort is Sort.RECORD}
        stored = [decode(found[name]) for key in inside if (name := place_of(key)[1]) in found]
        return Page(hits=[one.hit for one in stored if answering.answers(one, query, now)])

    def _keyed(self, query: Query, now: int) -> Page:
        """Answer for many keys from the copies, in the order of the keys."""
        copies = self._copies(query, now)
        found = {one.hit.record.key: one.hit for mirror in copies for one in answering.answering(mirror, query, now)}
        return Page(hits=[found[key] for key in dict.fromkeys(query.keys) if key in found])

    def _in_order(self, query: Query, now: int) -> Page:
        if query.order is Order.CHANGED:
            pages = [(answering.changed(mirror, query, now), mirror) for mirror in self._copies(query, now)]
            return _with_damaged(pages[0][0], answering.damaged(pages[0][1], query))
        answering.position(query.cursor, subtree=query.subtree)
        found, wrong = list[tuple[answering.Position, Hit]](), list[tuple[Key, str]]()
        for mirror in self._copies(query, now):
            found += answering.in_order(mirror, query, now)
            wrong += answering.damaged(mirror, query)
        page = answering.page_of(found, query)
        return page if page.cursor is not None else _with_damaged(page, wrong)

    def _ranked(self, query: Query, now: int) -> Page:
        pages = [self._ranked_in(partition, query, now) for partition in self._asked(query)]
        return Page(
            hits=merged([page.hits for page in pages], query.k),
            degraded=tuple(dict.fromkeys(said for page in pages for said in page.degraded)),
            unreadable=tuple(key for page in pages for key in page.unreadable),
        )

    def _ranked_in(self, partition: str, query: Query, now: int) -> Page:
        engine = self._nearest if fits(query) else None
        if engine is not None and partition not in self._mirrors and engine.count(partition) > self._read_whole:
            return searched(engine, partition, query, now, self._analyser)
        with self._mirrors.locked(partition) as mirror:
            mirror.follow(self._documents, now)
            page = Page(hits=answering.ranked(mirror, query, now, self._analyser))
            return _with_damaged(page, answering.damaged(mirror, query))

    def _count(self, partition: str) -> int:
        with self._mirrors.locked(partition) as mirror:
            mirror.follow(self._documents, self._now())
            return len(mirror.records)

    def _check_partition(self, partition: str) -> list[Finding]:
        now = self._now()
        fresh = Mirror(partition)
        with self._mirrors.locked(partition) as mirror:
            mirror.follow(self._documents, now)
            fresh.follow(self._documents, now)
            made = ScopeIndex(self._analyser)
            changes = MirrorRows(fresh).changes(0)
            made.follow(changes.rows, changes.gone, changes.seq)
            held = mirror.index(self._analyser).canonical()
            same = {name: one.hit for name, one in mirror.records.items()} == {
                name: one.hit for name, one in fresh.records.items()
            }
        scope = Scope.decode(partition)
        found = [Finding("record", why) for _, (_, why) in fresh.unreadable()]
        if not same:
            found.append(Finding("copy", f"the copy of {scope} differs from the engine; rebuild"))
        if held != made.canonical():
            found.append(Finding("index", f"the index of {scope} differs from its records; rebuild"))
        return found


def _in_scope(key: Key, query: Query) -> bool:
    return key.scope == query.scope or (query.subtree and query.scope.holds(key.scope))


def _count(mirror: Mirror, query: Query, now: int) -> int:
    return sum(1 for _ in answering.answering(mirror, query, now))


def _with_damaged(page: Page, wrong: Sequence[tuple[Key, str]]) -> Page:
    """Say on the last page of a listing, or with a search, which records could not be read."""
    return replace(page, degraded=tuple(why for _, why in wrong), unreadable=tuple(key for key, _ in wrong))

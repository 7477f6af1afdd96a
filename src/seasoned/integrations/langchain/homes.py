"""Homes: where a run's playbook lies. In a memory, in the agent's own store, or in the state of the thread alone."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from seasoned.integrations.langchain.framework import BaseStore, GetOp, Op, PutOp, SearchOp
from seasoned.integrations.langchain.plainbooks import EMBEDDER, layout_of, named, trimmed, written
from seasoned.integrations.langchain.shelf import Shelf
from seasoned.integrations.langgraph import SeasonedStore
from seasoned.locked import bare
from seasoned.memory import Memory
from seasoned.playbook import Delta, Playbook
from seasoned.ports import new_id
from seasoned.records import JSON

ROOT: Final = "ace"
"""The first label of the namespaces of a LangGraph store where entries lie; the tenant's follow."""

ENTRIES: Final = "entries"
"""The last label of them."""

RUNS: Final = "ace_runs"
"""The first label of those where it is noted which runs were learned from."""

THREAD_KEPT: Final = 128
"""Most entries of a thread's own playbook, and of the mirror of another in its state."""

STORE_KEPT: Final = 512
"""Most entries of a tenant in a LangGraph store."""

LEARNED: Final = 256
"""Of how many runs of a tenant it is noted there that they were learned from."""

TENANTS: Final = 128
"""Of how many tenants the playbooks are at hand."""


class Home(Protocol):
    """Where a playbook lies, for the time of one hook."""

    @property
    def tenant(self) -> tuple[str, ...] | None:
        """Whose it is, None where nobody is named."""
        ...

    @property
    def shared(self) -> bool:
        """Whether other threads of the tenant have it, too."""
        ...

    def open(self, given: Sequence[Mapping[str, JSON]], layout: Mapping[str, JSON] | None) -> Playbook:
        """Return the playbook; `given` are the entries in the thread's state, and how its last block was laid out."""
        ...

    def learned(self, run: str) -> bool:
        """Tell whether a run was learned from before; what a home cannot tell, its playbook can."""
        ...

    def by(self, run: str) -> str:
        """Return the name under which a run is learned from, once."""
        ...

    def prepared(self, delta: Delta) -> Delta:
        """Return a change as it is to be applied here."""
        ...

    def close(self, book: Playbook, runs: Iterable[str]) -> None:
        """Write what has changed, and note runs that were learned from."""
        ...

    def layout(self, book: Playbook) -> dict[str, JSON] | None:
        """Return what the state must keep of the layout; None where the home keeps it."""
        ...


@dataclass(frozen=True, slots=True)
class ThreadHome:
    """The state of the thread is the playbook: what it holds is read, and the caller writes it back."""

    tenant: tuple[str, ...] | None
    shelf: Shelf
    shared: bool = False

    def open(self, given: Sequence[Mapping[str, JSON]], layout: Mapping[str, JSON] | None) -> Playbook:
        """Return a playbook of the entries in the state."""
        return self.shelf.take(given, layout)

    def learned(self, run: str) -> bool:  # noqa: ARG002  # the protocol's
        """Return False: lessons and what waits change in one checkpoint."""
        return False

    def by(self, run: str) -> str:
        """Return a name of its own each time: a thread may be taken back to before the run's end, and go on anew."""
        return f"{run}/{new_id()}"

    def prepared(self, delta: Delta) -> Delta:
        """Return the change as it is."""
        return delta

    def close(self, book: Playbook, runs: Iterable[str]) -> None:  # noqa: ARG002  # the protocol's
        """Drop what is not kept, and put the book on the shelf."""
        trimmed(book, THREAD_KEPT)
        self.shelf.put(book, written(book.entries(retired=True)), layout_of(book))

    def layout(self, book: Playbook) -> dict[str, JSON] | None:
        """Return the layout, which nobody else keeps."""
        return layout_of(book)


@dataclass(frozen=True, slots=True)
class EngineHome:
    """A playbook over a store of this package: shared by threads and processes, with its history."""

    tenant: tuple[str, ...] | None
    book: Playbook
    shared: bool = True

    def open(self, given: Sequence[Mapping[str, JSON]], layout: Mapping[str, JSON] | None) -> Playbook:  # noqa: ARG002  # the protocol's
        """Return the playbook."""
        return self.book

    def learned(self, run: str) -> bool:  # noqa: ARG002  # the protocol's
        """Return False: the playbook itself learns from a run once."""
        return False

    def by(self, run: str) -> str:
        """Return the run's name."""
        return run

    def prepared(self, delta: Delta) -> Delta:
        """Return the change as it is."""
        return delta

    def close(self, book: Playbook, runs: Iterable[str]) -> None:  # noqa: ARG002  # the protocol's
        """Take out notes that are too many; nothing else is ever taken out here."""
        trimmed(book, None)

    def layout(self, book: Playbook) -> dict[str, JSON] | None:  # noqa: ARG002  # the protocol's
        """Return None: the playbook keeps it."""
        return None


@dataclass(slots=True)
class ItemsHome:
    """Another LangGraph store: an item for each entry, its id the key, plain JSON its value.

    Two runs that end at the same time both keep their entries, since the id of a new one follows from what it says;
    marks that they give to the same entry at the same moment may count once.
    """

    tenant: tuple[str, ...] | None
    store: BaseStore
    shelf: Shelf
    shared: bool = True
    _found: dict[str, dict[str, JSON]] = field(default_factory=dict)
    _noted: dict[str, JSON] = field(default_factory=dict)

    def open(self, given: Sequence[Mapping[str, JSON]], layout: Mapping[str, JSON] | None) -> Playbook:  # noqa: ARG002  # the protocol's
        """Return a playbook of the items."""
        reads: list[Op] = [
            SearchOp(self._namespace(ROOT), limit=4 * STORE_KEPT),
            GetOp(self._namespace(RUNS), "runs"),
        ]
        items, noted = self.store.batch(reads)
        self._found = {item.key: dict(item.value) for item in items if item.namespace == self._namespace(ROOT)}  # type: ignore[union-attr]  # a search gives items
        self._noted = dict(noted.value) if noted is not None else {}  # type: ignore[union-attr]  # a get gives an item
        kept = self._noted.get("layout")
        ordered = _in_order(self._found.values())
        return self.shelf.take(ordered, kept if isinstance(kept, dict) else None)

    def learned(self, run: str) -> bool:
        """Tell whether a run was noted."""
        return run in self._runs()

    def by(self, run: str) -> str:
        """Return a name of its own each time: the notes of runs tell what was learned."""
        return f"{run}/{new_id()}"

    def prepared(self, delta: Delta) -> Delta:
        """Return an addition with an id that follows from what it says."""
        return named(delta)

    def close(self, book: Playbook, runs: Iterable[str]) -> None:
        """Write what has changed, and what the runs were."""
        trimmed(book, STORE_KEPT)
        entries = written(book.entries(retired=True))
        now = {str(each["id"]): each for each in entries}
        namespace = self._namespace(ROOT)
        writes = [PutOp(namespace, key, value) for key, value in now.items() if self._found.get(key) != value]
        writes += [PutOp(namespace, key, None) for key in self._found if key not in now]
        names: list[JSON] = [*self._runs(), *runs]
        layout = layout_of(book)
        noted: dict[str, JSON] = {"runs": names[-LEARNED:], "layout": layout}
        if noted != self._noted:
            writes.append(PutOp(self._namespace(RUNS), "runs", noted, index=False))
        if writes:
            self.store.batch(writes)
        self._found, self._noted = now, noted
        self.shelf.put(book, _in_order(entries), layout)

    def layout(self, book: Playbook) -> dict[str, JSON] | None:  # noqa: ARG002  # the protocol's
        """Return None: it is noted with the runs."""
        return None

    def _runs(self) -> list[str]:
        runs = self._noted.get("runs")
        return [str(each) for each in runs] if isinstance(runs, list) else []

    def _namespace(self, root: str) -> tuple[str, ...]:
        return (root, *(part.replace("%", "%25").replace(".", "%2E") for part in self.tenant or ()), ENTRIES)


def _in_order(entries: Iterable[dict[str, JSON]]) -> list[dict[str, JSON]]:
    return sorted(entries, key=lambda each: (str(each.get("created_at")), str(each.get("id"))))


class Homes:
    """Finds the home of a tenant: in a memory or store that was handed in, else in the agent's own store."""

    def __init__(self, memory: Memory | None, store: BaseStore | None) -> None:
        self._memory = memory
        self._store = store
        self._books: OrderedDict[Hashable, tuple[object, Playbook]] = OrderedDict()
        self._lock = threading.Lock()
        self._shelf = Shelf()

    def of(self, tenant: tuple[str, ...] | None, store: BaseStore | None) -> Home:
        """Return the home of a tenant; `store` is the agent's."""
        found = self._store if self._store is not None else store
        if tenant is None or (self._memory is None and found is None):
            return ThreadHome(tenant, self._shelf)
        if self._memory is not None:
            memory = self._memory
            return EngineHome(tenant, self._book(None, tenant, lambda: memory.within(*tenant).playbook))
        if isinstance(found, SeasonedStore):
            return EngineHome(tenant, self._book(found, tenant, lambda: _within(found, tenant)))
        assert found is not None  # noqa: S101  # checked above
        return ItemsHome(tenant, found, self._shelf)

    def where(self, tenant: tuple[str, ...] | None, store: BaseStore | None) -> str:
        """Return in words where the playbook of a run lies."""
        found = self._store if self._store is not None else store
        if self._memory is None and found is None:
            return "in the state of the thread alone, as there is neither a memory nor a store"
        if tenant is None:
            return "in the state of the thread alone, as the runtime context names no tenant"
        kind = type(found).__name__ if self._memory is None else type(bare(self._memory.store)).__name__
        return f"by tenant, in {'a memory' if self._memory is not None else 'the store'} ({kind})"

    def _book(self, store: object, tenant: tuple[str, ...], make: Callable[[], Playbook]) -> Playbook:
        """Return the playbook of a tenant, the same object while it is at hand; it keeps its store alive."""
        key = (id(store), tenant)
        with self._lock:
            held = self._books.get(key)
            if held is None:
                held = self._books[key] = (store, make())
            self._books.move_to_end(key)
            while len(self._books) > TENANTS:
                self._books.popitem(last=False)
            return held[1]


def _within(store: SeasonedStore, tenant: tuple[str, ...]) -> Playbook:
    return Playbook(store.store, scope=store.scope.within(ROOT, *tenant), embedder=EMBEDDER)

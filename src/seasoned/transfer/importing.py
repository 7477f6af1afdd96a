"""Writing what importers read to a memory, in batches, with a report of what became of each message and note."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from seasoned.errors import BundleError, InvalidInput, WrongType
from seasoned.records import Key
from seasoned.results import Added, Status
from seasoned.transfer import bundle
from seasoned.transfer.importers import (
    Format,
    Imported,
    Item,
    Noted,
    Progress,
    Refused,
    Skipped,
    detect,
    langgraph,
    read,
)
from seasoned.transfer.importers.databases import is_database
from seasoned.transfer.putting import REMOVED
from seasoned.transfer.tombstones import Forgotten
from seasoned.transfer.writing import MESSAGE, NOTE, Notebook, stored_key, write_messages, write_notes

BATCH: Final = 256
"""Items that are written at once."""

_HEAD: Final = 2**16


class Target(Notebook, Protocol):
    """What a file is imported into: a memory."""

    def import_(
        self,
        path: str | os.PathLike[str],
        progress: Progress | None = None,
        *,
        follow: bool = False,
        restore: bool = False,
    ) -> bundle.Transferred:
        """Read a bundle."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of what was read: read = written + duplicate + changed + refused + skipped.

    `notes` of the written are notes, the others messages (or any records, of a bundle). `skipped` counts what the
    format's rules leave out, by reason. `undated` of the written have no time that can be read, so they stand at the
    time of the import. `changed` and `removed` are what became of records here by a bundle that was followed.
    `degraded` says what is missing for now, such as vectors.
    """

    file: str = ""
    format: str = ""
    read: int = 0
    written: int = 0
    notes: int = 0
    duplicate: int = 0
    changed: int = 0
    removed: int = 0
    refused: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    undated: int = 0
    degraded: tuple[str, ...] = ()


def import_file(
    memory: Target,
    path: str | os.PathLike[str],
    format: Format | None = None,  # noqa: A002 - as in `read`
    *,
    session: str | None = None,
    follow: bool = False,
    restore: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Import what another program remembers, in any known format, or a bundle, and report what became of it.

    Conversations become messages, and what another memory holds becomes notes, each in its user's or namespace's scope
    below that of `memory`. Importing it again writes only what is new, and what was removed since stays away unless
    `restore` is set. `follow` is for bundles: see `Memory.import_`. Other arguments are those of `importers.read`.

    Raises:
        BundleError: the file cannot be read, is damaged, or is in no format that is known; nothing was written.
    """
    name = os.fspath(path)
    if bundle.is_store_file(memory.store, path):
        raise BundleError(f"{name} is the memory itself; it cannot be imported into itself")
    if format is None and not is_database(Path(path)) and is_bundle(path):
        done = memory.import_(path, progress, follow=follow, restore=restore)
        return ImportReport(
            file=name,
            format=bundle.FORMAT,
            read=done.read,
            written=done.written,
            duplicate=done.duplicate,
            changed=done.changed,
            removed=done.removed,
            refused=done.refused,
            degraded=done.degraded,
        )
    known = detect(path) if format is None else Format(format)
    items = read(path, format, session=session, progress=progress)
    found = import_items(memory, items, restore=restore)
    return replace(found, file=name, format=known.value)


def import_store(
    memory: Notebook,
    store: langgraph.ItemStore,
    namespace: Sequence[str] = (),
    *,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Import the items of an open LangGraph store (in memory, PostgreSQL, Redis, …) as notes, and report.

    They come from `namespace` and below it, each into the scope of its namespace below that of `memory`, so `recall`
    and `context` find them. Whoever wants to go on with LangGraph's own interface instead moves the items with it:

        for item in old.search((), limit=1_000_000):
            seasoned_store.put(item.namespace, item.key, item.value)

    where `seasoned_store` is a `seasoned.integrations.langgraph.SeasonedStore`. An open store does not say when an item
    expires, so none of them does here. `progress` is called with the number of items read so far.
    """
    found = import_items(memory, langgraph.items_of(store, namespace), progress=progress)
    return replace(found, file=type(store).__name__, format=Format.LANGGRAPH.value)


def import_items(
    memory: Notebook,
    items: Iterable[Item],
    *,
    batch: int = BATCH,
    restore: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Write what an importer read, and report what became of it.

    A duplicate whose words differ from what is stored is refused, not passed over. What was removed from the memory
    since an earlier import is skipped.

    Args:
        memory: where it goes.
        items: what `importers.read` yields.
        batch: how many items are written at once; an interrupted import keeps the batches that were written.
        restore: whether what was removed comes back.
        progress: called with the number of items read so far.
    """
    tally = _Tally()
    here = iter(items) if restore else _without_removed(memory, items, batch)
    while some := list(islice(here, batch)):
        tally.read += len(some)
        tally.refused += [str(item) for item in some if isinstance(item, Refused)]
        tally.skipped.update(item.reason for item in some if isinstance(item, Skipped))
        for item, added in write_messages(memory, [item for item in some if isinstance(item, Imported)]):
            tally.count(item, added)
        for note, added in write_notes(memory, [item for item in some if isinstance(item, Noted)]):
            tally.count(note, added)
        if progress is not None:
            progress(tally.read)
    return tally.report()


def _without_removed(memory: Notebook, items: Iterable[Item], batch: int) -> Iterator[Item]:
    """Yield the items, those that were removed from the memory as skipped."""
    forgotten, rest = Forgotten(memory.store), iter(items)
    while some := list(islice(rest, batch)):
        keys = [None if isinstance(item, (Refused, Skipped)) else _key(memory, item) for item in some]
        gone = forgotten.of([key for key in keys if key is not None])
        for item, key in zip(some, keys, strict=True):
            if key in gone and not isinstance(item, (Refused, Skipped)):
                yield Skipped(file="", place=_called(item), reason=REMOVED)
            else:
                yield item


def _key(memory: Notebook, item: Imported | Noted) -> Key | None:
    kind = NOTE if isinstance(item, Noted) else MESSAGE
    try:
        return stored_key(memory, Key(memory.scope.within(*item.below), kind, item.id))
    except (InvalidInput, WrongType):  # it breaks a rule: writing it says which
        return None


def is_bundle(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file is one that `Memory.export` wrote, from its first line."""
    try:
        with open(path, "rb") as file:
            head = json.loads(file.readline(_HEAD))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(head, dict) and head.get("format") == bundle.FORMAT


@dataclass(slots=True)
class _Tally:
    read: int = 0
    notes: int = 0
    statuses: Counter[Status] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    undated: int = 0
    degraded: dict[str, None] = field(default_factory=dict)

    def count(self, item: Imported | Noted, added: Added) -> None:
        self.statuses[added.status] += 1
        if added.status is Status.REFUSED:
            self.refused.append(f"{_called(item)}: {added.reason}")
        elif added.status is Status.WRITTEN:
            self.notes += isinstance(item, Noted)
            self.undated += item.at is None
            if added.reason and added.reason.startswith("degraded"):
                self.degraded[added.reason] = None

    def report(self) -> ImportReport:
        return ImportReport(
            read=self.read,
            written=self.statuses[Status.WRITTEN],
            notes=self.notes,
            duplicate=self.statuses[Status.DUPLICATE],
            refused=tuple(self.refused),
            skipped=dict(self.skipped.most_common()),
            undated=self.undated,
            degraded=tuple(self.degraded),
        )


def _called(item: Imported | Noted) -> str:
    below = f" of {'/'.join(item.below)}" if item.below else ""
    if isinstance(item, Noted):
        return f"note {item.id}{below}"
    return f"{item.session}{below}, message {item.position + 1} ({item.id})"

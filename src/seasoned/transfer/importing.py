"""Writing what importers read to a conversation memory, in batches, with a report of what became of each message."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Final, Protocol

from seasoned.errors import BundleError, InvalidInput, WrongType
from seasoned.ports import Message, Store
from seasoned.records import Hit
from seasoned.results import Added, Status
from seasoned.transfer import bundle
from seasoned.transfer.importers import Format, Imported, Item, Progress, Refused, Skipped, detect, read

BATCH: Final = 256
"""Items that are written at once."""

_HEAD: Final = 2**16
_DIFFERS: Final = "another message is stored under its id; is this another file of the same name? Then name its session"


class Conversation(Protocol):
    """The verb of a conversation memory that an import needs."""

    def add(
        self,
        messages: object,
        session: str = ...,
        at: Sequence[datetime | None] = ...,
        ids: Sequence[str | None] | None = ...,
    ) -> list[Added]:
        """Write messages of one session, each with its time and id."""
        ...


class Target(Protocol):
    """What a file is imported into."""

    @property
    def conversation(self) -> Conversation:
        """Where messages go."""
        ...

    @property
    def store(self) -> Store:
        """The engine below."""
        ...

    def get(self, id: str, kind: str | None = None) -> Hit:  # noqa: A002 - the field's name everywhere
        """Return a record."""
        ...

    def import_(self, path: str | os.PathLike[str], progress: Progress | None = None) -> bundle.Transferred:
        """Read a bundle."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of what was read: read = written + duplicate + refused + skipped.

    `skipped` counts what the format's rules leave out, by reason. `undated` of the written have no time that can be
    read, so they stand at the time of the import. `degraded` says what is missing for now, such as vectors.
    """

    file: str = ""
    format: str = ""
    read: int = 0
    written: int = 0
    duplicate: int = 0
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
    progress: Progress | None = None,
) -> ImportReport:
    """Import a file of conversations in any known format, or a bundle, and report what became of it.

    Importing it again writes only what is new. Arguments are those of `importers.read`.

    Raises:
        BundleError: the file cannot be read, is damaged, or is in no format that is known; nothing was written.
    """
    name = os.fspath(path)
    if bundle.is_store_file(memory.store, path):
        raise BundleError(f"{name} is the memory itself; it cannot be imported into itself")
    if format is None and is_bundle(path):
        done = memory.import_(path, progress)
        return ImportReport(
            file=name,
            format=bundle.FORMAT,
            read=done.read,
            written=done.written,
            duplicate=done.duplicate,
            refused=done.refused,
            degraded=done.degraded,
        )
    known = format or detect(path)
    items = read(path, known, session=session, progress=progress)
    found = import_messages(memory.conversation, items, stored=lambda name: _message(memory.get(name, "message")))
    return replace(found, file=name, format=known.value)


def import_messages(
    conversation: Conversation,
    items: Iterable[Item],
    *,
    batch: int = BATCH,
    progress: Callable[[int], None] | None = None,
    stored: Callable[[str], Message] | None = None,
) -> ImportReport:
    """Write what an importer read, and report what became of it.

    Args:
        conversation: where the messages go.
        items: what `importers.read` yields.
        batch: how many items are written at once; an interrupted import keeps the batches that were written.
        progress: called with the number of items read so far.
        stored: gives the message under an id; with it, a duplicate whose words differ is refused, not passed over.
    """
    tally = _Tally()
    rest = iter(items)
    while some := list(islice(rest, batch)):
        tally.read += len(some)
        tally.refused += [str(item) for item in some if isinstance(item, Refused)]
        tally.skipped.update(item.reason for item in some if isinstance(item, Skipped))
        for messages in _by_session(some):
            for item, added in zip(messages, _added(conversation, messages), strict=True):
                tally.count(item, _compared(item, added, stored))
        if progress is not None:
            progress(tally.read)
    return tally.report()


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
    statuses: Counter[Status] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    undated: int = 0
    degraded: dict[str, None] = field(default_factory=dict)

    def count(self, item: Imported, added: Added) -> None:
        self.statuses[added.status] += 1
        if added.status is Status.REFUSED:
            self.refused.append(f"{item.session}, message {item.position + 1} ({item.id}): {added.reason}")
        elif added.status is Status.WRITTEN:
            self.undated += item.at is None
            if added.reason and added.reason.startswith("degraded"):
                self.degraded[added.reason] = None

    def report(self) -> ImportReport:
        return ImportReport(
            read=self.read,
            written=self.statuses[Status.WRITTEN],
            duplicate=self.statuses[Status.DUPLICATE],
            refused=tuple(self.refused),
            skipped=dict(self.skipped.most_common()),
            undated=self.undated,
            degraded=tuple(self.degraded),
        )


def _by_session(items: Sequence[Item]) -> Iterator[list[Imported]]:
    """Yield the messages of each session, in their order."""
    sessions: dict[str, list[Imported]] = {}
    for item in items:
        if isinstance(item, Imported):
            sessions.setdefault(item.session, []).append(item)
    yield from sessions.values()


def _added(conversation: Conversation, items: Sequence[Imported]) -> list[Added]:
    """Write messages of one session; where one breaks a rule, which stops them all, write each by itself."""
    try:
        return conversation.add(
            [item.message for item in items],
            session=items[0].session,
            at=[item.at for item in items],
            ids=[item.id for item in items],
        )
    except (InvalidInput, WrongType) as error:
        if len(items) == 1:
            return [Added(id="", status=Status.REFUSED, reason=str(error))]
    return [added for item in items for added in _added(conversation, [item])]


def _compared(item: Imported, added: Added, stored: Callable[[str], Message] | None) -> Added:
    """Refuse a duplicate that says something else: most often another file of the same name."""
    if added.status is not Status.DUPLICATE or stored is None:
        return added
    said, known = item.message.get("content"), stored(item.id).get("content")
    if not isinstance(said, str) or not isinstance(known, str) or said.endswith(known):
        return added
    return Added(id="", status=Status.REFUSED, reason=_DIFFERS)


def _message(hit: Hit) -> Message:
    message = hit.record.data.get("message")
    return message if isinstance(message, dict) else {}

"""Bundles: the records of a scope and those below it as JSON lines with a checksum; read whole or not at all.

The first line says format, version, scope and instant. Then comes a line for each tombstone, the key of what was
removed there, and one for each record, old versions among them; the last line holds the numbers of both and the SHA-256
of all lines before it. Vectors are not in it: an import embeds anew, in its own space.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias, cast

from seasoned.errors import StoreError, WrongType
from seasoned.forgetting import EXPORT, LEDGER
from seasoned.locked import check_clear, check_readable
from seasoned.ports import Clock, Put, Store, new_id
from seasoned.query import Compare, Not, Op, Query
from seasoned.records import JSON, Key, Record, Scope
from seasoned.stores.sqlite.connections import is_open_store
from seasoned.transfer.tombstones import tombstones

FORMAT: Final = "seasoned-bundle"
VERSION: Final = 2
"""What is written; version 1, which had no tombstones, is read too."""

_NOT_NOTED: Final = Not(Compare("kind", Op.IN, (EXPORT, LEDGER)))
_ENDS: Final = ("", "-wal", "-shm", "-journal")
_SQLITE: Final = b"SQLite format 3\0"

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """What a bundle's import or export did: records read and written, those already there, those refused and why.

    An import that follows its source has `changed` records that said something else here, and `removed` those that are
    no longer there. `tombstones` are how many removals the bundle tells of. `degraded` says what is missing for now:
    the vectors of an import, damaged records that an export left out.
    """

    read: int = 0
    written: int = 0
    duplicate: int = 0
    changed: int = 0
    removed: int = 0
    tombstones: int = 0
    refused: tuple[str, ...] = ()
    degraded: tuple[str, ...] = field(default=())


def export(
    store: Store, scope: Scope, path: str | os.PathLike[str], clock: Clock, *, removals: bool = True
) -> Transferred:
    """Write every record of the scope and those below it to `path`, replacing it only when all is written.

    With `removals` it also tells the keys of what was removed there, as far back as the engine knows.

    Raises:
        StoreError: the file cannot be written.
        WrongType: `path` is no path.
    """
    target = _target(store, checked_path(path))
    head: dict[str, JSON] = {
        "format": FORMAT,
        "version": VERSION,
        "scope": list(scope),
        "exported": clock.now().isoformat(),
    }
    degraded: list[str] = []
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as out:
            gone = tombstones(store, scope, degraded) if removals else iter(())
            graves, number = _write(out.write, head, gone, records_of(store, scope, degraded))
            out.flush()
            os.fsync(out.fileno())
        os.replace(name, target)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
    noted = _note(store, scope, target, clock.now())
    return Transferred(read=number, written=number, tombstones=graves, degraded=(*degraded, *noted))


def _target(store: Store, path: Path) -> Path:
    """Return where a bundle is written: through a link, and over nothing but a file that is no database."""
    try:
        target = path.resolve()
        if is_store_file(store, target):  # before it is opened: closing it again would drop the locks of this process
            raise StoreError(f"{path} is the memory itself, or part of one; export to another file")
        if target.exists() and not target.is_file():
            raise StoreError(f"{path} cannot be written: it is no regular file, and a bundle would take its place")
        if target.exists() and _begins_as_database(target):
            raise StoreError(f"{path} is a memory or another database; export to another file")
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise StoreError(f"{path} cannot be written: {error}") from error
    return target


def _begins_as_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _note(store: Store, scope: Scope, target: Path, now: datetime) -> list[str]:
    """Note where a bundle was written, so that a receipt can name it; where the store cannot be written, say so."""
    data: dict[str, JSON] = {"path": str(target.absolute())}
    try:
        store.apply([Put(Record(key=Key(scope, EXPORT, new_id()), text="", at=now, data=data))])
    except StoreError as error:
        return [f"export: {error}"]
    return []


def _write(
    write: Callable[[str], object], head: Mapping[str, JSON], gone: Iterator[Key], records: Iterator[Record]
) -> tuple[int, int]:
    """Write all lines; return how many tombstones and records they hold."""
    total, scope = hashlib.sha256(), Scope(cast("list[str]", head["scope"]))

    def line(value: Mapping[str, JSON]) -> None:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
        total.update(text.encode())
        write(text)

    line(head)
    numbers = Counter[str]()
    for key in gone:
        line({"gone": list(key.scope[len(scope) :]), "kind": key.kind, "id": key.id})
        numbers["tombstones"] += 1
    for record in records:
        line(encoded(record, scope))
        numbers["records"] += 1
    graves, number = numbers["tombstones"], numbers["records"]
    write(json.dumps({"records": number, "tombstones": graves, "sha256": total.hexdigest()}) + "\n")
    return graves, number


def records_of(store: Store, scope: Scope, degraded: list[str]) -> Iterator[Record]:
    """Give every record of the scope and those below it; `degraded` takes what is said of damaged ones.

    Raises:
        StoreLocked: a record is sealed with a key that is not here.
    """
    cursor: str | None = None
    while True:
        page = store.find(Query(scope=scope, subtree=True, where=_NOT_NOTED, k=1000, cursor=cursor))
        degraded.extend(page.degraded)
        for hit in page.hits:
            check_readable([hit])
            check_clear(store, hit.record)
            yield hit.record
        cursor = page.cursor
        if cursor is None:
            return


def encoded(record: Record, scope: Scope) -> dict[str, JSON]:
    """Return a record as a bundle holds it, its scope and sources told from `scope`."""
    return {
        "below": list(record.key.scope[len(scope) :]),
        "kind": record.key.kind,
        "id": record.key.id,
        "text": record.text,
        "data": dict(record.data),
        "sources": [[list(_relative(key.scope, scope)), key.kind, key.id] for key in record.sources],
        "worth": record.worth,
        "at": record.at.isoformat(),
        "until": None if record.until is None else record.until.isoformat(),
    }


def _relative(scope: Scope, base: Scope) -> tuple[str, ...]:
    """Return a source's scope: below the exported one as "." and the rest, elsewhere whole."""
    return (".", *scope[len(base) :]) if base.holds(scope) else ("/", *scope)


def checked_path(path: object) -> Path:
    """Return what names a bundle's file, as a path."""
    if not isinstance(path, (str, os.PathLike)):
        raise WrongType(f"a bundle lies in a file named by a path, not {path!r:.80}")
    return Path(path)


def is_store_file(store: Store, path: str | os.PathLike[str]) -> bool:
    """Tell whether `path` is a file of the store itself: opening that beside SQLite would break its locks (POSIX)."""
    if is_open_store(Path(path)):
        return True
    own = getattr(store, "path", None)
    return isinstance(own, (str, os.PathLike)) and any(_same_file(f"{os.fspath(own)}{end}", path) for end in _ENDS)


def _same_file(one: str, other: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)

"""Bundles: the records of a scope and those below it as JSON lines with a checksum; read whole or not at all.

The first line says format, version, scope and instant; each line after it is one record; the last holds the number of
records and the SHA-256 of all lines before it. Vectors are not in it: an import embeds anew, in the importer's space.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from seasoned.errors import BundleError, Conflict, SeasonedError, StoreError, WrongType
from seasoned.forgetting import EXPORT
from seasoned.ports import ABSENT, Clock, Put, Store, new_id
from seasoned.query import Compare, Not, Op, Query
from seasoned.records import JSON, Key, Record, Scope, instant
from seasoned.search import Searcher
from seasoned.stores.sqlite.connections import is_open_store

FORMAT: Final = "seasoned-bundle"
VERSION: Final = 1
_BATCH: Final = 256
_NOT_NOTED: Final = Not(Compare("kind", Op.EQ, EXPORT))
_ENDS: Final = ("", "-wal", "-shm", "-journal")
_MISFITS: Final = (SeasonedError, KeyError, ValueError)
_RETRIES: Final = 8

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """What a bundle's import or export did: records read and written, those already there, those refused and why.

    `degraded` says what is missing for now: the vectors of an import, or damaged records that an export left out.
    """

    read: int = 0
    written: int = 0
    duplicate: int = 0
    refused: tuple[str, ...] = ()
    degraded: tuple[str, ...] = field(default=())


def export(store: Store, scope: Scope, path: str | os.PathLike[str], clock: Clock) -> Transferred:
    """Write every record of the scope and those below it to `path`, replacing it only when all is written.

    Raises:
        StoreError: the file cannot be written.
        WrongType: `path` is no path.
    """
    target = _checked_path(path)
    if is_store_file(store, target):
        raise StoreError(f"{target} is the memory itself; export to another file")
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
            number = _write(out.write, head, records_of(store, scope, degraded), scope)
            out.flush()
            os.fsync(out.fileno())
        os.replace(name, target)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
    noted = _note(store, scope, target, clock.now())
    return Transferred(read=number, written=number, degraded=(*degraded, *noted))


def _note(store: Store, scope: Scope, target: Path, now: datetime) -> list[str]:
    """Note where a bundle was written, so that a receipt can name it; where the store cannot be written, say so."""
    data: dict[str, JSON] = {"path": str(target.absolute())}
    try:
        store.apply([Put(Record(key=Key(scope, EXPORT, new_id()), text="", at=now, data=data))])
    except StoreError as error:
        return [f"export: {error}"]
    return []


def _write(write: Callable[[str], object], head: Mapping[str, JSON], records: Iterator[Record], scope: Scope) -> int:
    total, number = hashlib.sha256(), 0

    def line(value: Mapping[str, JSON]) -> None:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
        total.update(text.encode())
        write(text)

    line(head)
    for record in records:
        line(encoded(record, scope))
        number += 1
    write(json.dumps({"records": number, "sha256": total.hexdigest()}) + "\n")
    return number


def records_of(store: Store, scope: Scope, degraded: list[str]) -> Iterator[Record]:
    """Give every record of the scope and those below it; `degraded` takes what is said of damaged ones.

    Raises:
        StoreError: a record is sealed with a key that is not here.
    """
    cursor: str | None = None
    while True:
        page = store.find(Query(scope=scope, subtree=True, where=_NOT_NOTED, k=1000, cursor=cursor))
        degraded.extend(page.degraded)
        for hit in page.hits:
            if getattr(hit, "locked", False):
                raise StoreError(f"{hit.record.key} is sealed and its key is not here; nothing more was read")
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


def import_bundle(
    store: Store, scope: Scope, path: str | os.PathLike[str], searcher: Searcher, progress: Progress | None = None
) -> Transferred:
    """Read a bundle into the scope; a record that is there already is left as it is and counted.

    The whole file is checked before the first record is written.

    Raises:
        BundleError: the file is damaged, cut off, altered, or not a bundle this version reads; nothing was imported.
        WrongType: `path` is no path.
    """
    source = _checked_path(path)
    if is_store_file(store, source):
        raise BundleError(f"{source} is the memory itself, not a bundle")
    total = _checked(source)
    counts = {"written": 0, "duplicate": 0}
    refused: list[str] = []
    degraded: set[str] = set()
    lines = _record_lines(source, total)
    done = 0
    while batch := list(islice(lines, _BATCH)):
        records = list(_decoded(batch, scope, refused))
        failed = put_new(store, records, searcher, counts, refused)
        degraded |= {failed} if failed else set()
        done += len(batch)
        if progress is not None:
            progress(done, total)
    return Transferred(
        read=total,
        written=counts["written"],
        duplicate=counts["duplicate"],
        refused=tuple(refused),
        degraded=tuple(sorted(degraded)),
    )


def _checked_path(path: object) -> Path:
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
        return False


def _checked(path: Path) -> int:
    """Return the number of records of a bundle that is whole."""
    total, last, number = hashlib.sha256(), b"", -1
    try:
        with path.open("rb") as lines:
            for line in lines:
                if number == -1:
                    _check_head(path, line)
                elif number >= 0 and last:
                    total.update(last)
                last = line
                number += 1
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}") from error
    foot = _json_object(last)
    if number < 1 or foot.get("records") != number - 1 or foot.get("sha256") != total.hexdigest():
        raise BundleError(f"{path} is cut off or was altered: its checksum does not fit; nothing was imported")
    return number - 1


def _check_head(path: Path, line: bytes) -> None:
    head = _json_object(line)
    if head.get("format") != FORMAT:
        raise BundleError(f"{path} is not a seasoned bundle: its first line is {line[:80]!r}")
    if head.get("version") != VERSION:
        raise BundleError(f"{path} has bundle version {head.get('version')!r}, this seasoned reads {VERSION}")


def _json_object(line: bytes) -> dict[str, JSON]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _record_lines(path: Path, number: int) -> Iterator[dict[str, JSON]]:
    with path.open("rb") as lines:
        next(lines)
        for line in islice(lines, number):
            yield _json_object(line)


def _decoded(batch: Sequence[dict[str, JSON]], scope: Scope, refused: list[str]) -> Iterator[Record]:
    for value in batch:
        try:
            yield _record(value, scope)
        except _MISFITS as error:
            refused.append(f"{value.get('kind')} {value.get('id')!r}: {error}")


def _record(value: dict[str, JSON], scope: Scope) -> Record:
    """Return the record of a line; whatever does not fit raises one of `_MISFITS`."""
    until = value["until"]
    return Record(
        key=Key(Scope((*scope, *_texts(value["below"]))), str(value["kind"]), str(value["id"])),
        text=value["text"],  # type: ignore[arg-type]  # checked when made, like all below
        data=value["data"],  # type: ignore[arg-type]
        sources=tuple(_source(parts, scope) for parts in _list(value["sources"])),
        worth=value["worth"],  # type: ignore[arg-type]
        at=instant(value["at"]),
        until=None if until is None else instant(until),
    )


def _source(parts: JSON, scope: Scope) -> Key:
    where, kind, name = _list(parts)
    first, *rest = _texts(where)
    return Key(Scope((*scope, *rest)) if first == "." else Scope(rest), str(kind), str(name))


def _list(value: JSON) -> list[JSON]:
    if not isinstance(value, list):
        raise BundleError(f"{value!r:.80} is no list")
    return value


def _texts(value: JSON) -> list[str]:
    return [str(part) for part in _list(value)]


def put_new(
    store: Store, records: Sequence[Record], searcher: Searcher, counts: dict[str, int], refused: list[str]
) -> str | None:
    """Write what is not there yet, as it will be stored; sorted anew where another writer came between."""
    records = [searcher.stored(record) for record in records]
    for _ in range(_RETRIES):
        fresh, duplicates, others = _sorted(store, records)
        vectors, failed = searcher.vectors([record.text for record in fresh])
        try:
            store.apply([Put(record, vector, ABSENT) for record, vector in zip(fresh, vectors, strict=True)])
        except Conflict:
            continue
        counts["written"] += len(fresh)
        counts["duplicate"] += duplicates
        refused.extend(others)
        return failed
    raise StoreError("other writers kept adding the same records; import again")


def _sorted(store: Store, records: Sequence[Record]) -> tuple[list[Record], int, list[str]]:
    """Return the records that are not there yet, how many are, and what is said of those whose id another one has."""
    known = _known(store, records)
    fresh: list[Record] = []
    others: list[str] = []
    for record in records:
        old = known.setdefault(record.key, record)
        if old is record:
            fresh.append(record)
        elif old.text != record.text or old.data != record.data:
            others.append(f"{record.key.kind} {record.key.id!r}: another record has this id")
    return fresh, len(records) - len(fresh) - len(others), others


def _known(store: Store, records: Sequence[Record]) -> dict[Key, Record]:
    found: dict[Key, Record] = {}
    for scope in {record.key.scope for record in records}:
        keys = tuple(record.key for record in records if record.key.scope == scope)
        found |= {hit.record.key: hit.record for hit in store.find(Query(scope=scope, keys=keys)).hits}
    return found

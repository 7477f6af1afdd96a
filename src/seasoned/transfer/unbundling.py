"""Reading bundles: the whole file is checked before the first record is written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from seasoned.cascade import by_keys
from seasoned.errors import BundleError, SeasonedError
from seasoned.ports import Store
from seasoned.records import JSON, Key, Record, Scope, instant
from seasoned.search import Searcher
from seasoned.transfer.bundle import FORMAT, VERSION, Progress, Transferred, checked_path, is_store_file
from seasoned.transfer.putting import Putting
from seasoned.transfer.tombstones import tombstones

T = TypeVar("T")

_BATCH: Final = 256
_MISFITS: Final = (SeasonedError, KeyError, ValueError)
_READ: Final = (1, VERSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an import may do to what is there.

    `follow` makes the scope follow the bundle's source: records that say something else here are written anew as the
    bundle has them, and what was removed there is removed by `forget`, which takes keys and returns how many records
    went. `restore` brings back what was removed here.
    """

    follow: bool = False
    restore: bool = False
    forget: Callable[[Sequence[Key]], int] | None = None


def import_bundle(
    store: Store,
    scope: Scope,
    path: str | os.PathLike[str],
    searcher: Searcher,
    progress: Progress | None = None,
    terms: Terms = Terms(),  # frozen
) -> Transferred:
    """Read a bundle into the scope; what is there stays and what was removed stays away unless the terms say otherwise.

    The whole file is checked before the first record is written.

    Raises:
        BundleError: the file is damaged, cut off, altered, or not a bundle this version reads; nothing was imported.
        WrongType: `path` is no path.
    """
    source = checked_path(path)
    if is_store_file(store, source):
        raise BundleError(f"{source} is the memory itself, not a bundle")
    total, graves = _checked(source)
    forgotten = frozenset[Key]() if terms.restore else frozenset(tombstones(store, scope))
    putting = Putting(store, searcher, overwrite=terms.follow, forgotten=forgotten)
    removed, done = 0, 0
    lines = _lines(source, total + graves)
    while batch := list(islice(lines, _BATCH)):
        gone = [line for line in batch if "gone" in line]
        removed += _removed(store, scope, list(_decoded(gone, scope, _grave, putting.refused)), terms)
        putting.put(list(_decoded([line for line in batch if "gone" not in line], scope, _record, putting.refused)))
        done += len(batch) - len(gone)
        if progress is not None:
            progress(done, total)
    return Transferred(
        read=total,
        written=putting.written,
        duplicate=putting.duplicate,
        changed=putting.changed,
        removed=removed,
        tombstones=graves,
        refused=tuple(putting.refused),
        degraded=tuple(sorted(putting.degraded)),
    )


def _removed(store: Store, scope: Scope, keys: Sequence[Key], terms: Terms) -> int:
    """Remove what the bundle's source removed, where that is asked for."""
    if not (terms.follow and terms.forget and keys):
        return 0
    there = [hit.record.key for hit in by_keys(store, scope, keys)]
    return terms.forget(there) if there else 0


def _checked(path: Path) -> tuple[int, int]:
    """Return the numbers of records and tombstones of a bundle that is whole."""
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
    records, graves = foot.get("records"), foot.get("tombstones", 0)
    whole = isinstance(records, int) and isinstance(graves, int) and records + graves == number - 1
    if number < 1 or not whole or foot.get("sha256") != total.hexdigest():
        raise BundleError(f"{path} is cut off or was altered: its checksum does not fit; nothing was imported")
    return records, graves  # type: ignore[return-value]  # integers, as just seen


def _check_head(path: Path, line: bytes) -> None:
    head = _json_object(line)
    if head.get("format") != FORMAT:
        raise BundleError(f"{path} is not a seasoned bundle: its first line is {line[:80]!r}")
    if head.get("version") not in _READ:
        raise BundleError(f"{path} has bundle version {head.get('version')!r}, this seasoned reads up to {VERSION}")


def _json_object(line: bytes) -> dict[str, JSON]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _lines(path: Path, number: int) -> Iterator[dict[str, JSON]]:
    with path.open("rb") as lines:
        next(lines)
        for line in islice(lines, number):
            yield _json_object(line)


def _decoded(
    batch: Sequence[dict[str, JSON]], scope: Scope, read: Callable[[dict[str, JSON], Scope], T], refused: list[str]
) -> Iterator[T]:
    for value in batch:
        try:
            yield read(value, scope)
        except _MISFITS as error:
            refused.append(f"{value.get('kind')} {value.get('id')!r}: {error}")


def _grave(value: dict[str, JSON], scope: Scope) -> Key:
    """Return the key on a tombstone."""
    return Key(Scope((*scope, *_texts(value["gone"]))), str(value["kind"]), str(value["id"]))


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

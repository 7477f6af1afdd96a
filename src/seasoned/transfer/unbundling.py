"""Reading bundles: the whole file is checked before the first record is written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias, TypeVar

from seasoned.cascade import by_keys
from seasoned.errors import BundleError, SeasonedError
from seasoned.ports import Clock, Store
from seasoned.records import JSON, Key, Record, Scope, instant
from seasoned.search import Searcher
from seasoned.transfer.bundle import FORMAT, VERSION, Progress, Transferred, checked_path, is_store_file
from seasoned.transfer.ledger import name_of
from seasoned.transfer.putting import PLAYBOOK, Putting

T = TypeVar("T")
Below: TypeAlias = Callable[[Sequence[str]], Scope]

_BATCH: Final = 256
_MISFITS: Final = (SeasonedError, KeyError, ValueError)
_READ: Final = (1, VERSION)

OTHER_REMOVED: Final = "it was removed there, and did not come from there"
"""Why something stays although the bundle says that it was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an import may do to what is there.

    `follow` makes the scope follow the bundle's source: what came from there and says something else now is written
    over, and what was removed there is removed by `forget`, which takes keys and returns how many records went.
    `restore` brings back what was removed here.
    """

    follow: bool = False
    restore: bool = False
    forget: Callable[[Sequence[Key]], int] | None = None


def import_bundle(
    store: Store,
    scope: Scope,
    path: str | os.PathLike[str],
    searcher: Searcher,
    clock: Clock,
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
    with _opened(source) as lines:
        total, graves = _checked(source, lines)
        lines.seek(0)
        reading = _Reading(scope, Putting(store, searcher, clock.now(), terms.follow, terms.restore), terms)
        done, rest = 0, _lines(lines, total + graves)
        while batch := list(islice(rest, _BATCH)):
            done += reading.take(batch)
            if progress is not None:
                progress(done, total)
    return reading.result(total, graves)


@dataclass(slots=True)
class _Reading:
    """A bundle on its way into a scope."""

    scope: Scope
    putting: Putting
    terms: Terms
    removed: int = 0

    def take(self, batch: Sequence[dict[str, JSON]]) -> int:
        """Take in some lines; return how many of them were records."""
        graves = [line for line in batch if "gone" in line]
        records = [line for line in batch if "gone" not in line]
        self._bury(list(self._decoded(graves, _grave)))
        self.putting.put(list(self._decoded(records, _record)))
        return len(records)

    def result(self, total: int, graves: int) -> Transferred:
        """Return what became of all of it."""
        putting = self.putting
        return Transferred(
            read=total,
            written=putting.written,
            duplicate=putting.duplicate,
            changed=putting.changed,
            removed=self.removed,
            tombstones=graves,
            refused=tuple(putting.refused),
            degraded=tuple(sorted({*putting.degraded, *putting.forgotten.removals.degraded})),
        )

    def _bury(self, keys: Sequence[Key]) -> None:
        """Remember what the bundle's source removed, and remove it where that is asked for and it came from there."""
        putting = self.putting
        there = {hit.record.key for hit in by_keys(putting.store, self.scope, keys)}
        came = [key for key in there if name_of(key) in putting.forgotten.ledgers.of(key.scope).came]
        kept = set(there)
        if self.terms.follow and self.terms.forget:
            mine = [key for key in came if not putting.follows(key)]
            going = [key for key in came if key not in mine]
            self.removed += self.terms.forget(going) if going else 0
            kept -= set(going)
            for key in sorted(kept, key=name_of):
                putting.refuse(key, PLAYBOOK if key in mine else OTHER_REMOVED)
        putting.note_gone([key for key in keys if key not in kept])

    def _decoded(self, batch: Sequence[dict[str, JSON]], read: Callable[[dict[str, JSON], Below], T]) -> Iterator[T]:
        for value in batch:
            try:
                yield read(value, self._below)
            except _MISFITS as error:
                named = f"{value.get('kind')} {value.get('id')!r}" if value else "a line"
                self.putting.refused.append(f"{named}: {error}")

    def _below(self, parts: Sequence[str]) -> Scope:
        """Return a scope below that of the import, by the names under which it is stored."""
        return Scope((*self.scope, *self.putting.searcher.below(parts)))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        if path.exists() and not path.is_file():
            raise BundleError(f"{path} cannot be read: it is no regular file, and it is read twice")
        with path.open("rb") as lines:
            yield lines
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}") from error


def _checked(path: Path, lines: BinaryIO) -> tuple[int, int]:
    """Return the numbers of records and tombstones of a bundle that is whole."""
    total, last, number = hashlib.sha256(), b"", -1
    for line in lines:
        if number == -1:
            _check_head(path, line)
        elif number >= 0 and last:
            total.update(last)
        last = line
        number += 1
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


def _lines(lines: BinaryIO, number: int) -> Iterator[dict[str, JSON]]:
    next(lines)
    for line in islice(lines, number):
        yield _json_object(line)


def _grave(value: dict[str, JSON], below: Below) -> Key:
    """Return the key on a tombstone."""
    return Key(below(_texts(value["gone"])), str(value["kind"]), str(value["id"]))


def _record(value: dict[str, JSON], below: Below) -> Record:
    """Return the record of a line; whatever does not fit raises one of `_MISFITS`."""
    until = value["until"]
    return Record(
        key=Key(below(_texts(value["below"])), str(value["kind"]), str(value["id"])),
        text=value["text"],  # type: ignore[arg-type]  # checked when made, like all below
        data=value["data"],  # type: ignore[arg-type]
        sources=tuple(_source(parts, below) for parts in _list(value["sources"])),
        worth=value["worth"],  # type: ignore[arg-type]
        at=instant(value["at"]),
        until=None if until is None else instant(until),
    )


def _source(parts: JSON, below: Below) -> Key:
    where, kind, name = _list(parts)
    first, *rest = _texts(where)
    return Key(below(rest) if first == "." else Scope(rest), str(kind), str(name))


def _list(value: JSON) -> list[JSON]:
    if not isinstance(value, list):
        raise BundleError(f"{value!r:.80} is no list")
    return value


def _texts(value: JSON) -> list[str]:
    return [str(part) for part in _list(value)]

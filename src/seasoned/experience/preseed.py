"""Files of experience to start with: reading them, whoever wrote them, and writing our own form."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.embedders import embed_checked
from seasoned.errors import Conflict, EmbeddingError, InvalidInput, WrongType
from seasoned.experience.forms import DECISION, FEEDBACK, TRAJECTORY
from seasoned.experience.items import own_items, record_of, seed_items
from seasoned.experience.metrics import is_number
from seasoned.ports import ABSENT, Clock, Put, Store, Vectors
from seasoned.private_files import write_new
from seasoned.query import Query
from seasoned.records import JSON, Hit, Key, Record, Scope
from seasoned.search import Searcher

GLOB: Final = "data/preseeded_memory*.json"
"""Where files are looked for, under the working directory, unless told otherwise."""

FORM: Final = "seasoned-experience/1"
"""What our own form calls itself."""

SAMPLED: Final = 8
"""How many vectors of a file are compared with the embedder's own before any is used."""

SAME: Final = 0.999
"""The least cosine of a vector with the embedder's own of the same text."""

_PARTS: Final = {"decisions": DECISION, "trajectories": TRAJECTORY, "feedback": FEEDBACK}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preseeded:
    """What became of files: how many records were read and written, each refusal with its file and place.

    `vectors` of them came from the files. `skipped` says why nothing was loaded, None where something could be.
    """

    files: tuple[str, ...] = ()
    read: int = 0
    written: int = 0
    vectors: int = 0
    refused: tuple[str, ...] = ()
    skipped: str | None = None
    degraded: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    """What was found so far."""

    records: dict[Key, Record] = field(default_factory=dict)
    given: dict[Key, NDArray[np.float32]] = field(default_factory=dict)
    read: int = 0
    refused: list[str] = field(default_factory=list)


def preseed(
    store: Store,
    scope: Scope,
    searcher: Searcher,
    clock: Clock,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    empty: bool,
) -> Preseeded:
    """Load files into a scope that has no decisions yet, all records in one write."""
    if not empty:
        return Preseeded(skipped="there are decisions already")
    files = _files(paths)
    if not files:
        return Preseeded(skipped="no files found")
    reading = _Reading()
    for file in files:
        _read_file(reading, file, scope, clock)
    records = list(reading.records.values())
    vectors, used, failed = _vectors(searcher, records, reading.given)
    puts = [Put(record, vector, ABSENT) for record, vector in zip(records, vectors, strict=True)]
    report = Preseeded(
        files=tuple(str(file) for file in files),
        read=reading.read,
        written=len(puts),
        vectors=used,
        refused=tuple(reading.refused),
        degraded=() if failed is None else (failed,),
    )
    try:
        store.apply(puts)
    except Conflict:
        return replace(report, written=0, vectors=0, skipped="another process wrote some of them first")
    return report


def _files(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, (list, tuple)) or not all(isinstance(path, (str, os.PathLike)) for path in given):
        raise WrongType(f"paths are files or patterns, not {paths!r:.80}")
    found: list[Path] = []
    for path in map(os.fspath, given):
        pattern = any(mark in path for mark in "*?[") and not Path(path).exists()
        found += [Path(each) for each in sorted(glob.glob(path))] if pattern else [Path(path)]
    return list(dict.fromkeys(found))


def _read_file(reading: _Reading, file: Path, scope: Scope, clock: Clock) -> None:
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reading.refused.append(f"{file}: cannot be read: {error}")
        return
    if not isinstance(whole, dict) or not (_PARTS.keys() & whole.keys()):
        reading.refused.append(f"{file}: has neither decisions nor trajectories")
        return
    for part, kind in _PARTS.items():
        if part not in whole:
            continue
        items = own_items(whole[part]) if whole.get("form") == FORM else seed_items(whole[part])
        for place, item in enumerate(items):
            reading.read += 1
            try:
                record = record_of(item, kind, scope, clock)
                _keep(reading, record, item.vector)
            except (InvalidInput, WrongType) as error:
                reading.refused.append(f"{file}: {part}[{place}]: {error}")


def _keep(reading: _Reading, record: Record, vector: object) -> None:
    if record.key in reading.records:
        raise InvalidInput(f"the id {record.key.id!r} stands there twice")
    reading.records[record.key] = record
    if isinstance(vector, list) and vector and all(is_number(value) for value in vector):
        row = np.array(vector, np.float32)
        length = float(np.linalg.norm(row))
        if np.isfinite(length) and length > 0:
            reading.given[record.key] = row / np.float32(length)


def _vectors(
    searcher: Searcher, records: Sequence[Record], given: Mapping[Key, NDArray[np.float32]]
) -> tuple[list[Vectors | None], int, str | None]:
    """Return the vectors of the records, how many of them came from the files, and what failed."""
    ours = _ours(searcher, records, given)
    missing = [place for place, record in enumerate(records) if record.key not in ours]
    made, failed = searcher.vectors([records[place].text for place in missing])
    vectors: list[Vectors | None] = [ours.get(record.key) for record in records]
    for place, vector in zip(missing, made, strict=True):
        vectors[place] = vector
    return vectors, len(ours), failed


def _ours(
    searcher: Searcher, records: Sequence[Record], given: Mapping[Key, NDArray[np.float32]]
) -> dict[Key, Vectors]:
    """Return the given vectors that are of the embedder's space: the right size, and a sample equal to its own.

    A file may mix spaces: vectors with and without negative numbers are sampled apart.
    """
    if not searcher.dense or not given:
        return {}
    fingerprint = searcher.embedder.fingerprint
    fitting = [record for record in records if len(given.get(record.key, ())) == fingerprint.dimension]
    accepted: dict[Key, Vectors] = {}
    for negative in (False, True):
        alike = [record for record in fitting if bool((given[record.key] < 0).any()) == negative]
        if alike and _equal(searcher, alike, given):
            accepted |= {record.key: Vectors(fingerprint, given[record.key][None, :]) for record in alike}
    return accepted


def _equal(searcher: Searcher, records: Sequence[Record], given: Mapping[Key, NDArray[np.float32]]) -> bool:
    sample = [records[place] for place in np.linspace(0, len(records) - 1, min(SAMPLED, len(records))).astype(int)]
    try:
        rows = embed_checked(searcher.embedder, [record.text for record in sample])
    except EmbeddingError:
        return False
    return all(float(row @ given[record.key]) >= SAME for row, record in zip(rows, sample, strict=True))


def export_preseed(store: Store, scope: Scope, path: str | os.PathLike[str]) -> int:
    """Write the scope's experience as one JSON file, whole or not at all; return how many records."""
    parts = {name: [_shown(hit) for hit in _all(store, scope, kind)] for name, kind in _PARTS.items()}
    target = Path(path)
    draft = target.with_name(f".{target.name}.part")
    draft.unlink(missing_ok=True)
    write_new(draft, json.dumps({"form": FORM, **parts}, ensure_ascii=False, indent=1) + "\n")
    draft.replace(target)
    return sum(map(len, parts.values()))


def _all(store: Store, scope: Scope, kind: str) -> Iterator[Hit]:
    query = Query(scope=scope, kinds=(kind,), k=2_000)
    while True:
        page = store.find(query)
        yield from page.hits
        if page.cursor is None:
            return
        query = replace(query, cursor=page.cursor)


def _shown(hit: Hit) -> JSON:
    record = hit.record
    return {
        "id": hit.id,
        "at": record.at.isoformat(),
        "until": None if record.until is None else record.until.isoformat(),
        "text": record.text,
        "data": dict(record.data),
    }

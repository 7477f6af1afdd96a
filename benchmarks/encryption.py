"""An encrypted scope beside one in the clear: first use, searches, filters and writes, over one SQLite file each.

The same made-up records with the same vectors go into both. A first use is the first search by a store that was opened
just now: the file in the clear has its index stored (`close` stores it), the encrypted one never has. Ratios to the
scope in the clear, measured in the same run, mean more than times alone.

    python benchmarks/encryption.py --json encryption.json
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np

from common.machine import fsync_ms
from common.made import DIMENSION, Maker
from common.metrics import percentile
from common.options import parser
from common.progress import say
from common.report import Cell, Report, Table
from seasoned.ports import Fingerprint, Put, Store, Vectors
from seasoned.query import Compare, Op, Query
from seasoned.records import JSON, Key, Record, Scope
from seasoned.stores.encrypted import EncryptedStore, KeyRing, new_key
from seasoned.stores.sqlite import SQLiteStore

SEED: Final = 7
BATCH: Final = 500
SESSION: Final = 50
SCOPE: Final = Scope(("bench",))
SPACE: Final = Fingerprint("given", "1", DIMENSION)
START: Final = datetime(2026, 1, 1, tzinfo=UTC)

Figures = dict[str, float]
Opener = Callable[[], Store]


@dataclass(frozen=True, slots=True)
class Data:
    """Texts with their vectors, and questions with theirs."""

    texts: Sequence[str]
    vectors: np.ndarray
    questions: Sequence[str]
    question_vectors: np.ndarray

    @classmethod
    def made(cls, folder: Path, count: int) -> Data:
        """Return made-up ones, always the same."""
        Maker(SEED).write(folder, count)
        texts = [json.loads(line) for line in (folder / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
        questions = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
        return cls(texts, np.load(folder / "vectors.npy"), questions, np.load(folder / "query_vectors.npy"))

    def put(self, number: int, name: str) -> Put:
        """Return the change that writes one message."""
        data: dict[str, JSON] = {"session": f"s{number // SESSION}", "role": "user", "n": number}
        at = START + timedelta(minutes=number)
        record = Record(key=Key(SCOPE, "message", name), text=self.texts[number], at=at, data=data)
        return Put(record, Vectors(SPACE, self.vectors[number : number + 1]))

    def query(self, number: int) -> Query:
        """Return one question by words and vector."""
        rows = Vectors(SPACE, self.question_vectors[number : number + 1])
        return Query(scope=SCOPE, words=self.questions[number], vector=rows, k=10)


def main() -> None:
    """Run it."""
    given = parser(__doc__).parse_args()
    count, rounds = (1_000, 20) if given.quick else (10_000, 100)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        data = Data.made(folder, count)
        keys = KeyRing({SCOPE: {"1": new_key()}})
        openers: Mapping[str, Opener] = {
            "in the clear": lambda: SQLiteStore(folder / "clear.db"),
            "encrypted": lambda: EncryptedStore(SQLiteStore(folder / "sealed.db"), keys),
        }
        found = {name: _measured(name, opener, data, rounds) for name, opener in openers.items()}
        for name, file in (("in the clear", "clear.db"), ("encrypted", "sealed.db")):
            found[name]["file, MB"] = (folder / file).stat().st_size / 1e6
        found["encrypted"]["rotate all, s"] = _rotation(openers["encrypted"], keys)
        figures = {"records": count, "fsync_ms": fsync_ms(folder), **found}
    Report("encryption", [_table(found, count)], figures).publish(given.json)


def _measured(name: str, opener: Opener, data: Data, rounds: int) -> Figures:
    say(f"{name}: writes")
    store = opener()
    figures = {"import, s": _seconds(lambda: _import(store, data))}
    store.close()
    store = opener()
    say(f"{name}: reads")
    figures["first use, s"] = _seconds(lambda: store.find(data.query(0)))
    spread = range(rounds)
    searches = [_seconds(partial(store.find, data.query(at))) for at in spread]
    filters = [_seconds(partial(store.find, _session(at))) for at in spread if at < len(data.texts) // SESSION]
    keyed = [_seconds(partial(store.find, _by_key(f"m{at}"))) for at in spread]
    writes = [_seconds(partial(store.apply, [data.put(at, f"new{at}")])) for at in spread]
    after = []
    for at in spread:
        store.apply([data.put(at, f"newer{at}")])
        after.append(_seconds(partial(store.find, data.query(at))))
    store.close()
    timed = {
        "search": searches,
        "search after a write": after,
        "filter by session": filters,
        "read by key": keyed,
        "write": writes,
    }
    return figures | {f"{what} p50, ms": percentile(times, 0.5) * 1e3 for what, times in timed.items()}


def _import(store: Store, data: Data) -> None:
    for start in range(0, len(data.texts), BATCH):
        end = min(start + BATCH, len(data.texts))
        store.apply([data.put(number, f"m{number}") for number in range(start, end)])


def _session(number: int) -> Query:
    return Query(scope=SCOPE, where=Compare("data.session", Op.EQ, f"s{number}"))


def _by_key(name: str) -> Query:
    return Query(scope=SCOPE, keys=(Key(SCOPE, "message", name),))


def _rotation(opener: Opener, keys: KeyRing) -> float:
    say("rotation")
    keys.add(SCOPE, "2", new_key())
    store = opener()
    assert isinstance(store, EncryptedStore)
    taken = _seconds(lambda: store.rotate(SCOPE))
    store.close()
    return taken


def _seconds(act: Callable[[], object]) -> float:
    start = perf_counter()
    act()
    return perf_counter() - start


def _table(found: Mapping[str, Figures], count: int) -> Table:
    clear, sealed = found["in the clear"], found["encrypted"]
    rows: list[list[Cell]] = [
        [what, clear.get(what), value, value / clear[what] if what in clear else None] for what, value in sealed.items()
    ]
    return Table(f"{count:,} records in one scope", ["", "in the clear", "encrypted", "ratio"], rows)


if __name__ == "__main__":
    main()

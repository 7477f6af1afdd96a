"""The measurements of `benchmarks/store.py`, each a function from a setting to plain figures."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from common.engine import Engine, Reply, Skipped, number, numbers, rankings
from common.made import exact
from common.metrics import mean, percentile, recall_at
from common.progress import say

Figures = dict[str, dict[str, float | str]]

PEERS: Final = ("chroma", "langgraph", "mem0")
K: Final = 10
ADDS: Final = 400
BEFORE_ADDS: Final = 600
BLOCKS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where the data and the stores lie, the Python of each peer, and the largest store of each."""

    data: Path
    folder: Path
    pythons: Mapping[str, str]
    limits: Mapping[str, int] = field(default_factory=dict)

    @contextmanager
    def place(self) -> Iterator[Path]:
        """Give an empty folder for a store, and remove it after."""
        made = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def engine(self, name: str, *, texts: bool, traced: Path | None = None) -> Engine:
        """Start an engine and have it read the data, or only the queries."""
        started = Engine(name, self.pythons[name], traced=traced)
        try:
            started.ask("load", folder=str(self.data), texts=texts)
        except Skipped:
            started.end()
            raise
        return started


@dataclass(slots=True)
class Found:
    """Figures by row, and why rows are missing."""

    rows: Figures = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def skip(self, name: str, error: Skipped) -> None:
        """Note why a row is missing."""
        self.skipped[name] = str(error)
        say(f"{name} skipped: {error}")


def spread(taken: Sequence[float]) -> dict[str, float | str]:
    """Return the median and the 95th percentile of times, in milliseconds."""
    return {"p50_ms": percentile(taken, 0.5), "p95_ms": percentile(taken, 0.95)}


WRITERS: Final = {
    "ours, FULL": ("ours", {"durability": "full"}),
    "ours, NORMAL": ("ours", {"durability": "normal"}),
    **{name: (name, {}) for name in PEERS},
}


def single_adds(setting: Setting) -> Found:
    """Time single adds to stores of 600 records, the engines taking turns of ten so that all meet the same load."""
    found, taken = Found(), dict[str, list[float]]()
    with ExitStack() as stack:
        opened: dict[str, Engine] = {}
        for label, (name, options) in WRITERS.items():
            say(f"single adds: {label}")
            try:
                opened[label], about = _filled(setting, stack, name, options)
            except Skipped as error:
                found.skip(label, error)
                continue
            found.rows[label] = {"version": str(about["version"]), "mode": str(about["mode"])}
        for start, end in _blocks():
            for label, engine in opened.items():
                reply = engine.ask("add_each", start=start, end=end)
                taken.setdefault(label, []).extend(numbers(reply, "ms"))
        found.rows |= _other_adds(opened)
    for label, each in taken.items():
        found.rows[label] |= spread(each)
        found.rows[label]["syncs"] = _syncs(setting, *WRITERS[label])
    return found


def _blocks() -> list[tuple[int, int]]:
    size = ADDS // BLOCKS
    return [(start, start + size) for start in range(BEFORE_ADDS, BEFORE_ADDS + ADDS, size)]


def _other_adds(opened: Mapping[str, Engine]) -> Figures:
    """Time our other ways to add one: a message with an id, which is looked for first, and a note."""
    rows: Figures = {}
    ways = {"named": "message with an id", "remember": "note"}
    for label, engine in opened.items():
        for how, what in ways.items() if label.startswith("ours") else ():
            reply = engine.ask("add_otherwise", how=how, start=0, end=ADDS)
            rows[f"{label}, {what}"] = spread(numbers(reply, "ms"))
    return rows


def _filled(setting: Setting, stack: ExitStack, name: str, options: Mapping[str, str]) -> tuple[Engine, Reply]:
    path = stack.enter_context(setting.place())
    engine = stack.enter_context(setting.engine(name, texts=True))
    about = engine.ask("open", path=str(path), **options)
    engine.ask("fill", start=0, end=BEFORE_ADDS)
    return engine, about


def _syncs(setting: Setting, name: str, options: Mapping[str, str]) -> float | str:
    """Return how often one add waits for the disk, counted by strace; or that it is not there."""
    if shutil.which("strace") is None:
        return "not counted"
    few, many = (_sync_calls(setting, name, options, adds) for adds in (10, 60))
    return (many - few) / 50


def _sync_calls(setting: Setting, name: str, options: Mapping[str, str], adds: int) -> int:
    with setting.place() as path:
        calls = path / "calls"
        with setting.engine(name, texts=True, traced=calls) as engine:
            engine.ask("open", path=str(path / "store"), **options)
            engine.ask("add_each", start=0, end=adds)
        return calls.read_text(encoding="utf-8", errors="replace").count("sync(")


def searches(setting: Setting, size: int, names: Sequence[str]) -> Found:
    """Build a store of `size` records with each engine, open it in another process, and search there."""
    found = Found()
    truth = exact(setting.data, size, K)
    for name in names:
        limit = setting.limits.get(name)
        if limit is not None and size > limit:
            found.skipped[name] = f"not filled beyond {limit:,} records"
            continue
        say(f"{size:,} records: {name}")
        with setting.place() as path:
            try:
                found.rows |= _searched(setting, name, size, path, truth)
            except Skipped as error:
                found.skip(name, error)
    return found


def _searched(setting: Setting, name: str, size: int, path: Path, truth: Sequence[Sequence[str]]) -> Figures:
    with setting.engine(name, texts=True) as engine:
        engine.ask("open", path=str(path))
        build = number(engine.ask("fill", start=0, end=size), "seconds")
        engine.ask("close")
    indexing = _indexed(setting, path) if name == "ours" else None
    with setting.engine(name, texts=False) as engine:
        before = number(engine.ask("spent"), "peak_mb")
        opening = number(engine.ask("open", path=str(path)), "seconds")
        first = numbers(engine.ask("search", k=K, queries=1), "ms")[0]
        rounds = 3 if size <= 10_000 else 1
        reply = engine.ask("search", k=K, rounds=rounds)
        spent = engine.ask("spent")
        common: dict[str, float | str] = {
            "build_s": build,
            "open_and_first_s": opening + first / 1e3,
            "peak_mb": number(spent, "peak_mb"),
            "idle_mb": before,
            "file_mb": number(spent, "file_mb"),
            **({} if indexing is None else {"index_s": indexing}),
        }
        if name != "ours":
            return {name: spread(numbers(reply, "ms")) | {"recall": _recall(reply, truth)} | common}
        rows: Figures = {"ours, hybrid": spread(numbers(reply, "ms")) | common}
        for arm, label in (("words", "lexical"), ("vector", "dense"), ("recall", "recall()")):
            alone = engine.ask("arm", arm=arm, k=K, rounds=rounds)
            rows[f"ours, {label}"] = spread(numbers(alone, "ms"))
            if arm == "vector":
                rows["ours, dense"]["recall"] = _recall(alone, truth)
        return rows


def _indexed(setting: Setting, path: Path) -> float:
    """Return the seconds of the first search ever, which makes the index and stores it."""
    with setting.engine("ours", texts=False) as engine:
        engine.ask("open", path=str(path))
        first = numbers(engine.ask("search", k=K, queries=1), "ms")[0]
        engine.ask("close")
    return first / 1e3


def _recall(reply: Reply, truth: Sequence[Sequence[str]]) -> float:
    pairs = zip(rankings(reply), truth, strict=True)
    return mean([recall_at(K, ranked, frozenset(gold)) for ranked, gold in pairs])


def many_scopes(setting: Setting, scopes: int, each: int, samples: int = 300) -> Found:
    """Search in random ones of many small scopes of one file, and in files of one such scope."""
    found = Found()
    chosen = random.Random(5).sample(range(scopes), min(samples, scopes))
    with setting.place() as path:
        say(f"{scopes:,} scopes of {each}")
        with setting.engine("ours", texts=True) as engine:
            engine.ask("open", path=str(path), durability="normal")
            engine.ask("fill_scopes", scopes=scopes, each=each)
            engine.ask("close")
        with setting.engine("ours", texts=False) as engine:
            engine.ask("open", path=str(path))
            cold = engine.ask("touch_scopes", scopes=chosen, k=K)
            warm = engine.ask("touch_scopes", scopes=chosen, k=K)
            spent = engine.ask("spent")
            found.rows["many scopes, first touch"] = spread(numbers(cold, "ms")[1:])
            found.rows["many scopes, warm"] = spread(numbers(warm, "ms")) | {
                "peak_mb": number(spent, "peak_mb"),
                "file_mb": number(spent, "file_mb"),
            }
    cold_ms, warm_ms = _small_stores(setting, each)
    found.rows["one small store, first touch"] = spread(cold_ms)
    found.rows["one small store, warm"] = spread(warm_ms)
    return found


def _small_stores(setting: Setting, each: int, stores: int = 40) -> tuple[list[float], list[float]]:
    """Return the times of a first search in files that hold one scope and another, and of later ones."""
    cold, warm = list[float](), list[float]()
    with setting.engine("ours", texts=True) as engine:
        for _ in range(stores):
            with setting.place() as path:
                engine.ask("open", path=str(path), durability="normal")
                engine.ask("fill_scopes", scopes=2, each=each)
                engine.ask("close")
                engine.ask("open", path=str(path))
                # the other scope first, so that what only a new connection costs is not counted
                engine.ask("touch_scopes", scopes=[1], k=K)
                cold += numbers(engine.ask("touch_scopes", scopes=[0], k=K), "ms")
                warm += numbers(engine.ask("touch_scopes", scopes=[0] * 8, k=K), "ms")
                engine.ask("close")
    return cold, warm


def contexts(setting: Setting, messages: int, turns: int = 40) -> Found:
    """Build contexts of one long session, opened by another process than wrote it."""
    found = Found()
    with setting.place() as path:
        say(f"contexts of {messages:,} messages")
        with setting.engine("ours", texts=True) as engine:
            engine.ask("open", path=str(path))
            engine.ask("fill_long", messages=messages)
            engine.ask("search", k=K, queries=1)
            engine.ask("close")
        with setting.engine("ours", texts=False) as engine:
            engine.ask("open", path=str(path))
            taken = engine.ask("context", turns=turns)["ms"]
    assert isinstance(taken, dict)
    labels = {
        "first": "the first in a process",
        "turn": "after a new message",
        "again": "the same again",
        "query": "with what a query recalls",
    }
    found.rows = {label: spread(taken[name]) for name, label in labels.items()}
    return found

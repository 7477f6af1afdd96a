"""Finding the messages that answer a question, measured alike for every set of conversations and every method."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from common.engine import Engine, Skipped, numbers, rankings
from common.metrics import mean, ndcg_at, percentile, recall_at
from common.progress import say, track
from seasoned import Memory
from seasoned.embedders import resolve
from seasoned.errors import EmbeddingError, MissingExtra
from seasoned.ports import Embedder, Fingerprint
from seasoned.records import Hit

DEPTHS: Final = (5, 10, 20)
DEPTH: Final = 20
EMBEDDERS: Final = ("hashing", "static", "minilm")
LABELS: Final = {"hashing": "seasoned, no model", "static": "seasoned, static", "minilm": "seasoned, MiniLM"}
WORDS: Final = "BM25 (bm25s)"
VECTORS: Final = "Chroma, MiniLM"
EXACT: Final = "cosine, MiniLM"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the ids of the messages that answer it, and its category."""

    text: str
    gold: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One scope: how it is filled, and what is asked of it."""

    name: str
    fill: Callable[[Memory], None]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as one method answered it: the ids found, best first, and the milliseconds it took."""

    question: Question
    ranked: Sequence[str]
    ms: float
    embedding_ms: float = 0.0


@dataclass(slots=True)
class Texts:
    """What a scope holds, as the peers get it: the speaker, where there is one, before the text."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class Timed:
    """An embedder that keeps the time it takes, and what it made, so that baselines get the same vectors."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._made: dict[str, NDArray[np.float32]] = {}
        self.seconds = 0.0

    @property
    def fingerprint(self) -> Fingerprint:
        """The inner one's."""
        return self._inner.fingerprint

    @property
    def weight(self) -> float:
        """The inner one's."""
        return self._inner.weight

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed as the inner one does."""
        start = perf_counter()
        rows = self._inner.embed(texts)
        self.seconds += perf_counter() - start
        self._made.update(zip(texts, rows, strict=True))
        return rows

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of whole texts, embedding only those that were not met."""
        new = [text for text in dict.fromkeys(texts) if text not in self._made]
        if new:
            self.embed(new)
        return np.stack([self._made[text] for text in texts])


def ask_all(
    conversations: Sequence[Conversation], embedder: Embedder, folder: Path
) -> tuple[list[Asked], dict[str, Texts]]:
    """Fill a file with all conversations, a scope each, and put every question; return what was found and stored."""
    timed = Timed(embedder)
    asked: list[Asked] = []
    stored: dict[str, Texts] = {}
    with Memory(folder / f"{embedder.fingerprint.name}.db", scope=("bench",), embedder=timed) as memory:
        for each in track(conversations, f"{embedder.fingerprint.name}: storing and asking"):
            inner = memory.within(each.name)
            each.fill(inner)
            stored[each.name] = _stored(inner)
            asked += [_ask(inner, question, timed) for question in each.questions]
    return asked, stored


def _ask(memory: Memory, question: Question, timed: Timed) -> Asked:
    before, start = timed.seconds, perf_counter()
    hits = memory.conversation.search(question.text, k=DEPTH)
    taken = perf_counter() - start
    return Asked(question, [hit.id for hit in hits], taken * 1e3, (timed.seconds - before) * 1e3)


def _stored(memory: Memory) -> Texts:
    found, cursor = Texts(), None
    while True:
        page = memory.list(cursor=cursor, k=1000, kinds=("message",))
        found.ids += [hit.id for hit in page.hits]
        found.texts += [_with_speaker(hit) for hit in page.hits]
        cursor = page.cursor
        if cursor is None:
            return found


def _with_speaker(hit: Hit) -> str:
    """Return a text as a peer gets it, which has no field of its own for who speaks."""
    name = hit.record.data.get("name")
    return f"{name}: {hit.text}" if isinstance(name, str) else hit.text


def ask_peer(
    name: str, python: str, conversations: Sequence[Conversation], stored: Mapping[str, Texts], folder: Path
) -> tuple[list[Asked], str]:
    """Put every question to a peer that holds the same texts; vectors are read from `folder`.

    Raises:
        Skipped: the peer does not run here.
    """
    asked: list[Asked] = []
    version = ""
    for each in track(conversations, f"{name}: storing and asking"):
        count = len(stored[each.name].ids)
        with Engine(name, python) as engine:
            engine.ask("load", folder=str(folder / each.name))
            version = str(engine.ask("open", path=str(folder / f"{name}-{each.name}"))["version"])
            engine.ask("fill", start=0, end=count)
            engine.ask("search", k=DEPTH, queries=1)
            reply = engine.ask("search", k=DEPTH)
        ids = stored[each.name].ids
        found = [[ids[int(one[1:])] for one in ranked] for ranked in rankings(reply)]
        pairs = zip(each.questions, found, numbers(reply, "ms"), strict=True)
        asked += [Asked(question, ranked, ms) for question, ranked, ms in pairs]
    return asked, version


def ask_exactly(conversations: Sequence[Conversation], stored: Mapping[str, Texts], folder: Path) -> list[Asked]:
    """Rank by exact cosine over the vectors in `folder`."""
    asked: list[Asked] = []
    for each in conversations:
        ids = stored[each.name].ids
        table = np.load(folder / each.name / "vectors.npy")
        for question, vector in zip(each.questions, np.load(folder / each.name / "query_vectors.npy"), strict=True):
            start = perf_counter()
            best = np.argsort(-(table @ vector), kind="stable")[:DEPTH]
            asked.append(Asked(question, [ids[place] for place in best], (perf_counter() - start) * 1e3))
    return asked


def write_for_peers(
    conversations: Sequence[Conversation], stored: Mapping[str, Texts], embedder: Embedder | None, folder: Path
) -> None:
    """Write texts, questions and their vectors (of one dimension where there is no embedder) where peers read them."""
    timed = None if embedder is None else Timed(embedder)
    for each in track(conversations, "vectors for the peers"):
        inner, texts, queries = folder / each.name, stored[each.name].texts, [one.text for one in each.questions]
        inner.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(text) + "\n" for text in texts)
        (inner / "texts.jsonl").write_text(lines, encoding="utf-8")
        (inner / "queries.json").write_text(json.dumps(queries), encoding="utf-8")
        for name, some in (("vectors", texts), ("query_vectors", queries)):
            rows = np.ones((len(some), 1), np.float32) if timed is None else timed.vectors(some)
            np.save(inner / f"{name}.npy", rows)


@dataclass(slots=True)
class Outcome:
    """All methods' answers by their label, and why a method has none."""

    asked: dict[str, list[Asked]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def compare(
    conversations: Sequence[Conversation], embedders: Sequence[str], pythons: Mapping[str, str], folder: Path
) -> Outcome:
    """Put every question to every method: ours with each embedder, and the baselines over the same texts."""
    out = Outcome()
    stored: dict[str, Texts] = {}
    dense: Embedder | None = None
    for name in embedders:
        try:
            embedder = resolve(name)
        except (MissingExtra, EmbeddingError) as error:
            out.skipped[LABELS[name]] = str(error)
            continue
        dense = embedder if name == "minilm" else dense
        out.asked[LABELS[name]], stored = ask_all(conversations, embedder, folder)
    if stored:
        write_for_peers(conversations, stored, dense, folder)
        _ask_peers(out, conversations, stored, pythons, folder, dense is not None)
    return out


def _ask_peers(
    out: Outcome,
    conversations: Sequence[Conversation],
    stored: Mapping[str, Texts],
    pythons: Mapping[str, str],
    folder: Path,
    dense: bool,
) -> None:
    peers = [("bm25", WORDS), *([("chroma", VECTORS)] if dense else [])]
    for name, label in peers:
        try:
            out.asked[label], out.versions[label] = ask_peer(name, pythons[name], conversations, stored, folder)
        except Skipped as error:
            out.skipped[label] = str(error)
            say(f"{label} skipped: {error}")
    if dense:
        out.asked[EXACT] = ask_exactly(conversations, stored, folder)


def summary(asked: Sequence[Asked]) -> dict[str, float]:
    """Return the mean recall at each depth, nDCG@10, and milliseconds a query (median, of which embedding)."""
    found = {f"recall@{k}": mean([recall_at(k, one.ranked, one.question.gold) for one in asked]) for k in DEPTHS}
    return found | {
        "ndcg@10": mean([ndcg_at(10, one.ranked, one.question.gold) for one in asked]),
        "ms": percentile([one.ms for one in asked], 0.5),
        "ms_without_embedding": percentile([one.ms - one.embedding_ms for one in asked], 0.5),
        "questions": len(asked),
    }


def scored(asked: Iterable[Asked], apart: str | None) -> list[Asked]:
    """Return those of all categories but the one that is counted apart."""
    return [one for one in asked if one.question.category != apart]


def by_category(asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Return the summary of each category."""
    names = sorted({one.question.category for one in asked})
    return {name: summary([one for one in asked if one.question.category == name]) for name in names}

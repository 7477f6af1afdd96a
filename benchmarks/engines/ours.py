"""seasoned itself, through its public names: a conversation of sessions of fifty messages.

Besides the common requests:

    {"do": "arm", "arm": "words" | "vector" | "recall"}     search by one arm alone, or through `recall`
    {"do": "fill_scopes", "scopes": n, "each": m}            n scopes of m messages each
    {"do": "touch_scopes", "scopes": [...]}                  search in each of these once, timed
    {"do": "context", "turns": n}                            contexts of the session "long", timed
    {"do": "add_otherwise", "how": "remember" | "named"}     notes, or messages with ids, one by one, timed
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

from engines.protocol import Data, Floats, Reply, Request, peak_mb, serve
from seasoned import Memory
from seasoned.ports import Fingerprint, Vectors
from seasoned.query import Query
from seasoned.records import Hit

SESSION = 50
LONG = "long"


class LookUp:
    """An embedder that knows the given texts."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self.fingerprint = Fingerprint("given", "1", int(data.query_vectors.shape[1]))
        self.weight = 0.65

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return their vectors."""
        return np.stack([self._data.vector(text) for text in texts])


class Seasoned:
    """One memory file; `durability` as asked, full if not."""

    def __init__(self, path: Path, request: Request, data: Data) -> None:
        self._durability = request.get("durability", "full")
        self.memory = Memory(path / "agent.db", scope=("bench",), embedder=LookUp(data), durability=self._durability)

    def about(self) -> Reply:
        """Say the version and the durability."""
        from importlib.metadata import version

        sync = {"full": "full", "normal": "normal"}[self._durability]
        return {"version": version("seasoned"), "mode": f"journal wal, synchronous {sync}"}

    def add_many(self, ids: Sequence[str], texts: Sequence[str], vectors: Floats) -> None:  # noqa: ARG002  # by text
        """Add whole sessions."""
        for start in range(0, len(ids), SESSION):
            add_session(self.memory, ids[start : start + SESSION], texts[start : start + SESSION])

    def add(self, id: str, text: str, vector: Floats) -> None:  # noqa: A002, ARG002  # the field's name; by text
        """Add one message, as a chat does: it gets a new id."""
        self.memory.conversation.add({"role": "user", "content": text}, session="live")

    def search(self, text: str, vector: Floats, k: int) -> list[str]:  # noqa: ARG002  # it asks for it by text
        """Search by words and vector together."""
        return [hit.id for hit in self.memory.conversation.search(text, k=k)]

    def close(self) -> None:
        """Close the file."""
        self.memory.close()


def add_session(memory: Memory, ids: Sequence[str], texts: Sequence[str], session: str | None = None) -> None:
    """Add messages as one session, user and assistant in turn."""
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    memory.conversation.add(messages, session=session or f"session-{ids[0]}", ids=list(ids))


LAST: list[Seasoned] = []


def opened(path: Path, request: Request, data: Data) -> Seasoned:
    """Open the file."""
    LAST[:] = [Seasoned(path, request, data)]
    return LAST[0]


def arm(request: Request, data: Data) -> Reply:
    """Search by words alone, by vectors alone, or by both through `Memory.recall`."""
    memory, k = LAST[0].memory, request["k"]
    space = LookUp(data).fingerprint
    ids: list[list[str]] = []
    taken = []
    for _ in range(request.get("rounds", 1)):
        ids = []
        for text, vector in zip(data.queries, data.query_vectors, strict=True):
            start = perf_counter()
            hits = _one_arm(memory, request["arm"], text, Vectors(space, vector[None]), k)
            taken.append((perf_counter() - start) * 1e3)
            ids.append([hit.id for hit in hits])
    return {"ids": ids, "ms": taken}


def _one_arm(memory: Memory, name: str, text: str, vector: Vectors, k: int) -> Sequence[Hit]:
    if name == "recall":
        return memory.recall(text, k=k)
    words = name == "words"
    asked = Query(scope=memory.scope, words=text if words else None, vector=None if words else vector, k=k)
    return memory.store.find(asked).hits


def fill_scopes(request: Request, data: Data) -> Reply:
    """Fill scopes s0, s1, ... with so many messages each; texts come round again."""
    start, each = perf_counter(), request["each"]
    for scope in range(request["scopes"]):
        first = scope * each % (len(data.texts) - each + 1)
        ids = [f"m{place}" for place in range(each)]
        add_session(LAST[0].memory.within(f"s{scope}"), ids, data.texts[first : first + each])
    return {"seconds": perf_counter() - start}


def touch_scopes(request: Request, data: Data) -> Reply:
    """Search once in each of the scopes."""
    taken = []
    for place, scope in enumerate(request["scopes"]):
        inner = LAST[0].memory.within(f"s{scope}")
        query = data.queries[place % len(data.queries)]
        start = perf_counter()
        inner.conversation.search(query, k=request["k"])
        taken.append((perf_counter() - start) * 1e3)
    return {"ms": taken, "peak_mb": peak_mb()}


def context(request: Request, data: Data) -> Reply:
    """Build contexts of the long session: first, again, after each new message, and with what is recalled."""
    conversation = LAST[0].memory.conversation
    taken: dict[str, list[float]] = {"first": [], "again": [], "turn": [], "query": []}

    def timed(kind: str, query: str | None = None) -> None:
        start = perf_counter()
        conversation.context(4000, session=LONG, query=query)
        taken[kind].append((perf_counter() - start) * 1e3)

    timed("first")
    for turn in range(request["turns"]):
        question = data.queries[turn % len(data.queries)]
        conversation.add({"role": "user", "content": question}, session=LONG)
        timed("turn")
        timed("again")
        timed("query", question)
        conversation.add({"role": "assistant", "content": question}, session=LONG)
    return {"ms": taken}


def fill_long(request: Request, data: Data) -> Reply:
    """Fill the long session."""
    start, count = perf_counter(), request["messages"]
    for first in range(0, count, 500):
        ids = [f"long-{place}" for place in range(first, min(first + 500, count))]
        add_session(LAST[0].memory, ids, data.texts[first : first + len(ids)], LONG)
    return {"seconds": perf_counter() - start}


def add_otherwise(request: Request, data: Data) -> Reply:
    """Add one by one in another way: notes, or messages with ids, of which each is looked for first."""
    memory, taken = LAST[0].memory, []
    for place in range(request["start"], request["end"]):
        text = data.texts[place]
        start = perf_counter()
        if request["how"] == "remember":
            memory.remember(text)
        else:
            memory.conversation.add({"role": "user", "content": text}, session="named", ids=[f"named-{place}"])
        taken.append((perf_counter() - start) * 1e3)
    return {"ms": taken}


MORE = {
    "arm": arm,
    "fill_scopes": fill_scopes,
    "touch_scopes": touch_scopes,
    "fill_long": fill_long,
    "context": context,
    "add_otherwise": add_otherwise,
}

if __name__ == "__main__":
    serve(opened, MORE)

"""What each engine's process understands: one JSON object a line, answered by one.

    {"do": "load", "folder": F, "texts": true}   read the made-up data; without texts only the queries
    {"do": "open", "path": P, ...}               open a store in the folder P, or make it there
    {"do": "fill", "start": a, "end": b}         add records a to b in the fastest way there is
    {"do": "add_each", "start": a, "end": b}     add them one by one, each timed
    {"do": "search", "k": k, "rounds": r}        put every query r times, each timed
    {"do": "close"} · {"do": "spent"}            memory and files so far

Only numpy and the engine are needed, since each may run in an environment of its own.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Request = Mapping[str, Any]
Reply = dict[str, object]


class Data:
    """The made-up texts and queries with their vectors; a text gives its own."""

    def __init__(self, folder: Path, *, texts: bool) -> None:
        lines = (folder / "texts.jsonl").read_text(encoding="utf-8").splitlines() if texts else []
        self.texts: list[str] = [json.loads(line) for line in lines]
        self.vectors: Floats = np.load(folder / "vectors.npy", mmap_mode="r")
        self.queries: list[str] = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
        self.query_vectors: Floats = np.load(folder / "query_vectors.npy")
        self._places = {text: place for place, text in enumerate(self.texts)}
        self._query_places = {text: place for place, text in enumerate(self.queries)}

    def vector(self, text: str) -> Floats:
        """Return the vector of a text or a query, shape (dimension,)."""
        place = self._places.get(text)
        found: Floats = self.vectors[place] if place is not None else self.query_vectors[self._query_places[text]]
        return found


class Opened(Protocol):
    """A store that an engine has opened."""

    def about(self) -> Reply:
        """Say the version and the settings that decide how safe a write is."""
        ...

    def add_many(self, ids: Sequence[str], texts: Sequence[str], vectors: Floats) -> None:
        """Add records in the fastest way there is."""
        ...

    def add(self, id: str, text: str, vector: Floats) -> None:  # noqa: A002  # the field's name everywhere
        """Add one record and return when the engine calls it written."""
        ...

    def search(self, text: str, vector: Floats, k: int) -> list[str]:
        """Return the ids of the k records that answer best."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


Opening = Callable[[Path, Request, "Data"], Opened]
More = Mapping[str, Callable[[Request, "Data"], Reply]]


class Session:
    """One process' conversation with the benchmark."""

    def __init__(self, opening: Opening, more: More) -> None:
        self._opening = opening
        self._more = more
        self._data: Data | None = None
        self._store: Opened | None = None
        self._path = Path()

    def answer(self, request: Request) -> Reply:
        """Do what is asked and return the reply."""
        match request["do"]:
            case "load":
                self._data = Data(Path(request["folder"]), texts=bool(request.get("texts", True)))
                return {"ok": True, "rss_mb": peak_mb()}
            case "spent":
                return {"peak_mb": peak_mb(), "file_mb": size_mb(self._path)}
            case "open":
                return self._open(request)
            case "close":
                self._opened().close()
                self._store = None
                return {"ok": True}
            case "fill":
                return self._fill(request)
            case "add_each":
                return self._add_each(request)
            case "search":
                return self._search(request)
        return self._more[request["do"]](request, self._known())

    def _known(self) -> Data:
        assert self._data is not None, "load comes first"
        return self._data

    def _opened(self) -> Opened:
        assert self._store is not None, "open comes first"
        return self._store

    def _open(self, request: Request) -> Reply:
        self._path = Path(request["path"])
        self._path.mkdir(parents=True, exist_ok=True)
        start = perf_counter()
        self._store = self._opening(self._path, request, self._known())
        return {"seconds": perf_counter() - start, **self._store.about()}

    def _fill(self, request: Request) -> Reply:
        data, store, seconds = self._known(), self._opened(), 0.0
        for start in range(request["start"], request["end"], 1000):
            end = min(start + 1000, request["end"])
            vectors = np.array(data.vectors[start:end])
            before = perf_counter()
            store.add_many([name(place) for place in range(start, end)], data.texts[start:end], vectors)
            seconds += perf_counter() - before
        return {"seconds": seconds}

    def _add_each(self, request: Request) -> Reply:
        data, store, taken = self._known(), self._opened(), []
        for place in range(request["start"], request["end"]):
            text, vector = data.texts[place], np.array(data.vectors[place])
            before = perf_counter()
            store.add(name(place), text, vector)
            taken.append((perf_counter() - before) * 1e3)
        return {"ms": taken}

    def _search(self, request: Request) -> Reply:
        data, store = self._known(), self._opened()
        ids: list[list[str]] = []
        taken = []
        for _ in range(request.get("rounds", 1)):
            ids = []
            for text, vector in zip(data.queries, data.query_vectors, strict=True):
                before = perf_counter()
                ids.append(store.search(text, vector, request["k"]))
                taken.append((perf_counter() - before) * 1e3)
                if len(ids) >= request.get("queries", len(data.queries)):
                    break
        return {"ids": ids, "ms": taken}


def serve(opening: Opening, more: More | None = None) -> None:
    """Answer requests until the input ends."""
    session = Session(opening, more or {})
    for line in sys.stdin:
        try:
            reply = session.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001  # whatever an engine raises is what is to be reported
            reply = {"skipped": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(reply), flush=True)


def name(place: int) -> str:
    """Return the id of the record at a place."""
    return f"m{place}"


def peak_mb() -> float:
    """Return the most memory that this process ever held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage counts what the parent held before this program was loaded
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def size_mb(folder: Path) -> float:
    """Return the size of all files in a folder, in MB."""
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / 1e6

"""A loopback server that speaks Pinecone's REST protocol, with its limits and, if asked to, its late visibility."""

from __future__ import annotations

import json
import math
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

MAX_METADATA = 40 * 1024
MAX_REQUEST = 2 * 1024 * 1024
MAX_URL = 8_000
ORDERS: dict[str, Callable[[float, float], bool]] = {
    "$gt": lambda found, asked: found > asked,
    "$gte": lambda found, asked: found >= asked,
    "$lt": lambda found, asked: found < asked,
    "$lte": lambda found, asked: found <= asked,
}


class Refused(Exception):
    """What the server answers instead of a result."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class PineconeIndex:
    """One index: entries by namespace. A write is seen after `late` further requests at most, each entry by itself."""

    dimension: int = 4
    metric: str = "cosine"
    late: int = 0
    namespaces: dict[str, dict[str, dict[str, object]]] = field(default_factory=dict)
    waiting: list[tuple[int, str, str, dict[str, object] | None]] = field(default_factory=list)
    requests: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311  # chance, no secret
    lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, namespace: str, name: str, entry: dict[str, object] | None) -> None:
        """Accept an entry, or with None its removal."""
        due = self.requests + (self.chance.randint(1, self.late) if self.late else 0)
        last = max((when for when, *place, _ in self.waiting if place == [namespace, name]), default=0)
        self.waiting.append((max(due, last), namespace, name, entry))
        self.show()

    def show(self, everything: bool = False) -> None:
        """Let those be seen whose time has come."""
        due = [one for one in self.waiting if everything or one[0] <= self.requests]
        self.waiting = [one for one in self.waiting if not everything and one[0] > self.requests]
        for _, namespace, name, entry in due:
            if entry is None:
                self.namespaces.get(namespace, {}).pop(name, None)
            else:
                self.namespaces.setdefault(namespace, {})[name] = entry

    def settle(self) -> None:
        """Let time pass until all is seen."""
        with self.lock:
            self.show(everything=True)


class PineconeServer:
    """Indexes at a loopback address; `host` reaches the data of one, `control` those that have a name."""

    def __init__(self, api_key: str = "secret") -> None:
        self.api_key = api_key
        self.indexes: dict[str, PineconeIndex] = {}
        self._server: ThreadingHTTPServer | None = None
        self._port = 0
        self.start()

    def add(self, name: str, index: PineconeIndex) -> str:
        """Serve an index, and return its host."""
        self.indexes[name] = index
        return self.host(name)

    def host(self, name: str) -> str:
        """Return the address of an index's data."""
        return f"{self.control}/{name}"

    @property
    def control(self) -> str:
        """Return the address of the control plane."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen, at the same port as before."""
        handler = type("Bound", (_Handler,), {"served": self})
        self._server = _Listening(("127.0.0.1", self._port), handler)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening, and break the connections that are open."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def server_close(self) -> None:
        super().server_close()
        for one in list(_Handler.connected):
            one.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    served: ClassVar[PineconeServer]
    connected: ClassVar[set] = set()

    def setup(self) -> None:
        super().setup()
        self.connected.add(self)

    def finish(self) -> None:
        self.connected.discard(self)
        super().finish()

    def close(self) -> None:
        """Break the connection."""
        import socket

        self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        self._answered(b"")

    def do_POST(self) -> None:
        self._answered(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _answered(self, body: bytes) -> None:
        try:
            answer, status = self._answer(body), 200
        except Refused as refused:
            answer, status = {"code": refused.status, "message": str(refused), "details": []}, refused.status
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, body: bytes) -> object:
        if self.headers.get("api-key") != self.served.api_key:
            raise Refused(401, "Invalid API Key")
        if len(self.path) > MAX_URL:
            raise Refused(414, "Request-URI Too Large")
        if len(body) > MAX_REQUEST:
            raise Refused(400, f"Request size {len(body)} is larger than the limit of 2MB")
        asked, url = json.loads(body or b"{}"), urlsplit(self.path)
        _, first, *rest = url.path.split("/", 2)
        if first == "indexes":
            return _controlled(self.served, unquote(rest[0]) if rest else None, asked)
        index, verb = self.served.indexes.get(first), _VERBS.get(rest[0] if rest else "")
        if index is None or verb is None:
            raise Refused(404, f"no such thing: {url.path}")
        with index.lock:
            index.requests += 1
            index.show()
            return verb(index, {**parse_qs(url.query), **asked})

    def log_message(self, *said: object) -> None:
        """Say nothing."""


def _controlled(served: PineconeServer, name: str | None, asked: Mapping[str, object]) -> object:
    if name is None:
        name = str(asked["name"])
        if not re.fullmatch(r"[a-z0-9](?:[a-z0-9-]{0,43}[a-z0-9])?", name):
            raise Refused(400, "Name must consist of lower case alphanumeric characters or '-'")
        (kind,) = asked["schema"]["fields"].values() if "schema" in asked else [asked]
        served.indexes[name] = PineconeIndex(dimension=kind["dimension"], metric=kind["metric"])
    if name not in served.indexes:
        raise Refused(404, f"Resource {name} not found")
    index = served.indexes[name]
    kind = {"type": "dense_vector", "dimension": index.dimension, "metric": index.metric}
    return {
        "name": name,
        "host": served.host(name),
        "status": {"ready": True, "state": "Ready"},
        "schema": {"fields": {"_values": kind}},
        "deployment": {"deployment_type": "managed", "cloud": "aws", "region": "us-east-1", "environment": "x"},
        "deletion_protection": "disabled",
    } | {**kind, "spec": {"serverless": {"cloud": "aws", "region": "us-east-1"}}, "vector_type": "dense"}


def _upsert(index: PineconeIndex, asked: dict[str, object]) -> object:
    namespace, vectors = _namespace(asked), asked["vectors"]
    if not 1 <= len(vectors) <= 1_000:
        raise Refused(400, f"a request upserts 1 to 1000 vectors, found {len(vectors)}")
    for one in vectors:
        _check_entry(index, one)
    for one in vectors:
        index.write(namespace, one["id"], one)
    return {"upsertedCount": len(vectors)}


def _check_entry(index: PineconeIndex, entry: Mapping[str, object]) -> None:
    _check_name(entry["id"], "an id")
    if len(entry["values"]) != index.dimension:
        raise Refused(400, f"Vector dimension {len(entry['values'])} does not match the index's {index.dimension}")
    if not any(entry["values"]):
        raise Refused(400, "Dense vectors must contain at least one non-zero value")
    metadata = entry.get("metadata") or {}
    if len(json.dumps(metadata, ensure_ascii=False).encode()) > MAX_METADATA:
        raise Refused(400, "metadata size exceeds the limit of 40960 bytes per vector")
    for name, value in metadata.items():
        texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if name.startswith("$") or not (texts or isinstance(value, (str, int, float))):
            raise Refused(
                400, f"Metadata value must be a string, number, boolean or list of strings, got {value!r:.80}"
            )


def _fetch(index: PineconeIndex, asked: dict[str, object]) -> object:
    namespace, ids = _namespace(asked), asked.get("ids", [])
    if not 1 <= len(ids) <= 1_000:
        raise Refused(400, f"a request fetches 1 to 1000 vectors, found {len(ids)}")
    held = index.namespaces.get(namespace, {})
    return _found(namespace, {name: held[name] for name in ids if name in held})


def _fetch_by_metadata(index: PineconeIndex, asked: dict[str, object]) -> object:
    namespace, limit = _namespace(asked), asked.get("limit", 100)
    if not 1 <= limit <= 10_000:
        raise Refused(400, "limit must be between 1 and 10000")
    if not asked.get("filter"):
        raise Refused(400, "a filter is required")
    held = _held(index, namespace)
    names = sorted(name for name, one in held.items() if _matches(one, asked["filter"]))
    page, after = _page(names, limit, asked.get("paginationToken"))
    return _found(namespace, {name: held[name] for name in page}) | after


def _list(index: PineconeIndex, asked: dict[str, object]) -> object:
    namespace, limit = _namespace(asked), int(asked.get("limit", ["100"])[0])
    if not 1 <= limit <= 100:
        raise Refused(400, "limit must be between 1 and 100")
    prefix = asked.get("prefix", [""])[0]
    names = sorted(name for name in _held(index, namespace) if name.startswith(prefix))
    page, after = _page(names, limit, asked.get("paginationToken", [None])[0])
    return {"vectors": [{"id": name} for name in page], "namespace": namespace, "usage": {"readUnits": 1}} | after


def _query(index: PineconeIndex, asked: dict[str, object]) -> object:
    namespace, most, vector = _namespace(asked), asked["topK"], asked["vector"]
    if not 1 <= most <= 10_000:
        raise Refused(400, "topK must be between 1 and 10000")
    if len(vector) != index.dimension:
        raise Refused(400, f"Vector dimension {len(vector)} does not match the index's {index.dimension}")
    held = index.namespaces.get(namespace, {})
    scored = [
        {"id": name, "score": _score(index.metric, vector, one["values"])}
        | ({"values": one["values"]} if asked.get("includeValues") else {})
        | ({"metadata": one.get("metadata") or {}} if asked.get("includeMetadata") else {})
        for name, one in held.items()
        if not asked.get("filter") or _matches(one, asked["filter"])
    ]
    best = sorted(scored, key=lambda one: one["score"], reverse=index.metric != "euclidean")[:most]
    return {"matches": best, "namespace": namespace, "usage": {"readUnits": 1}}


def _delete(index: PineconeIndex, asked: dict[str, object]) -> object:
    namespace = _namespace(asked)
    held, ids, narrowed = _held(index, namespace), asked.get("ids"), asked.get("filter")
    if sum((ids is not None, bool(narrowed), bool(asked.get("deleteAll")))) != 1:
        raise Refused(400, "give exactly one of ids, filter and deleteAll")
    if ids is not None and not 1 <= len(ids) <= 1_000:
        raise Refused(400, f"a request deletes 1 to 1000 vectors, found {len(ids)}")
    for name in ids if ids is not None else [name for name, one in held.items() if _matches(one, narrowed or {})]:
        index.write(namespace, name, None)
    return {}


def _stats(index: PineconeIndex, asked: dict[str, object]) -> object:
    counts = {name: {"vectorCount": len(held)} for name, held in index.namespaces.items()}
    total = sum(len(held) for held in index.namespaces.values())
    kind = {"dimension": index.dimension, "metric": index.metric, "vectorType": "dense"}
    return {"namespaces": counts, "indexFullness": 0, "totalVectorCount": total} | kind


def _namespaces(index: PineconeIndex, asked: dict[str, object]) -> object:
    names = sorted(index.namespaces)
    page, after = _page(names, int(asked.get("limit", ["100"])[0]), asked.get("paginationToken", [None])[0])
    counted = [{"name": name, "record_count": str(len(index.namespaces[name]))} for name in page]
    return {"namespaces": counted, "total_count": len(names)} | after


_VERBS: dict[str, Callable[[PineconeIndex, dict[str, object]], object]] = {
    "vectors/upsert": _upsert,
    "vectors/fetch": _fetch,
    "vectors/fetch_by_metadata": _fetch_by_metadata,
    "vectors/list": _list,
    "vectors/delete": _delete,
    "query": _query,
    "describe_index_stats": _stats,
    "namespaces": _namespaces,
}


def _held(index: PineconeIndex, namespace: str) -> dict[str, dict[str, object]]:
    if namespace not in index.namespaces:
        raise Refused(404, "Namespace not found")
    return index.namespaces[namespace]


def _found(namespace: str, vectors: dict[str, dict[str, object]]) -> dict[str, object]:
    """Answer with entries; as in Pinecone, all numbers are floats."""
    floats = {
        name: {**one, "metadata": {key: _floated(value) for key, value in (one.get("metadata") or {}).items()}}
        for name, one in vectors.items()
    }
    return {"vectors": floats, "namespace": namespace, "usage": {"readUnits": 1}}


def _floated(value: object) -> object:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _page(names: list[str], limit: int, token: object) -> tuple[list[str], dict[str, object]]:
    rest = names if token is None else [name for name in names if name > str(token)]
    after = {"pagination": {"next": rest[limit - 1]}} if len(rest) > limit else {}
    return rest[:limit], after


def _namespace(asked: Mapping[str, object]) -> str:
    found = asked.get("namespace") or ""
    name = found[0] if isinstance(found, list) else str(found)
    if name:
        _check_name(name, "a namespace")
    return name


def _check_name(name: str, what: str) -> None:
    if not 1 <= len(name) <= 512 or not name.isascii() or "\0" in name:
        raise Refused(400, f"{what} has 1 to 512 ASCII characters, found {name!r:.80}")


def _matches(entry: Mapping[str, object], where: Mapping[str, object]) -> bool:
    return all(_holds(entry.get("metadata") or {}, name, condition) for name, condition in where.items())


def _holds(metadata: Mapping[str, object], name: str, condition: object) -> bool:
    if name in ("$and", "$or"):
        results = [_matches({"metadata": metadata}, one) for one in condition]
        return all(results) if name == "$and" else any(results)
    operators = condition if isinstance(condition, dict) else {"$eq": condition}
    return all(_compares(metadata.get(name), op, asked) for op, asked in operators.items())


def _compares(found: object, op: str, asked: object) -> bool:
    if op in ORDERS:
        if isinstance(asked, bool) or not isinstance(asked, (int, float)):
            raise Refused(400, f"the {op} operator must be followed by a number, got {asked!r:.80}")
        return isinstance(found, (int, float)) and ORDERS[op](found, asked)
    values = found if isinstance(found, list) else [found]
    if op in ("$in", "$nin"):
        return any(value in asked for value in values) is (op == "$in")
    if op in ("$eq", "$ne"):
        return (asked in values) is (op == "$eq")
    if op == "$exists":
        return (found is not None) is asked
    raise Refused(400, f"{op} is not a valid operator")


def _score(metric: str, one: list[float], other: list[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    if metric == "dotproduct":
        return product
    if metric == "euclidean":
        return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other))


def serving() -> Iterator[PineconeServer]:
    """Serve for the length of a fixture."""
    server = PineconeServer()
    yield server
    server.stop()

"""Engines that keep flat documents and no more: what each must do, and the full `Store` that is made of it.

An engine (a vector database, a key-value store) implements `Documents` over its client: `put` many, `get` by ids,
`delete`, `scan` one partition from a sequence on, and name the `partitions`; see `ports` for what each must hold to.
`DocumentStore(documents)` is then the whole seam, with the same answers as the other stores:

- A record is one flat document: what must be exact lies in `body`, one JSON text; the fields beside it are plain
  texts and integers, never None and never nested. A removed record leaves a document without content in its place, of
  the same id, so that every change is a `put` and followers learn of removals.
- Each scope is one partition (the scope's encoded form) and has one head: a document with its last sequence and
  place. The head is written last in each batch: what it does not count yet was never acknowledged.
- Changes are checked before anything is written, under a lock for each place in this process. Where other processes
  can write there too (`exclusive` is false) two writers of one scope could still overwrite each other, so `can.compare`
  is false and such an engine wants one writer a scope at a time.
- A scope is read whole once, at its first listing or search, and followed by sequence from then on (one read of the
  head for each question, plus what changed). Filters, order, both arms of search and expiry are answered from that
  copy, so hits are those of the SQLite store. Reads by key and writes ask the engine directly. The copies of a store
  are bounded by `cache_bytes`; those used longest ago go first.
- An engine that does not read its own writes at once (`fresh` is false) is wrapped in `Overlaid`, one that holds only
  short texts in `Parted`; `DocumentStore` does both by itself from the engine's `Traits`. What other processes wrote
  is looked for again until it must have been shown, and a record of which parts are missing meanwhile is `late`.
- The client lives in `PerProcess`, which opens another after a fork: no connection is shared with a child.
- An engine with search of its own may be `Nearest` too: of a scope larger than `read_whole` records, a search then
  ranks the candidates that the engine names, which `degraded` says; filters other than kinds read the scope whole.
- The engine translates its client's errors once, with `translating`: a lost connection is a `StoreError`.
"""

from seasoned.stores.documents.candidates import Asked, Nearest
from seasoned.stores.documents.ports import (
    Document,
    Documents,
    Place,
    Sort,
    Traits,
    columns,
    document_id,
    document_of,
    root,
    translating,
)
from seasoned.stores.documents.processes import ForkLock, PerProcess
from seasoned.stores.documents.store import DocumentStore

__all__ = [
    "Asked", "Document", "DocumentStore", "Documents", "ForkLock", "Nearest", "PerProcess", "Place", "Sort", "Traits",
    "columns", "document_id", "document_of", "root", "translating",
]  # fmt: skip

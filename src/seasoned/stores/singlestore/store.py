"""`SingleStoreStore`: the seam over one SingleStore table."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final, get_args

from seasoned.errors import InvalidInput
from seasoned.ports import Clock
from seasoned.records import checked_id
from seasoned.stores.documents import DocumentStore
from seasoned.stores.documents.candidates import READ_WHOLE
from seasoned.stores.documents.urls import parse_url
from seasoned.stores.embedded import CACHE_BYTES
from seasoned.stores.singlestore.candidates import Distance, SingleStoreVectors
from seasoned.stores.singlestore.client import Connections, connecting
from seasoned.stores.singlestore.table import SingleStoreTable
from seasoned.text import DEFAULT as DEFAULT_ANALYSER
from seasoned.text import Analyser

TABLE: Final = "seasoned"
PORT: Final = 3306
MAX_SIZE: Final = 16_000

_TABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
_PASSWORD: Final = "SINGLESTORE_PASSWORD"  # noqa: S105  # the name of a variable


class SingleStoreStore(DocumentStore):
    """Records in one SingleStore table, which is made if it is not there; the database must be.

    `password` is not given where the environment has SINGLESTORE_PASSWORD. `options` are further arguments of
    `singlestoredb.connect`, such as `{"ssl_ca": "/path/ca.pem"}`. One table serves all scopes, each on one shard.

    Each scope is read whole at its first listing or search, as the package of documents says, and both arms of search
    are those of the SQLite store. With `vector_size` (that of the embedder) rows also get a vector, compared by
    `distance`, and full text: of a scope of more than `read_whole` records they name the candidates that are ranked.
    Vectors and full text want SingleStore 8.7 or newer, all else 7.5.

    Each batch is one transaction, and a second writer of a scope, in any process, is a `StoreBusy` and not a lost
    update; so versions are compared for sure. One `apply` of more than 199 changes is several batches.

    Raises:
        InvalidInput: a host, table, size or distance that cannot be one, or a table that was made for something else.
        StoreError: the server cannot be reached, or refuses the user or the database.
        MissingExtra: (on import) singlestoredb is not installed.
    """

    def __init__(
        self,
        host: str,
        *,
        port: int = PORT,
        user: str = "root",
        password: str | None = None,
        database: str,
        table: str = TABLE,
        vector_size: int | None = None,
        distance: Distance = "cosine",
        options: Mapping[str, object] | None = None,
        read_whole: int = READ_WHOLE,
        clock: Clock | None = None,
        analyser: Analyser = DEFAULT_ANALYSER,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        address: dict[str, object] = {
            "host": _checked_host(host),
            "port": _checked_port(port),
            "user": checked_id(user, "a user"),
            "password": os.environ.get(_PASSWORD, "") if password is None else password,
            "database": checked_id(database, "a database"),
        }
        name, size, compared = _checked_table(table), _checked_size(vector_size), _checked_distance(distance)
        place = f"{host}:{port}/{database}"
        connections = Connections(connecting(address, options or {}))
        try:
            documents = (
                SingleStoreTable(connections, name, place)
                if size is None
                else SingleStoreVectors(connections, name, place, analyser, size, compared)
            )
        except BaseException:
            connections.close()
            raise
        super().__init__(documents, clock=clock, analyser=analyser, cache_bytes=cache_bytes, read_whole=read_whole)


def _checked_host(host: object) -> str:
    """Return a host's name or address; the client would take a whole URL in its place."""
    name = checked_id(host, "a host")
    if not re.fullmatch(r"[A-Za-z0-9._:%-]+", name):
        raise InvalidInput(f"a host is a name or an address, not {name!r:.200}")
    return name


def _checked_port(port: object) -> int:
    if isinstance(port, int) and not isinstance(port, bool) and 1 <= port <= 65_535:
        return port
    raise InvalidInput(f"a port lies between 1 and 65535, found {port!r}")


def _checked_table(table: object) -> str:
    name = checked_id(table, "the name of a table")
    if not _TABLE.fullmatch(name):
        raise InvalidInput(f"the name of a table has at most 64 letters, digits and underscores, found {name!r:.200}")
    return name


def _checked_size(size: object) -> int | None:
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= MAX_SIZE):
        return size
    raise InvalidInput(f"vector_size lies between 1 and {MAX_SIZE}, or is None for no vectors, found {size!r}")


def _checked_distance(distance: Distance) -> Distance:
    if distance not in get_args(Distance):
        raise InvalidInput(f"distance is one of {', '.join(get_args(Distance))}, not {distance!r}")
    return distance


def open_url(url: str, clock: Clock | None = None, analyser: Analyser = DEFAULT_ANALYSER) -> SingleStoreStore:
    """Open `singlestore://user:password@host:3306/database`; `?table=` names another table than "seasoned".

    `?vector_size=` and `?distance=` are those of the table, `?ssl_ca=` is the path of the certificates that the
    server's is checked with.

    Raises:
        InvalidInput: the URL has another form.
        StoreError: the server cannot be reached.
    """
    found = parse_url(url, ("singlestore",), ("table", "vector_size", "distance", "ssl_ca"))
    database = found.path.strip("/")
    if not found.host or not database:
        raise InvalidInput("a URL of SingleStore has the form singlestore://user:password@host:3306/database")
    size = found.options.get("vector_size")
    if size is not None and not (size.isascii() and size.isdecimal() and len(size) < 9):
        raise InvalidInput(f"vector_size in a URL is a number, not {size!r:.80}")
    return SingleStoreStore(
        found.host,
        port=found.port or PORT,
        user=found.user or "root",
        password=found.key,
        database=database,
        table=found.options.get("table", TABLE),
        vector_size=None if size is None else int(size),
        distance=found.options.get("distance", "cosine"),  # type: ignore[arg-type]  # checked where it is used
        options={"ssl_ca": found.options["ssl_ca"]} if "ssl_ca" in found.options else None,
        clock=clock,
        analyser=analyser,
    )

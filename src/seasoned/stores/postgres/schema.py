"""The tables of a PostgreSQL store, the numbered migrations that make them, and its vector spaces."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from seasoned.errors import InvalidInput, SchemaTooNew, StoreCorrupt, StoreError
from seasoned.ports import Fingerprint
from seasoned.stores.postgres.connections import Connections
from seasoned.stores.postgres.rows import mark

if TYPE_CHECKING:
    from seasoned.stores.postgres.connections import Database

LOCK: Final = 0x5EA50ED
"""The advisory lock that who changes tables holds, in each database of a server."""

MAX_DIMENSION: Final = 16_000
"""Most numbers that a vector of pgvector has."""

MAX_INDEXED: Final = 4_000
"""Most numbers of a vector that its HNSW index takes; longer ones are compared one by one."""

LOOK_EVERY: Final = 1_000
"""After so many searches of a process it looks again how many vectors a space has."""

MIGRATIONS: Final = (
    # 1: records with their sequence, sources, credits, removals, words and vectors.
    """
    CREATE SEQUENCE {s}.places;
    CREATE TABLE {s}.scope (
        scope uuid PRIMARY KEY,
        name text COLLATE "C" NOT NULL,
        seq bigint NOT NULL DEFAULT 0,
        gone_before bigint NOT NULL DEFAULT 0,
        records bigint NOT NULL DEFAULT 0,
        passages bigint NOT NULL DEFAULT 0,
        words bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50);
    CREATE INDEX scope_name ON {s}.scope (left(name, 400));
    CREATE TABLE {s}.record (
        scope uuid NOT NULL,
        row bigint NOT NULL,
        key uuid NOT NULL,
        kind text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        version bigint NOT NULL,
        written bigint NOT NULL,
        at bigint NOT NULL,
        until bigint,
        worth double precision NOT NULL,
        session uuid,
        place bigint,
        role text,
        speaker text,
        length integer NOT NULL,
        said bigint NOT NULL,
        digest bigint NOT NULL,
        sources text,
        data json NOT NULL,
        text text COLLATE "C" NOT NULL,
        PRIMARY KEY (scope, row)
    );
    CREATE UNIQUE INDEX record_key ON {s}.record (scope, key);
    CREATE UNIQUE INDEX record_seq ON {s}.record (scope, seq);
    CREATE INDEX record_kind ON {s}.record (scope, kind, row);
    CREATE INDEX record_session ON {s}.record (scope, session, place) WHERE session IS NOT NULL;
    CREATE INDEX record_until ON {s}.record (scope, until) WHERE until IS NOT NULL;
    CREATE INDEX record_at ON {s}.record (scope, at);
    CREATE INDEX record_worth ON {s}.record (scope, worth);
    CREATE INDEX record_said ON {s}.record (scope, said);
    CREATE TABLE {s}.source (
        scope uuid NOT NULL,
        source uuid NOT NULL,
        row bigint NOT NULL,
        PRIMARY KEY (scope, source, row)
    );
    CREATE INDEX source_row ON {s}.source (scope, row);
    CREATE TABLE {s}.credit (
        scope uuid NOT NULL,
        key uuid NOT NULL,
        mark uuid NOT NULL,
        PRIMARY KEY (scope, key, mark)
    );
    CREATE TABLE {s}.gone (
        scope uuid NOT NULL,
        seq bigint NOT NULL,
        row bigint NOT NULL,
        kind text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        PRIMARY KEY (scope, seq)
    );
    CREATE TABLE {s}.term (
        scope uuid NOT NULL,
        term text COLLATE "C" NOT NULL,
        passages bigint NOT NULL,
        PRIMARY KEY (scope, term)
    ) WITH (fillfactor = 80);
    CREATE TABLE {s}.posting (
        scope uuid NOT NULL,
        term text COLLATE "C" NOT NULL,
        row bigint NOT NULL,
        part integer NOT NULL,
        times integer NOT NULL,
        length integer NOT NULL,
        PRIMARY KEY (scope, term, row, part) INCLUDE (times, length)
    );
    CREATE INDEX posting_row ON {s}.posting (scope, row);
    CREATE TABLE {s}.space (
        space integer PRIMARY KEY,
        mark uuid NOT NULL UNIQUE,
        fingerprint text NOT NULL,
        dimension integer NOT NULL
    );
    CREATE TABLE {s}.used (
        scope uuid NOT NULL,
        space integer NOT NULL,
        vectors bigint NOT NULL,
        PRIMARY KEY (scope, space)
    ) WITH (fillfactor = 50);
    CREATE TABLE {s}.vector (
        scope uuid NOT NULL,
        space integer NOT NULL,
        row bigint NOT NULL,
        part integer NOT NULL,
        vector {x}.vector NOT NULL,
        PRIMARY KEY (scope, space, row, part)
    ) PARTITION BY LIST (space)
    """,
)
"""Each brings a schema from the version of its place to the next; none is ever changed once released."""

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,47}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The names of the tables as statements write them, in a schema.

    `extension` is the schema that pgvector lies in, `vector_type` the number of its type in this database.
    """

    schema: str
    extension: str
    vector_type: int
    places: str
    scope: str
    record: str
    source: str
    credit: str
    gone: str
    term: str
    posting: str
    space: str
    used: str
    vector: str

    @classmethod
    def of(cls, schema: str, extension: str, vector_type: int) -> Tables:
        """Return the names in a schema; both schemas are quoted."""
        names = [each.name for each in fields(cls) if each.name not in ("schema", "extension", "vector_type")]
        tables = {name: f"{schema}.{name}" for name in names}
        return cls(schema=schema, extension=extension, vector_type=vector_type, **tables)

    def vectors(self, space: int) -> str:
        """Return the table of one vector space."""
        return f"{self.schema}.vector_{space:d}"

    @property
    def product(self) -> str:
        """The operator that gives the negative inner product of two vectors."""
        return f"OPERATOR({self.extension}.<#>)"


def checked_schema(name: object) -> str:
    """Return the name of a schema, quoted.

    Raises:
        InvalidInput: anything but lower case letters, digits and underscores, at most 48 of them.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(f"a schema is named by at most 48 of a-z, 0-9 and _, no digit first, not {name!r}")
    return f'"{name}"'


def prepare(connections: Connections, schema: str, analyser: str) -> tuple[Tables, str]:
    """Create or migrate the tables, once even if several processes open the store at the same time.

    `schema` is quoted. Returned are the tables and the fingerprint of the analyser whose terms are stored.

    Raises:
        SchemaTooNew: a newer version of seasoned wrote them.
        StoreCorrupt: the schema holds tables of something else.
        StoreError: the server lacks pgvector 0.8, or the right to make what is missing.
    """
    with connections.alone() as db:
        if _version(db, schema) < len(MIGRATIONS):
            _migrate(db, schema, analyser)
        stored = db.execute(f"SELECT value FROM {schema}.meta WHERE name = 'analyser'").fetchone()
        extension = _extension(db)
        type_ = db.execute("SELECT %s::regtype::oid::bigint", (f"{extension}.vector",)).fetchone()
        return Tables.of(schema, extension, type_[0] if type_ else 0), str(stored[0]) if stored else ""


def _migrate(db: Database, schema: str, analyser: str) -> None:
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        version = _version(db, schema)
        if version == len(MIGRATIONS):
            return
        if version == 0:
            _begin(db, schema, analyser)
        for statements in MIGRATIONS[version:]:
            for statement in statements.split(";"):
                db.execute(statement.format(s=schema, x=_extension(db)))
        db.execute(f"UPDATE {schema}.meta SET value = %s WHERE name = 'schema'", (str(len(MIGRATIONS)),))


def _begin(db: Database, schema: str, analyser: str) -> None:
    encoding = db.execute("SHOW server_encoding").fetchone()
    if encoding is None or encoding[0] != "UTF8":
        raise StoreError(f"the database must have the encoding UTF8, not {encoding and encoding[0]!r}")
    db.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    taken = _columns(db, schema)
    if taken:
        raise StoreCorrupt(
            f"the schema {schema} holds {next(iter(taken))!r} of another program; give seasoned a schema of its own"
        )
    db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    db.execute(f"CREATE TABLE {schema}.meta (name text PRIMARY KEY, value text NOT NULL)")
    db.execute(
        f"INSERT INTO {schema}.meta VALUES ('program', 'seasoned'), ('schema', '0'), ('analyser', %s)", (analyser,)
    )


def _version(db: Database, schema: str) -> int:
    """Return the version of the tables, 0 where there are none."""
    found = _columns(db, schema)
    if "meta" not in found:
        return 0
    ours = found["meta"] == ["name", "value"]
    stored: dict[str, str] = dict(db.execute(f"SELECT * FROM {schema}.meta").fetchall()) if ours else {}
    if stored.get("program") != "seasoned":
        raise StoreCorrupt(f"the schema {schema} is one of another program; give seasoned a schema of its own")
    version = int(stored["schema"])
    if version > len(MIGRATIONS):
        raise SchemaTooNew(
            f"the schema {schema} has version {version}, this seasoned knows up to {len(MIGRATIONS)}; upgrade seasoned"
        )
    return version


def _columns(db: Database, schema: str) -> dict[str, list[str]]:
    """Return the tables of a schema with their columns, read where no cache of names can be behind others' changes."""
    found = db.execute(
        "SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 WHERE n.nspname = %s GROUP BY c.relname",
        (schema.strip('"'),),
    )
    return dict(found.fetchall())


def _extension(db: Database) -> str:
    """Return the schema that pgvector lies in, quoted."""
    found = db.execute(
        "SELECT quote_ident(nspname), extversion FROM pg_extension"
        " JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'"
    ).fetchone()
    if found is None or tuple(int(part) for part in found[1].split(".")[:2]) < (0, 8):
        raise StoreError(
            f"the database needs pgvector 0.8 or later, found {found and found[1]!r}; install or update it"
        )
    return str(found[0])


def near_index(tables: Tables, space: int, dimension: int, name: str = "near", how: str = "") -> str:
    """Return what makes the HNSW index of a space; `how` may be CONCURRENTLY."""
    x = tables.extension
    return (
        f"CREATE INDEX {how} vector_{space:d}_{name} ON {tables.vectors(space)}"
        f" USING hnsw ((vector::{x}.halfvec({dimension:d})) {x}.halfvec_ip_ops)"
    )


@dataclass(frozen=True, slots=True)
class Space:
    """A vector space: its number, and about how many vectors it had when that was last looked at."""

    number: int
    about: int


class Spaces:
    """The vector spaces of a store as small numbers, each with a table and an index of its own; thread safe."""

    def __init__(self, connections: Connections, tables: Tables) -> None:
        self._connections = connections
        self._tables = tables
        self._lock = threading.Lock()
        self._known: dict[str, Space] = {}
        self._asked: dict[str, int] = {}

    def known(self, fingerprint: str) -> Space | None:
        """Return a space, None where nothing was ever stored in it; how large it is is looked at now and then."""
        with self._lock:
            found, times = self._known.get(fingerprint), self._asked.get(fingerprint, 0)
            self._asked[fingerprint] = times + 1
        if found is not None and times % LOOK_EVERY:
            return found
        return self._kept(fingerprint, self._connections.read(lambda db: self._stored(db, fingerprint)))

    def number(self, fingerprint: Fingerprint) -> int:
        """Return the number of a space, a new one with its table if it is new.

        Raises:
            InvalidInput: its vectors are longer than the engine stores.
        """
        if fingerprint.dimension > MAX_DIMENSION:
            raise InvalidInput(f"vectors have at most {MAX_DIMENSION} numbers here, found {fingerprint.dimension}")
        with self._lock:
            found = self._known.get(str(fingerprint))
        if found is None:
            stored = self._connections.read(lambda db: self._stored(db, str(fingerprint)))
            found = self._kept(str(fingerprint), stored or self._created(fingerprint))
        return found.number if found else 0

    def _kept(self, fingerprint: str, space: Space | None) -> Space | None:
        if space is not None:
            with self._lock:
                self._known[fingerprint] = space
        return space

    def _stored(self, db: Database, fingerprint: str) -> Space | None:
        sql = f"SELECT space FROM {self._tables.space} WHERE mark = %s"
        found = db.execute(sql, (mark(fingerprint),)).fetchone()
        if found is None:
            return None
        size = "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = %s::regclass"
        about = db.execute(size, (self._tables.vectors(found[0]),)).fetchone()
        return Space(found[0], about[0] if about else 0)

    def _created(self, fingerprint: Fingerprint) -> Space:
        with self._connections.alone() as db, db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            found = self._stored(db, str(fingerprint))
            if found is not None:
                return found
            last = db.execute(f"SELECT coalesce(max(space), 0) FROM {self._tables.space}").fetchone()
            number = (last[0] if last else 0) + 1
            for statement in self._statements(number, fingerprint.dimension):
                db.execute(statement)
            db.execute(
                f"INSERT INTO {self._tables.space} VALUES (%s, %s, %s, %s)",
                (number, mark(str(fingerprint)), str(fingerprint), fingerprint.dimension),
            )
            return Space(number, 0)

    def _statements(self, number: int, dimension: int) -> list[str]:
        """Return what makes the table of a space: filled and indexed by itself, then a part of the whole."""
        name, whole, x = self._tables.vectors(number), self._tables.vector, self._tables.extension
        made = [
            f"CREATE TABLE {name} (LIKE {whole} INCLUDING ALL)",
            f"ALTER TABLE {name} ADD CHECK (space = {number:d} AND {x}.vector_dims(vector) = {dimension:d})",
        ]
        if dimension <= MAX_INDEXED:
            made.append(near_index(self._tables, number, dimension))
        return [*made, f"ALTER TABLE {whole} ATTACH PARTITION {name} FOR VALUES IN ({number:d})"]

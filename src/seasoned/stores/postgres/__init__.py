"""The engine for several machines: PostgreSQL with pgvector, searched on the server."""

from seasoned.ports import Clock
from seasoned.stores.postgres.store import PostgresStore
from seasoned.text import DEFAULT, Analyser

__all__ = ["PostgresStore", "open_url"]


def open_url(url: str, clock: Clock | None = None, analyser: Analyser = DEFAULT) -> PostgresStore:
    """Open `postgresql://user:password@host:5432/database`, in the form that libpq takes, in the schema "seasoned".

    Raises:
        MissingExtra: psycopg is not installed.
        StoreError: the server cannot be reached.
    """
    return PostgresStore(url, clock=clock, analyser=analyser)

"""Traces: which records a context showed and what was left out, so that an outcome can be credited. Ids only."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from seasoned.context import Context, Used
from seasoned.errors import Conflict, NotFound, StoreError
from seasoned.joined.sources import Sources, Wanted
from seasoned.ports import ABSENT, Put
from seasoned.query import Query
from seasoned.records import JSON, Key, Record, Scope, checked_id

TRACE: Final = "context-trace"
"""The kind of what a context showed."""

MOST_LEFT: Final = 100
"""Most ids of each reason for leaving out that a trace names."""

_LOG: Final = logging.getLogger("seasoned.context")


@dataclass(frozen=True, slots=True)
class Trace:
    """What a context showed, and how long that is known."""

    key: Key
    used: tuple[Used, ...]
    until: datetime | None


def traced(sources: Sources, wanted: Wanted, context: Context, newest: str | None) -> Context:
    """Keep what a context showed, and return it with the trace's id; best effort, and said where it did not work.

    Contexts of one user message (`newest`, None where it is stored nowhere) that show the same records share a trace: a
    tool loop writes one.
    """
    if not wanted.trace:
        return context
    now = sources.clock.now()
    data: dict[str, JSON] = {
        "used": [[used.key.kind, used.key.id, used.part] for used in context.used],
        "left_out": {out.reason: list(out.ids[:MOST_LEFT]) for out in context.left_out},
        "session": wanted.session,
        "run": wanted.run,
        "budget": wanted.budget,
        "tokens": context.tokens,
    }
    name = sources.ids() if newest is None else _name(wanted, newest, data["used"])
    record = Record(
        key=Key(sources.scope, TRACE, name),
        text="",
        at=now,
        data=data,
        sources=tuple(dict.fromkeys(used.key for used in context.used)),
        until=now + wanted.policy.keep_traces,
    )
    try:
        sources.store.apply([Put(record, expect=ABSENT)])
    except Conflict:  # a step of the same tool loop kept it
        pass
    except StoreError as error:
        _LOG.warning("what a context showed could not be kept, so no outcome can be credited to it: %s", error)
        return replace(context, degraded=(*context.degraded, f"trace: {error}"))
    return replace(context, trace=name)


def _name(wanted: Wanted, newest: str, used: JSON) -> str:
    said = json.dumps([wanted.session, wanted.run, newest, used], ensure_ascii=False)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def trace_of(sources: Sources, name: str) -> Trace:
    """Return what a context showed.

    Raises:
        NotFound: there is no such trace in this scope, or it was kept for its time and is gone.
    """
    key = Key(sources.scope, TRACE, checked_id(name, "a trace"))
    hits = sources.store.find(Query(scope=sources.scope, keys=(key,), k=1)).hits
    if not hits:
        raise NotFound(f"no context has the trace {name!r} in this scope; traces are kept for a time")
    return Trace(key, _used(hits[0].record.data.get("used"), sources.scope), hits[0].record.until)


def _used(given: JSON, scope: Scope) -> tuple[Used, ...]:
    rows = [each for each in given if isinstance(each, list) and len(each) == 3] if isinstance(given, list) else []
    return tuple(Used(Key(scope, str(kind), str(name)), str(part)) for kind, name, part in rows)

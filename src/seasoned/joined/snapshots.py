"""Snapshots: what keeps the system part of a run, so that every process and a restart give the same bytes."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from seasoned.context import LeftOut
from seasoned.errors import Conflict, StoreBusy, StoreFull, StoreReadOnly
from seasoned.joined.sources import Sources, Wanted
from seasoned.joined.system import Part, System, made
from seasoned.playbook.entries import ENTRY
from seasoned.playbook.journal import name_key
from seasoned.ports import ABSENT, Put, Remove
from seasoned.query import Query
from seasoned.records import JSON, Key, Record, Scope

SNAPSHOT: Final = "context-snapshot"
"""The kind of what keeps the system part of a run."""

MOST_LEFT: Final = 100
"""Most ids of each reason for leaving out that are kept."""

_TRIES: Final = 8
_LOG: Final = logging.getLogger("seasoned.context")


def system_part(sources: Sources, wanted: Wanted) -> System:
    """Return the system part: that of the run where it has one, else a new one."""
    if wanted.run is None:
        return made(sources, wanted)
    key = Key(sources.scope, SNAPSHOT, _name(wanted))
    for _ in range(_TRIES):
        kept = _kept(sources, key)
        if kept is not None:
            return kept
        new = made(sources, wanted)
        try:
            sources.store.apply([Put(_record(sources, wanted, key, new), expect=ABSENT)])
        except Conflict:  # another process was first
            continue
        except (StoreReadOnly, StoreFull, StoreBusy) as error:
            return _unkept(new, str(error))
        if _all_there(sources, new):
            return new
        sources.store.apply([Remove(key)])  # something was forgotten meanwhile, and cannot stay in it
    return _unkept(made(sources, wanted), "what it shows changed each time")


def _unkept(new: System, why: str) -> System:
    _LOG.warning("the system part of a run could not be kept, so it may differ after a restart: %s", why)
    return replace(new, degraded=(*new.degraded, f"snapshot: {why}"))


def _name(wanted: Wanted) -> str:
    """Return the id of the snapshot: a run has one for each budget, profile and counter."""
    policy, counter = wanted.policy, wanted.counter
    form = [wanted.run, wanted.profile, wanted.budget, policy.lessons, policy.playbook, counter.fingerprint]
    return hashlib.sha256(json.dumps(form).encode()).hexdigest()[:32]


def _all_there(sources: Sources, system: System) -> bool:
    """Tell whether nothing that is shown was forgotten while it was gathered."""
    keys = tuple(dict.fromkeys(used.key for used in system.used))
    if not keys:
        return True
    return len(sources.store.find(Query(scope=sources.scope, keys=keys, k=len(keys))).hits) == len(keys)


def _record(sources: Sources, wanted: Wanted, key: Key, system: System) -> Record:
    now = sources.clock.now()
    return Record(
        key=key,
        text="",
        at=now,
        data={"run": wanted.run, "parts": [_written(part) for part in system.parts]},
        sources=_sources(system),
        until=min([now + wanted.policy.keep_traces, *_ends(sources, system)]),
    )


def _ends(sources: Sources, system: System) -> list[datetime]:
    """Return when what is shown ends: a snapshot lasts no longer than that."""
    keys = tuple(dict.fromkeys(used.key for used in system.used))
    hits = sources.store.find(Query(scope=sources.scope, keys=keys, k=len(keys))).hits if keys else ()
    return [hit.record.until for hit in hits if hit.record.until is not None]


def _sources(system: System) -> tuple[Key, ...]:
    """Return what it was made from; an entry by its id as well, which is still there when the entry was removed."""
    keys = dict.fromkeys(used.key for used in system.used)
    ids = dict.fromkeys(name_key(key.scope, key.id) for key in keys if key.kind == ENTRY)
    return (*keys, *ids)


def _written(part: Part) -> dict[str, JSON]:
    return {
        "name": part.name,
        "text": part.text,
        "keys": [[key.kind, key.id] for key in part.keys],
        "says": list(part.says),
        "left_out": {out.reason: list(out.ids[:MOST_LEFT]) for out in part.left_out if out.ids},
    }


def _kept(sources: Sources, key: Key) -> System | None:
    hits = sources.store.find(Query(scope=sources.scope, keys=(key,), k=1)).hits
    parts = hits[0].record.data.get("parts") if hits else None
    if not isinstance(parts, list):
        return None
    return System(tuple(_read(part, sources.scope) for part in parts if isinstance(part, dict)))


def _read(part: Mapping[str, JSON], scope: Scope) -> Part:
    keys, left = part.get("keys"), part.get("left_out")
    pairs = [each for each in keys if isinstance(each, list) and len(each) == 2] if isinstance(keys, list) else []
    reasons = left.items() if isinstance(left, dict) else ()
    return Part(
        str(part.get("name")),
        str(part.get("text") or ""),
        tuple(Key(scope, str(kind), str(name)) for kind, name in pairs),
        _texts(part.get("says")),
        tuple(LeftOut(reason, _texts(ids)) for reason, ids in reasons),
    )


def _texts(given: JSON) -> tuple[str, ...]:
    texts: Sequence[JSON] = given if isinstance(given, list) else ()
    return tuple(each for each in texts if isinstance(each, str))

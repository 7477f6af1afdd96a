"""Checking one sealed scope: every record opened, and the copy in this process compared with one made anew."""

from __future__ import annotations

from seasoned.index import ScopeIndex
from seasoned.ports import Finding
from seasoned.query import Query
from seasoned.records import Scope
from seasoned.stores.documents.mirror import MirrorRows
from seasoned.stores.encrypted.copies import Copies, Copy
from seasoned.text import Analyser


def check_scope(scope: Scope, held: Copies, fresh: Copies, analyser: Analyser, now: int) -> list[Finding]:
    """Return what is wrong with a scope: records that cannot be read, records that are locked, a copy that differs."""
    with held.of(scope, now) as copy, fresh.of(scope, now) as made:
        found, place = [Finding("record", why) for _, why in made.broken(Query(scope=scope))], "/".join(scope)
        if made.closed.locked:
            found.append(Finding("locked", f"{len(made.closed.locked)} records of {place}: their keys are not here"))
        if _records(copy) != _records(made):
            found.append(Finding("copy", f"the copy of {place} differs from the engine; rebuild"))
        index = ScopeIndex(analyser)
        changes = MirrorRows(made.mirror).changes(0)
        index.follow(changes.rows, changes.gone, changes.seq)
        if copy.mirror.index(analyser).canonical() != index.canonical():
            found.append(Finding("index", f"the index of {place} differs from its records; rebuild"))
    return found


def _records(copy: Copy) -> dict[tuple[str, str], object]:
    return {name: one.hit for name, one in copy.mirror.records.items()}

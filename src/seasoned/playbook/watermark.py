"""How far a playbook is refined: the record of it, and what is new since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from seasoned.playbook.core import Core
from seasoned.playbook.deltas import Step
from seasoned.playbook.journal import TITLE, changes, headers
from seasoned.query import Query
from seasoned.records import JSON, Key, Record

REFINED: Final = "playbook-refined"
"""The kind of the one record that says how far a playbook is refined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How far a playbook is refined: up to which change, how it was compared, which contradictions are open."""

    number: int = 0
    space: str | None = None
    threshold: float = 1.0
    open: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, core: Core, number: int, threshold: float, pairs: tuple[tuple[str, str], ...]) -> Mark:
        """Return the mark of now."""
        return cls(number=number, space=_space(core), threshold=threshold, open=pairs)

    def holds(self, core: Core, number: int, threshold: float) -> bool:
        """Tell whether what it stands for, of a playbook at this change, was compared as it would be now."""
        known = self.number <= number and (self.number == 0 or core.has_change(self.number))
        return known and self.space == _space(core) and self.threshold <= threshold

    def record(self, core: Core) -> Record:
        """Return its record."""
        data: dict[str, JSON] = {"number": self.number, "space": self.space, "threshold": self.threshold}
        return Record(
            key=_mark_key(core), text="", at=core.clock.now(), data={**data, "open": [[*pair] for pair in self.open]}
        )


def read_mark(core: Core) -> Mark:
    """Return how far a playbook is refined; the beginning where that is not known."""
    hits = core.store.find(Query(scope=core.scope, keys=(_mark_key(core),))).hits
    data = hits[0].record.data if hits else {}
    number, space, threshold, pairs = (data.get(name) for name in ("number", "space", "threshold", "open"))
    if not isinstance(number, int) or not isinstance(threshold, (int, float)) or not isinstance(pairs, list):
        return Mark()
    return Mark(
        number=number,
        space=space if isinstance(space, str) else None,
        threshold=float(threshold),
        open=tuple((str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2),
    )


def _mark_key(core: Core) -> Key:
    return Key(core.scope, REFINED, f"{TITLE}refined")


def _space(core: Core) -> str | None:
    return core.searcher.space if core.searcher.dense else "words"


def changed_since(core: Core, since: int, number: int) -> list[str]:
    """Return the ids of what a change after `since` made new: an entry, its content or its outcome."""
    if since == 0:
        return [entry.id for entry in core.entries()]
    if since >= number:
        return []
    found = changes(core.store, core.scope, headers(core.store, core.scope, since + 1, number))
    steps = (step for change in found for step in change.steps)
    return [*dict.fromkeys(step.id for step in steps if _says_something_new(step))]


def _says_something_new(step: Step) -> bool:
    before, after = step.before, step.after
    if after is None or after.retired is not None:
        return False
    return (
        before is None
        or before.retired is not None
        or (before.content, before.outcome) != (after.content, after.outcome)
    )

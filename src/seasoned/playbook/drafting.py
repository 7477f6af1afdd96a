"""A playbook as it would be: what changes are worked out on, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from seasoned.playbook.deltas import Step
from seasoned.playbook.entries import Entry, named, number_of, slug_of
from seasoned.playbook.view import Same, View, same, unversioned


class Draft:
    """The entries as they would be; the view below it stays as it is.

    `clear` is what storing makes of a content: what is compared and written went through it.
    """

    def __init__(self, view: View, now: datetime, clear: Callable[[str], str] = str) -> None:
        self._view = view
        self._clear = clear
        self._after: dict[str, Entry | None] = {}
        self._aliases: dict[str, str] = {}
        self._same: dict[Same, list[str]] = {}
        self.now = now
        self.ids = view.ids

    def entry(self, name: str) -> Entry | None:
        """Return the entry of this very id."""
        return self._after[name] if name in self._after else self._view.entries.get(name)

    def held(self) -> list[Entry]:
        """Return the entries as they are before anything is worked out, in order."""
        return self._view.ordered()

    def resolve(self, name: str) -> str | None:
        """Return the id of the entry that an id names."""
        if self.entry(name) is not None:
            return name
        into = self.entry(self._aliases.get(name) or self._view.aliases.get(name, ""))
        return into.id if into is not None and name in into.aliases else None

    def named(self, name: str) -> Entry | None:
        """Return the entry that an id names."""
        found = self.resolve(name)
        return None if found is None else self.entry(found)

    def alike(self, advice: Same) -> Entry | None:
        """Return the first entry with the same advice."""
        section, content, outcome = advice
        advice = (section, self._clear(content), outcome)
        for name in (*self._view.same.get(advice, ()), *self._same.get(advice, ())):
            entry = self.entry(name)
            if entry is not None and same(entry) == advice:
                return entry
        return None

    def put(self, entry: Entry) -> None:
        """Write an entry."""
        content = self._clear(entry.content)
        entry = entry if content == entry.content else replace(entry, content=content)
        self._after[entry.id] = entry
        self.ids = max(self.ids, number_of(entry.id))
        self._same.setdefault(same(entry), []).append(entry.id)
        for alias in entry.aliases:
            self._aliases[alias] = entry.id

    def drop(self, name: str) -> None:
        """Take an entry out, or note that an id is no entry."""
        self._after[name] = None
        self.ids = max(self.ids, number_of(name))

    def new_id(self, section: str) -> str:
        """Return the next id for a section; its number is above that of every id that was ever given."""
        self.ids += 1
        return named(slug_of(section), self.ids)

    def steps(self) -> tuple[Step, ...]:
        """Return what was done to each entry, in the order in which they were first touched."""
        made = (self._step(name, after) for name, after in self._after.items())
        return tuple(step for step in made if self._says_something(step))

    def _step(self, name: str, after: Entry | None) -> Step:
        before = self._view.entries.get(name)
        return Step(id=name, before=before, after=after, merged_into=self.resolve(name) if after is None else None)

    def _says_something(self, step: Step) -> bool:
        if step.before is not None and step.after is not None:
            return unversioned(step.before) != unversioned(step.after)
        if step.before is not None or step.after is not None or step.id not in self._view.names:
            return True
        return self._view.resolve(step.id) != step.merged_into

"""What a process keeps at hand of a scope's playbook, following the store."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import Final, TypeAlias

from seasoned.errors import InvalidInput
from seasoned.following import Follower
from seasoned.forks import StartsAnew, watch
from seasoned.playbook.entries import ENTRY, OTHERS, Entry, checked_content, checked_section, from_record, number_of
from seasoned.playbook.journal import HEAD, NAME, PAGE, Head, Name, read_head, read_name
from seasoned.ports import Clock, Store
from seasoned.query import Page, Query
from seasoned.records import Hit, Key, Scope

Same: TypeAlias = tuple[str, str, str]
"""What makes two entries the same advice: section, content and outcome."""

_LOG: Final = logging.getLogger("seasoned.playbook")


def same(entry: Entry) -> Same:
    """Return what makes another entry the same advice."""
    return entry.section, entry.content, entry.outcome


def unversioned(entry: Entry) -> Entry:
    """Return an entry as the history has it, without the version of its record."""
    return replace(entry, version=0)


class View(StartsAnew):
    """The entries, ids and head of one scope; threads share it under `lock`, and write one after the other."""

    def __init__(self, store: Store, scope: Scope, clock: Clock) -> None:
        self._clock = clock
        self._ordered_store = store.can.ordered
        self._follower = Follower(store, Query(scope=scope, kinds=(ENTRY, NAME, HEAD), k=PAGE))
        self._seq = self.floor = 0
        self.after_fork_in_child()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Start with locks of its own and nothing read."""
        self.lock = threading.RLock()
        self.writing = threading.RLock()
        self._follower.restart()
        self._start_anew()

    def _start_anew(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.aliases: dict[str, str] = {}
        self.same: dict[Same, dict[str, None]] = {}
        self.unreadable: dict[str, int] = {}
        self.names: dict[str, Name] = {}
        self.head = Head()
        self.ids = 0
        self._first: dict[str, int] = {}
        self._ordered: list[str] | None = None

    @property
    def seq(self) -> int:
        """A number that grows with every change of the entries, the end of one included."""
        return self._seq + self._follower.moved

    @property
    def number(self) -> int:
        """The number of the last change."""
        return max(self.head.number, self.floor)

    def version(self, name: str) -> int | None:
        """Return the version of the record under an entry's id, be it readable or not; None where there is none."""
        entry = self.entries.get(name)
        return self.unreadable.get(name) if entry is None else entry.version

    def resolve(self, name: str) -> str | None:
        """Return the id of the entry that an id names now; None where there is none."""
        if name in self.entries:
            return name
        into = self.entries.get(self.aliases.get(name, ""))
        return into.id if into is not None else None

    def ordered(self) -> list[Entry]:
        """Return the entries in the order in which they were first written."""
        if self._ordered is None:
            self._ordered = sorted(self.entries, key=self._place)
        return [self.entries[name] for name in self._ordered]

    def _place(self, name: str) -> tuple[int, int, int]:
        known = self.names.get(name)
        return (*(known.place if known is not None else (0, 0)), self._first.get(name, 0))

    def follow(self) -> None:
        """Read what changed since the last look; `lock` must be held."""
        before = self.entries
        restarted = self._follower.follow(self._take, self._start_anew, self._clock.now())
        if not self._ordered_store:
            self._seq += before != self.entries
        elif restarted:
            self._seq = max(self._seq, self._follower.seq)

    def _take(self, page: Page) -> None:
        for key in page.gone:
            self._drop(key)
            if key.kind == ENTRY:
                self._seq = max(self._seq, page.seq)
        for hit in page.hits:
            self._take_one(hit)

    def _drop(self, key: Key) -> None:
        if key.kind == ENTRY:
            self._drop_entry(key.id)
            self._leave(key.id)
        elif key.kind == NAME:
            self._ordered = None if key.id in self.entries else self._ordered
            self.names.pop(key.id, None)
        elif key.kind == HEAD:
            self.head = Head()

    def _take_one(self, hit: Hit) -> None:
        record = hit.record
        if record.key.kind == HEAD:
            self.head = read_head(record)
            self.ids = max(self.ids, self.head.ids)
            return
        self.ids = max(self.ids, number_of(hit.id))
        if record.key.kind == NAME:
            new = hit.id not in self.names
            self._ordered = None if new and hit.id in self.entries else self._ordered
            self.names[hit.id] = read_name(hit)
            return
        self._seq = max(self._seq, hit.seq)
        self._drop_entry(hit.id)
        entry = _readable(hit)
        if entry is None:
            self.unreadable[hit.id] = record.version
            self._leave(hit.id)
        else:
            self._take_entry(entry, hit.order)

    def _take_entry(self, entry: Entry, order: int) -> None:
        self.entries[entry.id] = entry
        self.same.setdefault(same(entry), {})[entry.id] = None
        for alias in entry.aliases:
            self.aliases[alias] = entry.id
        if self._first.get(entry.id) != order:
            self._leave(entry.id)
            self._first[entry.id] = order
            self._join(entry.id)

    def _join(self, name: str) -> None:
        """Put an entry in its place; most stand behind all others."""
        if self._ordered and self._place(name) > self._place(self._ordered[-1]):
            self._ordered.append(name)
        else:
            self._ordered = None

    def _leave(self, name: str) -> None:
        if self._first.pop(name, None) is not None and self._ordered is not None:
            self._ordered.remove(name)

    def _drop_entry(self, name: str) -> None:
        self.unreadable.pop(name, None)
        old = self.entries.pop(name, None)
        if old is None:
            return
        alike = self.same[same(old)]
        del alike[name]
        if not alike:
            del self.same[same(old)]
        for alias in old.aliases:
            if self.aliases.get(alias) == name:
                del self.aliases[alias]


def _readable(hit: Hit) -> Entry | None:
    """Return the entry of a record; None where it says nothing or cannot be one."""
    try:
        entry = from_record(hit.record)
        checked_content(entry.content)
        return replace(entry, section=_section(entry.section))
    except (InvalidInput, TypeError, OverflowError) as error:  # a `WrongType` is a TypeError
        _LOG.warning("%s is no entry and is left out: %s", hit.record.key, error)
        return None


def _section(section: str) -> str:
    try:
        return checked_section(section)
    except InvalidInput:
        return OTHERS

"""The shelf: plain books of the last runs, at hand by what they hold, so that the next hook need not make them anew."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from seasoned.forks import StartsAnew, watch
from seasoned.integrations.langchain.plainbooks import opened
from seasoned.integrations.langchain.state import digest
from seasoned.playbook import Playbook
from seasoned.records import JSON

BOOKS: Final = 64
"""How many books are at hand."""

CHANGES: Final = 200
"""After how many changes a book is made anew: its history, which nobody reads, stays with the old one."""

Entries = Sequence[Mapping[str, JSON]]


class Shelf(StartsAnew):
    """Gives a book to one hook at a time: what is taken is gone until it is put back, under what it holds then."""

    def __init__(self) -> None:
        self._start()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Begin without books."""
        self._start()

    def _start(self) -> None:
        self._books: OrderedDict[str, Playbook] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, entries: Entries, layout: Mapping[str, JSON] | None) -> Playbook:
        """Return a book of entries, laid out as `layout` says: the one at hand, else a new one."""
        with self._lock:
            found = self._books.pop(_name(entries, layout), None)
        return found or opened(entries, layout)

    def put(self, book: Playbook, entries: Entries, layout: Mapping[str, JSON] | None) -> None:
        """Put back a book that holds these entries and was laid out so."""
        if book.number > CHANGES:
            return
        with self._lock:
            self._books[_name(entries, layout)] = book
            while len(self._books) > BOOKS:
                self._books.popitem(last=False)


def _name(entries: Entries, layout: Mapping[str, JSON] | None) -> str:
    return f"{digest(entries)}:{layout.get('id') if layout else ''}"

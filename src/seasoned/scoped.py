"""What can be done with the records of one scope, whatever their kind: write, read, find, change, explain, forget."""

from __future__ import annotations

import builtins
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from importlib import import_module

from seasoned.arguments import checked_ids, checked_kinds, checked_list
from seasoned.cascade import Remaker
from seasoned.errors import InvalidInput, StoreLocked, WrongType
from seasoned.explain import Explanation, explain
from seasoned.following import pages
from seasoned.forgetting import EXPORT, Selection, forget, forget_unread, source_key
from seasoned.keys import KeyForgotten, Progress, Rotated, sealing
from seasoned.layer import Opening
from seasoned.locked import check_readable
from seasoned.notes import BOOKKEEPING, RESERVED, SUPERSEDED, Note, Notes, Revision, age_limit
from seasoned.pins import set_pin
from seasoned.ports import Clock, Store
from seasoned.query import Compare, Not, Op, Order, Page, Query, Where, both, parse_filter
from seasoned.records import JSON, WHEN, Hit, Key, Scope, checked_id, finite, instant
from seasoned.results import Added, Receipt, Swept
from seasoned.retention import BATCH, Retention, sweep
from seasoned.search import Hits, Searcher
from seasoned.trust import Origin


class ScopedRecords:
    """The records of one scope over one store; after it is closed every verb raises `StoreClosed`."""

    scope: Scope
    """Whose records they are."""

    _store: Store
    _searcher: Searcher
    _notes: Notes
    _clock: Clock
    _opening: Opening

    def remember(
        self,
        text: str,
        kind: str = "note",
        tags: Sequence[str] = (),
        at: WHEN = None,
        until: WHEN = None,
        worth: float = 0.0,
        *,
        id: str | None = None,  # noqa: A002  # the field's name everywhere
        data: Mapping[str, JSON] | None = None,
        sources: Sequence[Key] = (),
        origin: Origin | str | None = None,
    ) -> Added:
        """Write a note, and say what became of it.

        `kind` is any word of yours. `tags` are found by `where={"data.tags": "x"}`. `at` is when it happened (now),
        `until` when it ends to exist. `worth` ranks. Without `id` every call writes a new note; with one that is
        there already nothing changes and the status is `duplicate`. `sources` are the records it was derived from.
        `origin` says who wrote it (user, assistant, tool, system, import, model): contexts label it by that; as written
        by the program where nobody says.

        Raises:
            InvalidInput: a blank text, a reserved kind, a number that is not finite.
            WrongType: an argument of another type.
        """
        self._check_open()
        note = Note(
            text=text,
            kind=kind,
            tags=tags,
            at=at,
            until=until,
            worth=worth,
            id=id,
            data=data,
            sources=sources,
            origin=origin,
        )
        return self._notes.remember(note)

    def remember_all(self, notes: Sequence[Note | str]) -> builtins.list[Added]:
        """Write several notes in one write, embedded together, and say what became of each, in their order.

        A string is a note of that text. One whose id is there already, or stands earlier in the list, is a duplicate.

        Raises:
            InvalidInput, WrongType: a note breaks a rule of `remember`; nothing was written.
        """
        self._check_open()
        given = [Note(text=each) if isinstance(each, str) else each for each in checked_list(notes, "notes")]
        for each in given:
            if not isinstance(each, Note):
                raise WrongType(f"notes are a list of Note or strings, not {each!r:.80}")
        return self._notes.remember_all(given)  # type: ignore[arg-type]  # as just checked

    def get(self, id: str, kind: str | None = None) -> Hit:  # noqa: A002  # the field's name everywhere
        """Return the record with this id.

        Raises:
            NotFound: there is none in this scope.
        """
        self._check_open()
        return self._notes.get(id, kind)

    def list(
        self,
        where: Where = None,
        cursor: str | None = None,
        *,
        k: int = 100,
        kinds: Sequence[str] = (),
        newest: bool = False,
        subtree: bool = False,
    ) -> Page:
        """Return a page of records as they were first written; `page.cursor` asks for the next, None at the end.

        Old versions ("superseded") and what the memories keep for themselves are left out unless `kinds` names them.
        """
        self._check_open()
        order = Order.NEWEST if newest else Order.OLDEST
        return self._notes.page(self._query(where, kinds, subtree=subtree, cursor=cursor, k=k, order=order))

    def count(self, where: Where = None, *, kinds: Sequence[str] = (), subtree: bool = False) -> int:
        """Return how many records there are, without those that `list` leaves out."""
        self._check_open()
        return self._notes.page(self._query(where, kinds, subtree=subtree, count=True)).count or 0

    def _query(self, where: Where, kinds: Sequence[str], **rest: object) -> Query:
        own = None if kinds else Not(Compare("kind", Op.IN, BOOKKEEPING))
        return Query(scope=self.scope, kinds=checked_kinds(kinds), where=both(own, parse_filter(where)), **rest)  # type: ignore[arg-type]  # named above

    def update(self, id: str, kind: str | None = None, **changes: object) -> Hit:  # noqa: A002  # the field's name everywhere
        """Write a new version of a record and return it; the old one is kept in its history and found no more.

        `changes` are any of text, tags, data (whole), at, until, worth.

        Raises:
            NotFound: there is none in this scope.
            WrongType: a field that does not exist, or of another type.
        """
        self._check_open()
        return self._notes.update(id, kind, changes)

    def history(self, id: str, kind: str | None = None) -> builtins.list[Revision]:  # noqa: A002  # the field's name everywhere
        """Return the versions of a record, oldest first."""
        self._check_open()
        return self._notes.history(id, kind)

    def explain(self, id: str, kind: str | None = None) -> Explanation:  # noqa: A002  # the field's name everywhere
        """Return a record with what it was made from, and that from what, down to verbatim turns and messages.

        Raises:
            NotFound: there is none in this scope.
        """
        self._check_open()
        return explain(self._store, self.scope, id, () if kind is None else (kind,))

    def recall(
        self,
        query: str,
        k: int = 10,
        *,
        kinds: Sequence[str] = (),
        session: str | None = None,
        since: WHEN = None,
        until: WHEN = None,
        where: Where = None,
        min_score: float = 0.0,
        subtree: bool = False,
    ) -> Hits:
        """Return the k best hits of any kind, best first, each with `why`; with `subtree` from the scopes below too.

        Only what stands in `session`, happened from `since` to before `until`, is of `kinds` and fits `where`; every
        condition holds before anything is ranked. Hits that score less than `min_score` (0 to 1) are left out.

        Raises:
            InvalidInput: a blank query, k below 1, an unknown field or operator, a score outside 0 to 1.
            WrongType: an argument of another type.
        """
        self._check_open()
        least = finite(min_score, "min_score")
        if not 0 <= least <= 1:
            raise InvalidInput(f"min_score lies between 0 and 1, found {min_score!r}")
        parts = [
            None if session is None else Compare("data.session", Op.EQ, checked_id(session, "a session")),
            None if since is None else Compare("at", Op.GE, instant(since)),
            None if until is None else Compare("at", Op.LT, instant(until)),
            parse_filter(where),
        ]
        found = self._searcher.search(
            query, k=k, scope=self.scope, subtree=subtree, kinds=checked_kinds(kinds), where=both(*parts)
        )
        return found if not least else found.from_score(least)

    def pin(self, id: str, kind: str | None = None) -> bool:  # noqa: A002  # the field's name everywhere
        """Show a note in every context; return whether that is new. A run under way keeps what it began with.

        Raises:
            NotFound: there is none in this scope.
            InvalidInput: it is no note, or 1,000 are pinned.
        """
        return self._set_pin(id, kind, pinned=True)

    def unpin(self, id: str, kind: str | None = None) -> bool:  # noqa: A002  # as above
        """Show a note no more in every context; return whether that is new.

        Raises:
            NotFound: there is none in this scope.
        """
        return self._set_pin(id, kind, pinned=False)

    def _set_pin(self, name: str, kind: str | None, *, pinned: bool) -> bool:
        hit = self.get(name, kind)
        check_readable([hit])
        key = hit.record.key
        if key.kind in RESERVED:
            raise InvalidInput(
                f"a note can be pinned, not a {key.kind}; a message is pinned by memory.conversation.pin"
            )
        return set_pin(self._store, self._clock, key, pinned=pinned)

    def scopes(self) -> builtins.list[Scope]:
        """Return the scopes below this one, itself included, that hold records."""
        self._check_open()
        return [*self._store.find(Query(scope=self.scope, subtree=True, scopes=True)).scopes]

    def forget(
        self,
        id: str | Sequence[str] | None = None,  # noqa: A002  # the field's name everywhere
        *,
        session: str | None = None,
        before: WHEN = None,
        older_than: timedelta | float | None = None,
        source: Key | tuple[str, str] | None = None,
        kinds: Sequence[str] = (),
        where: Where = None,
        everything: bool = False,
        subtree: bool = False,
        dry_run: bool = False,
        hard: bool = False,
    ) -> Receipt:
        """Remove records that pass every condition given, with their old versions and what was derived from them alone.

        What was derived from them and from others stays, marked for rewriting (`data.stale` is true), unless `hard`.

        `id` one or several; `session`; `before` an instant or `older_than` an age (a number is in days), by `at`;
        `source` a record they were derived from; `kinds`; `where`; or `everything` of the scope. With `subtree` in
        the scopes below too. `dry_run` changes nothing and says what would go. `hard` erases: no byte stays in rows,
        vectors, indexes or the write-ahead log, and the receipt says what went from where and what is `pending`.

        Raises:
            InvalidInput: no condition.
            NotFound: an id that is not there; nothing was forgotten.
            StoreLocked: the scope's key is not here, so that nobody can tell what was derived; `everything` with
                `subtree` goes all the same.
        """
        self._check_open()
        selection = Selection(
            scope=self.scope,
            ids=checked_ids(id),
            session=session,
            before=age_limit(self._clock.now(), older_than, before),
            source=source_key(self.scope, source),
            kinds=checked_kinds(kinds),
            where=parse_filter(where),
            everything=everything,
            subtree=subtree,
        )
        try:
            return forget(
                self._store, selection, superseded=SUPERSEDED, dry_run=dry_run, hard=hard, remaker=unlearning()
            )
        except StoreLocked:
            if not selection.whole:
                raise
            return forget_unread(self._store, selection, superseded=SUPERSEDED, dry_run=dry_run, hard=hard)

    def sweep(self, retention: Retention, batch: int = BATCH) -> Swept:
        """Remove what a retention does not keep, and what is past its `until`, in this scope and those below it.

        At most `batch` records go in one write, so that nobody waits long. What is pinned stays.

        Raises:
            InvalidInput, WrongType: not a retention, or a batch below 1.
        """
        self._check_open()
        return sweep(self._store, self.scope, retention, self._clock.now(), batch, unlearning())

    def rotate_key(self, progress: Progress | None = None) -> Rotated:
        """Seal anew, with the current key, what an older one sealed in this scope and those below it.

        Add the new key to `keys` first, and drop the old one once the result is `done`. Stopped anywhere, the next call
        goes on; reads and writes may go on meanwhile. `progress` is called with done and total.

        Raises:
            InvalidInput: the memory is not encrypted, or no key is named for the scope.
            StoreLocked: the current key is not here.
        """
        self._check_open()
        return sealing(self._store).rotate(self.scope, subtree=True, progress=progress)

    def forget_key(self) -> KeyForgotten:
        """Destroy the keys of this scope, so that nobody can read it or the scopes below that share them.

        The records stay and are `locked` from then on; backups of the engine cannot be read either. It calls `forget`
        of `keys`: a `KeyRing` lets go of them in this process, so remove them where they are kept, too; with a key
        management service of yours, what is destroyed, and when, is its affair.

        Raises:
            InvalidInput: the memory is not encrypted, or the scope has no keys of its own.
        """
        self._check_open()
        exports = _exported(self._store, self.scope)
        forgotten = sealing(self._store).forget_key(self.scope)
        self._let_go()
        return replace(forgotten, exports=exports)

    @abstractmethod
    def _let_go(self) -> None:
        """Let go of what is held in the clear: a run under way."""

    def _check_open(self) -> None:
        self._opening.check()


def unlearning() -> Remaker:
    """Return what writes runs anew without what is forgotten; imported where something is forgotten."""
    made: Remaker = import_module("seasoned.runs.unlearning").Unlearning()
    return made


def _exported(store: Store, scope: Scope) -> tuple[str, ...]:
    """Return the paths of the bundles that were written of a scope and those below it."""
    found = pages(store, Query(scope=scope, subtree=True, kinds=(EXPORT,)))
    paths = [hit.record.data.get("path") for page in found for hit in page.hits]
    return tuple(dict.fromkeys(path for path in paths if isinstance(path, str)))

"""`Core`: a playbook over a store. Everything is changed here, in one apply, and recorded so that it can be undone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from seasoned.errors import Conflict, InvalidInput, NotFound, WrongType
from seasoned.playbook.applying import brought, checked_delta, cleared, joined, returned, take
from seasoned.playbook.deltas import Add, Applied, Change, Changed, Delta, DeltaEntry, Effect
from seasoned.playbook.drafting import Draft
from seasoned.playbook.entries import Entry, checked_entry
from seasoned.playbook.journal import (
    Head,
    Header,
    by_key,
    by_record,
    changes,
    changes_of,
    header_key,
    headers,
    newest_number,
    step_keys,
)
from seasoned.playbook.policy import PlaybookPolicy
from seasoned.playbook.view import View
from seasoned.playbook.writing import Embedding, header_of, made, recorded
from seasoned.ports import ABSENT, Clock, IdSource, Put, Remove, Store, SystemClock, new_id
from seasoned.ports import Change as Write
from seasoned.query import Query
from seasoned.records import Scope, checked_id, clean_text
from seasoned.search import Searcher

TRIES: Final = 1_000
"""How often a change is worked out anew because another writer came first; each time that one has got on."""

MAX_REASON: Final = 500
"""Longest reason of a change that is kept, in characters."""

Work: TypeAlias = Callable[[Draft], Sequence[Effect]]
"""Works out a change on a draft; called anew for each try."""

_LOG: Final = logging.getLogger("seasoned.playbook")


class Core:
    """The entries of one scope, what changed them, and how they were before. Threads and processes may share it."""

    store: Store
    """The engine below."""
    scope: Scope
    """Whose playbook it is."""
    searcher: Searcher
    """What embeds and finds entries."""
    clock: Clock
    """Where times come from."""
    policy: PlaybookPolicy
    """The defaults of every verb."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        *,
        searcher: Searcher,
        clock: Clock | None = None,
        ids: IdSource = new_id,
        policy: PlaybookPolicy | None = None,
    ) -> None:
        self.store = store
        self.scope = Scope(scope)
        self.searcher = searcher
        self.clock = clock or SystemClock()
        self.policy = policy or PlaybookPolicy()
        self._ids = ids
        self._view = View(store, self.scope, self.clock)

    @property
    def number(self) -> int:
        """The number of the last change; 0 before the first."""
        return self._looked().number

    @property
    def last_id(self) -> int:
        """The highest number of an id that was ever given; 0 before the first."""
        return self._looked().ids

    @property
    def seq(self) -> int:
        """A number that grows with every change of the entries, by whomever, forgetting included."""
        return self._looked().seq

    def get(self, id: str) -> Entry:  # noqa: A002  # the field's name everywhere
        """Return the entry with this id, or the one that it was merged into.

        Raises:
            NotFound: there is none.
        """
        checked_id(id)
        with self._view.lock:
            view = self._looked()
            found = view.resolve(id)
            if found is None:
                raise NotFound(f"there is no entry {id!r} in this playbook")
            return view.entries[found]

    def resolve(self, id: str) -> str | None:  # noqa: A002  # the field's name everywhere
        """Return the id of the entry that an id names now; None where it names none."""
        checked_id(id)
        with self._view.lock:
            return self._looked().resolve(id)

    def has_change(self, number: int) -> bool:
        """Tell whether a number is that of a change of this playbook, and of none that came in with a bundle."""
        return self._looked().head.has(number)

    def knows(self, by: str) -> bool:
        """Tell whether a change was applied by this name."""
        keys = (by_key(self.scope, checked_id(by, "by")),)
        return bool(self.store.find(Query(scope=self.scope, keys=keys)).hits)

    def entries(self, *, section: str | None = None, retired: bool = False) -> list[Entry]:
        """Return the entries in the order in which they were first written, retired ones only when asked."""
        with self._view.lock:
            found = self._looked().ordered()
        return [
            entry
            for entry in found
            if (retired or entry.retired is None) and (section is None or entry.section == section)
        ]

    def history(self, id: str | None = None, *, last: int | None = None) -> list[Change]:  # noqa: A002  # as above
        """Return what changed, oldest first; `last` so many changes.

        With an id only what happened to it, and to those that are merged into it now.

        Raises:
            InvalidInput: `last` below 1.
        """
        if last is not None and (isinstance(last, bool) or not isinstance(last, int) or last < 1):
            raise InvalidInput(f"last is an integer of 1 or more, not {last!r:.80}")
        with self._view.lock:
            view = self._looked()
            head, entry = view.head, None if id is None else view.entries.get(checked_id(id))
        if id is None:
            numbers = [number for number in range(1, head.number + 1) if head.has(number)][-(last or 0) :]
            return changes(self.store, self.scope, self._headers(numbers[0], head)) if numbers else []
        found = changes_of(self.store, self.scope, (id, *(() if entry is None else entry.aliases)), head)
        return found if last is None else found[-last:]

    def apply(
        self,
        deltas: Iterable[Delta | DeltaEntry],
        *,
        by: str | None = None,
        reason: str = "",
        expect: Mapping[str, int] | None = None,
    ) -> Changed:
        """Apply deltas together and in order, as one change; what is refused says why, and the others stand.

        `by` names what they come from: a second apply by the same name changes nothing and says `duplicate`. `expect`
        has the version that an entry must have; a delta for one that has another is refused. `reason` is kept with
        the history.

        Raises:
            InvalidInput: a blank `by`.
            WrongType: something that is no delta.
            StoreError: nothing was changed; or, on an engine that is not atomic, the next look completes it.
        """
        wanted = [checked_delta(delta) for delta in _several(deltas, "deltas")]
        versions = dict(expect or {})
        return self._change(lambda draft: [take(draft, delta, versions) for delta in wanted], by, reason)

    def bring(self, entries: Iterable[Entry | Add], *, by: str | None = None, reason: str = "") -> Changed:
        """Write whole entries as they are, with ids, counts, aliases and times; one whose id is taken is refused.

        An `Add` among them is added as by `apply`.

        Raises:
            InvalidInput, WrongType: something that is neither, or a field of an entry breaks its rule.
        """
        wanted = [_whole(each) for each in _several(entries, "entries")]
        return self._change(lambda draft: [brought(draft, each) for each in wanted], by, reason)

    def join(self, entries: Iterable[Entry | Add], *, by: str | None = None, reason: str = "") -> Changed:
        """Add what is not there yet; what is there stays as it is, its counts too.

        An entry keeps all that it has, its id and old ids where they are free.

        Raises:
            InvalidInput, WrongType: something that is neither an entry nor an `Add`, or a field of an entry breaks its
                rule.
        """
        wanted = [_whole(each) for each in _several(entries, "entries")]
        return self._change(lambda draft: [joined(draft, each) for each in wanted], by, reason)

    def rollback(self, to: int) -> Changed:
        """Make the entries what they were after change `to` (0: before the first); this is a change, too.

        What was forgotten meanwhile stays forgotten.

        Raises:
            InvalidInput: there is no such change.
            WrongType: no number.
        """
        if isinstance(to, bool) or not isinstance(to, int):
            raise WrongType(f"a change is named by its number, not {to!r:.80}")

        def work(draft: Draft) -> Sequence[Effect]:
            number = self._view.number
            if not 0 <= to <= number:
                raise InvalidInput(f"a rollback goes to a change from 0 to {number}, not to {to}")
            return returned(draft, changes(self.store, self.scope, self._headers(to + 1, self._view.head)))

        return self._change(work, None, f"rolled back to {to}")

    def clear(self, *, reason: str = "") -> Changed:
        """Take every entry out, retired ones too; the history keeps them."""
        return self._change(cleared, None, reason or "cleared")

    def _headers(self, first: int, head: Head) -> list[Header]:
        """Return the changes of this playbook from a number on."""
        return [each for each in headers(self.store, self.scope, first, head.number) if head.has(each.number)]

    def _header(self, number: int) -> Header | None:
        """Return the change that is recorded under a number, of whichever playbook."""
        return next(iter(headers(self.store, self.scope, number, number)), None)

    def _looked(self) -> View:
        """Follow the store, and complete a change that was left half made."""
        with self._view.lock:
            self._view.follow()
            while not self.store.can.atomic and self._completed():
                self._view.follow()
            return self._view

    def _completed(self) -> bool:
        """Make the rest of the change after the head, or pass one over that came in with a bundle; False for none."""
        header = self._header(self._view.number + 1)
        if header is None:
            return False
        if header.after != self._view.head.token:
            self._view.floor = header.number
            return True
        steps = [step for change in changes(self.store, self.scope, [header]) for step in change.steps]
        writes = Embedding(self.searcher).of(made(self._view, self.scope, header, steps), steps)
        try:
            self.store.apply(writes)
        except Conflict:
            _LOG.info("change %d was completed by another writer", header.number)
        return True

    def _change(self, work: Work, by: str | None, reason: str) -> Changed:
        """Work out a change and write it, anew for as long as other writers come first."""
        if by is not None:
            checked_id(by, "by")
        if not isinstance(reason, str):
            raise WrongType(f"the reason of a change is a text, not {reason!r:.80}")
        embedding, why = Embedding(self.searcher), clean_text(reason)[:MAX_REASON]
        with self._view.writing:
            for _ in range(TRIES):
                done = self._tried(work, by or "", why, embedding)
                if done is not None:
                    return done
        raise Conflict(header_key(self.scope, self.number), expected="none", found="another writer's each time")

    def _tried(self, work: Work, by: str, reason: str, embedding: Embedding) -> Changed | None:
        """Try once; return None where another writer came first."""
        with self._view.lock:
            view = self._looked()
            draft = Draft(view, self.clock.now(), lambda text: self.searcher.clear(text, self.scope))
            effects, steps = tuple(work(draft)), draft.steps()
            if by and self.knows(by):
                return Changed(number=view.number, effects=_again(effects, by, view), duplicate=True)
            if not steps:
                self._noted(by)
                return Changed(number=view.number, effects=effects)
            header = header_of(view, steps, ids=draft.ids, at=draft.now, by=by, token=self._ids())
            writes = recorded(self.scope, header, steps, reason) + made(view, self.scope, header, steps)
        if not self._written(header, embedding.of(writes, steps)):
            return None
        return Changed(number=header.number, effects=embedding.reported(effects, steps))

    def _noted(self, by: str) -> None:
        """Note who has nothing to change, so that it stays so."""
        if by:
            with suppress(Conflict):  # another process noted it at the same time
                record = by_record(self.scope, by, self._view.number, self.clock.now())
                self.store.apply([Put(record, expect=ABSENT)])

    def _written(self, header: Header, writes: Sequence[Write]) -> bool:
        """Write a change; return False where another writer came first."""
        try:
            self.store.apply(writes)
        except Conflict:
            return self._recorded(header)
        return True

    def _recorded(self, header: Header) -> bool:
        """Tell whether a change holds although another writer came between; else clear the way for the next try."""
        if self.store.can.atomic:
            with self._view.lock:
                if self._looked().number < header.number and self._header(header.number) is not None:
                    self._view.floor = newest_number(self.store, self.scope)  # changes that came in with a bundle
            return False
        found = self._header(header.number)
        if found is not None and found.token == header.token:
            return True
        self.store.apply([Remove(key) for key in step_keys(self.scope, header)])
        return False


def _several(given: object, what: str) -> list[object]:
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise WrongType(f"{what} are a list of them, not {given!r:.80}")
    return list(given)


def _whole(given: object) -> Entry | Add:
    if isinstance(given, Add):
        return given
    if isinstance(given, Entry):
        return checked_entry(given)
    raise WrongType(f"an entry is of Entry or Add, not {given!r:.80}")


def _again(effects: Sequence[Effect], by: str, view: View) -> tuple[Effect, ...]:
    reason = f"applied before, by {by!r}"
    return tuple(Effect(id=view.resolve(each.id) or "", status=Applied.UNCHANGED, reason=reason) for each in effects)

"""`Playbook`: the verbs of a playbook, all in one place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, Self

from seasoned.asking import Flow, Model, arun, run
from seasoned.closing import Closing
from seasoned.embedders import EmbedderSpec, resolve
from seasoned.errors import Conflict, InvalidInput, WrongType
from seasoned.locations import open_store
from seasoned.locked import with_keys
from seasoned.playbook import layout, learning, plain, pruning, refining, transcribing
from seasoned.playbook.applying import checked_delta
from seasoned.playbook.contradictions import Contradiction, find
from seasoned.playbook.core import Core
from seasoned.playbook.deltas import Add, Applied, Changed, Delta, DeltaEntry, Effect, Merge, Remove, Tag, Update
from seasoned.playbook.entries import ENTRY, NONE, OTHERS, SHOWN, Counts, Entry, Mark, Outcome, checked_outcome
from seasoned.playbook.learning import AnyCurator, AnyReflector, Learned
from seasoned.playbook.policy import ADVICE, PlaybookPolicy
from seasoned.playbook.refining import Refined
from seasoned.playbook.snapshots import Block
from seasoned.playbook.traces import Trace
from seasoned.playbook.transcribing import Loaded
from seasoned.ports import Clock, IdSource, Store, SystemClock, TokenCounter, new_id
from seasoned.records import JSON, WHEN, Key, Scope, instant
from seasoned.search import Hits, Searcher
from seasoned.text import DEFAULT as ANALYSER

DEFAULT_SCOPE: Final = ("default",)
"""The scope where none is named."""


class Playbook(Core, Closing):
    """Advice that grows with every run: entries with stable ids, changed by deltas, each recorded and reversible.

    `location` is a file path, a URL, a store, or None to keep all in this process; `memory.playbook` is the one of a
    memory. `entries` are there from the start. The other arguments are those of `Memory`; `searcher` stands in for
    `embedder`. Threads and processes may share a playbook.

    Source: arXiv 2510.04618; `merge`, `render`, `to_dict` and `from_dict` as in agent-episodic-memory 0.1.0.

    Raises:
        InvalidScope, InvalidInput, WrongType: an argument breaks its rule.
        StoreError: the store cannot be opened; see its subclasses.
    """

    def __init__(
        self,
        location: str | os.PathLike[str] | Store | None = None,
        *,
        scope: Scope | Sequence[str] | str = DEFAULT_SCOPE,
        embedder: EmbedderSpec = "auto",
        searcher: Searcher | None = None,
        clock: Clock | None = None,
        ids: IdSource = new_id,
        policy: PlaybookPolicy | None = None,
        entries: Iterable[DeltaEntry | Entry | Add] = (),
    ) -> None:
        checked, space = Scope(scope), resolve(embedder) if searcher is None else searcher.embedder
        clock = clock or SystemClock()
        store = open_store(location, durability="full", clock=clock, analyser=ANALYSER)
        self._owns_store = store is not location
        if self._owns_store and location is not None:
            store = with_keys(store, None, checked, clock=clock, analyser=ANALYSER, owns=True)
        found = searcher or Searcher(store, space)
        super().__init__(store, checked, searcher=found, clock=clock, ids=ids, policy=policy)
        if given := list(entries):
            with self._closed_on_failure():
                self.merge(given)

    def add(
        self,
        content: str,
        section: str = OTHERS,
        outcome: Outcome | str = Outcome.NEUTRAL,
        *,
        id: str | None = None,  # noqa: A002  # the field's name everywhere
        counts: Counts = NONE,
        sources: Sequence[Key] = (),
        at: WHEN = None,
    ) -> Effect:
        """Add advice; the same advice that is there is credited instead. The effect has the entry's id.

        Raises:
            InvalidInput: a value breaks its rule, or the id belongs to an entry that says something else.
        """
        add = Add(
            content=content,
            section=section,
            outcome=checked_outcome(outcome),
            id=id,
            counts=counts,
            sources=tuple(sources),
            at=None if at is None else instant(at),
        )
        return self._one(add)

    def update(
        self,
        id: str,  # noqa: A002  # the field's name everywhere
        *,
        content: str | None = None,
        section: str | None = None,
        outcome: Outcome | str | None = None,
        retired: str | None = None,
        expect: int | None = None,
    ) -> Effect:
        """Change an entry; what is None stays. `retired` says why it is no longer shown, "" brings it back.

        Raises:
            NotFound: there is no such entry.
            Conflict: it is not in the version `expect`.
        """
        known = None if outcome is None else checked_outcome(outcome)
        delta = Update(id=id, content=content, section=section, outcome=known, retired=retired)
        return self._one(delta, {} if expect is None else {id: expect})

    def tag(self, id: str, mark: Mark | str, times: int = 1, *, by: str | None = None) -> Effect:  # noqa: A002  # as above
        """Say that an entry was helpful, harmful or neutral for a run; once for each `by`, such as the run's id.

        Raises:
            NotFound: there is no such entry.
        """
        tag = Tag(id=id, mark=mark, times=times)  # type: ignore[arg-type]  # checked when made
        return self._one(tag, by=by)

    def merge(self, new: Iterable[DeltaEntry | Entry | Add]) -> Self:
        """Add what is not there yet, and return this playbook; another playbook can be merged as well.

        Entries of the same section, content and outcome are one; what is there stays as it is.
        """
        self.join([_added(each) for each in new], reason="merged")
        return self

    def merge_entries(self, ids: Sequence[str], content: str | None = None, section: str | None = None) -> Effect:
        """Make one entry of several: the first, with all counts and sources; the other ids resolve to it.

        Raises:
            NotFound: one of them is not there.
        """
        return self._one(Merge(ids=tuple(ids), content=content, section=section))

    def remove(self, id: str) -> Effect:  # noqa: A002  # as above
        """Take an entry out; the history keeps it, and `rollback` brings it back. `memory.forget` keeps nothing.

        Raises:
            NotFound: there is no such entry.
        """
        return self._one(Remove(id=id))

    def search(self, query: str, k: int = 10) -> Hits:
        """Return the k entries that match a query best, retired ones left out; `get(hit.id)` has the whole entry.

        Raises:
            InvalidInput: a blank query, or k below 1.
        """
        return self.searcher.search(query, k=k, scope=self.scope, kinds=(ENTRY,), where=SHOWN, blend=ADVICE)

    def refine(self, model: Model | None = None, *, ids: Sequence[str] | None = None) -> Refined:
        """Merge near duplicates among what has changed since the last time, or around `ids`; see `refining.refine`.

        A model words what is merged; without one the best entry's words stand.
        """
        return run(self._refining(ids, word=model is not None), model)

    async def arefine(self, model: Model | None = None, *, ids: Sequence[str] | None = None) -> Refined:
        """Await `refine`."""
        return await arun(self._refining(ids, word=model is not None), model)

    def _refining(self, ids: Sequence[str] | None, *, word: bool) -> Flow[Refined]:
        return refining.refine(self, ids=ids, threshold=self.policy.threshold, word=word)

    def contradictions(self) -> list[Contradiction]:
        """Return pairs of entries that say the opposite of each other; nothing is changed."""
        return find(self)

    def prune(self, keep: int | None = None) -> Changed:
        """Retire entries that do harm, and with `keep` the least useful beyond so many; see `pruning.prune`."""
        return pruning.prune(self, keep)

    def render(
        self,
        max_entries: int | None = None,
        budget: int | None = None,
        task: str | None = None,
        *,
        counter: TokenCounter | None = None,
    ) -> str:
        """Return the playbook as text for a prompt, all of it unless bounded; "" for an empty one. See `block`."""
        return layout.block(self, budget=budget, task=task, counter=counter, max_entries=max_entries).text

    def block(
        self,
        run: str | None = None,
        task: str | None = None,
        budget: int | None = None,
        *,
        counter: TokenCounter | None = None,
        max_entries: int | None = None,
    ) -> Block:
        """Return the block for a prompt within `budget` tokens (the policy's), for a run always the same bytes.

        Where not all fit, proven entries come first, then by usefulness, likeness to the task and recency.
        """
        room = self.policy.budget if budget is None else budget
        return layout.block(self, budget=room, task=task, run=run, counter=counter, max_entries=max_entries)

    def learn(
        self,
        trace: Trace,
        *,
        reflector: AnyReflector | None = None,
        curator: AnyCurator | None = None,
        model: Model | None = None,
        by: str | None = None,
    ) -> Learned:
        """Reflect on what a run did, and change the playbook by it, once for each `by` (the trace's id).

        Without a model by rules, which never guess that something worked. See `learning.learn`.
        """
        return run(self._learning(trace, reflector, curator, model, by), model)

    async def alearn(
        self,
        trace: Trace,
        *,
        reflector: AnyReflector | None = None,
        curator: AnyCurator | None = None,
        model: Model | None = None,
        by: str | None = None,
    ) -> Learned:
        """Await `learn`."""
        return await arun(self._learning(trace, reflector, curator, model, by), model)

    def _learning(
        self,
        trace: Trace,
        reflector: AnyReflector | None,
        curator: AnyCurator | None,
        model: Model | None,
        by: str | None,
    ) -> Flow[Learned]:
        reflects, curates = learning.chosen(reflector, curator, model)
        return learning.learn(self, trace, reflector=reflects, curator=curates, by=by)

    def to_text(self) -> str:
        """Return the playbook in the paper's text format; see `load_text`."""
        return transcribing.to_text(self)

    def load_text(self, text: str, *, by: str | None = None) -> Loaded:
        """Add what a text in the paper's format has; ids are kept, and new ones continue above them."""
        return transcribing.load(self, text, by=by)

    @classmethod
    def from_text(
        cls,
        text: str,
        location: str | os.PathLike[str] | Store | None = None,
        *,
        scope: Scope | Sequence[str] | str = DEFAULT_SCOPE,
        embedder: EmbedderSpec = "auto",
    ) -> Self:
        """Return a playbook with what a text in the paper's format has, in this process or at a location."""
        made = cls(location, scope=scope, embedder=embedder)
        with made._closed_on_failure():
            made.load_text(text)
        return made

    def to_dict(self) -> dict[str, JSON]:
        """Return every entry as plain JSON, retired ones too; the history is not in it."""
        return plain.written(self.entries(retired=True))

    def load_dict(self, given: Mapping[str, JSON], *, by: str | None = None) -> Changed:
        """Write what `to_dict` returned, here or in agent-episodic-memory; what has no content is `skipped`.

        Raises:
            InvalidInput, WrongType: not a mapping with a list under "entries".
        """
        found = plain.read(given)
        return replace(self.bring(found.entries, by=by, reason="read from a mapping"), skipped=found.skipped)

    @classmethod
    def from_dict(
        cls,
        given: Mapping[str, JSON],
        location: str | os.PathLike[str] | Store | None = None,
        *,
        scope: Scope | Sequence[str] | str = DEFAULT_SCOPE,
        embedder: EmbedderSpec = "auto",
    ) -> Self:
        """Return a playbook with what `to_dict` returned, in this process or at a location; see `load_dict`."""
        made = cls(location, scope=scope, embedder=embedder)
        with made._closed_on_failure():
            made.load_dict(given)
        return made

    def close(self) -> None:
        """Close the store if this playbook opened it; closing twice is harmless."""
        if self._owns_store:
            self.store.close()

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        """Close what was just opened if it cannot be filled."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self.entries())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries())

    def __bool__(self) -> bool:
        return bool(self.entries())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self.store).__name__}, scope={tuple(self.scope)!r})"

    def _one(self, delta: Delta, expect: Mapping[str, int] | None = None, *, by: str | None = None) -> Effect:
        """Apply one delta; a refusal is raised here, since there are no others that stand.

        Raises:
            NotFound: there is no such entry.
            Conflict: it is not in the version that is expected.
            InvalidInput: anything else.
        """
        (effect,) = self.apply([delta], by=by, expect=expect).effects
        if effect.status is not Applied.REFUSED:
            return effect
        for name in () if isinstance(delta, Add) else delta.ids if isinstance(delta, Merge) else (delta.id,):
            found = self.get(name)  # raises NotFound
            if expect and found.version != expect.get(name, found.version):
                raise Conflict(Key(self.scope, ENTRY, name), expected=expect[name], found=found.version)
        raise InvalidInput(effect.reason or "it was refused")


def _added(given: object) -> Entry | Add:
    """Return what is to be added, as an `Add`; an entry as it is.

    Raises:
        WrongType: neither a `DeltaEntry`, an `Add` nor an `Entry`.
    """
    delta = given if isinstance(given, Entry) else checked_delta(given)
    if isinstance(delta, (Entry, Add)):
        return delta
    raise WrongType(f"a playbook is merged from DeltaEntry, Add or Entry, not {given!r:.80}")

"""`Memory`: one place for all that an agent remembers, and what joins it."""

from __future__ import annotations

import builtins
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from seasoned.arguments import check_type
from seasoned.context import Context
from seasoned.embedders import EmbedderSpec, resolve
from seasoned.errors import InvalidInput, StoreError
from seasoned.forgetting import finish_erasures, forget_keys
from seasoned.joined.policy import ContextPolicy
from seasoned.keys import Keys
from seasoned.layer import Opening
from seasoned.lazy import Lazy
from seasoned.locations import open_store
from seasoned.locked import bare, with_keys
from seasoned.notes import LAYERS, SUPERSEDED, Notes
from seasoned.ports import Clock, Finding, IdSource, Store, SystemClock, Upkeep, new_id
from seasoned.query import Query
from seasoned.ranking import Blend
from seasoned.records import JSON, Key, Scope
from seasoned.redaction import RedactingEmbedder, RedactionPolicy, Redactor, redacting_store
from seasoned.reembedding import reembed
from seasoned.results import Credited
from seasoned.scoped import ScopedRecords, unlearning
from seasoned.search import Searcher
from seasoned.stores.sqlite.connections import Durability
from seasoned.text import Analyser
from seasoned.transfer.bundle import Progress, Transferred, export
from seasoned.transfer.copying import Copied, copy
from seasoned.transfer.unbundling import Terms, import_bundle

if TYPE_CHECKING:
    from seasoned.conversation import ConversationMemory, ConversationPolicy
    from seasoned.experience import ExperienceMemory
    from seasoned.parts import Parts
    from seasoned.playbook import Playbook
    from seasoned.runs import RunMemory

DEFAULT_SCOPE: Final = ("default",)
"""The scope where none is named: right for one user; give each of several one of their own."""

ENGINE_FIGURES: Final = ("engine", "schema", "file_bytes", "log_bytes")
"""What `stats` says of the engine; its counts over all scopes are for who runs it: `memory.store.stats()`."""

_PARTS: Final = "seasoned.parts"
"""The memories, with all that they need: a third of the package, imported where one of them is first used."""

_LOG: Final = logging.getLogger("seasoned.memory")


class Memory(ScopedRecords):
    """All that an agent remembers in one scope, over one store.

    `location` is a file path (created for its owner alone), a URL, a store, or None to keep all in this process.
    `scope` says whose memory it is, as a tuple of parts (a string is one part); nothing is ever read or written outside
    it. `embedder` is "auto" (the best that is installed: all-MiniLM-L6-v2, a static table, else words alone),
    "hashing", "static", "minilm", an embedder, a LangChain `Embeddings` or a callable. `durability` "full" survives a
    power cut, "normal" a killed process. `language` is the Snowball stemmer for words in Latin script. `policy` says
    how conversations become contexts, `blend` how the arms of search are fused. With `redaction`, secrets and personal
    data are replaced before anything is stored, indexed, embedded or sent. With `keys` (see
    `seasoned.stores.encrypted`), the scopes that they name are encrypted before anything of them reaches the engine.
    One memory may be shared by threads; after `close` every verb raises `StoreClosed`.

    Raises:
        InvalidScope, InvalidInput, WrongType: an argument breaks its rule.
        StoreError: the store cannot be opened; see its subclasses.
        MissingExtra: the embedder, or encryption, needs a package that is not installed.
    """

    def __init__(
        self,
        location: str | os.PathLike[str] | Store | None = None,
        *,
        scope: Scope | Sequence[str] | str = DEFAULT_SCOPE,
        embedder: EmbedderSpec = "auto",
        durability: Durability = "full",
        language: str = "english",
        policy: ConversationPolicy | None = None,
        blend: Blend | None = None,
        redaction: RedactionPolicy | Redactor | None = None,
        keys: Keys | None = None,
        clock: Clock | None = None,
        ids: IdSource = new_id,
    ) -> None:
        checked = Scope(scope)
        redactor = redaction if redaction is None or isinstance(redaction, Redactor) else Redactor(redaction)
        space = resolve(embedder)
        if policy is not None:
            import_module(_PARTS).check_policy(policy)
        check_type(blend, Blend, "blend")
        self._clock = clock or SystemClock()
        self._opening = Opening()
        analyser = Analyser(language)
        opened = open_store(location, durability=durability, clock=self._clock, analyser=analyser)
        store = with_keys(opened, keys, checked, clock=self._clock, analyser=analyser, owns=opened is not location)
        self._owns_store = store is not location
        if redactor is not None:
            store, space = redacting_store(store, redactor), RedactingEmbedder(space, redactor)
        self._assemble(store, checked, Searcher(store, space, blend, redactor), policy, ids)
        self._say_what_lacks_vectors()

    def _assemble(
        self, store: Store, scope: Scope, searcher: Searcher, policy: ConversationPolicy | None, ids: IdSource
    ) -> None:
        self._store = store
        self.scope = scope
        self._searcher = searcher
        self._policy = policy
        self._ids = ids
        self._notes = Notes(store, scope, searcher, self._clock, ids)
        self._let_go()

    def _let_go(self) -> None:
        given: dict[str, object] = {} if self._policy is None else {"policy": self._policy}
        self._parts = Lazy(
            partial(
                _made_parts,
                store=self._store,
                opening=self._opening,
                scope=self.scope,
                searcher=self._searcher,
                notes=self._notes,
                clock=self._clock,
                ids=self._ids,
                **given,
            )
        )

    @property
    def store(self) -> Store:
        """The store below: the one that was given, behind what encrypts, redacts and guards sealed scopes."""
        return self._store

    @property
    def conversation(self) -> ConversationMemory:
        """What was said, in sessions."""
        self._check_open()
        return self._parts.get().sources.conversation

    @property
    def experience(self) -> ExperienceMemory:
        """Decisions, trajectories and feedback."""
        self._check_open()
        return self._parts.get().sources.experience

    @property
    def playbook(self) -> Playbook:
        """Advice that grows with every run: entries, what they did for those who used them, and every change."""
        self._check_open()
        return self._parts.get().sources.playbook

    @property
    def runs(self) -> RunMemory:
        """What happened in runs of many turns: turns, atoms, episodes, lessons."""
        self._check_open()
        return self._parts.get().sources.runs

    def context(
        self,
        task: str,
        budget: int = 4_000,
        reserve: int = 0,
        session: str | None = None,
        run: str | None = None,
        *,
        instruction: str = "",
        profile: str = "default",
        policy: ContextPolicy | None = None,
        trace: bool = True,
        **conversation: object,
    ) -> Context:
        """Return what a model is given for its next turn, from all four memories, in `budget` less `reserve` tokens.

        One system message: `instruction`, the session's own, pinned notes, the lessons of `profile`, the playbook; with
        `run` it is decided once, by the first task, and then stays byte for byte. Then the rolling summary and the
        window of `session`; without one, `task` is the user message. The run's phase and observations, examples and
        what is recalled for `task` stand inside the newest user message. `policy` has the shares, and `conversation`
        overrides values of the conversation's policy. With `trace`, what was shown is kept under `context.trace` for
        `outcome`; without it, and without a run, nothing is written.

        Raises:
            BudgetTooSmall: pinned notes, system messages and newest user message, cut as far as it goes, need more.
            InvalidInput: a blank task, or a value out of its range.
            WrongType: a value of another type, or an unknown name.
        """
        self._check_open()
        return self._parts.get().context(
            task,
            budget,
            reserve,
            session,
            run,
            instruction=instruction,
            profile=profile,
            policy=policy,
            trace=trace,
            conversation=conversation,
        )

    def outcome(
        self,
        trace: str,
        *,
        reward: float | None = None,
        rating: float | None = None,
        note: str | None = None,
        by: str = "user",
    ) -> Credited:
        """Say how it went after a context, and credit every record that it showed; once for each trace and rater.

        `reward` is from -1 to 1 (beyond counts as the end), or `rating` from 0 to 10. Entries of the playbook are
        marked, decisions are rated where no person rated them, and everything else gains or loses worth. A later word
        of the same rater takes the place of the earlier; with a note, or without one, it is another word.

        Raises:
            NotFound: there is no such trace in this scope, or its time is over.
            InvalidInput: neither or both of reward and rating, or a rating outside 0 to 10.
        """
        self._check_open()
        return self._parts.get().outcome(trace, reward, rating, note, by)

    def within(self, *parts: str) -> Memory:
        """Return the memory of a scope below this one, over the same store; closing it closes nothing."""
        made = object.__new__(Memory)
        made._clock = self._clock
        made._opening = Opening(self._opening)
        made._owns_store = False
        made._assemble(self._store, self.scope.within(*parts), self._searcher, self._policy, self._ids)
        return made

    def reembed(self, progress: Progress | None = None) -> int:
        """Give a vector to every record of the scope and those below it that has none in the embedder's space.

        Returns how many. Interrupted, it goes on where it was; `progress` is called with done and total.

        Raises:
            EmbeddingError: the embedder is down, or failed for some texts; what could be embedded is written.
        """
        self._check_open()
        return reembed(self._store, self.scope, self._searcher, progress) if self._searcher.dense else 0

    def export(self, path: str | os.PathLike[str], *, removals: bool = True) -> Transferred:
        """Write all records of the scope and those below it to a bundle file (JSON lines with a checksum).

        With `removals` it also tells the ids of what was removed, so that another memory can follow.
        """
        self._check_open()
        return export(self._store, self.scope, path, self._clock, removals=removals)

    def import_(
        self,
        path: str | os.PathLike[str],
        progress: Progress | None = None,
        *,
        follow: bool = False,
        restore: bool = False,
    ) -> Transferred:
        """Read a bundle into this scope; records that are there already stay, and what was removed here stays away.

        With `follow` the scope follows the one that was exported: records that differ become as the bundle has them,
        and what was removed there is forgotten here, with what was derived from it. With `restore` what was removed
        here comes back.

        Raises:
            BundleError: it is damaged or not a bundle; nothing was imported.
        """
        self._check_open()
        terms = Terms(follow=follow, restore=restore, forget=self._forget_keys)
        return import_bundle(self._store, self.scope, path, self._searcher, self._clock, progress, terms)

    def _forget_keys(self, keys: Sequence[Key]) -> int:
        return forget_keys(self._store, self.scope, keys, unlearning())

    def copy_to(self, target: Memory, progress: Progress | None = None) -> Copied:
        """Write all records of the scope and those below it into the same scope of another memory, and compare both.

        It goes on where it broke off. Vectors are made anew by the target's embedder. See `transfer.copying.copy` for
        what is not copied.

        Raises:
            InvalidInput: another scope, or the memory itself.
            StoreError: the target holds other records under the same ids, or was written to meanwhile.
        """
        self._check_open()
        target._check_open()
        if target.scope != self.scope:
            raise InvalidInput(
                f"a memory is copied into the same scope, {tuple(self.scope)}, not {tuple(target.scope)}"
            )
        return copy(self._store, target.store, self.scope, target._searcher, self._clock, progress)

    def stats(self) -> dict[str, JSON]:
        """Return counts of this scope and those below by kind, what lacks a vector, and the sizes of the engine.

        `by_kind` counts kinds of the caller's own as "other"; `embedder` is None while it cannot be asked.
        """
        self._check_open()
        counts = {kind: self.count(kinds=(kind,), subtree=True) for kind in ("note", *LAYERS, SUPERSEDED)}
        records, space = self.count(subtree=True), self._searcher.space
        counts["other"] = records - sum(number for kind, number in counts.items() if kind != SUPERSEDED)
        engine: Mapping[str, JSON] = self._store.stats() if isinstance(self._store, Upkeep) else {}
        return {
            "scope": [*self.scope],
            "scopes_below": len(self.scopes()),
            "records": records,
            "by_kind": {kind: number for kind, number in counts.items() if number},
            "sessions": len(self.conversation.sessions()),
            "embedder": space,
            "without_vector": self._lacking(space) if space and self._searcher.dense else 0,
            "engine": {name: engine[name] for name in ENGINE_FIGURES if name in engine},
        }

    def warm(self) -> None:
        """Make or load the search index of this scope now, so that the first search does not wait for it.

        After a large import it also stores the index in the file.
        """
        self._check_open()
        self._store.find(Query(scope=self.scope, words="", k=1))

    def check(self) -> builtins.list[Finding]:
        """Compare the store with itself, and every derived index with the rows; [] where all is well.

        Erasures that were pending are finished, and are a finding where a reader still holds them back.
        """
        self.scopes()  # an encrypted store checks the scopes that were asked for
        return self._upkeep().check()

    def rebuild(self, progress: Callable[[str], None] | None = None) -> int:
        """Make every derived index anew from the rows and finish pending erasures; return how many records it read.

        `progress` is called with what is done next. An erasure that a reader still holds back is a finding of `check`.
        """
        self._check_open()
        if progress is not None:
            progress("indexes")
        read = self._upkeep().rebuild()
        if progress is not None:
            progress("erasures")
        finish_erasures(self._store)
        return read

    def close(self) -> None:
        """Close the memory, and its store if it opened it; closing twice is harmless."""
        if not self._opening.closed:
            self._opening.close()
            if self._owns_store:
                self._store.close()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._opening.closed else ""
        return f"Memory({type(bare(self._store)).__name__}, scope={tuple(self.scope)!r}{closed})"

    def _upkeep(self) -> Upkeep:
        if not isinstance(self._store, Upkeep):
            raise StoreError(
                f"{type(bare(self._store)).__name__} keeps no derived index of ours; use the engine's own checks"
            )
        return self._store

    def _lacking(self, space: str) -> int:
        return self._store.find(Query(scope=self.scope, subtree=True, lacking=space, count=True)).count or 0

    def _say_what_lacks_vectors(self) -> None:
        space = self._searcher.space if self._searcher.dense else None
        if space and (number := self._lacking(space)):
            _LOG.warning(
                "%d records have no vector of %s: they are found by words alone until reembed() is run", number, space
            )


def _made_parts(**given: object) -> Parts:
    parts: Parts = import_module(_PARTS).Parts(**given)
    return parts

"""`AsyncMemory`: `Memory` for asyncio."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Self

from seasoned.aio.memories import AsyncConversationMemory, AsyncExperienceMemory, AsyncPlaybook, AsyncRunMemory
from seasoned.aio.shell import Shell, reading, working
from seasoned.aio.threads import Lane, Threads
from seasoned.conversation import ConversationPolicy
from seasoned.embedders import EmbedderSpec
from seasoned.errors import StoreClosed, WrongType
from seasoned.keys import Keys
from seasoned.lazy import Lazy
from seasoned.memory import DEFAULT_SCOPE, Memory
from seasoned.ports import Clock, IdSource, Store, new_id
from seasoned.ranking import Blend
from seasoned.records import Scope
from seasoned.redaction import RedactionPolicy, Redactor
from seasoned.stores.sqlite.connections import Durability
from seasoned.transfer.bundle import Progress
from seasoned.transfer.copying import Copied


class AsyncMemory(Shell[Memory]):
    """A `Memory` whose verbs are awaited; arguments, results and errors are the same.

    It is opened by `async with`, by `open`, or by the first verb. No verb runs on the event loop: each has a thread of
    the memory's own, so functions that you give (a progress, a rule, an embedder, a sync model) are called in threads.
    An async model runs on the caller's loop. A verb that is cancelled has happened whole or not at all when
    `CancelledError` is raised. It belongs to no loop, and one may be used by several; after `close` every verb raises
    `StoreClosed`.

    Raises:
        InvalidScope: the scope breaks its rule; other arguments are looked at when the memory is opened.
    """

    scope: Scope
    """Whose memory it is."""

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
        self.scope = Scope(scope)
        opening = partial(
            Memory,
            location,
            scope=self.scope,
            embedder=embedder,
            durability=durability,
            language=language,
            policy=policy,
            blend=blend,
            redaction=redaction,
            keys=keys,
            clock=clock,
            ids=ids,
        )
        self._assemble(Lazy(opening), Threads())

    def _assemble(
        self, opening: Lazy[Memory], threads: Threads, *, owns: bool = True, above: AsyncMemory | None = None
    ) -> None:
        super().__init__(opening.get, threads)
        self._opening = opening
        self._owns = owns
        self._above = above
        self._conversation = AsyncConversationMemory(lambda: opening.get().conversation, threads)
        self._runs = AsyncRunMemory(lambda: opening.get().runs, threads)
        self._experience = AsyncExperienceMemory(lambda: opening.get().experience, threads)
        self._playbook = AsyncPlaybook(lambda: opening.get().playbook, threads)

    @classmethod
    def wrap(cls, memory: Memory) -> Self:
        """Return the async form of a memory that is there; closing it waits for its verbs and leaves the memory open.

        Raises:
            WrongType: not a `Memory`.
        """
        if not isinstance(memory, Memory):
            raise WrongType(f"an AsyncMemory wraps a Memory, not {memory!r:.80}")
        made = object.__new__(cls)
        made.scope = memory.scope
        made._assemble(Lazy(lambda: memory), Threads(), owns=False)
        return made

    def within(self, *parts: str) -> Self:
        """Return the memory of a scope below this one, in the same threads; closing it closes nothing else.

        Raises:
            InvalidScope: a part breaks the rule of scopes.
        """
        made = object.__new__(type(self))
        made.scope = self.scope.within(*parts)
        made._assemble(Lazy(lambda: self._below().within(*parts)), self._threads, above=self)
        return made

    @property
    def memory(self) -> Memory:
        """The memory below, where it is open already; its verbs block.

        Raises:
            StoreClosed: it is not open.
        """
        made = self._opening.made
        if made is None:
            raise StoreClosed("this memory is not open: use `async with`, or await open() or any verb first")
        return made

    @property
    def store(self) -> Store:
        """The engine below, where the memory is open already; its calls block.

        Raises:
            StoreClosed: it is not open.
        """
        return self.memory.store if self._above is None else self._above.store

    @property
    def conversation(self) -> AsyncConversationMemory:
        """What was said, in sessions."""
        return self._conversation

    @property
    def runs(self) -> AsyncRunMemory:
        """What happened in runs of many turns: turns, atoms, episodes, lessons."""
        return self._runs

    @property
    def experience(self) -> AsyncExperienceMemory:
        """Decisions, trajectories and feedback."""
        return self._experience

    @property
    def playbook(self) -> AsyncPlaybook:
        """Advice that grows with every run: entries, what they did for those who used them, and every change."""
        return self._playbook

    context = working(Memory.context)  # type: ignore[arg-type]  # mypy: `self` could be among **conversation; it is given by place
    outcome = working(Memory.outcome)
    pin = working(Memory.pin)
    unpin = working(Memory.unpin)
    remember = working(Memory.remember)
    remember_all = working(Memory.remember_all)
    get = reading(Memory.get)
    list = reading(Memory.list)
    count = reading(Memory.count)
    update = working(Memory.update)  # type: ignore[arg-type]  # mypy: `self` could be among **changes; it is given by place
    history = reading(Memory.history)
    explain = reading(Memory.explain)
    recall = working(Memory.recall)
    scopes = reading(Memory.scopes)
    forget = working(Memory.forget)
    sweep = working(Memory.sweep)
    rotate_key = working(Memory.rotate_key)
    forget_key = working(Memory.forget_key)
    reembed = working(Memory.reembed)
    export = working(Memory.export)
    import_ = working(Memory.import_)
    stats = working(Memory.stats)
    warm = working(Memory.warm)
    check = working(Memory.check)
    rebuild = working(Memory.rebuild)

    async def copy_to(self, target: AsyncMemory, progress: Progress | None = None) -> Copied:
        """Do as `Memory.copy_to`, into another `AsyncMemory`.

        Raises:
            WrongType: the target is none.
        """
        if not isinstance(target, AsyncMemory):
            raise WrongType(f"an AsyncMemory is copied to an AsyncMemory, not {target!r:.80}")
        return await self._threads.run(Lane.WORK, lambda: self._below().copy_to(target._below(), progress))

    async def open(self) -> Self:
        """Open it now and return it, so that the first verb does not wait and a wrong argument is said here.

        Raises:
            InvalidInput, WrongType, StoreError, MissingExtra: as `Memory`.
        """
        await self._threads.run(Lane.WORK, self._below)
        return self

    async def close(self) -> None:
        """Close it when the verbs under way have ended, and its store if it opened it; twice is harmless.

        A verb that waits for a model is not waited for: its next step raises `StoreClosed`, and has written nothing.
        """
        if self._above is None:
            await self._threads.close(self._end)
            return
        with contextlib.suppress(StoreClosed):  # the memory that it is within was closed before
            await self._threads.run(Lane.WORK, self._end)

    def _end(self) -> None:
        made = self._opening.close()
        if made is not None and self._owns:
            made.close()

    async def __aenter__(self) -> Self:
        try:
            return await self.open()
        except BaseException:
            await self.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(scope={tuple(self.scope)!r})"

"""The four memories, awaited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from seasoned.aio.shell import Shell, asking, reading, working
from seasoned.aio.threads import Lane
from seasoned.asking import Model, arun
from seasoned.conversation import ConversationMemory
from seasoned.conversation.summary import Summarised
from seasoned.errors import WrongType
from seasoned.experience import ExperienceMemory, ExperiencePolicy
from seasoned.lazy import Lazy
from seasoned.playbook import Playbook
from seasoned.playbook.deltas import Add, DeltaEntry
from seasoned.playbook.entries import Entry
from seasoned.runs import RunMemory, RunPolicy
from seasoned.runs.protocols import AtomExtractor, EpisodeClassifier, RetroClassifier


class AsyncConversationMemory(Shell[ConversationMemory]):
    """The verbs of `ConversationMemory`, awaited; arguments, results and errors are the same."""

    add = working(ConversationMemory.add)
    search = working(ConversationMemory.search)
    context = working(ConversationMemory.context)  # type: ignore[arg-type]  # mypy: `self` could be among **overrides; it is given by place
    sessions = working(ConversationMemory.sessions)
    messages = reading(ConversationMemory.messages)
    turns = reading(ConversationMemory.turns)
    pin = working(ConversationMemory.pin)
    unpin = working(ConversationMemory.unpin)
    clear = working(ConversationMemory.clear)
    forget = working(ConversationMemory.forget)

    async def summarise(
        self, session: str = "default", model: Model | None = None, *, budget: int | None = None
    ) -> Summarised:
        """Do as `ConversationMemory.summarise`; an async model runs on this loop."""
        below = await self._threads.run(Lane.READ, self._below)
        return await arun(below.summarising(session, budget=budget, with_model=model is not None), model)


class AsyncRunMemory(Shell[RunMemory]):
    """The verbs of `RunMemory`, awaited; arguments, results and errors are the same. Rules are called in a thread."""

    start_run = working(RunMemory.start_run)
    record_turn = working(RunMemory.record_turn)
    extract_atoms = working(RunMemory.extract_atoms)
    update_episode = asking(RunMemory.aupdate_episode)
    memory_block = working(RunMemory.memory_block)
    observed = working(RunMemory.observed)
    summarise_run = asking(RunMemory.asummarise_run)
    load_prior_run_notes = reading(RunMemory.load_prior_run_notes)
    list_runs = reading(RunMemory.list_runs)
    turns = working(RunMemory.turns)
    atoms = working(RunMemory.atoms)
    episodes = working(RunMemory.episodes)
    lessons = reading(RunMemory.lessons)
    add_lessons = working(RunMemory.add_lessons)
    state = working(RunMemory.state)
    explain = working(RunMemory.explain)

    async def last_error(self) -> str | None:
        """Return what `RunMemory.last_error` is."""
        return await self._threads.run(Lane.WORK, lambda: self._below().last_error)

    async def configure(
        self,
        atom_extractor: AtomExtractor | None = None,
        episode_classifier: EpisodeClassifier | None = None,
        retro_classifier: RetroClassifier | None = None,
        policy: RunPolicy | None = None,
    ) -> Self:
        """Do as `RunMemory.configure`, and return this object."""
        rules = (atom_extractor, episode_classifier, retro_classifier)
        await self._threads.run(Lane.WORK, lambda: self._below().configure(*rules, policy))
        return self


class AsyncExperienceMemory(Shell[ExperienceMemory]):
    """The verbs of `ExperienceMemory`, awaited; arguments, results and errors are the same."""

    record = working(ExperienceMemory.record)
    record_trajectory = working(ExperienceMemory.record_trajectory)
    rate = working(ExperienceMemory.rate)
    feedback = working(ExperienceMemory.feedback)
    feedback_history = working(ExperienceMemory.feedback_history)
    similar = working(ExperienceMemory.similar)
    similar_trajectories = working(ExperienceMemory.similar_trajectories)
    newest = working(ExperienceMemory.newest)
    few_shot = working(ExperienceMemory.few_shot)
    stats = working(ExperienceMemory.stats)
    preseed = working(ExperienceMemory.preseed)
    export_preseed = working(ExperienceMemory.export_preseed)
    store_draft = working(ExperienceMemory.store_draft)
    store_rating = working(ExperienceMemory.store_rating)
    store_decision = working(ExperienceMemory.store_decision)
    store_trajectory = working(ExperienceMemory.store_trajectory)
    store_feedback = working(ExperienceMemory.store_feedback)
    store_feedback_on_loose = working(ExperienceMemory.store_feedback_on_loose)
    retrieve_feedback = working(ExperienceMemory.retrieve_feedback)
    retrieve_similar = working(ExperienceMemory.retrieve_similar)
    retrieve_similar_trajectories = working(ExperienceMemory.retrieve_similar_trajectories)
    build_few_shot_prompt = working(ExperienceMemory.build_few_shot_prompt)
    get_stats = working(ExperienceMemory.get_stats)
    reward_human_feedback = working(ExperienceMemory.reward_human_feedback)  # type: ignore[arg-type]  # mypy: `self` could be among **columns; it is given by place

    def with_policy(self, policy: ExperiencePolicy) -> Self:
        """Return the same experience read by another policy; see `ExperienceMemory.with_policy`."""
        return type(self)(Lazy(lambda: self._below().with_policy(policy)).get, self._threads)


class AsyncPlaybook(Shell[Playbook]):
    """The verbs of `Playbook`, awaited; arguments, results and errors are the same.

    Reflectors and curators are called in a thread. Its length is `len(await playbook.entries())`.
    """

    add = working(Playbook.add)
    update = working(Playbook.update)
    tag = working(Playbook.tag)
    merge_entries = working(Playbook.merge_entries)
    remove = working(Playbook.remove)
    search = working(Playbook.search)
    refine = asking(Playbook.arefine)
    contradictions = working(Playbook.contradictions)
    prune = working(Playbook.prune)
    render = working(Playbook.render)
    block = working(Playbook.block)
    learn = asking(Playbook.alearn)
    to_text = working(Playbook.to_text)
    load_text = working(Playbook.load_text)
    to_dict = reading(Playbook.to_dict)
    load_dict = working(Playbook.load_dict)
    get = reading(Playbook.get)
    resolve = reading(Playbook.resolve)
    knows = reading(Playbook.knows)
    has_change = reading(Playbook.has_change)
    entries = reading(Playbook.entries)
    history = reading(Playbook.history)
    apply = working(Playbook.apply)
    bring = working(Playbook.bring)
    join = working(Playbook.join)
    rollback = working(Playbook.rollback)
    clear = working(Playbook.clear)

    async def number(self) -> int:
        """Return what `Playbook.number` is."""
        return await self._threads.run(Lane.READ, lambda: self._below().number)

    async def last_id(self) -> int:
        """Return what `Playbook.last_id` is."""
        return await self._threads.run(Lane.READ, lambda: self._below().last_id)

    async def seq(self) -> int:
        """Return what `Playbook.seq` is."""
        return await self._threads.run(Lane.READ, lambda: self._below().seq)

    async def merge(self, new: Iterable[DeltaEntry | Entry | Add]) -> Self:
        """Do as `Playbook.merge`, and return this playbook."""
        await self._threads.run(Lane.WORK, lambda: self._below().merge(new))
        return self

    def __bool__(self) -> bool:
        """Refuse: whether there are entries is in the store, which is awaited.

        Raises:
            WrongType: always.
        """
        raise WrongType("whether a playbook has entries is awaited: `if await playbook.entries()`")

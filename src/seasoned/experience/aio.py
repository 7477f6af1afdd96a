"""`AsyncExperienceMemory`: every verb as a coroutine, the work done off the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from seasoned.experience.memory import ExperienceMemory
from seasoned.experience.rewards import Prompt

P = ParamSpec("P")
R = TypeVar("R")


def _threaded(
    verb: Callable[Concatenate[ExperienceMemory, P], R],
) -> Callable[Concatenate[AsyncExperienceMemory, P], Awaitable[R]]:
    async def call(self: AsyncExperienceMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        import asyncio

        return await asyncio.to_thread(verb, self.memory, *args, **kwargs)

    call.__name__, call.__doc__ = verb.__name__, verb.__doc__
    return call


class AsyncExperienceMemory:
    """The verbs of an `ExperienceMemory`, awaited; arguments and results are the same."""

    def __init__(self, memory: ExperienceMemory) -> None:
        self.memory = memory

    record = _threaded(ExperienceMemory.record)
    record_trajectory = _threaded(ExperienceMemory.record_trajectory)
    rate = _threaded(ExperienceMemory.rate)
    feedback = _threaded(ExperienceMemory.feedback)
    feedback_history = _threaded(ExperienceMemory.feedback_history)
    similar = _threaded(ExperienceMemory.similar)
    similar_trajectories = _threaded(ExperienceMemory.similar_trajectories)
    newest = _threaded(ExperienceMemory.newest)
    few_shot = _threaded(ExperienceMemory.few_shot)
    stats = _threaded(ExperienceMemory.stats)
    preseed = _threaded(ExperienceMemory.preseed)
    export_preseed = _threaded(ExperienceMemory.export_preseed)
    store_decision = _threaded(ExperienceMemory.store_decision)
    store_trajectory = _threaded(ExperienceMemory.store_trajectory)
    store_feedback = _threaded(ExperienceMemory.store_feedback)
    retrieve_feedback = _threaded(ExperienceMemory.retrieve_feedback)
    retrieve_similar = _threaded(ExperienceMemory.retrieve_similar)
    retrieve_similar_trajectories = _threaded(ExperienceMemory.retrieve_similar_trajectories)
    build_few_shot_prompt = _threaded(ExperienceMemory.build_few_shot_prompt)
    get_stats = _threaded(ExperienceMemory.get_stats)

    async def reward_human_feedback(
        self, prompts: Sequence[Prompt], completions: Sequence[Prompt], **columns: object
    ) -> list[float]:
        """Return a reward for each completion; see `ExperienceMemory.reward_human_feedback`."""
        import asyncio

        return await asyncio.to_thread(self.memory.reward_human_feedback, prompts, completions, **columns)

"""`ExperienceMemory`: the native verbs, and those of LifeStackMemory with its names, arguments and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seasoned.errors import InvalidInput, WrongType
from seasoned.experience.feedback import OutcomeFeedback
from seasoned.experience.forms import DECISION, TRAJECTORY, Draft
from seasoned.experience.matches import Match
from seasoned.experience.metrics import checked_metrics, checked_world
from seasoned.experience.native import Experience
from seasoned.experience.rewards import Prompt, prompt_text, reward_of, speaks_for
from seasoned.experience.similar import Wanted
from seasoned.records import JSON, checked_id, clean_json

SPOKEN: int = 16
"""How many rated decisions are looked at for one prompt."""


class ExperienceMemory(Experience):
    """Decisions, trajectories and human feedback: the native verbs of `Experience`, and LifeStackMemory's."""

    def store_decision(
        self,
        conflict_title: str,
        action_type: str,
        target_domain: str | None,
        reward: float,
        metrics_snapshot: Mapping[str, float] | None = None,
        reasoning: str = "",
        trajectory: object = None,
        route_outcome: str | None = None,
        episode_id: str | None = None,
        personality_type: str | None = None,
        *,
        tags: Sequence[str] = (),
    ) -> str:
        """Store a decision and return its id; see `record`. `trajectory` is plain JSON, kept as it is."""
        draft = Draft(
            situation=conflict_title,
            action=action_type,
            domain=target_domain,
            reward=_given(reward),
            state=checked_metrics(metrics_snapshot),
            reasoning=reasoning,
            trajectory=clean_json(trajectory),
            route_outcome=route_outcome,
            episode=episode_id,
            personality=personality_type,
            tags=tags,
        )
        return self.store_draft(DECISION, draft).id

    def store_trajectory(
        self,
        conflict_title: str | None = None,
        route_taken: str | None = None,
        total_reward: float = 0.0,
        metrics_diff_str: str | None = None,
        reasoning: str | None = None,
        task_id: str | None = None,
        trajectory_summary: object = None,
        *,
        world: Mapping[str, bool | float | str | None] | None = None,
        episode_id: str | None = None,
    ) -> str:
        """Store a trajectory and return its id; it is found by its title and its task. See `record_trajectory`.

        Raises:
            InvalidInput: neither a title nor a task, or no route.
        """
        titles = [name for name in (conflict_title, task_id) if name is not None]
        if not titles or route_taken is None:
            raise InvalidInput("a trajectory needs a conflict_title or a task_id, and a route_taken")
        if not all(isinstance(title, str) for title in titles):
            raise WrongType(f"conflict_title and task_id are texts, not {titles!r:.80}")
        draft = Draft(
            situation=" ".join(titles),
            action=route_taken,
            reward=_given(total_reward),
            metrics_diff=metrics_diff_str,
            reasoning=reasoning or "",
            task=task_id,
            summary=clean_json(trajectory_summary),
            state=checked_world(world),
            episode=episode_id if episode_id is not None else self._episode_of_task(task_id),
        )
        return self.store_draft(TRAJECTORY, draft).id

    def _episode_of_task(self, task: str | None) -> str | None:
        """Return a task's name where decisions have it as their episode."""
        if task is None:
            return None
        with self._ledger.lock:
            self._ledger.follow()
            return task if task in self._ledger.decisions.episodes else None

    def store_feedback(self, feedback: OutcomeFeedback, *, early: bool = False) -> str:
        """Store what a person said of an episode and return its id, `fb_{episode_id}` for the first; see `rate`.

        Raises:
            NotFound: nothing is stored of the episode, unless `early`.
            WrongType: no `OutcomeFeedback`.
        """
        _check_feedback(feedback)
        return self.store_rating(feedback, feedback.episode_id, (), early=early).id

    def store_feedback_on_loose(self, feedback: OutcomeFeedback) -> str:
        """Store feedback on an episode of which nothing is stored: it is about the last decisions without an episode.

        Those are the ones stored after the last feedback, and after the last trajectory that has decisions after it.
        """
        _check_feedback(feedback)
        with self._ledger.lock:
            self._ledger.follow()
            known = self._ledger.known_episode(feedback.episode_id)
            about = () if known else tuple(self._ledger.loose())
            return self.store_rating(feedback, feedback.episode_id, about, early=True).id

    def retrieve_feedback(self, episode_id: str) -> OutcomeFeedback | None:
        """Return the feedback that stands for an episode; None where there is none."""
        return self.feedback(episode=episode_id)

    def retrieve_similar(
        self,
        conflict_title: str,
        current_metrics: Mapping[str, float] | None = None,
        n: int = 3,
        personality_type: str | None = None,
        *,
        min_reward: float | None = 0.05,
        tags: Sequence[str] = (),
    ) -> list[dict[str, object]]:
        """Return the n most similar decisions of at least that reward, best first; see `similar`.

        Keys: route_taken, action_type, target_domain, metrics_diff, reward, reasoning, episode_id, personality_type,
        similarity_score (the cosine), and id, score, why.
        """
        found = self.similar(
            conflict_title, current_metrics, n, personality=personality_type, min_reward=min_reward, tags=tags
        )
        return [_decision(match) for match in found]

    def retrieve_similar_trajectories(
        self,
        task_domain: str,
        current_world: Mapping[str, bool | float | str | None] | None = None,
        n: int = 3,
        *,
        min_reward: float | None = 0.05,
    ) -> list[dict[str, object]]:
        """Return the n most similar trajectories, best first; see `similar_trajectories`.

        Keys: task_id, route_taken, reward, summary, similarity_score (the cosine), and id, score, why.
        """
        found = self.similar_trajectories(task_domain, current_world, n, min_reward=min_reward)
        return [_trajectory(match) for match in found]

    def build_few_shot_prompt(
        self,
        conflict_title: str,
        current_metrics: Mapping[str, float] | None = None,
        personality_type: str | None = None,
        *,
        budget: int | None = None,
        sources: bool = True,
    ) -> str:
        """Return the few-shot block for a situation; see `few_shot`."""
        return self.few_shot(
            conflict_title, current_metrics, budget, personality=personality_type, sources=sources
        ).text

    def get_stats(self) -> dict[str, JSON]:
        """Return `total_memories` (decisions), `average_reward`, `by_action_type`; see `stats`."""
        return self.stats()

    def reward_human_feedback(
        self, prompts: Sequence[Prompt], completions: Sequence[Prompt], **columns: object
    ) -> list[float]:
        """Return a reward for each completion, -1 to 1, in the form that TRL calls; other columns are not read.

        It is the standing rating of a decision in a similar situation that took an action named in the completion (of
        the nearest, where the completion names no action known). 0 where nothing similar was rated.

        Raises:
            InvalidInput: as many completions as prompts are needed.
            WrongType: neither texts nor lists of messages.
        """
        del columns
        if len(prompts) != len(completions):
            raise InvalidInput(f"{len(prompts)} prompts cannot have {len(completions)} completions")
        return [
            self._reward(prompt_text(prompt, "prompts"), prompt_text(completion, "completions"))
            for prompt, completion in zip(prompts, completions, strict=True)
        ]

    def _reward(self, prompt: str, completion: str) -> float:
        if not prompt.strip():
            return 0.0
        wanted = Wanted(situation=prompt, state={}, n=SPOKEN, rated=True, diverse=False)
        matches = self._finder.find(DECISION, wanted)
        near = [(speaks_for(match, prompt, self.policy.floor), match) for match in matches]
        heard = [match for share, match in sorted(near, key=lambda each: -each[0]) if share > 0]
        with self._ledger.lock:
            actions = [*self._ledger.decisions.names["action"].strings]
        return reward_of(heard, completion, actions)


def _given(reward: object) -> float:
    if reward is None:
        raise WrongType("a reward is a number, not None")
    return reward  # type: ignore[return-value]  # checked by the draft


def _check_feedback(feedback: object) -> None:
    if not isinstance(feedback, OutcomeFeedback):
        raise WrongType(f"feedback is an OutcomeFeedback, not {feedback!r:.80}")
    checked_id(feedback.episode_id, "an episode")


def _decision(match: Match) -> dict[str, object]:
    data = match.record.data
    return {
        "route_taken": data.get("route_outcome"),
        "action_type": match.action,
        "target_domain": match.domain,
        "metrics_diff": data.get("metrics_diff"),
        "reward": match.reward,
        "reasoning": match.reasoning,
        "episode_id": match.episode,
        "personality_type": match.personality,
        "similarity_score": match.similarity,
        "id": match.id,
        "score": match.score,
        "why": match.why,
    }


def _trajectory(match: Match) -> dict[str, object]:
    return {
        "task_id": match.task,
        "route_taken": match.action,
        "reward": match.reward,
        "summary": match.summary,
        "similarity_score": match.similarity,
        "id": match.id,
        "score": match.score,
        "why": match.why,
    }

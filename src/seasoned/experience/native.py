"""`Experience`: what an agent did and how it went, in any domain; found again by situation and state."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from seasoned.errors import Conflict, InvalidInput
from seasoned.experience.arguments import Floor, bound, count, keys_of, names_of, situation_text, time_of
from seasoned.experience.feedback import OutcomeFeedback
from seasoned.experience.fewshot import FewShot, few_shot
from seasoned.experience.forms import DECISION, TRAJECTORY, Draft, checked_tags
from seasoned.experience.ledger import Ledger
from seasoned.experience.matches import Matches
from seasoned.experience.metrics import checked_metrics, checked_world
from seasoned.experience.policy import ExperiencePolicy
from seasoned.experience.preseed import GLOB, Preseeded, export_preseed, preseed
from seasoned.experience.ratings import Ratings
from seasoned.experience.similar import Finder, Wanted
from seasoned.ports import ABSENT, Clock, IdSource, Put, Store
from seasoned.query import checked_k
from seasoned.records import JSON, WHEN, Key, Scope, checked_id, instant
from seasoned.results import Added, Status
from seasoned.search import Searcher


class Experience:
    """The decisions, trajectories and feedback of one scope. Threads may share it; `policy` has every weight.

    The first look reads the scope whole (about 5 s for 100,000 decisions with twelve metrics each), each later one what
    changed since.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        searcher: Searcher,
        clock: Clock,
        ids: IdSource,
        policy: ExperiencePolicy | None = None,
    ) -> None:
        self._store = store
        self._scope = scope
        self._searcher = searcher
        self._clock = clock
        self._ids = ids
        self.policy = policy or ExperiencePolicy()
        self._ledger = Ledger(store, scope, clock, self.policy)
        self._ratings = Ratings(store, scope, searcher, clock, self._ledger)
        self._finder = Finder(store, scope, searcher, clock, self._ledger, self.policy)

    def with_policy(self, policy: ExperiencePolicy) -> Self:
        """Return the same experience read by another policy; it keeps columns of its own."""
        return type(self)(self._store, self._scope, self._searcher, self._clock, self._ids, policy)

    def record(
        self,
        situation: str,
        action: str,
        reward: float | None = None,
        *,
        domain: str | None = None,
        reasoning: str = "",
        metrics: Mapping[str, float] | None = None,
        tags: Sequence[str] = (),
        episode: str | None = None,
        personality: str | None = None,
        at: WHEN = None,
        until: WHEN = None,
        id: str | None = None,  # noqa: A002  # the field's name everywhere
        data: Mapping[str, JSON] | None = None,
        sources: Sequence[Key] = (),
    ) -> Added:
        """Store a decision and say what became of it; one whose id is there already changes nothing.

        `reward` may be None while nobody knows it: what its episode's trajectory earns flows back to it. `metrics` is
        the state it was made in, by name. Decisions of one `episode` follow each other as they are recorded. `at` is
        when it was made (now), `until` when it ends to exist.

        Raises:
            InvalidInput: a blank situation or action, a number that is not finite.
            WrongType: an argument of another type. Nothing was stored.
        """
        draft = Draft(
            situation=situation,
            action=action,
            reward=reward,
            domain=domain,
            reasoning=reasoning,
            state=checked_metrics(metrics),
            tags=tags,
            episode=episode,
            personality=personality,
            data=data or {},
        )
        return self.store_draft(DECISION, draft, at=at, until=until, id=id, sources=sources)

    def record_trajectory(
        self,
        situation: str,
        route: str,
        reward: float,
        *,
        task: str | None = None,
        summary: JSON = None,
        reasoning: str = "",
        world: Mapping[str, bool | float | str | None] | None = None,
        tags: Sequence[str] = (),
        episode: str | None = None,
        personality: str | None = None,
        at: WHEN = None,
        until: WHEN = None,
        id: str | None = None,  # noqa: A002  # the field's name everywhere
        data: Mapping[str, JSON] | None = None,
        sources: Sequence[Key] = (),
    ) -> Added:
        """Store how a whole episode went: the situation it began in, the route taken, its total reward.

        With an `episode`, the reward flows back to the decisions of that episode; the newest trajectory of an episode
        counts. `world` is the state it began in: booleans, finite numbers, texts, None. `summary` is plain JSON.

        Raises:
            InvalidInput, WrongType: as `record` does. Nothing was stored.
        """
        draft = Draft(
            situation=situation,
            action=route,
            reward=reward,
            reasoning=reasoning,
            state=checked_world(world),
            tags=tags,
            episode=episode,
            personality=personality,
            task=task,
            summary=summary,
            data=data or {},
        )
        return self.store_draft(TRAJECTORY, draft, at=at, until=until, id=id, sources=sources)

    def store_draft(
        self,
        kind: str,
        draft: Draft,
        *,
        at: WHEN = None,
        until: WHEN = None,
        id: str | None = None,  # noqa: A002  # the field's name everywhere
        sources: Sequence[Key] = (),
    ) -> Added:
        """Store a decision or trajectory that was drafted."""
        key = Key(self._scope, kind, checked_id(id) if id is not None else self._ids())
        made = draft.decision if kind == DECISION else draft.trajectory_record
        end = None if until is None else instant(until)
        record = made(key, instant(at, default=self._clock.now()), end, keys_of(sources))
        vectors, failed = self._searcher.vectors([record.text])
        try:
            self._store.apply([Put(record, vectors[0], ABSENT)])
        except Conflict:
            if id is None:
                raise
            return Added(id=key.id, status=Status.DUPLICATE, reason=f"a {kind} with this id is there already")
        return Added(id=key.id, status=Status.WRITTEN, reason=f"degraded: {failed}" if failed else None)

    def rate(
        self,
        rating: float,
        *,
        episode: str | None = None,
        decision: str | None = None,
        note: str = "",
        improved: Sequence[str] = (),
        worsened: Sequence[str] = (),
        hours: float = 0.0,
        at: WHEN = None,
        early: bool = False,
    ) -> Added:
        """Store what a person says of an episode or of one decision, 0 to 10; the newest stands, all are kept.

        `at` is when it was said; a time ahead of the clock counts as now. Its sources are the decision, or the
        episode's trajectories, or its decisions where it has no trajectory.

        Raises:
            InvalidInput: a rating outside 0 to 10; both or neither of episode and decision.
            NotFound: nothing is stored of the episode (unless `early`), or no such decision.
            WrongType: an argument of another type. Nothing was stored.
        """
        if (episode is None) == (decision is None):
            raise InvalidInput("rate either an episode or a decision")
        feedback = OutcomeFeedback(
            checked_id(decision if episode is None else episode, "an episode or decision"),
            instant(at, default=self._clock.now()),
            rating,
            [*improved] if not isinstance(improved, str) else improved,  # type: ignore[arg-type]  # refused inside
            [*worsened] if not isinstance(worsened, str) else worsened,  # type: ignore[arg-type]  # refused inside
            note,
            hours,
        )
        return self.store_rating(feedback, episode, () if decision is None else (decision,), early=early)

    def store_rating(
        self, feedback: OutcomeFeedback, episode: str | None, decisions: Sequence[str], *, early: bool = False
    ) -> Added:
        """Store feedback on an episode and/or on decisions by their ids; see `rate`."""
        return self._ratings.store(feedback, episode, decisions, early=early)

    def feedback(self, *, episode: str | None = None, decision: str | None = None) -> OutcomeFeedback | None:
        """Return the feedback that stands for an episode, or for a decision; None where there is none."""
        history = self.feedback_history(episode=episode, decision=decision)
        return history[-1] if history else None

    def feedback_history(self, *, episode: str | None = None, decision: str | None = None) -> list[OutcomeFeedback]:
        """Return all feedback on an episode, or on a decision and its episode; the one that stands is the last."""
        return self._ratings.history(episode, decision)

    def similar(
        self,
        situation: str,
        metrics: Mapping[str, float] | None = None,
        n: int = 3,
        *,
        min_reward: Floor = "policy",
        max_reward: float | None = None,
        actions: Sequence[str] = (),
        domains: Sequence[str] = (),
        tags: Sequence[str] = (),
        personality: str | None = None,
        episode: str | None = None,
        since: WHEN = None,
        until: WHEN = None,
        rated: bool | None = None,
        diverse: bool = True,
    ) -> Matches:
        """Return the `n` decisions made in the most similar situations that went best, best first.

        Every condition holds before anything is ranked, so n come back when n are eligible. `min_reward` is the
        policy's 0.05 unless given; None lifts it. All of `tags` must be there, one of `actions` and of `domains`;
        `since` is inclusive, `until` not. `rated` keeps those with (True) or without (False) feedback.

        Raises:
            InvalidInput: a blank situation, n below 1, a number that is not finite.
            WrongType: an argument of another type.
        """
        wanted = Wanted(
            situation=situation_text(situation),
            state=checked_metrics(metrics),
            n=count(n),
            min_reward=self.policy.min_reward if min_reward == "policy" else bound(min_reward),
            max_reward=bound(max_reward),
            actions=names_of(actions, "actions"),
            domains=names_of(domains, "domains"),
            tags=checked_tags(tags),
            personality=None if personality is None else checked_id(personality, "a personality"),
            episode=None if episode is None else checked_id(episode, "an episode"),
            since=time_of(since),
            until=time_of(until),
            rated=rated,
            diverse=diverse,
        )
        return self._finder.find(DECISION, wanted)

    def similar_trajectories(
        self,
        situation: str,
        world: Mapping[str, bool | float | str | None] | None = None,
        n: int = 3,
        *,
        min_reward: Floor = "policy",
        tags: Sequence[str] = (),
        personality: str | None = None,
        since: WHEN = None,
        until: WHEN = None,
        diverse: bool = True,
    ) -> Matches:
        """Return the `n` trajectories that began most alike and went best, as `similar` does for decisions."""
        wanted = Wanted(
            situation=situation_text(situation),
            state=checked_world(world),
            n=count(n),
            min_reward=self.policy.min_reward if min_reward == "policy" else bound(min_reward),
            tags=checked_tags(tags),
            personality=None if personality is None else checked_id(personality, "a personality"),
            since=time_of(since),
            until=time_of(until),
            diverse=diverse,
        )
        return self._finder.find(TRAJECTORY, wanted)

    def newest(self, n: int = 20) -> Matches:
        """Return the decisions recorded last, the newest first; nothing ranks them."""
        return self._finder.newest(DECISION, count(n))

    def few_shot(
        self,
        situation: str,
        metrics: Mapping[str, float] | None = None,
        budget: int | None = None,
        *,
        n: int = 3,
        tags: Sequence[str] = (),
        personality: str | None = None,
        sources: bool = True,
    ) -> FewShot:
        """Return the block that shows what worked in similar situations, then what to avoid, in `budget` tokens.

        Examples are the `n` most similar decisions that reach the reward floor and were not rated low. To avoid are
        those that were, or fell below the floor, and resemble the situation. Tokens are estimated rather too high.

        Raises:
            InvalidInput: a blank situation, a budget below 1, n below 1.
            WrongType: an argument of another type.
        """
        limit = checked_k(self.policy.prompt_budget if budget is None else budget)
        wanted = Wanted(
            situation=situation_text(situation),
            state=checked_metrics(metrics),
            n=count(n),
            min_reward=self.policy.min_reward,
            tags=checked_tags(tags),
            personality=None if personality is None else checked_id(personality, "a personality"),
            failed=False,
        )
        good = self._finder.find(DECISION, wanted)
        bad = Matches()
        if self.policy.avoid:
            least = self.policy.avoid_score
            avoid = replace(wanted, min_reward=None, failed=True, n=int(self.policy.avoid), least=least)
            bad = self._finder.find(DECISION, avoid)
        return few_shot(good, bad, limit, sources=sources)

    def stats(self) -> dict[str, JSON]:
        """Return how many decisions, trajectories and feedback there are, the mean reward, and decisions by action."""
        with self._ledger.lock:
            self._ledger.follow()
            table = self._ledger.decisions
            alive = self._finder.alive(table)
            rewards = table.array("reward")[alive].astype(np.float64)
            known = rewards[~np.isnan(rewards)]
            counts = np.bincount(table.array("action")[alive].astype(np.int64))
            names = table.names["action"].strings
            return {
                "total_memories": int(alive.sum()),
                "average_reward": round(float(known.mean()), 3) if len(known) else 0.0,
                "by_action_type": {names[code]: int(counts[code]) for code in np.flatnonzero(counts).tolist()},
                "trajectories": int(self._finder.alive(self._ledger.trajectories).sum()),
                "feedback": len(self._ledger.book.said),
            }

    def preseed(self, paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = GLOB) -> Preseeded:
        """Load files of experience if there are no decisions yet, and report what was read, written and refused.

        `paths` are files or patterns, relative to the working directory. The forms are that of `export_preseed` and
        LifeStackMemory's (ids, documents, metadatas, embeddings); vectors in a file are used only where they prove to
        be of this memory's space.
        """
        with self._ledger.lock:
            self._ledger.follow()
            empty = not len(self._ledger.decisions)
        return preseed(self._store, self._scope, self._searcher, self._clock, paths, empty=empty)

    def export_preseed(self, path: str | os.PathLike[str]) -> int:
        """Write all decisions, trajectories and feedback to a JSON file that `preseed` reads; return how many."""
        return export_preseed(self._store, self._scope, path)

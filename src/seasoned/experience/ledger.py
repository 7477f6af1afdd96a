"""What a process keeps at hand of a scope's experience, following the store; and what flows back to decisions.

Credit and standing feedback are computed here from the records as they are, never stored: late feedback, another
trajectory, a decision more in the episode or a forgotten record change them at the next look.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

import numpy as np

from seasoned.experience.feedback import NEUTRAL
from seasoned.experience.forms import DECISION, FEEDBACK, TRAJECTORY, Said, entry, said
from seasoned.experience.policy import ExperiencePolicy
from seasoned.experience.table import Table
from seasoned.following import Follower
from seasoned.forks import StartsAnew, watch
from seasoned.ports import Clock, Store
from seasoned.query import Page, Query
from seasoned.records import Hit, Scope

KINDS: Final = (DECISION, TRAJECTORY, FEEDBACK)
PAGE: Final = 2_000


class Book:
    """What was said, by episode and by decision, each list in the order of what stands: the last one does."""

    def __init__(self) -> None:
        self.said: dict[str, Said] = {}
        self.by_episode: dict[str, list[Said]] = {}
        self.by_decision: dict[str, list[Said]] = {}
        self.changed: list[Said] = []

    def take(self, new: Said) -> None:
        """Take in feedback that is new or has changed."""
        self.drop(new.id)
        self.said[new.id] = new
        for held in self._places(new):
            held.append(new)
            held.sort(key=lambda each: each.when)
        self.changed.append(new)

    def drop(self, name: str) -> None:
        """Forget feedback; what is not there is none."""
        old = self.said.pop(name, None)
        if old is not None:
            for held in self._places(old):
                held.remove(old)
            self.changed.append(old)

    def _places(self, one: Said) -> Iterator[list[Said]]:
        if one.episode is not None:
            yield self.by_episode.setdefault(one.episode, [])
        for name in one.decisions:
            yield self.by_decision.setdefault(name, [])

    def standing(self, decision: str | None, episode: str | None) -> Said | None:
        """Return what stands for a decision of an episode: the newest of what was said of either."""
        found = [*self.by_decision.get(decision or "", ())[-1:], *self.by_episode.get(episode or "", ())[-1:]]
        return max(found, key=lambda each: each.when, default=None)


class Ledger(StartsAnew):
    """The decisions, trajectories and feedback of one scope; threads share it under `lock`."""

    def __init__(self, store: Store, scope: Scope, clock: Clock, policy: ExperiencePolicy) -> None:
        self._clock = clock
        self._follower = Follower(store, Query(scope=scope, kinds=KINDS, k=PAGE))
        self._policy = policy
        self.after_fork_in_child()
        watch(self)

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own and nothing read."""
        self.lock = threading.RLock()
        self._follower.restart()
        self._start_anew()

    def _start_anew(self) -> None:
        self.decisions, self.trajectories = Table(self._policy.metrics), Table(self._policy.metrics)
        self.book = Book()

    def table(self, kind: str) -> Table:
        """Return the decisions or the trajectories."""
        return self.decisions if kind == DECISION else self.trajectories

    def follow(self) -> None:
        """Read what changed since the last look; `lock` must be held."""
        if self.decisions.wasted or self.trajectories.wasted:
            self._follower.restart()
            self._start_anew()
        self._follower.follow(self._take, self._start_anew, self._clock.now())
        self._credit()

    def _take(self, page: Page) -> None:
        for key in page.gone:
            if key.kind == FEEDBACK:
                self.book.drop(key.id)
            elif key.kind in KINDS:
                self.table(key.kind).drop(key.id)
        for hit in sorted(page.hits, key=lambda each: each.order):
            self._take_one(hit)

    def _take_one(self, hit: Hit) -> None:
        kind = hit.record.key.kind
        if kind == FEEDBACK:
            heard = said(hit)
            self.book.drop(hit.id) if heard is None else self.book.take(heard)
            return
        found = entry(hit)
        self.table(kind).drop(hit.id) if found is None else self.table(kind).take(found)

    def _credit(self) -> None:
        """Write what flows back to the decisions that something changed for."""
        episodes = self.decisions.episodes_changed | self.trajectories.episodes_changed
        slots = {(DECISION, slot) for slot in self.decisions.changed}
        slots |= {(TRAJECTORY, slot) for slot in self.trajectories.changed}
        for one in self.book.changed:
            if one.episode is not None:
                episodes.add(one.episode)
            for name in one.decisions:
                slot = self.decisions.slots.get(name)
                episode = None if slot is None else self.decisions.episode_of(slot)
                if episode is not None:
                    episodes.add(episode)
                elif slot is not None:
                    slots.add((DECISION, slot))
        for kind, slot in slots:
            self._rate(kind, slot, 1.0)
        for episode in episodes:
            self._credit_episode(episode)
        if slots or episodes:
            self.decisions.credited()
            self.trajectories.credited()
        self.book.changed.clear()

    def _credit_episode(self, episode: str) -> None:
        for slot in self.trajectories.episodes.get(episode, ()):
            self._rate(TRAJECTORY, slot, 1.0)
        slots = self.decisions.in_order(self.decisions.episodes.get(episode, ()))
        if not slots:
            return
        share = self._policy.discount ** np.arange(len(slots) - 1, -1, -1, dtype=np.float64)
        for slot, discount in zip(slots, share.tolist(), strict=True):
            self._rate(DECISION, slot, discount)
        own = self.decisions.array("reward")[slots].astype(np.float64)
        credit = share * self._total(episode)
        mixed = (1 - self._policy.credit_share) * own + self._policy.credit_share * credit
        self.decisions.array("basis")[slots] = np.where(np.isnan(own), credit, own)
        self.decisions.array("value")[slots] = np.where(np.isnan(own), credit, np.where(np.isnan(credit), own, mixed))

    def _total(self, episode: str) -> float:
        """Return the reward of an episode's newest trajectory that has one; NaN where there is none."""
        rewards = self.trajectories.array("reward")
        slots = self.trajectories.in_order(self.trajectories.episodes.get(episode, ()))
        known = [float(rewards[slot]) for slot in slots if not np.isnan(rewards[slot])]
        return known[-1] if known else float("nan")

    def _rate(self, kind: str, slot: int, discount: float) -> None:
        """Write the standing rating of a slot, and what of it counts: that of an episode is discounted."""
        table = self.table(kind)
        name = table.ids[slot] if kind == DECISION else None
        stands = self.book.standing(name, table.episode_of(slot))
        rating = float("nan") if stands is None else float(stands.feedback.overall_effectiveness)
        own = stands is not None and name is not None and name in stands.decisions
        table.array("rating")[slot] = rating
        table.array("human")[slot] = (
            0.0 if stands is None else (rating - NEUTRAL) / NEUTRAL * (1.0 if own else discount)
        )

    def known_episode(self, episode: str) -> bool:
        """Tell whether a decision, trajectory or feedback names an episode."""
        return (
            episode in self.decisions.episodes
            or episode in self.trajectories.episodes
            or bool(self.book.by_episode.get(episode))
        )

    def loose(self) -> list[str]:
        """Return the decisions of the last episode that was given no name, in order.

        Those without an episode that were stored after the last feedback, and after the last trajectory that has
        decisions after it.
        """
        table = self.decisions
        orders = table.array("order")
        marks = [one.order for one in self.book.said.values()]
        newest = int(orders.max(initial=0))
        ended = self.trajectories.array("order")[self.trajectories.array("alive").astype(np.bool_)]
        marks += [int(order) for order in ended if int(order) < newest]
        chosen = table.array("loose").astype(np.bool_) & table.array("alive").astype(np.bool_)
        chosen &= orders > max(marks, default=-1)  # type: ignore[operator]  # integers
        return [table.ids[slot] for slot in table.in_order(np.flatnonzero(chosen).tolist())]

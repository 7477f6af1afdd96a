"""Finding what was done in similar situations: every arm over all records that pass the filters, fused, then chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.embedders import embed_checked
from seasoned.errors import EmbeddingError
from seasoned.experience.choosing import best_slots, diverse, unlike_slots
from seasoned.experience.ledger import Ledger
from seasoned.experience.matches import Match, Matches, scaled_to_one
from seasoned.experience.metrics import State, most_stressed
from seasoned.experience.policy import ExperiencePolicy
from seasoned.experience.situations import TextScores
from seasoned.experience.table import Table
from seasoned.ports import Clock, Store, Vectors
from seasoned.query import And, Compare, Filter, Op, Query
from seasoned.records import Hit, Key, Scope, Why, to_micros
from seasoned.search import Searcher

CANDIDATES: Final = 32
"""Fewest records that are compared with each other before `n` of them are chosen; 8 n if that is more."""

NEAREST: Final = 64
"""How many records' cosines are asked for; below the median of them, cosines add nothing."""

NAMED: Final = 1_000
"""Up to so many records that pass the filters are asked for by id; more by the filter."""

_LARGEST: Final = 1e18

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked: a situation, its state, how many, and what every result must be."""

    situation: str
    state: State
    n: int
    min_reward: float | None = None
    max_reward: float | None = None
    actions: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    personality: str | None = None
    episode: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    rated: bool | None = None
    failed: bool | None = None
    least: float = 0.0
    diverse: bool = True


@dataclass(frozen=True, slots=True)
class _Scored:
    """The slots of a table as one query sees them."""

    total: Floats
    text: Floats
    metrics: Floats | None
    worth: Floats
    scores: TextScores
    weight: float


class Finder:
    """Answers `Wanted` over one scope."""

    def __init__(
        self, store: Store, scope: Scope, searcher: Searcher, clock: Clock, ledger: Ledger, policy: ExperiencePolicy
    ) -> None:
        self._store = store
        self._scope = scope
        self._searcher = searcher
        self._clock = clock
        self._ledger = ledger
        self._policy = policy

    def find(self, kind: str, wanted: Wanted) -> Matches:
        """Return exactly `wanted.n` matches where so many records pass, best first."""
        query = " ".join([wanted.situation, *most_stressed(wanted.state, self._policy.metrics)])
        vector, failed = self._vector(query)
        with self._ledger.lock:
            self._ledger.follow()
            table = self._ledger.table(kind)
            allowed = self._allowed(table, wanted)
            if not allowed.any():
                return Matches((), failed)
            cosines, lost = self._nearest(kind, table, wanted, vector, allowed)
            scored = self._score(table, wanted, allowed, None if vector is None else cosines)
            matches = self._matches(kind, table, self._chosen(table, wanted, scored), scored, cosines)
        return Matches(self._with_cosines(matches, vector, query), (*failed, *lost))

    def newest(self, kind: str, n: int) -> Matches:
        """Return the records written last, the newest first; nothing ranks them."""
        with self._ledger.lock:
            self._ledger.follow()
            table = self._ledger.table(kind)
            slots = np.flatnonzero(self.alive(table))
            slots = slots[np.argsort(-table.array("order")[slots].astype(np.int64))][:n]
            found = self._records(kind, table, slots.tolist())
            return Matches(
                [
                    self._unranked(table, slot, found[table.ids[slot]])
                    for slot in slots.tolist()
                    if table.ids[slot] in found
                ]
            )

    def alive(self, table: Table) -> Bools:
        """Tell which slots stand for records that exist now."""
        found: Bools = table.array("alive") & (table.array("until") > to_micros(self._clock.now()))  # type: ignore[operator]
        return found

    def _records(self, kind: str, table: Table, slots: Sequence[int]) -> dict[str, Hit]:
        keys = tuple(Key(self._scope, kind, table.ids[slot]) for slot in slots)
        return {hit.id: hit for hit in self._store.find(Query(scope=self._scope, keys=keys)).hits} if keys else {}

    def _vector(self, query: str) -> tuple[Vectors | None, tuple[str, ...]]:
        if not self._searcher.dense:
            return None, ()
        made, failed = self._searcher.vectors([query])
        return made[0], () if failed is None else (failed,)

    def _allowed(self, table: Table, wanted: Wanted) -> Bools:
        """Tell which slots pass every condition."""
        allowed = self.alive(table)
        basis, rating = table.array("basis"), table.array("rating")
        if wanted.min_reward is not None:
            allowed &= basis >= wanted.min_reward  # type: ignore[operator]  # numbers
        if wanted.max_reward is not None:
            allowed &= basis <= wanted.max_reward  # type: ignore[operator]
        if wanted.since is not None:
            allowed &= table.array("at") >= to_micros(wanted.since)  # type: ignore[operator]
        if wanted.until is not None:
            allowed &= table.array("at") < to_micros(wanted.until)  # type: ignore[operator]
        for column, names in (("action", wanted.actions), ("domain", wanted.domains)):
            if names:
                allowed &= table.named(column, names)
        for column, name in (("personality", wanted.personality), ("episode", wanted.episode)):
            if name is not None:
                allowed &= table.named(column, (name,))
        for tag in wanted.tags:
            allowed &= table.tagged(tag)
        if wanted.rated is not None:
            allowed &= np.isnan(rating) != wanted.rated
        if wanted.failed is not None:
            low = rating <= self._policy.low_rating  # type: ignore[operator]  # numbers
            failed = low | (basis < self._policy.min_reward) if wanted.failed else ~low  # type: ignore[operator]
            allowed &= failed
        return allowed

    def _nearest(
        self, kind: str, table: Table, wanted: Wanted, vector: Vectors | None, allowed: Bools
    ) -> tuple[dict[int, float], tuple[str, ...]]:
        """Return the cosines of the records nearest by vector, among those that pass, by slot."""
        if vector is None:
            return {}, ()
        slots = np.flatnonzero(allowed)
        where: Filter | None
        if len(slots) <= NAMED and len(slots) < len(table):
            where = Compare("id", Op.IN, tuple(table.ids[slot] for slot in slots))
        else:
            where = _filter(table, wanted)
        page = self._store.find(Query(scope=self._scope, kinds=(kind,), where=where, vector=vector, k=NEAREST))
        found = {table.slots[hit.id]: hit.why["dense"].value for hit in page.hits if hit.id in table.slots}
        return {slot: cosine for slot, cosine in found.items() if allowed[slot]}, page.degraded

    def _score(self, table: Table, wanted: Wanted, allowed: Bools, cosines: Mapping[int, float] | None) -> _Scored:
        situation = table.array("situation")
        near = None if cosines is None else [(int(situation[slot]), value) for slot, value in cosines.items()]
        scores = table.situations.scores(wanted.situation, near, self._searcher.embedder.weight)
        text = scores.fused.score[situation]
        metrics, weight, relevance = None, 0.0, text
        if wanted.state:
            weight = self._policy.metric_weight
            metrics = table.states.likeness(wanted.state, table.size, self._policy)
            relevance = metrics * np.float32(weight / (1 + weight))
            relevance += text * np.float32(1 / (1 + weight))
        worth = _spread(table.array("value"), allowed)
        total = self._gain(worth, table)
        total *= relevance
        total[~(allowed & (relevance >= wanted.least)) if wanted.least > 0 else ~allowed] = -np.inf
        return _Scored(total, text, metrics, worth, scores, weight)

    def _gain(self, worth: Floats, table: Table) -> Floats:
        """Return what relevance is multiplied by for reward and feedback."""
        gain: Floats = worth * np.float32(self._policy.reward)
        gain += table.array("human") * np.float32(self._policy.feedback)  # type: ignore[operator]  # numbers
        gain += np.float32(1)
        return gain

    def _chosen(self, table: Table, wanted: Wanted, scored: _Scored) -> list[int]:
        """Return the slots to show, best first: the best, and unlike each other."""
        size = max(CANDIDATES, 8 * wanted.n)
        choose = unlike_slots if wanted.diverse else best_slots
        slots = choose(table, scored.total, size, wanted.n)
        sure = table.tally().confidence[table.array("group")[slots].astype(np.int64)]
        totals = scored.total[slots] * (1 + self._policy.confidence * sure)
        order = np.lexsort((-table.array("order")[slots].astype(np.int64), -totals)).tolist()
        best, scores = [slots[place] for place in order], totals[order].tolist()
        if wanted.diverse and len(best) > wanted.n:
            return [best[place] for place in diverse(table, best, scores, wanted.n, self._policy)]
        return best[: wanted.n]

    def _matches(
        self, kind: str, table: Table, slots: Sequence[int], scored: _Scored, cosines: Mapping[int, float]
    ) -> list[Match]:
        found = self._records(kind, table, slots)
        made = [
            self._match(table, slot, found[table.ids[slot]], scored, cosines.get(slot))
            for slot in slots
            if table.ids[slot] in found
        ]
        return scaled_to_one(made)

    def _match(self, table: Table, slot: int, hit: Hit, scored: _Scored, cosine: float | None) -> Match:
        match = self._unranked(table, slot, hit)
        why = self._text_parts(int(table.array("situation")[slot]), scored)
        if scored.metrics is not None:
            alike = float(scored.metrics[slot])
            why["metrics"] = Why(alike, alike * scored.weight / (1 + scored.weight))
        relevance = sum(part.share for part in why.values())
        human = self._policy.feedback * float(table.array("human")[slot])
        reward = self._policy.reward * float(scored.worth[slot])
        if match.value is not None:
            why["reward"] = Why(match.value, relevance * reward)
        if match.feedback is not None:
            why["feedback"] = Why(float(match.feedback.overall_effectiveness), relevance * human)
        sure = self._policy.confidence * match.confidence
        why["confidence"] = Why(match.confidence, relevance * (1 + reward + human) * sure)
        score = max(0.0, sum(part.share for part in why.values()))
        return replace(match, score=score, similarity=cosine, why=why)

    def _text_parts(self, situation: int, scored: _Scored) -> dict[str, Why]:
        scores = scored.scores
        shares = {name: share / (1 + scored.weight) for name, share in scores.fused.why(situation).items()}
        why = {"lexical": Why(float(scores.lexical[situation]), shares["lexical"])}
        if scores.dense is not None and "dense" in shares and not np.isnan(scores.dense[situation]):
            why["dense"] = Why(float(scores.dense[situation]), shares["dense"])
        return why

    def _unranked(self, table: Table, slot: int, hit: Hit) -> Match:
        name = table.ids[slot] if table is self._ledger.decisions else None
        stands = self._ledger.book.standing(name, table.episode_of(slot))
        reward, value = float(table.array("reward")[slot]), float(table.array("value")[slot])
        tally, group = table.tally(), int(table.array("group")[slot])
        return Match(
            record=hit.record,
            score=0.0,
            similarity=None,
            reward=None if np.isnan(reward) else reward,
            value=None if np.isnan(value) else value,
            feedback=None if stands is None else stands.feedback,
            confidence=float(tally.confidence[group]),
            count=int(tally.count[group]),
        )

    def _with_cosines(self, matches: Sequence[Match], vector: Vectors | None, query: str) -> list[Match]:
        """Give the cosine to those that were not among the nearest."""
        missing = [match for match in matches if match.similarity is None]
        if not missing:
            return [*matches]
        found = self._embedded(missing, query) if vector is None else self._asked(missing, vector)
        return [
            match if match.similarity is not None else replace(match, similarity=found.get(match.id))
            for match in matches
        ]

    def _asked(self, missing: Sequence[Match], vector: Vectors) -> dict[str, float]:
        where = Compare("id", Op.IN, tuple(match.id for match in missing))
        kinds = (missing[0].record.key.kind,)
        page = self._store.find(Query(scope=self._scope, kinds=kinds, where=where, vector=vector, k=len(missing)))
        return {hit.id: hit.why["dense"].value for hit in page.hits}

    def _embedded(self, missing: Sequence[Match], query: str) -> dict[str, float]:
        """Return cosines by an embedder whose vectors are not stored: it is quick, and weighs nothing in the score."""
        if self._searcher.dense:
            return {}
        try:
            rows = embed_checked(self._searcher.embedder, [query, *(match.record.text for match in missing)])
        except EmbeddingError:
            return {}
        cosines = np.clip(rows[1:] @ rows[0], -1, 1).tolist()
        return {match.id: float(cosine) for match, cosine in zip(missing, cosines, strict=True)}


def _filter(table: Table, wanted: Wanted) -> Filter | None:
    """Return the conditions as a store evaluates them; what only this process knows narrows its answer later."""
    parts: list[Filter] = []
    rewards = table.array("reward")[table.array("alive").astype(np.bool_)].astype(np.float64)
    if not np.isnan(rewards).any():
        for op, bound in ((Op.GE, wanted.min_reward), (Op.LE, wanted.max_reward)):
            if bound is not None:
                parts.append(Compare("worth", op, bound))
    parts += [] if wanted.since is None else [Compare("at", Op.GE, wanted.since)]
    parts += [] if wanted.until is None else [Compare("at", Op.LT, wanted.until)]
    parts += [Compare("data.tags", Op.EQ, tag) for tag in wanted.tags]
    given = {"personality": wanted.personality, "episode": wanted.episode}
    parts += [Compare(f"data.{name}", Op.EQ, value) for name, value in given.items() if value is not None]
    several = {"action": wanted.actions, "domain": wanted.domains}
    parts += [Compare(f"data.{name}", Op.IN, values) for name, values in several.items() if values]
    return And(tuple(parts)) if parts else None


def _spread(values: NDArray[np.generic], allowed: Bools) -> Floats:
    """Return values from 0, the least that passes, to 1, the most; 0 where unknown, or where all are equal."""
    with np.errstate(over="ignore"):
        found: Floats = values.astype(np.float32)
    chosen = found[allowed]
    low, high = float(np.fmin.reduce(chosen)), float(np.fmax.reduce(chosen))
    if np.isinf(low) or np.isinf(high):
        return _spread(np.clip(values, -_LARGEST, _LARGEST), allowed)
    if not high > low:
        return np.zeros(len(values), np.float32)
    found -= np.float32(low)
    found *= np.float32(1 / (high - low))
    np.clip(found, 0, 1, out=found)
    return np.nan_to_num(found, copy=False) if np.isnan(found).any() else found

"""`RunMemory`: runs of many turns in four layers, each made from the one below and kept in the store."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

from seasoned.asking import Flow, Model, arun, run
from seasoned.embedders import resolve
from seasoned.errors import NotFound, WrongType
from seasoned.explain import Explanation, explain
from seasoned.ports import Clock, Store, SystemClock
from seasoned.records import JSON, Key, Scope, checked_id  # noqa: F401  # type hints name JSON
from seasoned.results import Added
from seasoned.runs import chapters, closing
from seasoned.runs.closing import Ended, RunSummary
from seasoned.runs.deciding import observations
from seasoned.runs.defaults import EXTRACTOR, RewardRetro, TrendClassifier
from seasoned.runs.episodes import by_model, by_rules, described
from seasoned.runs.extraction import MAX_TRIES, Window, extract, lookback_of
from seasoned.runs.head import Status
from seasoned.runs.info import MemoryBlock, RunState, state_of
from seasoned.runs.live import Live, Place
from seasoned.runs.models import L1Atom, L2Episode, TurnRecord, checked_turn
from seasoned.runs.opening import Log
from seasoned.runs.policy import RunPolicy
from seasoned.runs.profiles import safe_id
from seasoned.runs.protocols import AtomExtractor, EpisodeClassifier, RetroClassifier
from seasoned.runs.retrospective import by_model as review_by_model
from seasoned.runs.retrospective import by_rules as review_by_rules
from seasoned.runs.rows import KINDS, Ids
from seasoned.runs.stored import DEFAULT_PROFILE, StoredRuns
from seasoned.search import Searcher

_OBSERVATIONS: Final = 5
T = TypeVar("T")


class RunMemory(StoredRuns):
    """The runs of one scope: turns (L0), atoms (L1), episodes (L2), lessons (L3).

    One run is under way at a time; a new object over the same store goes on with it. Without rules of yours, general
    ones stand that know rewards, events and actions. Threads may share it; of several processes one writes a run.

    Raises:
        WrongType: a rule without its method, or a policy of another type.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        *,
        searcher: Searcher | None = None,
        clock: Clock | None = None,
        atom_extractor: AtomExtractor | None = None,
        episode_classifier: EpisodeClassifier | None = None,
        retro_classifier: RetroClassifier | None = None,
        policy: RunPolicy | None = None,
    ) -> None:
        found = searcher or Searcher(store, resolve("hashing"))
        self._place = Place(store, Scope(scope), found, clock or SystemClock())
        self._log = Log(self._place)
        self._lock = threading.RLock()
        self._writing = False
        self.policy = RunPolicy()
        self._extractor: AtomExtractor = EXTRACTOR
        self._episodes: EpisodeClassifier = TrendClassifier()
        self._retro: RetroClassifier = RewardRetro()
        self.configure(atom_extractor, episode_classifier, retro_classifier, policy)

    def configure(
        self,
        atom_extractor: AtomExtractor | None = None,
        episode_classifier: EpisodeClassifier | None = None,
        retro_classifier: RetroClassifier | None = None,
        policy: RunPolicy | None = None,
    ) -> RunMemory:
        """Set the rules and the policy that are given, and return this object.

        Raises:
            WrongType: a rule without its method, or a policy of another type.
        """
        with self._lock:
            if atom_extractor is not None:
                self._extractor = _checked(atom_extractor, AtomExtractor, "extract(window, existing_atoms)")
            if episode_classifier is not None:
                form = "build_context(recent_turns, prev_episode_end_turn)"
                self._episodes = _checked(episode_classifier, EpisodeClassifier, form)
            if retro_classifier is not None:
                self._retro = _checked(retro_classifier, RetroClassifier, "build_context(all_turns, episodes)")
            if policy is not None:
                if not isinstance(policy, RunPolicy):
                    raise WrongType(f"a policy is a RunPolicy, not {policy!r:.80}")
                self.policy = policy
        return self

    def start_run(self, name: str | None = None) -> str:
        """Open a run, or go on with the open one of that name; return its id, which is the name if there is one.

        A run that was open before stays open and is gone on with by its name.

        Raises:
            InvalidInput: the run of that name is over, or the name is blank or too long.
        """
        with self._lock:
            return self._log.start(name, self._lookback).head.ids.run

    def record_turn(self, record: TurnRecord) -> Added:
        """Store a turn of the run under way, which it opens if there is none.

        The same record again changes nothing and is a `duplicate`.

        Raises:
            InvalidInput: a turn before the last one, or another record for a turn that is there.
            WrongType: not a `TurnRecord`.
        """
        if not isinstance(record, TurnRecord):
            raise WrongType(f"a turn is a TurnRecord, not {record!r:.80}")
        with self._lock:
            return self._log.record(record, self._lookback)

    def extract_atoms(self, turn: int) -> list[L1Atom]:
        """Look for atoms in the turns since the last time, and return those that are new or changed; [] when not due.

        Due at turns that are multiples of `extract_every`, or at the first call after one. An extractor that fails
        raises nothing: `last_error` says why, and its window is tried again when the next is due.

        Raises:
            InvalidInput, WrongType: a turn that is none.
            Conflict: another process writes the run; nothing was written.
        """
        number = checked_turn(turn)
        with self._lock:
            live, new, before = self._current(), list[L1Atom](), None
            while live is not None and live.head.extracted != before:
                before = live.head.extracted
                upto = live.upto(number, before, self.policy.extract_every)
                new += self._extract(live, upto, MAX_TRIES) if upto is not None else []
            return new

    def _extract(self, live: Live, upto: int, tries: int) -> list[L1Atom]:
        new: dict[str, L1Atom] = {}
        for window in [*live.failed_windows(tries, self._lookback)]:
            new |= self._extract_window(live, window)
        for window in live.windows(min(upto, live.last), self.policy.extract_every, self._lookback):
            new |= self._extract_window(live, window)
        live.trim(self._lookback)
        return list(new.values())

    def _extract_window(self, live: Live, window: Window) -> dict[str, L1Atom]:
        place = self._place
        made = extract(place.store, place.searcher, live.head, window, self._extractor, self.policy)
        self._guarded(lambda: live.save(made.head, made.puts))
        return {atom.id: atom for atom in made.atoms}

    def update_episode(self, model: Model | None, turn: int) -> L2Episode | None:
        """Write the episode that is due, or extend the current one where its phase goes on; None when not due.

        Due at turns that are multiples of `episode_every`, or at the first call after one. A model is asked once,
        and again at most `retries` times where its reply cannot be used; None as model has rules write. Where the
        model fails, None is returned, `last_error` says why, and the next due episode reads what this one was to.

        Raises:
            InvalidInput, WrongType: a turn that is none, or not a model.
            Conflict: another process writes the run; nothing was written.
        """
        return run(self._updating(turn, with_model=model is not None), model)

    async def aupdate_episode(self, model: Model | None, turn: int) -> L2Episode | None:
        """Do as `update_episode`; nothing of it blocks the event loop."""
        return await arun(self._updating(turn, with_model=model is not None), model)

    def _updating(self, turn: int, *, with_model: bool) -> Flow[L2Episode | None]:
        number, policy = checked_turn(turn), self.policy
        chapter = self._due_chapter(number)
        if chapter is None:
            return None
        try:
            if with_model:
                asking = by_model(chapter.material, policy.narrative_tokens, policy.retries)
                written = yield from self._place.searcher.guarded(asking)
            else:
                written = by_rules(chapter.material, chapters.phase_rule(self._episodes), policy.narrative_tokens)
            with self._lock:
                live = chapters.still(self._current(), chapter.ids)
                if not written.name:
                    reason = written.reason or "nothing was written"
                    self._guarded(lambda: chapters.fail(live, chapter.upto, reason, written.calls))
                    return None
                writer = "model" if with_model else "rules"
                return self._guarded(lambda: chapters.store(live, chapter, written, writer))
        finally:
            self._writing = False

    def _due_chapter(self, turn: int) -> chapters.Chapter | None:
        """Return what the due episode is written from; while one is under way, none other is."""
        with self._lock:
            live = self._current()
            if live is None or self._writing:
                return None
            upto = live.upto(turn, max(live.head.covered, live.head.tried), self.policy.episode_every)
            made = chapters.chapter(live, upto, self._episodes, self.policy) if upto is not None else None
            if isinstance(made, str):
                reason = made
                self._guarded(lambda: chapters.fail(live, upto or turn, reason))
                return None
            self._writing = made is not None
            return made

    def memory_block(self) -> MemoryBlock | None:
        """Return the current phase and up to five observations for the agent's next turn; None when there is nothing.

        Observations are the atoms of the highest priority, the newest of equals first. It counts the episode's
        `heat`, which is written with the next turn.
        """
        with self._lock:
            live = self._current()
            if live is None:
                return None
            episode, ring = live.shown()
            if episode is None and not ring:
                return None
            live.heat += episode is not None
            phase = described(episode.episode) if episode is not None else ""
            return {"current_phase": phase, "key_observations": observations(ring, _OBSERVATIONS)}

    def observed(self) -> list[tuple[Key, str, datetime]]:
        """Return what `memory_block` shows of the run under way, with record and time: the phase, observations."""
        with self._lock:
            live = self._current()
            if live is None:
                return []
            episode, ring = live.shown()
            ids, kept = live.head.ids, {each.atom.content: each for each in reversed(ring)}
            phase = [] if episode is None else [(ids.episode(episode.number), described(episode.episode), episode.at)]
            shown = [kept[text] for text in observations(ring, _OBSERVATIONS)]
            return [*phase, *((ids.atom(each.atom.id), each.atom.content, each.at) for each in shown)]

    def summarise_run(
        self,
        model: Model | None,
        profile_id: str = DEFAULT_PROFILE,
        profiles_dir: str | os.PathLike[str] | None = None,
    ) -> RunSummary | None:
        """Close the run and write its retrospective and lessons; with `profiles_dir`, the profile file too.

        What no window and no episode has read yet is read first, by rules. A model is asked once, and again at most
        `retries` times; None as model has rules write. Where it fails, None is returned and `last_error` says why;
        the run stays closed, and the next summary reads it too. Where no turn was recorded since, that one is made
        good. None also where there is nothing at all.

        Raises:
            InvalidInput: a profile id that is not a safe name of a file.
            StoreError: the profile file cannot be written; the run waits for its summary.
            Conflict: another process writes the run; nothing was written.
        """
        return run(self._summarising(profile_id, profiles_dir, with_model=model is not None), model)

    async def asummarise_run(
        self,
        model: Model | None,
        profile_id: str = DEFAULT_PROFILE,
        profiles_dir: str | os.PathLike[str] | None = None,
    ) -> RunSummary | None:
        """Do as `summarise_run`; nothing of it blocks the event loop."""
        return await arun(self._summarising(profile_id, profiles_dir, with_model=model is not None), model)

    def _summarising(
        self, profile_id: str, profiles_dir: str | os.PathLike[str] | None, *, with_model: bool
    ) -> Flow[RunSummary | None]:
        profile, folder = safe_id(profile_id), None if profiles_dir is None else Path(profiles_dir)
        policy, ended = self.policy, self._ended(profile)
        if ended is None:
            return None
        if with_model:
            reviewed = yield from self._place.searcher.guarded(review_by_model(ended.review, policy.retries))
        else:
            reviewed = review_by_rules(ended.review, closing.lesson_rule(self._retro))
        with self._lock:
            if not reviewed.text:
                outcome, reason = ended.review.context.outcome_summary, reviewed.reason or "nothing was written"
                self._note(
                    self._guarded(lambda: closing.fail(self._place, ended.head, reason, reviewed.calls, outcome))
                )
                return None
            head, summary = self._guarded(
                lambda: closing.store(self._place, ended, reviewed, folder, policy.profile_versions)
            )
            self._note(head)
            return summary

    def _ended(self, profile: str) -> Ended | None:
        """Close the run under way, or take up one that was closed without a retrospective."""
        with self._lock:
            live = self._current()
            if live is not None and live.numbers:
                self._finish(live)
                self._guarded(lambda: live.save(replace(live.head, status=Status.WAITING, profile=profile)))
                self._log.live, self._log.ended = None, live.head
                head = live.head
            else:
                waiting = closing.waiting_run(self._place, profile)
                if waiting is None:
                    return None
                head = waiting
            made = closing.gathered(self._place, head, profile, self._retro)
            if isinstance(made, str):
                reason = made
                self._note(self._guarded(lambda: closing.fail(self._place, head, reason, 0)))
                return None
            return made

    def _finish(self, live: Live) -> None:
        """Read what no window and no episode has read yet."""
        self._extract(live, live.last, sys.maxsize)
        while live.after(live.head.covered, live.last, 1):
            chapter = chapters.chapter(live, live.last, self._episodes, self.policy)
            if isinstance(chapter, str):
                chapter = chapters.chapter(live, live.last, TrendClassifier(), self.policy)
            if chapter is None or isinstance(chapter, str):
                return
            made = chapter
            rule = chapters.phase_rule(self._episodes)
            written = by_rules(made.material, rule, self.policy.narrative_tokens)
            self._guarded(lambda: chapters.store(live, made, written, "rules"))  # noqa: B023  # called at once

    @property
    def last_error(self) -> str | None:
        """What went wrong last and was not put right since: why a model, an extractor or a classifier gave nothing."""
        return self.state().last_error

    def state(self) -> RunState:
        """Return where the run under way stands, or the last one where none is open."""
        with self._lock:
            live = self._current()
            return state_of(live, self._log.head)

    def explain(self, id: str) -> Explanation:  # noqa: A002  # the field's name everywhere
        """Return a record with its sources down to the turns; the id of an atom of the run under way will do, too.

        Raises:
            NotFound: there is no such record.
        """
        store, scope = self._place.store, self._place.scope
        try:
            return explain(store, scope, id, KINDS)
        except NotFound:
            with self._lock:
                head = self._log.head if self._current() is not None else None
            if head is None:
                raise
            return explain(store, scope, head.ids.atom(checked_id(id)).id, KINDS)

    def _shown_run(self) -> Ids | None:
        with self._lock:
            self._current()
            head = self._log.head
        return head.ids if head is not None else None

    @property
    def _lookback(self) -> int:
        return lookback_of(self._extractor)

    def _current(self) -> Live | None:
        return self._log.current(self._lookback)

    def _note(self, head: object) -> None:
        if self._log.live is None:
            self._log.ended = head  # type: ignore[assignment]

    def _guarded(self, write: Callable[[], T]) -> T:
        """Write, and after a conflict read everything from the store again at the next use."""
        try:
            return write()
        except BaseException:
            self._log.forget()
            raise


def _checked(rule: T, protocol: type, form: str) -> T:
    if isinstance(rule, type) or not isinstance(rule, protocol):
        raise WrongType(f"{protocol.__name__} has {form}, {rule!r:.80} has not")
    return rule

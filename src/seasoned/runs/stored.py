"""Reading what is stored of runs: the runs, and the turns, atoms, episodes and lessons of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Final

from seasoned.arguments import checked_list, checked_text
from seasoned.errors import NotFound
from seasoned.query import Compare, Op
from seasoned.runs import closing
from seasoned.runs.given import give
from seasoned.runs.info import RunInfo, info_of
from seasoned.runs.lessons import Lesson
from seasoned.runs.live import Place
from seasoned.runs.models import L1Atom, L2Episode, TurnRecord
from seasoned.runs.policy import RunPolicy
from seasoned.runs.profiles import notes, safe_id
from seasoned.runs.reading import atoms_of, episodes_of, head_by_name, heads, turns_of
from seasoned.runs.rows import Ids, run_name

DEFAULT_PROFILE: Final = "default"
"""The profile where none is named."""


class StoredRuns:
    """The runs of one scope as the store has them."""

    policy: RunPolicy
    """How often and how much is written."""
    _place: Place

    @abstractmethod
    def _shown_run(self) -> Ids | None:
        """Return the run under way, or the last one."""

    def load_prior_run_notes(self, profile_id: str = DEFAULT_PROFILE, budget: int | None = None) -> str | None:
        """Return the lessons of earlier runs and the last retrospective for the next system prompt; None without any.

        At most `budget` tokens, by default the policy's `notes_tokens`: the most confirmed lessons first.

        Raises:
            InvalidInput: a profile id that is not a safe name of a file, or a budget below 1.
        """
        profile = safe_id(profile_id)
        lessons = closing.lessons_of(self._place, profile)
        done = heads(self._place.store, self._place.scope, Compare("data.profile", Op.EQ, profile))
        last = next((each for each in done if each.retrospective), None)
        if not lessons and last is None:
            return None
        text = closing.profile_text(lessons, last.retrospective if last else "", last.ids.run if last else "")
        return notes(text, self.policy.notes_tokens if budget is None else budget)

    def list_runs(self) -> list[RunInfo]:
        """Return the runs, the newest first."""
        return [info_of(self._place.store, each) for each in heads(self._place.store, self._place.scope)]

    def turns(self, run_id: str | None = None) -> list[TurnRecord]:
        """Return all turns of a run in order; of the run under way, or the last one, where none is named.

        Raises:
            NotFound: there is no such run.
        """
        return [each.turn for each in turns_of(self._place.store, self._ids(run_id))]

    def atoms(self, run_id: str | None = None) -> list[L1Atom]:
        """Return all atoms of a run as they were found, those that left the ring too; `run_id` as in `turns`."""
        return [each.atom for each in atoms_of(self._place.store, self._ids(run_id))]

    def episodes(self, run_id: str | None = None) -> list[L2Episode]:
        """Return all episodes of a run in order; `run_id` as in `turns`."""
        return [each.episode for each in episodes_of(self._place.store, self._ids(run_id))]

    def lessons(self, profile_id: str | None = None) -> list[Lesson]:
        """Return the lessons of a profile, or of all: those that stand first, the most confirmed first."""
        return closing.lessons_of(self._place, None if profile_id is None else safe_id(profile_id))

    def add_lessons(
        self, lessons: str | Sequence[str], profile_id: str = DEFAULT_PROFILE, *, source: str = "given"
    ) -> list[Lesson]:
        """Write lessons that no run here drew, and return those that are new or changed.

        `source` names where they are from and counts as one run: given again by the same name they change nothing, and
        a lesson that is there already counts once more for another name. One that says the opposite of another marks
        it as contradicted.

        Raises:
            InvalidInput: a blank lesson, a profile id that is not a safe name of a file.
            WrongType: something else than texts.
        """
        given = [lessons] if isinstance(lessons, str) else checked_list(lessons, "lessons")
        texts = [checked_text(text, "a lesson") for text in given]
        return give(self._place, safe_id(profile_id), [" ".join(text.split()) for text in texts], run_name(source))

    def _ids(self, run_id: str | None) -> Ids:
        if run_id is None:
            found = self._shown_run()
        else:
            head = head_by_name(self._place.store, Ids(self._place.scope, run_name(run_id)))
            found = head.ids if head is not None else None
        if found is None:
            raise NotFound(f"no run {run_id!r} in {self._place.scope}" if run_id else "no run was opened yet")
        return found

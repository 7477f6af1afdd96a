"""`Adaptation`: a playbook adapted to a task, offline or online, in one session or in as many as it takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from seasoned.arguments import check_type
from seasoned.asking import Model
from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.adapt.accounts import Accounts, usage_of
from seasoned.playbook.adapt.checkpoint import Checkpoint
from seasoned.playbook.adapt.meter import Meter, Progress
from seasoned.playbook.adapt.offline import offline, offline_total
from seasoned.playbook.adapt.online import online, online_total
from seasoned.playbook.adapt.results import (
    BASELINE,
    TEST,
    VALIDATION,
    WINDOW,
    Result,
    after_scores,
    errors,
    failed_examples,
    scores,
    train_scores,
)
from seasoned.playbook.adapt.rollouts import Together, aroll, roll
from seasoned.playbook.adapt.sampling import Roles
from seasoned.playbook.adapt.session import Session
from seasoned.playbook.adapt.settings import Data, Settings
from seasoned.playbook.adapt.tasks import Task
from seasoned.playbook.core import Core
from seasoned.ports import new_id


class Adaptation:
    """A playbook that is adapted to a task, as in Agentic Context Engineering (arXiv 2510.04618).

    `checkpoint` is a folder, made if it is not there: with it a run that was killed, or stopped by its budget, goes on
    where it was when `run` is called again with the same data and settings, in this process or another, and ends with
    the same result; a call that failed is made again. Without one a run cannot be resumed. `progress` is told after
    each example how many are through, of how many, and the accuracy of the phase (from threads, one at a time).

    The checkpoint holds the examples' answers and the model's replies in plain text, for its owner alone.
    """

    def __init__(
        self,
        playbook: Core,
        task: Task,
        settings: Settings | None = None,
        *,
        roles: Roles | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        if not isinstance(playbook, Core):
            raise WrongType(f"what is adapted is a Playbook, not {playbook!r:.80}")
        check_type(settings, Settings, "settings")
        check_type(roles, Roles, "roles")
        self._core = playbook
        self._task = task
        self._settings = settings or Settings()
        self._roles = roles or Roles()
        self._folder = None if checkpoint is None else Path(checkpoint)
        self._progress = progress

    def run(self, data: Data, model: Model | None) -> Result:
        """Adapt, with `workers` threads, until all is done or the budget is spent; say what was reached.

        A model that fails is an answer that is wrong and a try that is made again on resume; it ends nothing.

        Raises:
            InvalidInput: the checkpoint is of other data, another task or other settings, or an online run has `val`.
            StoreCorrupt, StoreBusy: the checkpoint is damaged, or another process writes it.
            StoreError: the playbook cannot be read or written.
            WrongType: `model` is none.
        """
        checkpoint = Checkpoint(self._folder)
        try:
            session = self._session(data, model, checkpoint)
            roll(self._plan(session, data), model, self._settings.workers)
            return self._result(session)
        finally:
            checkpoint.close()

    async def arun(self, data: Data, model: Model | None) -> Result:
        """Do as `run` with tasks on this event loop, without holding it up."""
        checkpoint = Checkpoint(self._folder)
        try:
            session = self._session(data, model, checkpoint)
            await aroll(self._plan(session, data), model, self._settings.workers)
            return self._result(session)
        finally:
            checkpoint.close()

    def _session(self, data: Data, model: Model | None, checkpoint: Checkpoint) -> Session:
        check_type(data, Data, "data")
        settings = self._settings
        if settings.mode == "online" and data.val:
            raise InvalidInput(f"an online run has no validation, found {len(data.val)} examples for it")
        plan = {"task": self._task.name, "scope": self._core.scope.encode(), **settings.plan(), **data.plan()}
        run = checkpoint.begin(new_id()[:12], plan)
        total = offline_total(settings, data) if settings.mode == "offline" else online_total(settings, data)
        return Session(
            core=self._core,
            task=self._task,
            roles=self._roles,
            settings=settings,
            checkpoint=checkpoint,
            accounts=Accounts(settings.budget, checkpoint.spent, usage_of(model)),
            meter=Meter(self._progress, total),
            run=run,
            examples=len(data.train),
        )

    def _plan(self, session: Session, data: Data) -> Iterator[Together]:
        rebuilt = session.restore()
        if self._settings.mode == "offline":
            yield from offline(session, data, rebuilt=rebuilt)
        else:
            yield from online(session, data)
        if not session.is_stopped():
            session.checkpoint.finish()

    def _result(self, session: Session) -> Result:
        known, offline_mode = session.checkpoint, self._settings.mode == "offline"
        return Result(
            run=session.run,
            mode=self._settings.mode,
            finished=known.finished,
            stopped=session.accounts.stopped,
            baseline=next(iter(scores(known, BASELINE)), None),
            train=train_scores(known) if offline_mode else (),
            after=after_scores(known),
            windows=scores(known, WINDOW),
            validations=scores(known, VALIDATION),
            test=next(iter(scores(known, TEST)), None),
            best=known.kept,
            number=self._core.number,
            entries=len(self._core.entries()),
            failed=failed_examples(known),
            errors=errors(known),
            spent=session.accounts.spent,
        )

"""Offline: learn from the examples in epochs, validate now and then, keep the best playbook, test it."""

from __future__ import annotations

from collections.abc import Iterator

from seasoned.playbook.adapt.results import BASELINE, TEST, VALIDATION, scores
from seasoned.playbook.adapt.rollouts import Together
from seasoned.playbook.adapt.session import AGAIN, Session, batches
from seasoned.playbook.adapt.settings import Data, Settings


def offline(session: Session, data: Data, *, rebuilt: bool) -> Iterator[Together]:
    """Yield what is to be done, in order, until all is, or the session is stopped.

    With `rebuilt` the playbook was made anew from the checkpoint, so the best one is gone back to again.
    """
    if session.settings.baseline and data.test:
        yield from session.test(BASELINE, list(enumerate(data.test)))
    yield from _learn(session, data)
    if session.is_stopped():
        return
    if data.val and (session.checkpoint.kept is None or rebuilt):
        best = best_of(session)
        session.core.rollback(best)
        session.checkpoint.add_kept(best)
    if data.test:
        yield from session.test(TEST, list(enumerate(data.test)))


def offline_total(settings: Settings, data: Data) -> int:
    """Return how many examples such a run goes through, each as often as it does."""
    steps = -(-len(data.train) // settings.batch) * settings.epochs
    validations = -(-steps // settings.validate_every) if data.val else 0
    tests = 1 + settings.baseline
    return settings.epochs * len(data.train) + validations * len(data.val) + tests * len(data.test)


def best_of(session: Session) -> int:
    """Return the number of the change that validated best: by examples, then by parts; of equals the latest."""
    found = scores(session.checkpoint, VALIDATION)
    best = max(enumerate(found), key=lambda item: (item[1].right, item[1].parts_right, item[0]))[1]
    return session.checkpoint.shown[best.name].number


def _learn(session: Session, data: Data) -> Iterator[Together]:
    """Yield the steps of all epochs, with the validations between them and one at the end."""
    settings, validating, step = session.settings, list(enumerate(data.val)), 0
    for epoch in range(1, settings.epochs + 1):
        for number, examples in enumerate(batches(list(enumerate(data.train)), settings.batch), 1):
            if session.is_stopped():
                return
            yield from session.learn(f"e{epoch}/{number:05d}", examples, {})
            step += 1
            if validating and step % settings.validate_every == 0 and not session.is_stopped():
                yield from session.test(f"{VALIDATION}/{step:06d}", validating)
        if session.is_stopped():
            return
        yield from session.learn_again(f"e{epoch}", data.train)
    if validating and not session.is_stopped() and (step % settings.validate_every or _changed_again(session)):
        yield from session.test(f"{VALIDATION}/end", validating)


def _changed_again(session: Session) -> bool:
    """Tell whether the last epoch has changed the playbook after its last step."""
    last = f"e{session.settings.epochs}{AGAIN}/"
    return any(changed for phase, changed in session.checkpoint.applied.items() if phase.startswith(last))

"""Online: take the examples in windows; test each window with the playbook as it is, then learn from it."""

from __future__ import annotations

from collections.abc import Iterator

from seasoned.playbook.adapt.results import BASELINE, TEST, WINDOW
from seasoned.playbook.adapt.rollouts import Together
from seasoned.playbook.adapt.session import Session, batches
from seasoned.playbook.adapt.settings import Data, Settings


def online(session: Session, data: Data) -> Iterator[Together]:
    """Yield what is to be done, in order, until all is, or the session is stopped.

    An example is learned from with the answer that it was tested with, so its test costs no call of its own.
    """
    stream = list(enumerate(data.train))
    if session.settings.baseline:
        yield from session.test(BASELINE, stream)
    for number, examples in enumerate(batches(stream, session.settings.window), 1):
        if session.is_stopped():
            return
        tested = f"{WINDOW}/{number:05d}"
        yield from session.test(tested, examples)
        answers = session.checkpoint.answered.get(tested, {})
        firsts = {place: each.attempt for place, each in answers.items()}
        for step, part in enumerate(batches(examples, session.settings.batch), 1):
            if session.is_stopped():
                return
            yield from session.learn(f"w{number}/{step:05d}", part, firsts)
        if session.is_stopped():
            return
        yield from session.learn_again(f"w{number}", data.train)
    if data.test and not session.is_stopped():
        yield from session.test(TEST, list(enumerate(data.test)))


def online_total(settings: Settings, data: Data) -> int:
    """Return how many examples such a run goes through, each as often as it does."""
    return (2 + settings.baseline) * len(data.train) + len(data.test)

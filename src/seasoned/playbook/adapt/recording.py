"""Recording: a flow whose replies are kept as they come, answered from what was kept, and stopped by the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from seasoned.asking import Ask, Flow
from seasoned.errors import ModelError
from seasoned.playbook.adapt.accounts import Accounts
from seasoned.playbook.adapt.checkpoint import Checkpoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recorded(Generic[T]):
    """What a flow returned, and the first call of it that failed, if any did."""

    value: T
    failed: str | None = None


def recorded(flow: Flow[T], name: str, checkpoint: Checkpoint, accounts: Accounts) -> Flow[Recorded[T] | None]:
    """Return `flow`, each reply kept under `name`; None where the budget ended it, and nothing of it counts.

    A question that was asked before in the same place, word for word, is answered from the checkpoint.
    """
    number, failed = 0, None
    ask = _next(flow, None)
    while isinstance(ask, Ask):
        reply: str | ModelError | None = checkpoint.reply(name, number, ask)
        if reply is None:
            if not accounts.begin():
                flow.close()
                return None
            reply = yield from _asked(ask, name, number, checkpoint, accounts)
        if isinstance(reply, ModelError):
            failed = failed or str(reply)
        number += 1
        ask = _next(flow, reply)
    return Recorded(ask.value, failed)


def _asked(ask: Ask, name: str, number: int, checkpoint: Checkpoint, accounts: Accounts) -> Flow[str | ModelError]:
    try:
        outcome: str | ModelError = yield ask
    except ModelError as error:
        outcome = error
    except BaseException:
        accounts.give_back()
        raise
    reply = None if isinstance(outcome, ModelError) else outcome
    checkpoint.add_reply(name, number, ask, reply, accounts.end(ask, reply))
    return outcome


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    value: T


def _next(flow: Flow[T], outcome: str | ModelError | None) -> Ask | _Done[T]:
    try:
        if isinstance(outcome, ModelError):
            return flow.throw(outcome)
        return next(flow) if outcome is None else flow.send(outcome)
    except StopIteration as end:
        return _Done(end.value)

"""What leaves the process besides rows: texts to an embedder, prompts to a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from seasoned.asking import Flow
from seasoned.embedders import EmbedderSpec, embed_checked, resolve
from seasoned.errors import ModelError
from seasoned.ports import Fingerprint, Message
from seasoned.redaction.redactor import MARK, Redactor

T = TypeVar("T")


class RedactingEmbedder:
    """Any embedder, given redacted texts only.

    Its vectors have a fingerprint of their own, so they never meet those of texts that were not redacted: after
    redaction is turned on for an old memory, run `reembed`. A text that is cut in pieces must be redacted before it is
    cut, as `Memory(redaction=…)` does; else half a secret may pass at the cut.

    Raises:
        WrongType: not an embedder.
    """

    def __init__(self, inner: EmbedderSpec, redactor: Redactor) -> None:
        self.inner = resolve(inner)
        self.redactor = redactor

    @property
    def fingerprint(self) -> Fingerprint:
        """The space of the embedder below, marked as redacted."""
        own = self.inner.fingerprint
        return Fingerprint(own.name, own.version + MARK, own.dimension)

    @property
    def weight(self) -> float:
        """How far its cosines count beside words."""
        return self.inner.weight

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row for each text, redacted."""
        return embed_checked(self.inner, [self.redactor.text(text) for text in texts])


def redacting_model(model: Callable[[list[Message]], object], redactor: Redactor) -> Callable[[list[Message]], object]:
    """Return a model, sync or async, that is asked with redacted messages; its reply comes back as it is."""

    def ask(messages: list[Message]) -> object:
        return model([_redacted(message, redactor) for message in messages])

    return ask


def redacted_flow(flow: Flow[T], redactor: Redactor) -> Flow[T]:
    """Do what a flow does, with everything that it asks a model redacted, and every reply."""
    try:
        ask = next(flow)
        while True:
            messages = [_redacted(message, redactor) for message in ask.messages]
            try:
                reply = yield replace(ask, messages=messages)
            except ModelError as error:
                ask = flow.throw(error)
            else:
                ask = flow.send(redactor.text(reply))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        flow.close()


def _redacted(message: Message, redactor: Redactor) -> Message:
    made = redactor.nested(message)
    return made if isinstance(made, dict) else message

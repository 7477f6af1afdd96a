"""A client for every endpoint that speaks OpenAI's chat and embeddings: OpenAI, Ollama, vLLM, LM Studio, gateways."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from seasoned.embedders.callables import CallableEmbedder
from seasoned.embedders.rows import checked_rows, clean_texts
from seasoned.errors import EmbeddingError, InvalidInput, ModelError, SeasonedError
from seasoned.models.transport import Endpoint, Post, Settings
from seasoned.models.wire import (
    Answer,
    Dialect,
    ExchangeError,
    adapted,
    chat_body,
    embeddings_body,
    read_chat,
    read_embeddings,
)
from seasoned.ports import Message

T = TypeVar("T")
_Exchange: TypeAlias = Generator[Post, Answer, T]

OLLAMA: Final = "http://localhost:11434/v1"
OPENAI: Final = "https://api.openai.com/v1"

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a client has used so far: requests sent (retries count), and tokens as the endpoint reports them.

    `cut` is how many replies ended because they reached `max_tokens`.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    embedding_tokens: int = 0
    cut: int = 0


class OpenAICompatible:
    """A model, and an embedder, behind an OpenAI-compatible endpoint.

    `base_url` is by default Ollama on this machine, so nothing leaves it unless another address is given. `headers` go
    with every request. `timeout_s` bounds the wait for an answer. Connection errors and the statuses 408, 409, 429 and
    5xx are tried again up to `retries` times, with growing waits or as `Retry-After` says if that is within a minute;
    a timeout is not, since the reply was worked on, and paid for, already. Answers of 32 MiB at most are read. Where a
    model refuses `max_tokens` or `temperature`, it is asked with `max_completion_tokens`, or without.

    The environment gives no key (`from_env` does) but, except for an address on this machine, the proxies. Neither
    keys nor texts are logged. For any number of threads and event loops at once: within `async with`, async calls on
    that loop share connections, elsewhere each opens its own. Close it, or use `with`.

    Raises:
        InvalidInput: an address, key, header or number that cannot be used.
        MissingExtra: the extra "openai" is not installed.
    """

    def __init__(
        self,
        model: str,
        base_url: str = OLLAMA,
        *,
        api_key: str | None = None,
        embedding_model: str | None = None,
        dimensions: int | None = None,
        timeout_s: float = 60.0,
        retries: int = 2,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if dimensions is not None and dimensions < 1:
            raise InvalidInput(f"dimensions are at least 1, not {dimensions!r}")
        settings = Settings(
            base_url=base_url, api_key=api_key, headers=dict(headers or {}), timeout_s=timeout_s, retries=retries
        )
        self._endpoint = Endpoint(settings)
        self._has_key = api_key is not None
        self._model = model
        self._embedding_model = embedding_model
        self._dimensions = dimensions
        self._dialect = Dialect()
        self._usage = Usage()
        self._lock = threading.Lock()

    @classmethod
    def from_env(cls, model: str, *, embedding_model: str | None = None, dimensions: int | None = None) -> Self:
        """Return a client with the key in `OPENAI_API_KEY` and the address in `OPENAI_BASE_URL`, or OpenAI's.

        Raises:
            InvalidInput: there is no key.
        """
        key = os.environ.get("OPENAI_API_KEY", "").strip()
        if not key:
            raise InvalidInput("OPENAI_API_KEY is not set")
        url = os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI
        return cls(model, url, api_key=key, embedding_model=embedding_model, dimensions=dimensions)

    @property
    def usage(self) -> Usage:
        """What was used so far."""
        with self._lock:
            return replace(self._usage, requests=self._endpoint.requests)

    def chat(
        self, messages: Sequence[Message], *, max_tokens: int = 1024, temperature: float = 0.0, tag: str = ""
    ) -> str:
        """Return the reply's text; `tag` names the purpose in logs and is not sent.

        Raises:
            ModelError: the endpoint failed, refused, or answered in a form that cannot be used.
        """
        with _raised_as(ModelError):
            return self._drive(self._chatting(messages, max_tokens, temperature, tag))

    async def achat(
        self, messages: Sequence[Message], *, max_tokens: int = 1024, temperature: float = 0.0, tag: str = ""
    ) -> str:
        """Do as `chat`, without holding up the event loop."""
        with _raised_as(ModelError):
            return await self._adrive(self._chatting(messages, max_tokens, temperature, tag))

    def embed(self, texts: Sequence[str], *, batch: int = 32) -> NDArray[np.float32]:
        """Return one unit row a text, shape (n, dimension), asking for `batch` texts at once.

        Raises:
            EmbeddingError: the endpoint failed, or did not give one vector of one dimension for each text.
            InvalidInput: no `embedding_model` was given, or a batch below 1.
        """
        with _raised_as(EmbeddingError):
            return self._drive(self._embedding(texts, batch))

    async def aembed(self, texts: Sequence[str], *, batch: int = 32) -> NDArray[np.float32]:
        """Do as `embed`, without holding up the event loop."""
        with _raised_as(EmbeddingError):
            return await self._adrive(self._embedding(texts, batch))

    def embedder(self, *, version: str = "1", weight: float = 0.65, batch: int = 32) -> CallableEmbedder:
        """Return an embedder over this client, named after its model; its dimension is found at the first call.

        Change `version` when the endpoint changes the model under the same name: vectors of one fingerprint are
        compared. `weight` is how far its cosines count beside words.

        Raises:
            InvalidInput: no `embedding_model` was given, or a weight outside 0 to 1.
        """

        def function(texts: list[str]) -> NDArray[np.float32]:
            return self.embed(texts, batch=batch)

        name = self._named_embedding_model()
        return CallableEmbedder(function, name, version=version, weight=weight, dimension=self._dimensions)

    def close(self) -> None:
        """Close the connections; closing twice is harmless, and every call from then on raises."""
        self._endpoint.close()

    async def aclose(self) -> None:
        """Do as `close`, and close what `async with` opened."""
        await self._endpoint.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self._endpoint.aopen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        key = "'***'" if self._has_key else "None"
        return f"OpenAICompatible({self._model!r}, {self._endpoint.where()!r}, api_key={key})"

    def _chatting(self, messages: Sequence[Message], max_tokens: int, temperature: float, tag: str) -> _Exchange[str]:
        dialect, refused = self._dialect, True
        while refused:
            body = chat_body(self._model, messages, max_tokens, temperature, dialect)
            answer = yield Post("/chat/completions", body)
            other = adapted(dialect, answer)
            dialect, refused = other or dialect, other is not None
        reply = read_chat(answer)
        self._dialect = dialect
        self._count(prompt=reply.prompt_tokens, completion=reply.completion_tokens, cut=reply.cut)
        if reply.cut:
            _LOG.warning("a reply was cut at max_tokens=%d, tag %r", max_tokens, tag)
        return reply.text

    def _embedding(self, texts: Sequence[str], batch: int) -> _Exchange[NDArray[np.float32]]:
        name, asked, dimension = self._named_embedding_model(), clean_texts(texts), self._dimensions
        if batch < 1:
            raise InvalidInput(f"a batch has at least 1 text, not {batch!r}")
        rows: list[NDArray[np.float32]] = []
        for start in range(0, len(asked), batch):
            part = asked[start : start + batch]
            answer = yield Post("/embeddings", embeddings_body(name, part, self._dimensions))
            vectors, tokens = read_embeddings(answer, len(part))
            self._count(embedding=tokens)
            rows.append(checked_rows(vectors, count=len(part), dimension=dimension, who=answer.where))
            dimension = rows[-1].shape[1]
        return np.concatenate(rows) if rows else np.zeros((0, dimension or 0), dtype=np.float32)

    def _named_embedding_model(self) -> str:
        if not self._embedding_model:
            raise InvalidInput("no embedding_model was given")
        return self._embedding_model

    def _count(self, *, prompt: int = 0, completion: int = 0, embedding: int = 0, cut: bool = False) -> None:
        with self._lock:
            had = self._usage
            self._usage = Usage(
                prompt_tokens=had.prompt_tokens + prompt,
                completion_tokens=had.completion_tokens + completion,
                embedding_tokens=had.embedding_tokens + embedding,
                cut=had.cut + cut,
            )

    def _drive(self, exchange: _Exchange[T]) -> T:
        try:
            post = next(exchange)
            while True:
                post = exchange.send(self._endpoint.post(post))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _adrive(self, exchange: _Exchange[T]) -> T:
        try:
            post = next(exchange)
            while True:
                post = exchange.send(await self._endpoint.apost(post))
        except StopIteration as end:
            result: T = end.value
            return result


@contextlib.contextmanager
def _raised_as(error: type[SeasonedError]) -> Iterator[None]:
    try:
        yield
    except ExchangeError as failed:
        raise error(failed.message) from failed.__cause__

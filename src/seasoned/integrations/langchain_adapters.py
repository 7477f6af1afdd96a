"""LangChain's retriever, chat history and embeddings over a memory and its embedders."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from seasoned.conversation.following import stored_message
from seasoned.embedders import EmbedderSpec, embed_checked, resolve
from seasoned.errors import MissingExtra
from seasoned.memory import Memory
from seasoned.ports import Embedder
from seasoned.query import Filter
from seasoned.records import JSON, Hit
from seasoned.results import Status

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import BaseMessage, InvalidToolCall, ToolCall, convert_to_messages
    from langchain_core.messages.tool import invalid_tool_call, tool_call
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict
except ImportError as error:
    raise MissingExtra("langchain", "langchain-core") from error

_LOG: Final = logging.getLogger("seasoned.langchain")


class SeasonedEmbeddings(Embeddings):
    """Any embedder of this package as LangChain's `Embeddings`: what `Memory(embedder=…)` takes, "auto" included.

    Vectors are unit rows. The async methods run in LangChain's executor.

    Raises:
        InvalidInput, WrongType, MissingExtra, EmbeddingError: as `seasoned.embedders.resolve` says.
    """

    def __init__(self, embedder: EmbedderSpec = "auto") -> None:
        self.embedder: Embedder = resolve(embedder)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text.

        Raises:
            EmbeddingError: the embedder failed.
        """
        rows: list[list[float]] = embed_checked(self.embedder, texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query; it is that of the same text as a document.

        Raises:
            EmbeddingError: the embedder failed.
        """
        return self.embed_documents([text])[0]


class SeasonedRetriever(BaseRetriever):
    """The k best records of a memory as LangChain documents, best first; `Memory.recall` as a retriever.

    `kinds`, `where` and `subtree` narrow as in `recall`. A document's content is the record's text, its id the record's
    id, and its metadata `id`, `kind`, `score` (0 to 1), `at` (ISO 8601, UTC) and `data`. `invoke(query, k=…)` asks
    another number.

    Raises:
        InvalidInput, WrongType: when asked, as `Memory.recall` says.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory
    k: int = 10
    kinds: tuple[str, ...] = ()
    where: Filter | Mapping[str, object] | None = None
    subtree: bool = False

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002  # the framework names it
        k: int | None = None,
    ) -> list[Document]:
        hits = self.memory.recall(
            query, self.k if k is None else k, kinds=self.kinds, where=self.where, subtree=self.subtree
        )
        if hits.degraded:
            _LOG.warning("the search was degraded: %s", "; ".join(hits.degraded))
        return [_document(hit) for hit in hits]


def _document(hit: Hit) -> Document:
    record = hit.record
    metadata = {
        "id": hit.id,
        "kind": record.key.kind,
        "score": hit.score,
        "at": record.at.isoformat(),
        "data": dict(record.data),
    }
    return Document(id=hit.id, page_content=hit.text, metadata=metadata)


class SeasonedChatMessageHistory(BaseChatMessageHistory):
    """One session of `memory.conversation` as LangChain's chat history.

    Messages are kept in OpenAI form: text, parts, images, names, ids, tool calls and results come back; what a provider
    adds besides (usage, metadata of the response) does not. A message without an id gets one. One whose id is stored
    already changes nothing, and one that says nothing is not stored; the log says so.

    LangChain deprecates chat histories since 1.6.4 in favour of checkpointers and stores; for a new agent use
    `SeasonedStore`, or `memory.conversation` itself, which also chooses what fits a token budget.
    """

    def __init__(self, memory: Memory, session: str = "default") -> None:
        super().__init__()
        self.memory = memory
        self.session = session

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the framework allows a property
        """All messages of the session, in order."""
        hits = self.memory.conversation.turns(self.session)
        return [message for hit in hits if (message := _as_langchain(hit)) is not None]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages, all or none.

        Raises:
            InvalidMessage, WrongType: one is no message; nothing was stored.
        """
        for added in self.memory.conversation.add(list(messages), self.session):
            if added.status is not Status.WRITTEN:
                _LOG.warning("a message was not stored (%s): %s", added.status, added.reason)

    def clear(self) -> None:
        """Remove all messages of the session."""
        self.memory.conversation.clear(self.session)


def _as_langchain(hit: Hit) -> BaseMessage | None:
    """Return a stored message; a call that LangChain cannot take (its arguments are no object) as an invalid one."""
    message = stored_message(hit.record)
    if message is None:
        return None
    calls = message.pop("tool_calls", None)
    checked = [_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    made = convert_to_messages([{**message, "id": hit.id}])[0]
    if checked:
        valid = [call for call in checked if call["type"] == "tool_call"]
        invalid = [call for call in checked if call["type"] == "invalid_tool_call"]
        made = made.model_copy(update={"tool_calls": valid, "invalid_tool_calls": invalid})
    return made


def _call(call: Mapping[str, JSON]) -> ToolCall | InvalidToolCall:
    found = call.get("function") or call.get("custom")
    inner = found if isinstance(found, dict) else {}
    name, given = str(inner.get("name", "")), str(inner.get("arguments", inner.get("input", "")))
    try:
        arguments = json.loads(given or "{}") if "function" in call else None
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        return tool_call(name=name, args=arguments, id=str(call["id"]))
    return invalid_tool_call(name=name, args=given, id=str(call["id"]), error="its arguments are not a JSON object")

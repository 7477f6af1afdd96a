"""`Memory`: a conversation in a storage, and the part of it that a model is shown next."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from seasoned.compat.sikkaagent.messages import BaseMessage
from seasoned.compat.sikkaagent.mirroring import MemoryStorage, Mirrored
from seasoned.compat.sikkaagent.records import ContextRecord, Found, MemoryRecord, role_of
from seasoned.compat.sikkaagent.storing import RecordStorage
from seasoned.compat.sikkaagent.utils.enums import RoleType
from seasoned.context import Context, LeftOut
from seasoned.conversation import ConversationPolicy
from seasoned.conversation.assembly import UNREADABLE
from seasoned.errors import BudgetTooSmall, WrongType
from seasoned.ports import Message
from seasoned.records import JSON, clean_text
from seasoned.results import Added
from seasoned.tokens import CountedMessage, Counter

PROMPT: Final = "the system prompt, the system messages and the newest user message"


class Memory:
    """What was said, in a storage, and which of it goes into the next context.

    `storage` is one of this package, anything with `save`, `load` and `clear`, or None to keep all in this process.
    A context holds all system messages first, the newest user message, and of the others those that rank best by
    `keep_rate` to the power of their age, times how far they have the words that are asked for, until `token_limit`
    is filled: 1 lets relevance alone decide, 0 recency alone. `window_size` bounds how many messages are kept; system
    messages do not count in it, and 0 leaves the newest user message alone. `token_counter` counts a list of messages
    in OpenAI form, or is an object with `count_tokens_from_messages`; None is the estimate of `seasoned.tokens`. Each
    message is counted once, and each context once whole. These may be changed on an instance.

    Raises:
        InvalidInput: a value out of its range.
        WrongType: a value of another type.
    """

    def __init__(
        self,
        storage: RecordStorage | MemoryStorage | None = None,
        window_size: int | None = None,
        keep_rate: float = 0.9,
        token_counter: object = None,
        token_limit: int = 4096,
    ) -> None:
        self._kept = _kept(storage)
        self.window_size = window_size
        self.keep_rate = keep_rate
        self.token_counter = token_counter
        self.token_limit = token_limit
        self._policy()

    @property
    def storage(self) -> RecordStorage | MemoryStorage:
        """Where the records lie."""
        return self._kept.storage if isinstance(self._kept, Mirrored) else self._kept

    def add_message(
        self, message: BaseMessage, role_type: RoleType | str, extra_info: Mapping[str, JSON] | None = None
    ) -> Added:
        """Store a message as said in a role, and say what became of it; one that says nothing is refused.

        Raises:
            InvalidMessage: a tool's result without `tool_call_id` in its `meta`, or malformed calls.
            InvalidInput, WrongType: another role, or no message.
        """
        return self._kept.append(MemoryRecord(message, role_of(role_type), extra_info=extra_info or {}))

    def add_records(self, records: Sequence[MemoryRecord]) -> list[Added]:
        """Store records in order, and say what became of each; one with a uuid that is stored changes nothing."""
        return self._kept.write(records)

    def records(self) -> list[MemoryRecord]:
        """Return all that is stored, in order."""
        return self._kept.current().records()

    def get_context(self, query: str | Literal[True] | None = None) -> tuple[list[Message], int]:
        """Return the messages for the next turn in OpenAI form, and what they count: never more than `token_limit`.

        The list is valid for every provider: it begins with system and user messages, and calls stand with all their
        results. Long answers and results are cut with a marker, and so is the newest user message if it must be.
        With a `query` (True: the newest user message), it says what is relevant, and messages that answer it and are
        not shown are quoted in the newest user message, before its text.

        Raises:
            BudgetTooSmall: the system messages and the newest user message, cut as far as it goes, need more.
        """
        found = self.context(query)
        return found.messages, found.tokens

    def context(self, query: str | Literal[True] | None = None, *, system_prompt: str | None = None) -> Context:
        """Return what `get_context` does, with what was left out or cut and why.

        `system_prompt` stands first and is not stored.
        """
        prompt = system_prompt if system_prompt and system_prompt.strip() else None
        found = self._context(query) if prompt is None else self._prompted(query, prompt)
        names = self._kept.unreadable if isinstance(self._kept, Mirrored) else ()
        return replace(found, left_out=(*found.left_out, LeftOut(UNREADABLE, names))) if names else found

    def search(self, query: str, k: int = 10) -> Found:
        """Return the k records that answer a query best, best first, each with its score.

        Raises:
            InvalidInput: a blank query, or k below 1.
            WrongType: a value of another type.
        """
        return self._kept.current().search(query, k)

    def clear(self) -> None:
        """Remove all messages."""
        self._kept.clear()

    def _policy(self) -> ConversationPolicy:
        """Return the policy of the settings as they are now, which checks them."""
        return ConversationPolicy(**self._choices())  # type: ignore[arg-type]  # checked when it is made

    def _choices(self) -> dict[str, object]:
        return {
            "window_size": self.window_size,
            "keep_rate": self.keep_rate,
            "token_counter": self.token_counter,
            "token_limit": self.token_limit,
            "selection": "scored",
        }

    def _context(self, query: str | Literal[True] | None, reserve: int = 0, counter: Counter | None = None) -> Context:
        here, choices = self._kept.current(), self._choices()
        if counter is not None:
            choices["token_counter"] = counter
        return here.conversation.context(None, reserve=reserve, query=query, session=here.session, **choices)

    def _prompted(self, query: str | Literal[True] | None, prompt: str) -> Context:
        """Put a prompt before a context, and count the list with it."""
        system: Message = {"role": "system", "content": clean_text(prompt)}
        policy = self._policy()
        counter, limit = policy.counter, policy.token_limit
        found = self._beside(query, system, counter, limit)
        if system in found.messages:
            return self._context(query)
        messages = [system, *found.messages]
        tokens = counter(messages)
        if tokens > limit:
            raise BudgetTooSmall(needed=tokens, budget=limit, what=PROMPT)
        points = tuple(point + 1 for point in found.cache_points)
        return replace(found, messages=messages, tokens=tokens, cache_points=points)

    def _beside(self, query: str | Literal[True] | None, system: Message, counter: Counter, limit: int) -> Context:
        """Return a context that leaves room for a prompt."""
        if not counter.additive:
            return self._context(query, counter=_CountedBehind(counter, system))
        own = counter.one(system)
        if own >= limit:
            raise BudgetTooSmall(needed=counter([system]), budget=limit, what=PROMPT)
        try:
            return self._context(query, own)
        except BudgetTooSmall as error:
            raise BudgetTooSmall(needed=error.needed + own, budget=limit, what=PROMPT) from error


class _CountedBehind(Counter):
    """Counts lists with a prompt before them; one message as it counts alone."""

    __slots__ = ("_behind", "_whole")

    def __init__(self, whole: Counter, prompt: Message) -> None:
        super().__init__(lambda messages: whole([prompt, *messages]), None)
        self._whole = whole
        self._behind = str(prompt["content"])

    @property
    def identity(self) -> Hashable:
        """The same for the same prompt and counter."""
        return (self._whole.identity, self._behind)

    def one(self, message: CountedMessage) -> int:
        """Return the tokens that one message adds to a list."""
        return self._whole.one(message)


def _kept(storage: object) -> RecordStorage | Mirrored:
    if storage is None:
        return RecordStorage(embedder="hashing")
    if isinstance(storage, RecordStorage) and not _changed(type(storage)):
        return storage
    if isinstance(storage, type) or not isinstance(storage, MemoryStorage):
        raise WrongType(f"a storage has save, load and clear, found {storage!r:.80}")
    return Mirrored(storage)


def _changed(kind: type[RecordStorage]) -> bool:
    """Tell whether a storage of the caller's own, made from one of ours, saves, loads or clears in its own way."""
    verbs = ("save", "load", "clear")
    return any(getattr(kind, verb) is not getattr(RecordStorage, verb) for verb in verbs)


__all__ = ["ContextRecord", "Found", "Memory", "MemoryRecord"]

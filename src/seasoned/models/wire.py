"""What an OpenAI-compatible endpoint is sent and how its answers are read; nothing here opens a connection."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from seasoned.ports import Message
from seasoned.records import JSON, clean_json, clean_text

MAX_WAIT_S: Final = 60.0
"""Longest wait that an endpoint may ask for; one that asks for more is not asked again."""

EXCERPT: Final = 200
"""How many characters of an answer that cannot be used stand in the error."""

_BUSY: Final = frozenset({408, 409, 429})


class ExchangeError(Exception):
    """An exchange failed; becomes a `ModelError` or an `EmbeddingError` before it leaves the client.

    `again` says whether to ask again: False, True (with the usual wait), or after so many seconds. Its text stays out
    of its repr, which logs of retries show.
    """

    def __init__(self, message: str, *, label: str, again: bool | float = False) -> None:
        super().__init__(label)
        self.message = message
        self.again = again


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer: which address gave it, its status, its headers (lower case names) and its body."""

    where: str
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def failure(self, what: str, *, again: bool | float = False) -> ExchangeError:
        """Return the failure that says `what` is wrong, with the status and the beginning of the body."""
        text = " ".join(self.body[: EXCERPT * 40].decode("utf-8", "replace").split())
        shown = f"{text[:EXCERPT]!r}{'…' if len(text) > EXCERPT else ''}" if text else "an empty body"
        return ExchangeError(
            f"{self.where} answered {self.status}{what}: {shown}", label=f"status {self.status}", again=again
        )


@dataclass(frozen=True, slots=True)
class Dialect:
    """The names that a model has for what is asked of it: newer ones refuse `max_tokens` or any `temperature`."""

    length: str = "max_tokens"
    temperature: bool = True


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The text of a reply, whether it was cut at the most tokens, and the tokens counted by the endpoint."""

    text: str
    cut: bool
    prompt_tokens: int
    completion_tokens: int


def chat_body(model: str, messages: Sequence[Message], length: int, temperature: float, dialect: Dialect) -> bytes:
    """Return the body of a chat request.

    Raises:
        InvalidInput, WrongType: a message is not plain JSON.
    """
    body: dict[str, JSON] = {"model": model, "messages": clean_json(list(messages)), dialect.length: length}
    if dialect.temperature:
        body["temperature"] = temperature
    return json.dumps(body).encode()


def embeddings_body(model: str, texts: Sequence[str], dimensions: int | None) -> bytes:
    """Return the body of an embeddings request. Endpoints refuse empty texts, so a blank one is sent as a dot."""
    inputs: list[JSON] = [clean_text(text) if text.strip() else "." for text in texts]
    body: dict[str, JSON] = {"model": model, "input": inputs, "encoding_format": "float"}
    if dimensions is not None:
        body["dimensions"] = dimensions
    return json.dumps(body).encode()


def may_retry(answer: Answer, now: datetime) -> bool | float:
    """Return whether to ask again after this status, and after how many seconds if the endpoint said so.

    408, 409, 429 and from 500 on are passing; `retry-after-ms` and `retry-after` (RFC 9110: seconds or a date) are
    kept to, unless they ask for more than `MAX_WAIT_S`.
    """
    if answer.status not in _BUSY and answer.status < 500:
        return False
    wait_s = _asked_wait_s(answer.headers, now)
    return True if wait_s is None else wait_s <= MAX_WAIT_S and wait_s


def adapted(dialect: Dialect, answer: Answer) -> Dialect | None:
    """Return the dialect that the endpoint wants instead, if that is why it answered 400."""
    if answer.status != 400:
        return None
    error = _member(_json(answer.body), "error")
    refused = _member(error, "param")
    if _member(error, "code") not in ("unsupported_parameter", "unsupported_value"):
        return None
    if refused == "max_tokens" and dialect.length == "max_tokens":
        return replace(dialect, length="max_completion_tokens")
    if refused == "temperature" and dialect.temperature:
        return replace(dialect, temperature=False)
    return None


def read_chat(answer: Answer) -> ChatAnswer:
    """Return the reply in a chat answer.

    Raises:
        ExchangeError: another status than 200, not JSON, no choices, a refusal, or cut before any text.
    """
    payload = _payload(answer)
    choices = _member(payload, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _member(choice, "message")
    if not isinstance(message, Mapping):
        raise answer.failure(" without a reply")
    text, finish = _reply_text(message, answer), _member(choice, "finish_reason")
    if not text and finish in ("content_filter", "length"):
        why = "the model refused (content filter)" if finish == "content_filter" else "cut before any text"
        raise answer.failure(f", {why}; raise max_tokens" if finish == "length" else f", {why}")
    usage = _member(payload, "usage")
    return ChatAnswer(text, finish == "length", _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def read_embeddings(answer: Answer, wanted: int) -> tuple[list[NDArray[np.float64]], int]:
    """Return the vectors in the order of the texts, by their `index`, and the tokens counted.

    Raises:
        ExchangeError: another status than 200, not JSON, or not exactly one vector for each text.
    """
    payload = _payload(answer)
    data = _member(payload, "data")
    if not isinstance(data, list) or len(data) != wanted:
        found = len(data) if isinstance(data, list) else "no"
        raise answer.failure(f" with {found} vectors for {wanted} texts")
    places = [_member(item, "index") for item in data]
    if all(place is None for place in places):
        places = list(range(wanted))
    rows = {place: _member(item, "embedding") for place, item in zip(places, data, strict=True) if type(place) is int}
    if sorted(rows) != list(range(wanted)):
        raise answer.failure(f" with vectors for other texts than the {wanted} asked for")
    return [_vector(rows[place], answer) for place in range(wanted)], _count(_member(payload, "usage"), "prompt_tokens")


def _asked_wait_s(headers: Mapping[str, str], now: datetime) -> float | None:
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait_s = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        if not math.isnan(wait_s):
            return max(0.0, wait_s)
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds())


def _payload(answer: Answer) -> JSON:
    if answer.status != 200:
        wait = answer.headers.get("retry-after")
        raise answer.failure(f", asking to wait {wait[:40]!r}" if wait else "")
    payload = _json(answer.body)
    if not isinstance(payload, dict):
        is_page = answer.body.lstrip()[:1] == b"<"
        raise answer.failure(" with a web page, not JSON" if is_page else " with something that is not a JSON object")
    return payload


def _json(body: bytes) -> JSON:
    try:
        payload: JSON = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return payload


def _member(value: object, name: str) -> JSON:
    return value.get(name) if isinstance(value, Mapping) else None


def _count(usage: object, name: str) -> int:
    found = _member(usage, name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def _reply_text(message: Mapping[str, JSON], answer: Answer) -> str:
    content = message.get("content")
    parts: list[JSON] = content if isinstance(content, list) else [{"type": "text", "text": content}]
    refusal = next((found for part in [message, *parts] if (found := _member(part, "refusal"))), None)
    if refusal:
        raise ExchangeError(f"{answer.where}: the model refused: {str(refusal)[:EXCERPT]!r}", label="refused")
    if isinstance(content, (str, list)) or content is None:
        return "".join(text for part in parts if isinstance(text := _part_text(part), str))
    raise answer.failure(" with content that is neither text nor a list of parts")


def _part_text(part: JSON) -> JSON:
    if isinstance(part, str):
        return part
    return _member(part, "text") if _member(part, "type") in ("text", "output_text", None) else None


def _vector(found: JSON, answer: Answer) -> NDArray[np.float64]:
    try:
        if isinstance(found, str):  # base64 of little-endian floats, from endpoints that give nothing else
            return np.frombuffer(base64.b64decode(found, validate=True), dtype="<f4").astype(np.float64)
        if isinstance(found, list):
            return np.array([float(number) for number in found], dtype=np.float64)  # type: ignore[arg-type]  # what is no number raises
    except (TypeError, ValueError, OverflowError) as error:
        raise answer.failure(f" with a vector that is not a list of numbers ({error})") from error
    raise answer.failure(" with a vector that is not a list of numbers")

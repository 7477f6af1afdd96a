"""`ModelConfigure`: a model behind any endpoint that speaks OpenAI's chat, Ollama's included."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from seasoned.compat.sikkaagent.utils.enums import ModelPlatformType
from seasoned.errors import InvalidInput, WrongType
from seasoned.models.openai_compatible import OLLAMA, OPENAI, OpenAICompatible
from seasoned.ports import Message, TokenCounter
from seasoned.tokens import EstimatedCounter

ADDRESSES: Final = {
    ModelPlatformType.OLLAMA: OLLAMA,
    ModelPlatformType.LMSTUDIO: "http://localhost:1234/v1",
    ModelPlatformType.VLLM: "http://localhost:8000/v1",
    ModelPlatformType.OPENAI: OPENAI,
    ModelPlatformType.DEEPSEEK: "https://api.deepseek.com/v1",
    ModelPlatformType.GEMINI: "https://generativelanguage.googleapis.com/v1beta/openai",
    ModelPlatformType.GROQ: "https://api.groq.com/openai/v1",
    ModelPlatformType.MISTRAL: "https://api.mistral.ai/v1",
    ModelPlatformType.OPENROUTER: "https://openrouter.ai/api/v1",
    ModelPlatformType.TOGETHER: "https://api.together.xyz/v1",
}
"""Where each platform answers, unless its address is given."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class ModelConfigure:
    """A model of a platform: what a `ChatAgent` talks to, and what counts tokens for a `Memory`.

    `url` is the address of the endpoint and `api_key` its key. Where no `url` is given, the environment may say both,
    under the platform's name (`OLLAMA_BASE_URL`, `OPENAI_BASE_URL`, `OPENAI_API_KEY`, …); without an address there, it
    is the platform's own. A key from the environment never goes to an address that was given here. `max_tokens` bounds
    a reply. `token_counter` counts a list of messages; by default the estimate of `seasoned.tokens`, for no tokenizer
    ships. Nothing is opened before the first question; close it, or leave that to the end of the object.

    Raises:
        InvalidInput: an unknown platform, a blank model, or `openai_compatible` without a `url`.
    """

    model: str
    model_platform: ModelPlatformType = ModelPlatformType.OLLAMA
    _: KW_ONLY
    url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    max_tokens: int = 1024
    temperature: float = 0.0
    timeout_s: float = 120.0
    token_counter: TokenCounter = field(default_factory=EstimatedCounter)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _client: OpenAICompatible | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, str):
            raise WrongType(f"a model is named by a string, not {self.model!r:.80}")
        if not self.model.strip():
            raise InvalidInput(f"a model has a name, found {self.model!r}")
        try:
            self.model_platform = ModelPlatformType(self.model_platform)
        except ValueError as error:
            raise InvalidInput(
                f"a platform is one of {', '.join(ModelPlatformType)}, not {self.model_platform!r:.80}"
            ) from error
        if self.url is None and not self._said("BASE_URL") and self.model_platform not in ADDRESSES:
            raise InvalidInput(f"the platform {self.model_platform} has no address of its own; give its url")

    def chat(self, messages: Sequence[Message], *, max_tokens: int, temperature: float, tag: str) -> str:
        """Return the reply's text.

        Raises:
            ModelError: the endpoint failed, refused, or answered in a form that cannot be used.
            MissingExtra: the extra "openai" is not installed.
        """
        return self.client.chat(messages, max_tokens=max_tokens, temperature=temperature, tag=tag)

    async def achat(self, messages: Sequence[Message], *, max_tokens: int, temperature: float, tag: str) -> str:
        """Do as `chat`, without holding up the event loop."""
        return await self.client.achat(messages, max_tokens=max_tokens, temperature=temperature, tag=tag)

    @property
    def client(self) -> OpenAICompatible:
        """The client of the endpoint, made when it is first asked for."""
        with self._lock:
            if self._client is None:
                url, key = self._place()
                self._client = OpenAICompatible(self.model, url, api_key=key, timeout_s=self.timeout_s)
                weakref.finalize(self, self._client.close)
            return self._client

    def close(self) -> None:
        """Close the connections; closing twice is harmless, and a later question opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _place(self) -> tuple[str, str | None]:
        if self.url is not None:
            return self.url, self.api_key
        address = self._said("BASE_URL") or ADDRESSES[self.model_platform]
        return address, self.api_key or self._said("API_KEY")

    def _said(self, what: str) -> str | None:
        """Return what the environment says of the platform."""
        return os.environ.get(f"{self.model_platform.name}_{what}", "").strip() or None

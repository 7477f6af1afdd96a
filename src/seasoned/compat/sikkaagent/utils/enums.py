"""The fixed words: roles, distances and platforms; each is its value as a string, and is found in any case."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class _AnyCase(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        folded = value.strip().casefold() if isinstance(value, str) else None
        return next((one for one in cls if folded in (one.value, one.name.casefold())), None)


class RoleType(_AnyCase):
    """Who speaks in a message, by OpenAI's words."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    FUNCTION = "function"


class Distance(_AnyCase):
    """How an engine compares vectors when it names candidates; what is found is ranked by cosine all the same."""

    COSINE = "cosine"
    DOT = "dot"
    EUCLID = "euclid"


class ModelPlatformType(_AnyCase):
    """Who serves a model; all of them speak OpenAI's chat."""

    OLLAMA = "ollama"
    LMSTUDIO = "lmstudio"
    VLLM = "vllm"
    OPENAI = "openai"
    DEEPSEEK = "deepseek"
    GEMINI = "gemini"
    GROQ = "groq"
    MISTRAL = "mistral"
    OPENROUTER = "openrouter"
    TOGETHER = "together"
    OPENAI_COMPATIBLE = "openai_compatible"

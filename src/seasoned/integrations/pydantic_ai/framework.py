"""What is used of Pydantic AI; the only module that imports it."""

from seasoned.errors import MissingExtra

try:
    from pydantic_ai import AgentRunResult, RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ImageUrl,
        InstructionPart,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import AgentDepsT
except ImportError as error:
    raise MissingExtra("pydantic-ai", "pydantic-ai-slim") from error

__all__ = [
    "AbstractCapability",
    "AgentDepsT",
    "AgentRunResult",
    "ImageUrl",
    "InstructionPart",
    "ModelMessage",
    "ModelRequest",
    "ModelRequestContext",
    "ModelResponse",
    "RunContext",
    "TextPart",
    "ToolCallPart",
    "ToolReturnPart",
    "UserPromptPart",
]

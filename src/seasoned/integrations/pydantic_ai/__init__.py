"""Pydantic AI: a capability that shows an agent what its memories say, and records its runs."""

from seasoned.integrations.pydantic_ai.capability import MemoryCapability

__all__ = ["MemoryCapability"]

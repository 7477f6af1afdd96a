"""LangChain's agents: middleware that learns and remembers, and tools to remember with."""

from seasoned.integrations.langchain.ace import INSTRUCTION, ACEMiddleware
from seasoned.integrations.langchain.recording import MemoryState
from seasoned.integrations.langchain.remembering import MemoryMiddleware
from seasoned.integrations.langchain.state import ACEState
from seasoned.integrations.langchain.tools import memory_tools

__all__ = ["INSTRUCTION", "ACEMiddleware", "ACEState", "MemoryMiddleware", "MemoryState", "memory_tools"]

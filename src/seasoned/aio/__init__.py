"""`AsyncMemory` and the async shells of its four memories: the same verbs, awaited, none of them on the event loop."""

from seasoned.aio.memories import AsyncConversationMemory, AsyncExperienceMemory, AsyncPlaybook, AsyncRunMemory
from seasoned.aio.memory import AsyncMemory

__all__ = [
    "AsyncConversationMemory",
    "AsyncExperienceMemory",
    "AsyncMemory",
    "AsyncPlaybook",
    "AsyncRunMemory",
]

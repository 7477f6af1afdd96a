"""Agents that talk to a model and remember, and the messages they exchange."""

from seasoned.compat.sikkaagent.agents.chat import ChatAgent, ChatAgentResponse
from seasoned.compat.sikkaagent.messages import BaseMessage

__all__ = ["BaseMessage", "ChatAgent", "ChatAgentResponse"]

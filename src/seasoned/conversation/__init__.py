"""Conversation memory: what was said, in sessions; found again, and put into the next context."""

from seasoned.conversation.memory import ConversationMemory
from seasoned.conversation.policy import ConversationPolicy
from seasoned.conversation.sessions import SessionInfo
from seasoned.conversation.summary import Summarised

__all__ = ["ConversationMemory", "ConversationPolicy", "SessionInfo", "Summarised"]

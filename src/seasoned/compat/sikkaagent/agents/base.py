"""The message that agents exchange."""

from seasoned.compat.sikkaagent.messages import BaseMessage

__all__ = ["BaseMessage"]

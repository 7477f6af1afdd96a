"""What is used of the OpenAI Agents SDK; the only module that imports it."""

from seasoned.errors import MissingExtra

try:
    from agents import SessionSettings, TResponseInputItem
except ImportError as error:
    raise MissingExtra("openai-agents", "openai-agents") from error

__all__ = ["SessionSettings", "TResponseInputItem"]

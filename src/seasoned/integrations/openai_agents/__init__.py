"""OpenAI's Agents SDK: a session whose history lies in a memory, so that what was said there is recalled elsewhere."""

from seasoned.integrations.openai_agents.items import ITEM
from seasoned.integrations.openai_agents.session import SeasonedSession

__all__ = ["ITEM", "SeasonedSession"]

"""A plugin of pytest that puts our middleware first in every agent that `create_agent` makes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import langchain.agents
import langchain.agents.factory

from seasoned import Memory
from seasoned.integrations.langchain import ACEMiddleware, MemoryMiddleware

_create_agent = langchain.agents.factory.create_agent


@functools.wraps(_create_agent)
def create_agent(*arguments: object, middleware: Sequence[object] = (), **more: object) -> object:
    """Make an agent with our middleware before that of the test."""
    ours = [ACEMiddleware(), MemoryMiddleware(Memory(embedder="hashing"))]
    return _create_agent(*arguments, middleware=[*ours, *middleware], **more)


langchain.agents.factory.create_agent = create_agent
langchain.agents.create_agent = create_agent

"""A model from a script: it writes days as people do, unless its prompt or an error tells it better.

It stands for a language model, so that the example runs anywhere and always the same. What it knows it has from the
messages it is given: the task, the results of its calls, and the playbook in the system message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

TASK = re.compile(r"to (?P<address>.+) on (?P<day>\d{1,2}) (?P<month>\w+) (?P<year>\d{4})")
LEARNED = re.compile(r'\[\+\] tool book_courier worked with day="\d{4}-\d{2}-\d{2}"')
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")  # fmt: skip


class ScriptedClerk(BaseChatModel):
    """Books what it is asked for, and says so."""

    @property
    def _llm_type(self) -> str:
        return "scripted-clerk"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ScriptedClerk:  # type: ignore[override]  # noqa: ARG002
        """Return itself: it knows the one tool there is."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # the framework's form
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  # as above
        **kwargs: Any,  # noqa: ARG002  # as above
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=reply(messages))])


def reply(messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the clerk's next message."""
    last = messages[-1]
    if isinstance(last, ToolMessage) and last.status == "success":
        return AIMessage(f"Done: {last.text}.")
    asked = next((TASK.search(str(each.text)) for each in reversed(messages) if each.type == "human"), None)
    if asked is None:
        return AIMessage("Tell me the address and the day, as in: to 4 Elm Road on 3 December 2026.")
    system = "".join(str(each.text) for each in messages if each.type == "system")
    told = isinstance(last, ToolMessage) or LEARNED.search(system) is not None
    arguments = {"address": asked["address"], "day": as_code(asked) if told else as_said(asked)}
    return AIMessage("", tool_calls=[{"name": "book_courier", "args": arguments, "id": f"call-{len(messages)}"}])


def as_said(asked: re.Match[str]) -> str:
    """Return the day as people write it."""
    return f"{asked['day']} {asked['month']} {asked['year']}"


def as_code(asked: re.Match[str]) -> str:
    """Return the day as YYYY-MM-DD."""
    return f"{asked['year']}-{MONTHS.index(asked['month'].lower()) + 1:02d}-{int(asked['day']):02d}"

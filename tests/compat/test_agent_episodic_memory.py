"""agent-episodic-memory by its own names: its documented code runs, and its values behave as it says."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest

pytest.importorskip("langchain.agents", reason="langchain is not installed")
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from seasoned.compat.agent_episodic_memory import ACEMiddleware, DeltaEntry, Playbook
from seasoned.errors import InvalidInput, WrongType

SOME_TIME = datetime(2026, 1, 2, tzinfo=UTC)
WORDS = st.text(min_size=1, max_size=40).filter(lambda text: bool(text.strip()))
ENTRIES = st.builds(
    DeltaEntry, st.sampled_from(["tool_use", "final_answer", "my notes 1"]), WORDS,
    st.sampled_from(["success", "failure", "neutral"]),
)  # fmt: skip


class Model(GenericFakeChatModel):
    """Stands in for the document's model."""

    seen: list = []  # noqa: RUF012  # a field of a pydantic model

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, *args, **kwargs):
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


def model_of(*replies):
    return Model(messages=iter([AIMessage(each) if isinstance(each, str) else each for each in replies]), seen=[])


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return f"contents of {path}"


CALL = AIMessage("", tool_calls=[{"name": "read_file", "args": {"path": "config.json"}, "id": "1"}])
CONFIG = {"configurable": {"thread_id": "one"}}


# the document's code


def test_the_quick_start_runs():
    """One import and one entry in the list of middleware; the second run is shown what the first did."""
    model = model_of(CALL, "It is empty.", "Still empty.")
    agent = create_agent(model=model, tools=[read_file], middleware=[ACEMiddleware()], checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("What is in config.json?")]}, CONFIG)
    state = agent.invoke({"messages": [HumanMessage("And now?")]}, CONFIG)
    assert "<playbook>" not in str(model.seen[0])
    assert "[o] tool call: read_file" in model.seen[2][0].content
    contents = [entry["content"] for entry in state["ace_playbook"]["entries"]]
    assert contents == ["tool call: read_file", "It is empty.", "Still empty."]


def test_the_stack_of_the_document_runs():
    """Summaries, retries, a fallback and a person, after the playbook."""
    agent = create_agent(
        model=model_of(CALL, "done"),
        tools=[read_file],
        middleware=[
            ACEMiddleware(),
            SummarizationMiddleware(model=model_of(), trigger=("messages", 50)),
            ToolRetryMiddleware(),
            ModelFallbackMiddleware(model_of()),
            HumanInTheLoopMiddleware(interrupt_on={"write_file": True}),
        ],
    )
    state = agent.invoke({"messages": [HumanMessage("read it")]})
    assert len(Playbook.from_dict(state["ace_playbook"])) == 2


def test_reflect_is_overridden_as_the_document_says():
    """A subclass gives success and failure; they are rendered with their marks."""

    class Judged(ACEMiddleware):
        def reflect(self, latest: AIMessage) -> list[DeltaEntry]:
            if latest.tool_calls:
                return [DeltaEntry("tool_use", "read_file on config.json succeeded", "success")]
            return [DeltaEntry("final_answer", "too long", outcome="failure")]

    model = model_of(CALL, "done", "done again")
    agent = create_agent(model, [read_file], middleware=[Judged(max_playbook_entries=8)], checkpointer=InMemorySaver())
    agent.invoke({"messages": "one"}, CONFIG)
    agent.invoke({"messages": "two"}, CONFIG)
    assert model.seen[2][0].content.endswith(
        "<playbook>\n"
        "  <tool_use>\n"
        "    [+] read_file on config.json succeeded\n"
        "  </tool_use>\n"
        "  <final_answer>\n"
        "    [-] too long\n"
        "  </final_answer>\n"
        "</playbook>"
    )


def test_the_default_reflect_is_neutral():
    """A call is tool_use, its text up to 240 characters or the names of the tools; an answer final_answer."""
    middleware = ACEMiddleware()
    two = AIMessage("", tool_calls=[{"name": name, "args": {}, "id": name} for name in ("a", "b")])
    (called,), (said,), (long,) = (middleware.reflect(each) for each in (two, AIMessage("fine"), AIMessage("x" * 300)))
    assert (called.category, called.content, called.outcome) == ("tool_use", "tool call: a, b", "neutral")
    assert (said.category, said.content, said.outcome) == ("final_answer", "fine", "neutral")
    assert len(long.content) == 240
    assert middleware.reflect(AIMessage("")) == []


# DeltaEntry


def test_a_delta_entry_is_a_value_with_a_fingerprint():
    """SHA-256 over category, content and outcome, each behind its length; the time does not count."""
    entry = DeltaEntry("advice", "ask", "success", SOME_TIME)
    digest = hashlib.sha256()
    for part in (b"advice", b"ask", b"success"):
        digest.update(len(part).to_bytes(8, "big") + part)
    assert entry.fingerprint == digest.hexdigest() == DeltaEntry("advice", "ask", "success").fingerprint
    assert DeltaEntry("ab", "c").fingerprint != DeltaEntry("a", "bc").fingerprint
    with pytest.raises(AttributeError):
        entry.content = "other"


@pytest.mark.parametrize(
    "arguments",
    [("", "x"), ("  ", "x"), ("a" * 65, "x"), ("a", ""), ("a", " \n"), ("a", "x" * 2_001), ("a", "x", "good")],
)
def test_a_delta_entry_that_breaks_a_rule_is_a_value_error(arguments):
    """Blank, too long, or no such outcome."""
    with pytest.raises(ValueError):
        DeltaEntry(*arguments)


@given(ENTRIES)
def test_a_delta_entry_survives_its_dictionary(entry):
    """`from_dict` always gives back what `to_dict` wrote."""
    assert DeltaEntry.from_dict(entry.to_dict()) == entry


# Playbook


def test_merging_gives_a_new_playbook_without_duplicates():
    """The old one stays as it was; what differs by one token or by its outcome is another entry."""
    first = Playbook([DeltaEntry("a", "x")])
    merged = first.merge(
        [DeltaEntry("a", "x"), DeltaEntry("a", "x", "success"), DeltaEntry("a", "x."), DeltaEntry("a", "x.")]
    )
    assert [(each.content, each.outcome) for each in first] == [("x", "neutral")]
    assert [(each.content, each.outcome) for each in merged] == [("x", "neutral"), ("x", "success"), ("x.", "neutral")]
    assert (len(merged), bool(merged), bool(Playbook())) == (3, True, False)
    assert first.merge(merged) == merged


def test_it_renders_as_documented():
    """Categories in order of first appearance, two spaces of indent, the outcome's mark."""
    playbook = Playbook([
        DeltaEntry("tool_use", "read_file on config.json succeeded", "success"),
        DeltaEntry("final_answer", "summarize after three or fewer file reads", "success"),
        DeltaEntry("tool_use", "grep without file-type flag returned too many hits", "failure"),
        DeltaEntry("observation", "a < b", "neutral"),
    ])  # fmt: skip
    assert playbook.render() == (
        "<playbook>\n"
        "  <tool_use>\n"
        "    [+] read_file on config.json succeeded\n"
        "    [-] grep without file-type flag returned too many hits\n"
        "  </tool_use>\n"
        "  <final_answer>\n"
        "    [+] summarize after three or fewer file reads\n"
        "  </final_answer>\n"
        "  <observation>\n"
        "    [o] a &lt; b\n"
        "  </observation>\n"
        "</playbook>"
    )
    assert Playbook().render() == ""


def test_where_not_all_fit_proven_entries_come_first():
    """Of one success and newer notes the success stays; of notes the newest do."""
    notes = [DeltaEntry("n", f"note {number}") for number in range(5)]
    text = Playbook([DeltaEntry("n", "proven", "success"), *notes]).render(max_entries=3)
    assert [line.strip() for line in text.splitlines()[2:-2]] == ["[+] proven", "[o] note 3", "[o] note 4"]
    assert Playbook(notes).render(0) == ""
    with pytest.raises(InvalidInput):
        Playbook(notes).render(-1)


@given(st.lists(ENTRIES, max_size=8))
def test_no_content_ever_forges_a_line(entries):
    """As many marked lines as entries, whatever they hold, and the block is closed once."""
    playbook = Playbook(entries)
    lines = playbook.render().split("\n")
    assert sum(line.startswith("    [") for line in lines) == len(playbook)
    assert lines.count("</playbook>") == bool(playbook)


@given(st.lists(ENTRIES, max_size=8), st.lists(ENTRIES, max_size=8))
def test_merging_never_loses_and_never_repeats(old, new):
    """Every fingerprint of both is there once; merging again changes nothing; the dictionary gives the same back."""
    merged = Playbook(old).merge(new)
    prints = [each.fingerprint for each in merged]
    assert set(prints) == {each.fingerprint for each in [*old, *new]}
    assert len(prints) == len(set(prints))
    assert merged.merge(new) == merged
    assert Playbook.from_dict(merged.to_dict()) == merged


def test_a_damaged_entry_is_left_out(caplog):
    """One without content does not take the others along; something else than a playbook is refused."""
    read = Playbook.from_dict({"entries": [{"category": "a"}, {"category": "a", "content": "x"}, 7]})
    assert [each.content for each in read] == ["x"]
    assert caplog.text.count("left out") == 2
    for wrong in ([], {"entries": 3}, None):
        with pytest.raises(WrongType):
            Playbook.from_dict(wrong)
    with pytest.raises(WrongType):
        Playbook(["x"])

"""What is reported of the contexts that memories build."""

from __future__ import annotations

import pytest

from seasoned import AsyncMemory

from .layers import say, stored


def test_a_context_that_is_told_again_each_turn_makes_nothing_more(memory):
    """Twenty turns in which a whole context is added: one record a turn, the same twenty as without any recall."""
    memory.remember("The falcon of Marta is called Zephyr.", id="n")
    memory.pin("n")
    memory.conversation.add(say("Marta feeds the falcon at noon."), "old")
    memory.playbook.add("Ask Marta before feeding the falcon.", "care", "success")
    memory.conversation.add(say("What does the falcon of Marta eat?"), "s")
    sizes, counts = [], []
    for _ in range(20):
        shown = memory.context("What does the falcon of Marta eat?", session="s", trace=False)
        memory.conversation.add(shown.messages[-1], "s")
        counts.append(memory.count())
        sizes.append(sum("feeds the falcon at noon" in each for each in stored(memory)))
    assert counts == [*range(counts[0], counts[0] + 20)]
    assert set(sizes) == {1}
    assert memory.conversation.messages("s") == [say("What does the falcon of Marta eat?")] * 21


def test_what_the_system_prompt_says_is_never_what_is_searched_for(memory):
    """The query is the newest text of a user: neither instruction nor system message brings anything in."""
    memory.conversation.add(say("Peanuts make Alice ill."), "one")
    memory.conversation.add(say("The falcon of Marta is called Zephyr."), "two")
    memory.conversation.add([say("You know all of peanuts, of Alice, of illness.", "system"), say("falcon?")], "now")
    shown = memory.conversation.context(2_000, session="now", query=True)
    assert "Zephyr" in str(shown.messages[-1])
    assert "make Alice ill" not in str(shown.messages)
    joined = memory.context("falcon?", session="now", instruction="Peanuts, Alice, illness.", trace=False)
    assert "Zephyr" in str(joined.messages[-1])
    assert "make Alice ill" not in str(joined.messages)


def test_the_text_parts_of_a_message_are_searched_for(memory):
    """A message of text, an image and text asks what both texts ask; it stays as it was given."""
    memory.conversation.add(say("The falcon of Marta is called Zephyr."), "old")
    parts = [
        {"type": "text", "text": "What is the falcon"},
        {"type": "image_url", "image_url": {"url": "https://example.org/falcon.png"}},
        {"type": "text", "text": "of Marta called?"},
    ]
    memory.conversation.add(say(parts), "new")
    shown = memory.conversation.context(4_000, session="new", query=True)
    first, *rest = shown.messages[-1]["content"]
    assert "Zephyr" in first["text"]
    assert rest == parts


def test_fifty_restatements_are_told_once_in_a_joined_context(memory):
    """Notes, messages and entries that say one fact: it stands there once, and the budget holds."""
    for number in range(50):
        memory.remember("The falcon of Marta is called Zephyr." + "!" * (number % 3))
        memory.conversation.add(say("the FALCON of Marta is called Zephyr"), f"s{number}")
    memory.playbook.add("The falcon of Marta is called Zephyr.", "facts", "success")
    shown = memory.context("What is the falcon of Marta called?", budget=1_000)
    assert shown.text.lower().count("the falcon of marta is called zephyr") == 1
    assert shown.tokens <= 1_000


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_agent_that_names_no_scope_shares_one_memory_and_says_which(kind, tmp_path, opened):
    """The default is one scope, for one user, and its name shows; whoever has several users names each one's scope."""
    memory = opened(tmp_path / "agent.db") if kind == "sync" else AsyncMemory(tmp_path / "agent.db", embedder="hashing")
    assert tuple(memory.scope) == ("default",)
    assert "default" in repr(memory)

"""What is reported of models that answer badly: no memory stores it as if it were fine, and nothing is lost."""

from __future__ import annotations

import asyncio

import pytest

from seasoned import AsyncMemory
from seasoned.models.replies import said_once

from .layers import say, stored, turn

GOOD = "Alex works on the harbour bridge in Porto."


def talk(memory, count=60):
    """A session too long for the contexts that are asked of it."""
    memory.conversation.add([say(f"sentence number {number} about the bridge " * 4) for number in range(count)], "s")


def run_of(memory, count=3):
    """A run of a few turns."""
    memory.runs.start_run()
    for number in range(1, count + 1):
        memory.runs.record_turn(turn(number))


DEGENERATE = {
    "one sentence five hundred times": ("It grew. " * 500, "it repeats itself"),
    "one line five hundred times": ("- it grew\n" * 500, "it repeats itself"),
    "one sentence in Chinese": ("它长大了。" * 100, "it repeats itself"),
    "a blob of JSON": ('{"summary": "Alex works in Porto."}', "it is JSON, no text"),
    "thinking alone": ("<think>What would be good here?</think>", "it is empty"),
    "nothing": (" \n", "it is empty"),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_a_degenerate_reply_takes_no_summarys_place(memory, case):
    """The good summary before it stands, the result says why, and the messages wait for the next time."""
    reply, why = DEGENERATE[case]
    talk(memory)
    assert memory.conversation.summarise("s", model=lambda _: GOOD, budget=800).text == GOOD
    talk(memory)
    found = memory.conversation.summarise("s", model=lambda _: reply, budget=800)
    assert found.reason == f"model: its reply cannot be a summary: {why}"
    assert (found.text, found.covered) == (GOOD, 0)
    assert found.waiting > 0
    assert len(memory.conversation.messages("s")) == 120
    assert memory.conversation.summarise("s", model=lambda _: GOOD, budget=800).waiting == 0


def test_the_thinking_of_a_model_is_no_part_of_a_summary(memory):
    """Some say it before their reply."""
    talk(memory)
    made = memory.conversation.summarise("s", model=lambda _: f"<think>Is it Alex?</think>{GOOD} {GOOD}", budget=800)
    assert made.text == GOOD


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("One. Two. One. Two. Three.", "One. Two. Three."),
        ("- One.\n- Two.\n\n- One.\n- Three.", "- One.\n- Two.\n\n- Three."),
        ("- 甲。\n- 乙。\n- 丙。\n- 甲。", "- 甲。\n- 乙。\n- 丙。"),
        ("No sentence ends here", "No sentence ends here"),
        ("", ""),
    ],
)
def test_each_sentence_stands_once_and_lines_stay_lines(text, once):
    """At its first place."""
    assert said_once(text) == once


LESSONS = {
    "one lesson five hundred times": ("## Lessons\n" + "- Keep cash.\n" * 500, ["Keep cash."]),
    "a blob of JSON among lessons": ('## Lessons\n- {"a": [1, 2]}\n- Keep cash.', ["Keep cash."]),
    "a lesson that repeats itself": ("## Lessons\n- " + "Keep cash. " * 500, ["Keep cash."]),
    "more than is read": (
        "## Lessons\n- Keep cash.\n" + "".join(f"Line {n} says more.\n" for n in range(900)),
        ["Keep cash."],
    ),
}


@pytest.mark.parametrize("case", LESSONS)
def test_a_degenerate_retrospective_teaches_what_it_says_once(memory, case):
    """And nothing that is half a sentence of ours, or data."""
    reply, lessons = LESSONS[case]
    run_of(memory)
    memory.runs.summarise_run(lambda _: reply)
    assert [each.text for each in memory.runs.lessons()] == lessons
    assert max(len(each) for each in stored(memory)) < 20_000


def test_half_a_lesson_is_no_lesson(memory):
    """A reply longer than is read is cut behind a line: its last line is not taken for a lesson."""
    run_of(memory)
    memory.runs.summarise_run(
        lambda _: "## Lessons\n- Keep cash for shortages.\n- Sell in winter.\n- " + "x y z " * 2_000
    )
    assert sorted(each.text for each in memory.runs.lessons()) == ["Keep cash for shortages.", "Sell in winter."]


@pytest.mark.parametrize("verb", ["episode", "retrospective"])
def test_a_reply_that_is_data_is_asked_for_again(memory, verb):
    """With the reason; the second reply counts."""
    asked, replies = [], ['{"text": "it went well"}', "## Lessons\n- Keep cash."]
    if verb == "episode":
        replies = ['[STEADY | T1-T25]\n{"text": "it went well"}', "[STEADY | T1-T25]\nIt went well."]

    def model(messages):
        asked.append(messages[0]["content"])
        return replies[len(asked) - 1]

    run_of(memory, 25)
    if verb == "episode":
        assert memory.runs.update_episode(model, 25).narrative == "It went well."
    else:
        assert memory.runs.summarise_run(model).text == "## Lessons\n- Keep cash."
    assert "JSON, no text" in asked[1]


def chunks(messages):
    """A model that streams."""
    yield from ("Alex works ", "on the harbour ", "bridge in Porto.")


async def async_chunks(messages):
    """One that streams while others are served."""
    for part in chunks(messages):
        yield part


@pytest.mark.parametrize("model", [chunks, async_chunks])
def test_all_pieces_of_a_stream_make_the_reply(memory, model):
    """Not the last alone."""
    talk(memory)
    assert memory.conversation.summarise("s", model=model, budget=800).text == GOOD

    async def awaited():
        async with AsyncMemory(embedder="hashing") as other:
            await other.conversation.add([say(f"sentence number {n} about the bridge " * 4) for n in range(60)], "s")
            return (await other.conversation.summarise("s", model=model, budget=800)).text

    assert asyncio.run(awaited()) == GOOD


def test_a_history_of_tools_alone_is_kept_whatever_the_summary_does(memory):
    """Calls without content and their results: with a failing model, with a good one and without, all messages stay."""

    def failing(messages):
        raise RuntimeError("Error code: 413, the prompt is too long")

    memory.conversation.add(say("look at everything"), "s")
    for number in range(30):
        made = [{"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
        memory.conversation.add(
            [
                {"role": "assistant", "content": None, "tool_calls": made},
                say(f"page {number} tells of the boats " * 20, "tool", tool_call_id=f"c{number}"),
            ],
            "s",
        )
    before = memory.conversation.messages("s")
    failed = memory.conversation.summarise("s", model=failing, budget=1_000)
    assert (failed.text, failed.covered) == ("", 0)
    assert "413" in failed.reason
    for model in (lambda _: GOOD, None):
        memory.conversation.summarise("s", model=model, budget=1_000)
        context = memory.conversation.context(1_000, session="s")
        assert "413" not in str(context.messages)
        assert next(each for each in context.messages if each["role"] != "system") == before[0]
    assert memory.conversation.messages("s") == before

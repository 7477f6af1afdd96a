"""The start of a context repeats: within a run, in a tool loop, after a restart, and from another process."""

from __future__ import annotations

import json
import subprocess
import sys

from seasoned import Memory
from seasoned.context import Context
from seasoned.joined.policy import ContextPolicy
from seasoned.ports import SystemClock
from seasoned.runs import TurnRecord

from .helping import asked, call, furnish, learn, letters, parts, result, say, text_of

TASK = "A late parcel: when does the harbour office in Lisbon open?"


def dumped(context: Context, upto: int | None = None) -> str:
    return json.dumps(context.messages[:upto])


def test_the_system_part_of_a_run_is_decided_by_its_first_task(memory):
    """What is pinned, learned, credited and added later stands in the next run."""
    furnish(memory)
    first = memory.context(TASK, run="r1")
    memory.remember("A later note.", id="n3")
    memory.pin("n3")
    memory.playbook.add("Later advice.", "shipping", "success")
    memory.playbook.tag("e2", "helpful", 3)
    learn(memory, "r2", -7.0)
    memory.outcome(first.trace, reward=-1)
    later = memory.context("An entirely different task", run="r1")
    assert text_of(later) == text_of(first)
    assert text_of(memory.context(TASK, run="r3")) != text_of(first)


def test_a_run_keeps_its_bytes_after_a_restart_and_in_another_process(opened, tmp_path):
    """Whatever was added meanwhile: the system message is the same, and so is the window before the newest message."""
    place, clock = tmp_path / "agent.db", SystemClock()  # as the other process has it
    before = opened(place, clock=clock)
    furnish(before)
    for number in range(30):
        before.conversation.add(
            [say("user", f"question {number} " * 9), say("assistant", f"answer {number} " * 9)], "s"
        )
    before.conversation.add(say("user", TASK), "s")
    first = before.context(TASK, 900, session="s", run="r1")
    before.remember("A later note.", id="n3")
    before.pin("n3")
    before.close()
    again = opened(place, clock=clock).context(TASK, 900, session="s", run="r1")
    assert dumped(again) == dumped(first)
    assert again.trace == first.trace
    script = (
        "import json, sys\n"
        "from seasoned import Memory\n"
        "with Memory(sys.argv[1], scope=('acme', 'alice'), embedder='hashing') as memory:\n"
        "    context = memory.context(sys.argv[2], 900, session='s', run='r1')\n"
        "    print(json.dumps([context.messages, context.cache_points]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(place), TASK], capture_output=True, text=True, check=True, timeout=120
    )
    messages, points = json.loads(ended.stdout)
    assert (json.dumps(messages[:-1]), tuple(points)) == (dumped(first, -1), first.cache_points)


def test_each_budget_profile_and_counter_of_a_run_has_a_system_part_of_its_own(memory):
    """So none is too long for another's budget, and each repeats."""
    furnish(memory)
    forms = [{"budget": 400}, {"budget": 4_000}, {"budget": 4_000, "profile": "other"}, {"token_counter": letters}]
    first = [text_of(memory.context(TASK, run="r1", **form)) for form in forms]
    memory.playbook.add("Later advice.", "shipping", "success")
    assert [text_of(memory.context("Else?", run="r1", **form)) for form in forms] == first
    assert "<lessons>" in first[1]
    assert "<lessons>" not in first[2]


def test_forgetting_what_a_run_shows_changes_its_system_part_at_once(memory):
    """A note that is forgotten is gone from the run that began with it."""
    furnish(memory)
    assert "peanuts" in text_of(memory.context(TASK, run="r1"))
    memory.forget("n1")
    assert "peanuts" not in text_of(memory.context(TASK, run="r1"))


def test_without_a_run_the_system_part_changes_only_with_what_it_shows(memory):
    """In a session whatever the task; messages, decisions and notes that are not pinned change nothing."""
    furnish(memory)
    memory.conversation.add(say("user", "hello"), "s")
    first = text_of(memory.context("hello", session="s"))
    memory.remember("A note.")
    memory.experience.record("late", "wait", 0.1)
    memory.conversation.add([say("assistant", "hi"), say("user", TASK)], "s")
    assert text_of(memory.context(TASK, session="s")) == first
    memory.playbook.add("Later advice.", "shipping", "success")
    assert text_of(memory.context(TASK, session="s")) != first


def test_a_tool_loop_repeats_the_whole_context_and_appends(memory):
    """Ten calls with their results: each context begins with the bytes of the one before, the block included."""
    furnish(memory)
    memory.runs.start_run("r1")
    memory.conversation.add(say("user", TASK), "s")
    before, traces = memory.context(TASK, session="s", run="r1"), set()
    assert {"examples", "recalled"} <= parts(before).keys()
    for number in range(1, 11):
        memory.conversation.add([call(f"c{number}"), result(f"c{number}", f"The harbour of Lisbon, {number}")], "s")
        memory.remember(f"The harbour office in Lisbon, learned in step {number}.")
        memory.runs.record_turn(TurnRecord(number, 1.0, "EUR", ["storm"], [{"type": "ask"}], {}))
        memory.runs.extract_atoms(number)
        after = memory.context(TASK, session="s", run="r1")
        assert after.messages[: len(before.messages)] == before.messages
        assert len(after.messages) == len(before.messages) + 2
        traces.add(after.trace)
        before = after
    assert len(traces) == 1


def test_a_tool_loop_that_recalls_nothing_goes_on_so(memory):
    """What is learned in the loop is shown with the next user message."""
    memory.conversation.add(say("user", TASK), "s")
    assert asked(memory.context(TASK, session="s")) == TASK
    memory.runs.start_run("r1")
    memory.conversation.add([call("c1"), result("c1", "The harbour office in Lisbon opens at nine.")], "s")
    memory.remember("The harbour office in Lisbon opens at nine.", id="n1")
    assert asked(memory.context(TASK, session="s")) == TASK


def test_an_outcome_in_a_tool_loop_does_not_change_its_block(memory):
    """Credit changes how things rank next time, not what stands there."""
    furnish(memory)
    memory.conversation.add(say("user", TASK), "s")
    before = memory.context(TASK, session="s", run="r1")
    memory.outcome(before.trace, reward=-1)
    memory.conversation.add([call("c1"), result("c1")], "s")
    after = memory.context(TASK, session="s", run="r1")
    assert after.messages[: len(before.messages)] == before.messages


def test_what_is_forgotten_or_rewritten_leaves_the_block_at_once(memory):
    """In the middle of a tool loop: a note, a decision, what a person said of it, a message."""
    furnish(memory)
    memory.experience.rate(9, decision="d1", note="It soothed them.")
    memory.conversation.add(say("user", TASK), "s")
    shown = asked(memory.context(TASK, session="s"))
    assert all(each in shown for each in ("opens at nine", "soothed", "REFUND", "left Hamburg"))
    memory.forget("fb_d1")
    assert "soothed" not in asked(memory.context(TASK, session="s"))
    memory.update("n2", text="The harbour office in Lisbon opens at ten.")
    memory.forget(["d1", "m1"])
    shown = asked(memory.context(TASK, session="s"))
    assert not any(each in shown for each in ("opens at nine", "REFUND", "left Hamburg"))


def test_the_window_only_grows_between_cuts(memory):
    """Over forty turns with recall, all but the newest message repeats from turn to turn, but at a few cuts."""
    furnish(memory)
    before, cuts = [], 0
    for number in range(40):
        memory.conversation.add(say("user", f"question {number} about the harbour of Lisbon " * 3), "s")
        context = memory.context(f"question {number} about the harbour of Lisbon", 3_000, session="s", run="r1")
        kept = context.messages[: context.cache_points[1]]
        assert context.cache_points == (1, len(context.messages) - 1)
        cuts += kept[: len(before)] != before
        before = kept
        memory.conversation.add(say("assistant", f"answer {number} " * 12), "s")
    assert 1 <= cuts <= 8


def test_cache_points_mark_the_ends_of_the_system_part_and_the_window(memory):
    """Before the newest user message where it changes with the next one, else after all."""
    furnish(memory)
    memory.conversation.add([say("user", "hello"), say("assistant", "hi"), say("user", TASK)], "s")
    assert memory.context(TASK, session="s").cache_points == (1, 3)
    assert memory.context("ok", session="s", policy=ContextPolicy(changing=0)).cache_points == (1, 4)
    memory.conversation.add([call("c1"), result("c1")], "s")
    assert memory.context(TASK, session="s").cache_points == (1, 3)


def test_a_context_added_again_is_stored_without_what_memory_put_there(memory):
    """Twenty rounds in which the whole context is added: nothing of the blocks is stored, and the front stays."""
    furnish(memory)
    memory.conversation.add([say("system", "Be kind."), say("user", TASK)], "s")
    first = memory.context(TASK, session="s", instruction="You book couriers.")
    lengths, messages = [], 0
    for _ in range(20):
        context = memory.context(TASK, session="s", instruction="You book couriers.", budget=100_000)
        memory.conversation.add([context.messages[0], context.messages[-1]], "s")
        stored = memory.conversation.messages("s")
        assert not any(tag in str(stored) for tag in ("<memory>", "<notes>", "<lessons>", "<playbook>", "<item"))
        lengths.append(len(text_of(context)))
        messages = len(stored)
    assert set(lengths) == {len(text_of(first))}
    assert messages == 2 + 2 * 20


def test_a_front_that_is_memory_alone_is_not_stored(memory):
    """There is nothing else in it."""
    furnish(memory)
    (added,) = memory.conversation.add(memory.context(TASK).messages[0], "s")
    assert added.status == "refused"
    parts_of = {"role": "system", "content": [{"type": "text", "text": text_of(memory.context(TASK))}]}
    assert memory.conversation.add(parts_of, "s")[0].status == "refused"
    assert memory.conversation.messages("s") == []


def test_forked_memories_have_their_own(opened):
    """A memory of a scope below shares the store, not what is at hand."""
    above = opened()
    furnish(above)
    below = above.within("work")
    assert isinstance(below, Memory)
    assert parts(above.context(TASK)).keys() >= {"notes", "lessons", "playbook"}
    assert parts(below.context(TASK)) == {}


def test_forgetting_an_entry_that_was_removed_takes_the_run_s_beginning_along(tmp_path):
    """The kept system part still has its text, and it is the id that is forgotten then."""
    with Memory(tmp_path / "agent.db", embedder="hashing") as memory:
        name = memory.playbook.add("The vault code is 4711-XQ.", section="codes", outcome="success").id
        memory.context("open the vault", run="monday")
        memory.playbook.remove(name)
        memory.forget(name, hard=True)
        assert "4711-XQ" not in memory.context("open the vault", run="monday").text
    assert all(b"4711-XQ" not in path.read_bytes() for path in tmp_path.iterdir())

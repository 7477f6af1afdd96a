"""Contexts over all four memories: valid for every provider, within the budget, with what yields in its order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.context import Context
from seasoned.errors import BudgetTooSmall, InvalidInput, WrongType
from seasoned.joined.policy import ContextPolicy
from seasoned.runs import TurnRecord

from ..conversation.checking import conversations
from .helping import asked, furnish, letters, parts, result, rounded, say, steep, text_of
from .helping import call as called
from .providers import check_everywhere

COUNTERS = [None, letters, steep, rounded]
TASK = "A late parcel: when does the harbour office in Lisbon open?"


@pytest.fixture(scope="module")
def furnished():
    """One memory with something of everything, which the properties read; each example has a session of its own."""
    with Memory(embedder="hashing") as memory:
        furnish(memory)
        memory.runs.start_run("r1")
        for turn in range(1, 11):
            memory.runs.record_turn(TurnRecord(turn, 5.0, "EUR", ["storm"], [{"type": "sell"}], {}))
            memory.runs.extract_atoms(turn)
        yield memory


def attempt(memory: Memory, budget: int, task: str = TASK, **options: object) -> Context | BudgetTooSmall:
    """Give the context, or the error that says what is needed."""
    try:
        return memory.context(task, budget, **options)  # type: ignore[arg-type]
    except BudgetTooSmall as error:
        return error


sessions = iter(f"s{number}" for number in range(1_000_000))


@settings(max_examples=150)
@given(
    messages=conversations(most=25),
    budget=st.integers(1, 6_000),
    counter=st.sampled_from(COUNTERS),
    run=st.sampled_from([None, "r1", "r9"]),
    selection=st.sampled_from(["window", "scored"]),
    policy=st.builds(
        ContextPolicy,
        lessons=st.sampled_from([0, 0.15, 1]),
        playbook=st.sampled_from([0, 0.25, 1]),
        changing=st.sampled_from([0, 0.35, 1]),
    ),
)
def test_a_context_is_always_valid_and_never_over_its_budget(
    furnished, messages, budget, counter, run, selection, policy
):
    """Whatever the conversation, the counter and the shares; else the budget is refused with what is needed."""
    session = next(sessions)
    furnished.conversation.add(messages, session)
    asking = {"session": session, "run": run, "token_counter": counter, "selection": selection, "policy": policy}
    context = attempt(furnished, budget, **asking)
    if isinstance(context, BudgetTooSmall):
        assert context.needed > budget
        assert attempt(furnished, context.needed, **asking).tokens <= context.needed
        return
    check_everywhere(context)
    assert context.tokens <= budget
    if counter is not None:
        assert counter(context.messages) == context.tokens


@settings(max_examples=60)
@given(task=st.text(min_size=1).filter(str.strip), budget=st.integers(1, 3_000), counter=st.sampled_from(COUNTERS))
def test_a_task_alone_is_a_valid_context(furnished, task, budget, counter):
    """Without a session the task is the user message, whatever it says."""
    context = attempt(furnished, budget, task, token_counter=counter)
    if isinstance(context, BudgetTooSmall):
        assert context.needed > budget
        return
    check_everywhere(context)
    assert context.tokens <= budget


def test_all_parts_stand_in_their_order(memory):
    """Instruction, the session's system message, notes, lessons, playbook; the window; the block before the text."""
    furnish(memory)
    memory.conversation.add([say("system", "Be kind."), say("user", "hello"), say("assistant", "hi")], "s")
    memory.conversation.add(say("user", TASK), "s", ids="q")
    context = memory.context(TASK, session="s", instruction="You book couriers.")
    places = [
        text_of(context).index(each)
        for each in ("You book couriers.", "Be kind.", "<notes>", "<lessons>", "<playbook>")
    ]
    assert places == sorted(places)
    assert [each["role"] for each in context.messages] == ["system", "user", "assistant", "user"]
    assert asked(context).startswith("<memory>\n")
    assert asked(context).endswith(f"</memory>\n\n{TASK}")
    assert parts(context) == {
        "notes": ["n1"],
        "lessons": [each.id for each in memory.runs.lessons()],
        "playbook": ["e1", "e2"],
        "examples": ["d1"],
        "recalled": ["n2", "m1"],
    }
    assert context.recalled == ("d1", "n2", "m1")


def test_every_item_is_labelled_with_source_date_and_trust(memory, clock):
    """Of each item in each block; the playbook as a whole, before it."""
    furnish(memory)
    memory.runs.start_run("r1")
    for turn in range(1, 11):
        memory.runs.record_turn(TurnRecord(turn, 5.0, "EUR", ["storm"], [{"type": "sell"}], {}))
    memory.runs.extract_atoms(10)
    context = memory.context(TASK, run="r1")
    assert parts(context).keys() == {"notes", "lessons", "playbook", "observations", "examples", "recalled"}
    lines = [line for line in context.text.splitlines() if line.startswith("<item")]
    assert len(lines) == len(context.used) - 2
    date = clock.now().date().isoformat()
    for line in lines:
        assert 'from="' in line
        assert f'date="{date}"' in line
        assert 'trust="' in line
    (preface,) = [line for line in context.text.splitlines() if line.startswith("Advice from earlier runs")]
    assert "derived from other records" in preface
    assert date in preface


def test_a_budget_too_small_says_what_is_needed(memory):
    """A pinned note and the task, cut as far as it goes; with that much it works."""
    memory.remember("A note of some length that is always shown.", id="n1")
    memory.pin("n1")
    with pytest.raises(BudgetTooSmall) as caught:
        memory.context("word " * 500, 10)
    context = memory.context("word " * 500, caught.value.needed)
    assert context.tokens == caught.value.needed
    assert parts(context) == {"notes": ["n1"]}


def test_lessons_and_playbook_yield_before_a_big_message_is_cut(memory):
    """First the playbook goes, then the lessons; then the message is cut with a marker; a pinned note always stays."""
    furnish(memory)
    shares = ContextPolicy(lessons=0.6, playbook=0.6)
    whole = memory.context("When?", 100_000, policy=shares).tokens + 10
    shown = []
    for length in (1, 60, 200, 1_000):
        context = memory.context("long " * length + "When?", whole, policy=shares)
        shown.append((*sorted(parts(context)), bool(context.truncated)))
    assert shown == [
        ("lessons", "notes", "playbook", False),
        ("lessons", "notes", False),
        ("notes", False),
        ("notes", True),
    ]
    assert "characters are left out here …]" in asked(context)


def test_a_cut_message_of_a_session_names_the_id_of_the_whole(memory):
    """So the whole can be looked up."""
    memory.conversation.add(say("user", "long " * 1_000), "s", ids="big")
    context = memory.context("long", 300, session="s")
    assert context.truncated == ("big",)
    assert "the whole message is stored as big" in asked(context)


def test_what_one_part_leaves_goes_to_the_next(memory):
    """Without lessons the playbook has their share; without both the window has it."""
    for number in range(40):
        memory.playbook.add(f"Advice number {number} about parcels and harbours and days.", "shipping")
        memory.conversation.add([say("user", f"question {number}"), say("assistant", f"answer {number}")], "s")
    alone = memory.context("Tell me.", 1_000, policy=ContextPolicy(lessons=0))
    more = memory.context("Tell me.", 1_000, policy=ContextPolicy(lessons=0.15))
    assert len(parts(more)["playbook"]) > len(parts(alone)["playbook"])
    with_playbook = memory.context("Tell me.", 1_000, session="s")
    without = memory.context("Tell me.", 1_000, session="s", policy=ContextPolicy(lessons=0, playbook=0))
    assert len(without.messages) > len(with_playbook.messages)


def test_examples_take_what_observations_leave(memory):
    """In a block in which either would fill its own share alone."""
    for action, why in (
        ("refund", "money soothes " * 6),
        ("call", "a voice is warm " * 6),
        ("wait", "time heals " * 6),
    ):
        memory.experience.record(f"a late parcel, {action}", action, 0.9, reasoning=why)
    narrow = ContextPolicy(changing=0.35, observations=0, examples=0.4)
    wide = ContextPolicy(changing=0.35, observations=0.6, examples=0.4)
    shown = [len(parts(memory.context("a late parcel", 1_300, policy=each))["examples"]) for each in (narrow, wide)]
    assert shown[0] < shown[1] == 3


def test_a_share_of_nothing_shows_nothing(memory):
    """Each part can be turned off by itself, but for pinned notes."""
    furnish(memory)
    off = ContextPolicy(lessons=0, playbook=0, changing=0)
    assert parts(memory.context(TASK, policy=off)) == {"notes": ["n1"]}
    quiet = ContextPolicy(examples_k=0, recall_k=0)
    assert parts(memory.context(TASK, policy=quiet)).keys() == {"notes", "lessons", "playbook"}


@pytest.mark.parametrize("task", ["ok", "👍", "Thanks!", "yes please", "好的", "?!", "done"])
def test_a_task_without_content_recalls_nothing(memory, task):
    """Neither messages nor notes nor examples, though all hold its words."""
    furnish(memory)
    memory.remember(f"{task} thanks yes please done")
    memory.experience.record(f"{task} thanks", "refund", 0.9)
    context = memory.context(task)
    assert asked(context) == task
    assert parts(context).keys() == {"notes", "lessons", "playbook"}


def test_a_short_question_is_no_idle_word(memory):
    """Words that search would pass over ask for something all the same."""
    memory.remember("Who am I? I am Alice.", id="n1")
    assert parts(memory.context("Who am I?")) == {"recalled": ["n1"]}


def test_a_session_without_a_user_message_is_answered_by_the_task(memory):
    """What the session has of system messages stands first."""
    memory.conversation.add([say("system", "Be kind."), say("assistant", "Welcome.")], "s")
    context = memory.context("Where is my parcel?", session="s")
    assert context.messages == [say("system", "Be kind."), say("user", "Where is my parcel?")]


def test_a_tool_loop_keeps_pairs_together(memory):
    """A call that waits for a result is not shown, and is with it as soon as that is there."""
    memory.conversation.add([say("user", "Look it up."), called("c1", "c2"), result("c1")], "s")
    assert [each["role"] for each in memory.context("Look it up.", session="s").messages] == ["user"]
    memory.conversation.add(result("c2"), "s")
    context = memory.context("Look it up.", session="s")
    check_everywhere(context)
    assert [each["role"] for each in context.messages] == ["user", "assistant", "tool", "tool"]


def test_the_summary_stands_between_the_system_part_and_the_window(memory):
    """With both cache points where something ends: the system part, the window."""
    memory.remember("Alice is allergic to peanuts.", id="n1")
    memory.pin("n1")
    for number in range(60):
        memory.conversation.add(
            [say("user", f"question {number} " * 9), say("assistant", f"answer {number} " * 9)], "s"
        )
    memory.conversation.summarise("s", budget=2_000)
    memory.conversation.add(say("user", "And now?"), "s")
    context = memory.context("And now?", 2_000, session="s")
    check_everywhere(context)
    assert [each["role"] for each in context.messages[:3]] == ["system", "system", "user"]
    assert "<summary>" in str(context.messages[1]["content"])
    assert context.cache_points == (1, len(context.messages))


def test_recall_of_other_sessions_alone(memory):
    """As the conversation's policy asks: nothing of the session itself."""
    memory.conversation.add(say("user", "The falcon of Marta is called Zephyr."), "old", ids="other")
    talk = [say(role, f"word {number} " * 20) for number in range(20) for role in ("user", "assistant")]
    memory.conversation.add(say("user", "Marta has a falcon."), "s", ids="marta")
    memory.conversation.add([say("assistant", "Nice."), *talk], "s")
    memory.conversation.add(say("user", "What is the falcon of Marta called?"), "s")
    asking = {"budget": 500, "session": "s", "survivor_share": 0}
    everywhere = memory.context("falcon of Marta", **asking)
    elsewhere = memory.context("falcon of Marta", **asking, recall_session="others")
    assert parts(everywhere)["recalled"][:2] == ["marta", "other"]
    assert parts(elsewhere)["recalled"] == ["other"]


def test_one_scope_never_shows_what_another_holds(opened):
    """Notes, lessons, entries, decisions, messages and runs of a neighbour, of the scope above and of one below."""
    alice = opened()
    for scope in (("acme", "bob"), ("acme",), ("acme", "alice", "work")):
        furnish(opened(alice.store, scope))
    alice.conversation.add(say("user", TASK), "old")
    for context in (alice.context(TASK), alice.context(TASK, session="old"), alice.context(TASK, run="r0")):
        assert {used.key.scope for used in context.used} <= {alice.scope}
        assert "Lisbon opens" not in context.text
    assert parts(alice.context("something else", session="old")) == {}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"task": " "}, InvalidInput),
        ({"task": 7}, WrongType),
        ({"budget": 0}, InvalidInput),
        ({"budget": 10, "reserve": 10}, InvalidInput),
        ({"budget": True}, WrongType),
        ({"session": ""}, InvalidInput),
        ({"run": " "}, InvalidInput),
        ({"profile": "../x"}, InvalidInput),
        ({"policy": {"lessons": 1}}, WrongType),
        ({"instruction": None}, WrongType),
        ({"lessons": 0.5}, WrongType),
    ],
)
def test_what_is_asked_wrongly_is_refused(memory, wrong, error):
    """Before anything is read or written."""
    with pytest.raises(error):
        memory.context(**{"task": "hello", **wrong})


@pytest.mark.parametrize(
    "wrong", [{"lessons": 1.5}, {"changing": -0.1}, {"recall_k": -1}, {"examples_k": 2.0}, {"keep_traces": 30}]
)
def test_shares_are_checked_when_made(wrong):
    """A policy that breaks its rules is none."""
    with pytest.raises((InvalidInput, WrongType)):
        ContextPolicy(**wrong)

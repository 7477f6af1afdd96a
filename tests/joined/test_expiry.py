"""What the memories show of records that have ended: nothing, as a memory that is opened anew."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import Memory
from seasoned.errors import NotFound
from seasoned.stores.memory import MemoryStore
from seasoned.testing import FakeClock, sequential_ids

DAY = timedelta(days=1)


def test_a_context_shows_a_lesson_no_more_once_it_has_ended(memory, clock):
    """The context keeps the lessons at hand between two calls."""
    memory.runs.add_lessons(["Never skip the oven."])
    (lesson,) = memory.runs.lessons()
    memory.update(lesson.id, kind="lesson", until=clock.now() + DAY)
    assert "Never skip the oven." in memory.context("bread").text
    clock.advance(DAY)
    assert "Never skip the oven." not in memory.context("bread").text
    assert memory.runs.lessons() == []


def test_the_system_part_of_a_run_lasts_no_longer_than_what_it_shows(memory, clock):
    """It is made anew then, and stands again."""
    memory.remember("The door is open today.", id="door", until=clock.now() + DAY)
    memory.pin("door")
    memory.runs.add_lessons(["Never skip the oven."])
    first = memory.context("bread", run="r")
    assert "open today" in first.text
    clock.advance(DAY)
    second = memory.context("bread", run="r")
    assert ("open today" in second.text, "Never skip" in second.text) == (False, True)
    assert memory.context("bread", run="r").messages[0] == second.messages[0]


def test_a_lesson_stays_when_a_note_with_its_id_is_forgotten(memory):
    """Ids are unique within a kind only."""
    memory.runs.add_lessons(["Never skip the oven."])
    (lesson,) = memory.runs.lessons()
    memory.remember("a note", id=lesson.id)
    assert "Never skip the oven." in memory.context("bread").text
    memory.forget(where={"kind": "note"})
    assert "Never skip the oven." in memory.context("bread").text


def seen(memory: Memory) -> list[object]:
    """What is read from views that the memories keep at hand."""
    return [
        [(entry.id, entry.content) for entry in memory.playbook.entries(retired=True)],
        memory.playbook.block(task="bread").text,
        memory.context("bread").text,
        [(match.id, match.score, match.value) for match in memory.experience.similar("oven", n=9, min_reward=None)],
        sorted(match.id for match in memory.experience.similar_trajectories("oven", n=9, min_reward=None)),
        memory.experience.stats(),
        [(info.id, info.messages) for info in memory.conversation.sessions()],
        [message["content"] for message in memory.conversation.context(1_000, session="s").messages],
    ]


KINDS = ("entry", "lesson", "decision", "trajectory", "feedback", "message", "note")
_STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from((None, 1, 2, 5)), st.booleans())
    | st.tuples(st.sampled_from(("end", "forget")), st.sampled_from(KINDS), st.sampled_from((None, -1, 1, 2)))
    | st.tuples(st.just("wait"), st.sampled_from((1, 3)), st.booleans()),
    max_size=15,
)


@given(_STEPS)
@settings(max_examples=100, deadline=None)
def test_what_is_at_hand_is_always_as_read_anew(steps):
    """Whatever is written, given an end or forgotten, and however far the clock is by then."""
    clock = FakeClock()
    with MemoryStore(clock=clock) as store:
        memory = opened(store, clock)
        for number, (verb, what, more) in enumerate(steps):
            if verb == "wait":
                clock.advance(what * DAY)
            elif verb in KINDS:
                write(memory, verb, number)
                change(memory, clock, "end", verb, what)
            else:
                change(memory, clock, verb, what, more)
            if more:
                seen(memory)
        assert seen(memory) == seen(opened(store, clock))


def opened(store: MemoryStore, clock: FakeClock) -> Memory:
    return Memory(store, scope=("acme", "alice"), embedder="hashing", clock=clock, ids=sequential_ids("n"))


def write(memory: Memory, kind: str, number: int) -> None:
    """Write one of a kind."""
    text, episode = f"Check oven {number} before bread", f"e{number % 3}"
    if kind == "entry":
        memory.playbook.add(text)
    elif kind == "lesson":
        memory.runs.add_lessons([text])
    elif kind == "decision":
        memory.experience.record("oven", text, number / 20, episode=episode, id=f"d{number}")
    elif kind == "trajectory":
        memory.experience.record_trajectory("oven", text, number / 20, episode=episode, id=f"t{number}")
    elif kind == "feedback":
        memory.experience.record("oven", text, None, episode=episode, id=f"d{number}")
        memory.experience.rate(number % 10 + 1, episode=episode)
    elif kind == "message":
        memory.conversation.add({"role": "user", "content": text}, session="s", ids=f"m{number}")
    else:
        memory.remember(text, id=f"n{number}")


def change(memory: Memory, clock: FakeClock, verb: str, kind: str, days: int | None = None) -> None:
    """Give the newest of a kind another end, or forget it."""
    found = memory.list(kinds=[kind], newest=True, k=1).hits
    if found and verb == "forget":
        memory.forget(where={"kind": kind, "id": found[0].id})
    elif found:
        try:
            memory.update(found[0].id, kind=kind, until=None if days is None else clock.now() + days * DAY)
        except NotFound:
            assert days == -1  # it ended with the write

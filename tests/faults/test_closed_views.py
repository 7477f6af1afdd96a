"""What was taken from a memory before it closed is closed with it, whoever owns the store."""

import pytest

from seasoned import Memory, MemoryStore
from seasoned.errors import StoreClosed

VERBS = {
    "messages": lambda views: views[0].messages(),
    "add a message": lambda views: views[0].add({"role": "user", "content": "x"}),
    "start a run": lambda views: views[1].start_run("q"),
    "atoms": lambda views: views[1].list_runs(),
    "record": lambda views: views[2].record("s", "a", 1.0),
    "stats": lambda views: views[2].stats(),
    "add an entry": lambda views: views[3].add("x"),
    "entries": lambda views: views[3].entries(),
    "a memory below": lambda views: views[4].remember("x"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_was_taken_from_a_memory_before_it_closed_is_closed_with_it(verb):
    """Its four memories and those within it, whoever owns the store; the store goes on for others."""
    store = MemoryStore()
    memory = Memory(store, embedder="hashing")
    views = (memory.conversation, memory.runs, memory.experience, memory.playbook, memory.within("below"))
    memory.close()
    with pytest.raises(StoreClosed):
        VERBS[verb](views)
    with Memory(store, embedder="hashing") as other:
        assert other.count(subtree=True) == 0
    store.close()

"""The rolling summary of what a context leaves out."""

from __future__ import annotations

import pytest

from seasoned.memory import Memory
from seasoned.ports import Remove
from seasoned.query import Query
from seasoned.records import Key, Scope
from seasoned.stores.memory import MemoryStore
from seasoned.testing import ScriptedModel

from .checking import check_valid, say


def talk(memory, count=80):
    memory.add([say("system", "s"), say("user", "My name is Alex and I work on the harbour bridge in Porto.")])
    memory.add(
        [say("user" if i % 2 else "assistant", f"sentence number {i} about the bridge " * 4) for i in range(count)]
    )
    memory.add(say("user", "go on"))


def test_a_summary_stands_for_what_was_cut_behind_the_system_messages(memory):
    """Delimited; in no context that cuts nothing."""
    talk(memory)
    model = ScriptedModel(["Alex works on a bridge in Porto."] * 20)
    made = memory.summarise(model=model, budget=800)
    assert made.text == "Alex works on a bridge in Porto."
    assert made.covered > 30
    assert made.waiting == 0
    context = memory.context(800)
    assert context.messages[0] == say("system", "s")
    assert "Alex works on a bridge in Porto." in str(context.messages[1]["content"])
    assert context.messages[1]["role"] == "system"
    assert context.tokens <= 800
    check_valid(context.messages)
    assert "Alex works" not in str(memory.context(100_000).messages[1]["content"])


def test_a_summary_that_a_context_showed_is_not_stored_as_a_message(memory):
    """Adding what was sent back does not make it a system message for ever."""
    talk(memory)
    memory.summarise(model=ScriptedModel(["Alex works in Porto."] * 20), budget=800)
    before = memory.messages()
    [added] = memory.add(memory.context(800).messages[1])
    assert added.status == "refused"
    assert memory.messages() == before


def test_a_summary_names_what_it_was_made_from(memory, store):
    """So that forgetting a source can find it."""
    talk(memory)
    made = memory.summarise(budget=800)
    [hit] = store.find(Query(scope=Scope(("acme", "alice")), kinds=("summary",))).hits
    assert len(hit.record.sources) == made.covered
    assert all(key.kind == "message" for key in hit.record.sources)


def test_without_a_model_sentences_are_picked(memory):
    """No model is asked, and what is picked was said."""
    talk(memory)
    made = memory.summarise(budget=800)
    said = "\n".join(str(message["content"]) for message in memory.messages())
    assert made.text
    assert all(line in said for line in made.text.splitlines())


def test_what_was_summarised_is_not_read_again(memory):
    """A second time, only what was cut since."""
    talk(memory)
    memory.summarise(model=ScriptedModel(["one"] * 20), budget=800)
    again = ScriptedModel([])
    assert memory.summarise(model=again, budget=800).covered == 0
    assert again.calls == []
    memory.add([say("user" if i % 2 else "assistant", f"later sentence {i} " * 8) for i in range(60)])
    later = ScriptedModel(["two"] * 20)
    assert memory.summarise(model=later, budget=800).text == "two"
    assert "one" in later.calls[0].text
    assert "sentence number 3 " not in later.calls[0].text


def test_a_long_history_is_read_in_pieces_that_fit(make):
    """Ten times the model's window, one message alone longer than it: every question fits."""
    memory = make(summary_read_tokens=500)
    talk(memory)
    memory.add([say("assistant", "endless " * 5000), say("user", "and now?")])
    model = ScriptedModel(["so far"] * 100)
    made = memory.summarise(model=model, budget=800)
    assert made.waiting == 0
    assert len(model.calls) > 5
    assert all(len(call.text) < 6_000 for call in model.calls)


def test_a_model_that_fails_loses_nothing(memory):
    """What was done stays, the rest waits, the result says so, and no error text becomes a summary."""
    talk(memory)
    before = memory.messages()
    made = memory.summarise(model=ScriptedModel([RuntimeError("overloaded")]), budget=800)
    assert (made.covered, made.text) == (0, "")
    assert made.waiting > 30
    assert "overloaded" in str(made.reason)
    assert memory.messages() == before
    assert memory.context(800).messages[1]["role"] == "user"
    assert memory.summarise(model=ScriptedModel(["fine"] * 20), budget=800).waiting == 0


def test_an_empty_reply_is_no_summary(memory):
    """It counts as a failure."""
    talk(memory)
    made = memory.summarise(model=ScriptedModel(["  "]), budget=800)
    assert made.text == ""
    assert made.waiting > 30


def test_clearing_a_session_takes_its_summary_with_it(memory, store):
    """Nothing of it stays."""
    talk(memory)
    memory.summarise(budget=800)
    memory.clear()
    assert store.find(Query(scope=Scope(("acme", "alice")))).hits == []


@pytest.mark.parametrize("hard", [False, True])
def test_what_is_forgotten_while_the_model_is_asked_is_not_written_back(memory, store, hard):
    """The reply was made from it: no summary is stored, and the result says why."""
    talk(memory)
    forgotten = memory.turns()[1].id

    def reply(_: object) -> str:
        memory.forget(forgotten, hard=hard)
        return "Alex works on a bridge in Porto."

    made = memory.summarise(model=ScriptedModel([reply] + ["Alex works in Porto."] * 20), budget=800)
    assert (made.text, made.covered) == ("", 0)
    assert made.waiting > 30
    assert "forgotten" in str(made.reason)
    assert store.find(Query(scope=Scope(("acme", "alice")), kinds=("summary",))).hits == []
    again = memory.summarise(model=ScriptedModel(["Someone builds a bridge."] * 20), budget=800)
    assert (again.text, again.waiting, again.reason) == ("Someone builds a bridge.", 0, None)


class ForgetsAtOnce(MemoryStore):
    """A store in which another process removes a message just before a summary made from it is written."""

    victim: Key | None = None

    def apply(self, changes):
        if self.victim and any(getattr(change, "record", None) for change in changes):
            victim, self.victim = self.victim, None
            super().apply([Remove(victim)])
        return super().apply(changes)


@pytest.mark.parametrize("model", [None, ScriptedModel(["Alex works on a bridge in Porto."] * 20)])
def test_a_summary_is_taken_back_where_a_source_goes_as_it_is_written(model):
    """Between the last look and the write, with a model and without."""
    store = ForgetsAtOnce()
    with Memory(store, embedder="hashing") as whole:
        memory = whole.conversation
        talk(memory)
        store.victim = Key(whole.scope, "message", memory.turns()[1].id)
        made = memory.summarise(model=model, budget=800)
        assert (made.text, made.covered) == ("", 0)
        assert "forgotten" in str(made.reason)
        assert store.find(Query(scope=whole.scope, kinds=("summary",))).hits == []
        assert memory.summarise(budget=800).covered > 30


def test_a_summary_goes_on_after_export_and_import(tmp_path):
    """What was covered is told by message, not by its place in the old file."""
    with (
        Memory(tmp_path / "a.db", scope=("alice",), embedder="hashing") as old,
        Memory(tmp_path / "b.db", scope=("alice",), embedder="hashing") as new,
    ):
        Memory(old.store, scope=("bob",), embedder="hashing").conversation.add([say("user", "noise")] * 500)
        talk(old.conversation)
        assert old.conversation.summarise(budget=800).covered > 30
        old.export(tmp_path / "x.jsonl")
        new.import_(tmp_path / "x.jsonl")
        more = [say("user" if i % 2 else "assistant", f"later sentence {i} " * 8) for i in range(60)]
        old.conversation.add(more)
        new.conversation.add(more)
        goes_on = new.conversation.summarise(budget=800)
        assert goes_on.covered == old.conversation.summarise(budget=800).covered > 30


def test_a_summary_whose_last_message_went_covers_what_is_newer_than_its_newest_source(memory, store):
    """Removed without its summary, as another program might: nothing is read twice, nothing is passed over."""
    talk(memory)
    memory.summarise(model=ScriptedModel(["one"] * 20), budget=800)
    [hit] = store.find(Query(scope=Scope(("acme", "alice")), kinds=("summary",))).hits
    store.apply([Remove(hit.record.sources[-1])])
    memory.add([say("user" if i % 2 else "assistant", f"later sentence {i} " * 8) for i in range(60)])
    later = ScriptedModel(["two"] * 20)
    assert memory.summarise(model=later, budget=800).waiting == 0
    assert "sentence number 3 " not in later.calls[0].text
    assert "later sentence 1 " in "".join(call.text for call in later.calls)

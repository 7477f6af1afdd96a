"""The rolling summary of what a context leaves out."""

from __future__ import annotations

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
    from seasoned.query import Query
    from seasoned.records import Scope

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
    from seasoned.query import Query
    from seasoned.records import Scope

    talk(memory)
    memory.summarise(budget=800)
    memory.clear()
    assert store.find(Query(scope=Scope(("acme", "alice")))).hits == []

"""The verbs of `Playbook`: alone, from files, and with the seed's names."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

import pytest

from seasoned.errors import Conflict, InvalidInput, InvalidScope, NotFound, StoreClosed, WrongType
from seasoned.playbook import (
    Add,
    Applied,
    Counts,
    DeltaEntry,
    Merge,
    Outcome,
    Playbook,
    PlaybookPolicy,
    Remove,
    Trace,
    TraceStep,
    Update,
)
from seasoned.records import Key
from seasoned.search import Searcher
from seasoned.stores.memory import MemoryStore
from seasoned.testing import AsyncScriptedModel, ScriptedModel

AT = datetime(2025, 5, 1, tzinfo=UTC)
SEEDS = [
    DeltaEntry("tool_use", "read_file on config.json works", "success", AT),
    DeltaEntry("tool_use", "grep without a file type returns too much", "failure", AT),
    DeltaEntry("final_answer", "done", "neutral", AT),
]
RENDERED = """\
<playbook>
  <tool_use>
    [+] read_file on config.json works
    [-] grep without a file type returns too much
  </tool_use>
  <final_answer>
    [o] done
  </final_answer>
</playbook>"""

FAILED = Trace(id="run 7", task="Pay", steps=(TraceStep(kind="tool", name="pay", error="card declined"),))


@pytest.fixture
def small():
    """A playbook in this process."""
    with Playbook(embedder="hashing") as playbook:
        yield playbook


def test_a_playbook_without_arguments_lies_in_this_process():
    """Each is one of its own, empty, and closed once and for all."""
    with Playbook(embedder="hashing") as one, Playbook(embedder="hashing") as other:
        one.add("a")
        assert (len(one), len(other), bool(one), bool(other)) == (1, 0, True, False)
        assert [entry.content for entry in one] == ["a"]
    one.close()
    with pytest.raises(StoreClosed):
        one.add("b")
    assert repr(one) == "Playbook(MemoryStore, scope=('default',))"


def test_a_playbook_over_a_store_does_not_close_it():
    """Whoever made the store closes it; a searcher that is given is used as it is."""
    store = MemoryStore()
    with Playbook(store, scope=("acme", "alice"), embedder="hashing") as p:
        p.add("a")
    searcher = Searcher(store, p.searcher.embedder)
    again = Playbook(store, scope=("acme", "alice"), searcher=searcher)
    assert again.searcher is searcher
    assert [entry.content for entry in again] == ["a"]
    store.close()


def test_a_playbook_lies_in_a_file(tmp_path):
    """Under one scope only."""
    with Playbook(tmp_path / "a.db", scope="alice", embedder="hashing", entries=SEEDS) as p:
        assert len(p) == 3
    with Playbook(tmp_path / "a.db", scope="alice", embedder="hashing", entries=SEEDS) as p:
        assert (len(p), p.number) == (3, 1)
    with Playbook(tmp_path / "a.db", scope="bob", embedder="hashing") as p:
        assert len(p) == 0


def test_arguments_that_cannot_be_are_refused(tmp_path):
    """And no file is left open, or made."""
    with pytest.raises(InvalidScope):
        Playbook(scope=())
    with pytest.raises(InvalidInput):
        Playbook("redis://nowhere")
    with pytest.raises(WrongType):
        Playbook(tmp_path / "a.db", embedder="hashing", entries=["text"])
    with pytest.raises(InvalidInput):
        PlaybookPolicy(threshold=0)
    with pytest.raises(InvalidInput):
        PlaybookPolicy(budget=-1)
    with pytest.raises(WrongType):
        PlaybookPolicy(budget="much")


def test_entries_of_the_seed_are_merged_once_each_and_rendered(small):
    """`merge` returns the playbook; the same entries again change nothing; the text is the seed's."""
    assert small.merge(SEEDS[:2]) is small
    assert small.merge([*SEEDS, SEEDS[0]]) is small
    assert (len(small), small.number) == (3, 2)
    assert small.render() == RENDERED


def test_another_playbook_can_be_merged(small):
    """New advice comes with its counts, and its id where that is free; what is there stays as it is, however often."""
    with Playbook(embedder="hashing") as other:
        other.apply(
            [
                Add(id="oth-00001", content="new", counts=Counts(helpful=3)),
                Add(id="s-00002", content="known", section="S", counts=Counts(helpful=5)),
                Add(id="s-00009", content="retired", section="S"),
                Update(id="s-00009", retired="old"),
                Add(id="s-00004", content="also new", section="S"),
            ]
        )
        small.apply([Add(content="taken"), Add(content="known", section="S", counts=Counts(helpful=1))])
        for _ in range(3):
            small.merge(other)
    told = {entry.content: (entry.id, entry.counts.helpful) for entry in small}
    assert told == {
        "taken": ("oth-00001", 0),
        "known": ("s-00002", 1),
        "new": ("oth-00003", 3),
        "also new": ("s-00004", 0),
    }
    assert small.number == 2


def test_only_what_can_be_added_is_merged(small):
    """A removal is no entry."""
    for wrong in ([Remove(id="a")], ["a"], [{"content": "a"}]):
        with pytest.raises(WrongType):
            small.merge(wrong)


def test_a_verb_for_one_entry_raises_where_it_cannot_be_done(small):
    """What is not there is not found, what has changed is a conflict, what breaks a rule is invalid."""
    small.add("a")
    for verb in (
        lambda: small.update("x", content="b"),
        lambda: small.tag("x", "helpful"),
        lambda: small.remove("x"),
        lambda: small.merge_entries(["oth-00001", "x"]),
    ):
        with pytest.raises(NotFound, match="no entry 'x'"):
            verb()
    with pytest.raises(Conflict):
        small.update("oth-00001", content="b", expect=9)
    for verb in (
        lambda: small.add(" "),
        lambda: small.add("a", outcome="fine"),
        lambda: small.add("b", section="S" * 65),
        lambda: small.add("other advice", id="oth-00001"),
        lambda: small.tag("oth-00001", "useful"),
        lambda: small.tag("oth-00001", "helpful", times=0),
        lambda: small.merge_entries(["oth-00001"]),
        lambda: small.update("oth-00001", outcome="fine"),
    ):
        with pytest.raises(InvalidInput):
            verb()
    assert small.number == 1


def test_each_verb_does_what_its_delta_does(small):
    """And says what became of it."""
    first = small.add("a", "S", "failure", counts=Counts(helpful=1), sources=[Key(("default",), "run", "r")], at=AT)
    assert (first.id, first.status) == ("s-00001", Applied.WRITTEN)
    assert (small.get("s-00001").created_at, small.get("s-00001").outcome) == (AT, Outcome.FAILURE)
    small.add("b", id="b")
    assert small.update("b", content="B", section="T", outcome="success", expect=1).id == "b"
    assert small.tag("b", "harmful", 2, by="run 7").status is Applied.WRITTEN
    assert small.tag("b", "harmful", 2, by="run 7").status is Applied.UNCHANGED
    assert small.merge_entries(["s-00001", "b"], "a and B", "U").id == "s-00001"
    entry = small.get("b")
    assert (entry.content, entry.section, entry.counts) == ("a and B", "U", Counts(helpful=1, harmful=2))
    assert small.remove("b").id == "s-00001"
    assert list(small) == []


def test_entries_are_searched(small):
    """By words and vectors, retired ones left out."""
    small.apply(
        [Add(content=text) for text in ("Read every page of a list", "Ask before you pay", "Pay the oldest bill")]
    )
    assert small.search("paging through lists", k=1)[0].id == "oth-00001"
    small.update("oth-00002", retired="old")
    assert {hit.id for hit in small.search("pay", k=2)} <= {"oth-00001", "oth-00003"}
    with pytest.raises(InvalidInput):
        small.search(" ")


def test_plain_json_goes_round_without_loss(small):
    """Ids, counts, aliases, times, sources, what is retired, and the number that ids continue with."""
    small.apply(
        [
            Add(
                content="a\nb",
                section="S & T",
                outcome="failure",
                counts=Counts(helpful=1, harmful=2, neutral=3),
                at=AT,
            ),
            Add(id="x", content="c", sources=(Key(("default",), "run", "r"),)),
            Add(id="y-00041", content="d"),
            Merge(ids=("x", "y-00041")),
            Update(id="st-00001", retired="old"),
        ]
    )
    given = small.to_dict()
    with Playbook.from_dict(given, embedder="hashing") as other:
        assert other.to_dict() == given
        assert other.resolve("y-00041") == "x"
        assert other.add("e").id == "oth-00042"
        assert other.load_dict(given).effects[0].status is Applied.UNCHANGED
        other.rollback(0)
        assert list(other) == []
    assert set(given["entries"][0]) >= {"category", "content", "outcome", "created_at"}


def test_the_state_of_the_seed_is_read(caplog):
    """Category, content, outcome and time; what is no entry is named, with a warning."""
    state = {
        "entries": [
            {
                "category": "tool_use",
                "content": "read\nit",
                "outcome": "success",
                "created_at": "2025-05-01T00:00:00+00:00",
            },
            {"category": "tool_use", "outcome": "success"},
            "text",
            {"content": "no category", "outcome": "who knows", "created_at": "yesterday"},
            {"category": "tool_use", "content": "  "},
            {"id": "a\nb", "created_at": 0, "content": "x"},
            {"id": "a", "created_at": 0, "content": "x", "section": "two\nlines", "aliases": [" ", "b"]},
        ]
    }
    with caplog.at_level(logging.WARNING, "seasoned.playbook"), Playbook.from_dict(state, embedder="hashing") as p:
        assert [(entry.section, entry.content, entry.outcome) for entry in p] == [
            ("tool_use", "read\nit", Outcome.SUCCESS),
            ("OTHERS", "no category", Outcome.NEUTRAL),
            ("OTHERS", "x", Outcome.NEUTRAL),
        ]
        assert next(iter(p)).created_at == AT
        assert p.resolve("b") == "a"
        assert [name for name, _ in p.load_dict(state).skipped] == ["entry 2", "entry 3", "entry 5", "entry 6"]
    assert [text for text in caplog.messages if "entry 2 of a playbook is left out" in text]


def test_what_is_no_playbook_is_refused(tmp_path):
    """And the file that was to hold it is closed."""
    with pytest.raises(WrongType):
        Playbook.from_dict(["a"], tmp_path / "a.db", embedder="hashing")
    with pytest.raises(InvalidInput):
        Playbook.from_dict({"bullets": []}, tmp_path / "a.db", embedder="hashing")
    with pytest.raises(WrongType):
        Playbook.from_text(7, tmp_path / "a.db", embedder="hashing")


def test_a_text_of_the_paper_goes_round(tmp_path):
    """Ids and counters are kept, and new ids continue above them."""
    text = "## STRATEGIES & INSIGHTS\n[si-00007] helpful=3 harmful=1 :: Read the documentation\nof a call first.\n"
    with Playbook.from_text(text, tmp_path / "a.db", embedder="hashing") as p:
        assert p.get("si-00007").counts == Counts(helpful=3, harmful=1)
        assert p.to_text() == text
        assert p.add("more").id == "oth-00008"
        assert p.load_text("## OTHERS\n[oth-00009] helpful=0 harmful=0 :: less\n", by="a file").changed.number == 3


def test_refining_merges_what_says_the_same(small):
    """Near duplicates above the policy's threshold; the old id resolves; a model may word it, sync or not."""
    small.apply([Add(content="Always read the API documentation first."), Add(content="Pay the oldest bill first.")])
    small.add("Always read the API documentation first!", counts=Counts(helpful=2))
    refined = small.refine()
    assert [set(group.ids) for group in refined.groups] == [{"oth-00001", "oth-00003"}]
    assert small.get("oth-00003").counts == Counts(helpful=2)
    assert small.refine().groups == ()
    assert asyncio.run(small.arefine(AsyncScriptedModel([]))).groups == ()
    assert small.refine(ids=["oth-00002"]).groups == ()


def test_contradictions_are_shown_and_pruning_retires(small):
    """Neither removes anything."""
    small.add("Retry failed calls.", outcome="success")
    small.add("Retry failed calls.", outcome="failure")
    assert [pair.ids for pair in small.contradictions()] == [("oth-00001", "oth-00002")]
    small.tag("oth-00001", "helpful")
    small.prune(1)
    assert [entry.id for entry in small] == ["oth-00001"]
    assert len(small.entries(retired=True)) == 2


def test_a_block_keeps_its_bytes_within_a_run(small):
    """Whatever is learned meanwhile; the policy has the budget where none is named."""
    small.merge(SEEDS)
    block = small.block(run="run 7")
    assert (block.text, block.number) == (RENDERED, 1)
    small.add("more")
    assert small.block(run="run 7").text == RENDERED
    assert "more" in small.block(run="run 8").text
    assert small.render(max_entries=1).count("[") == 1
    assert small.render(budget=0) == ""
    with Playbook(embedder="hashing", policy=PlaybookPolicy(budget=0), entries=SEEDS) as p:
        assert (p.block().text, p.block(budget=2_000).text) == ("", RENDERED)


def test_a_playbook_learns_from_a_trace_once(small):
    """By rules without a model; the second time nothing changes."""
    learned = small.learn(FAILED)
    assert not learned.changed.duplicate
    assert [entry.outcome for entry in small] == [Outcome.FAILURE]
    assert small.learn(FAILED).changed.duplicate
    assert len(small) == 1


def test_who_reflects_can_be_named_and_the_verb_awaited(small):
    """A function will do; models answer sync and async."""
    small.learn(FAILED, reflector=lambda trace, entries: [DeltaEntry("S", f"learned from {trace.id}")], by="one")
    assert [entry.content for entry in small] == ["learned from run 7"]
    answer = '{"reasoning": "r", "key_insight": "Check the card before you pay.", "bullet_tags": []}'
    sync, later = ScriptedModel([answer] * 9), AsyncScriptedModel([answer] * 9)
    assert small.learn(FAILED, model=sync, by="two").calls == len(sync.calls) > 0
    assert asyncio.run(small.alearn(FAILED, model=later, by="three")).calls == len(later.calls) > 0
    assert asyncio.run(small.alearn(FAILED, by="three")).changed.duplicate

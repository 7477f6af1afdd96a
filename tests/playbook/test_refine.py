"""Refining: exact and near duplicates, what stays apart, models, and that nothing is ever lost by it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.asking import run
from seasoned.embedders import MiniLMEmbedder
from seasoned.errors import EmbeddingError, InvalidInput, MissingExtra, ModelError, NotFound
from seasoned.playbook import Add, Counts, Outcome, Playbook, Tag
from seasoned.playbook.likeness import folded
from seasoned.playbook.paper import read
from seasoned.playbook.refining import refine
from seasoned.playbook.wording import missing
from seasoned.ports import Fingerprint
from seasoned.query import Query
from seasoned.stores.memory import MemoryStore
from seasoned.testing import ScriptedModel

LONG = "Always retry a failed call with exponential backoff before you give up, and log each of the attempts"
ONE, OTHER = f"{LONG} carefully.", f"{LONG} quickly."
BOTH = f"{LONG} carefully/quickly."


def contents(p: Playbook) -> list[str]:
    return [entry.content for entry in p.entries()]


def total(p: Playbook) -> Counts:
    return sum((entry.counts for entry in p.entries(retired=True)), Counts())


def test_exact_duplicates_become_one_whatever_their_section(p):
    """Case, width and white space do not count; counts are summed, and every id resolves to the one written first."""
    p.apply(
        [
            Add(id="a-1", content="Check the balance first.", section="A", counts=Counts(helpful=1)),
            Add(id="b-1", content="check the  BALANCE first.", section="B", counts=Counts(helpful=2, harmful=1)),
            Add(id="c-1", content="Ｃｈｅｃｋ the balance\nfirst.", section="C", counts=Counts(neutral=4)),
        ]
    )
    found = p.refine()
    assert [(group.into, group.ids, group.by) for group in found.groups] == [("a-1", ("a-1", "b-1", "c-1"), "exact")]
    [entry] = p.entries()
    assert (entry.content, entry.section) == ("Check the balance first.", "A")
    assert entry.counts == Counts(helpful=3, harmful=1, neutral=4)
    assert [p.resolve(name) for name in ("a-1", "b-1", "c-1")] == ["a-1", "a-1", "a-1"]


def test_short_entries_that_differ_in_the_mark_at_their_end_become_one(p):
    """The wording of the first stays; a question is something else."""
    p.apply([Add(content=content) for content in ("Read every page.", "Read every page!", "read every page")])
    p.add("Read every page?")
    p.refine()
    assert contents(p) == ["Read every page.", "Read every page?"]


def test_texts_without_a_word_are_compared_too(p):
    """An emoji is found by no words."""
    p.apply([Add(content="👍 ?!", section="A"), Add(content="👍  ?!", section="B"), Add(content="👎 ?!", section="C")])
    p.refine()
    assert contents(p) == ["👍 ?!", "👎 ?!"]


def test_two_entries_that_differ_by_one_word_become_one(p):
    """Counters are summed, both ids resolve, and the history can take it back."""
    p.apply([Add(id="a", content=ONE, counts=Counts(helpful=2)), Add(id="b", content=OTHER, counts=Counts(harmful=1))])
    before = p.number
    found = p.refine()
    [group] = found.groups
    assert (group.ids, group.by, group.text) == (("a", "b"), "rules", BOTH)
    assert contents(p) == [BOTH]
    assert p.get("b").counts == Counts(helpful=2, harmful=1)
    assert found.changed.number == before + 1
    p.rollback(before)
    assert contents(p) == [ONE, OTHER]


def test_the_wording_that_is_proven_is_the_head(p):
    """Its sentence stands first, its section too; the id is that of the entry written first."""
    text = f"{LONG}. Tell the user about it."
    p.apply([Add(id="a", content=f"{LONG}. Then stop.", section="A"), Add(id="b", content=text, section="B")])
    p.tag("b", "helpful", 3)
    run(refine(p, threshold=0.8), None)
    [entry] = p.entries()
    assert (entry.id, entry.section, entry.content) == ("a", "B", f"{text} Then stop.")


def test_near_entries_that_differ_in_what_matters_stay_apart_with_the_reason(p):
    """One number in a hundred characters."""
    p.apply([Add(id="a", content=f"{LONG} 3 times."), Add(id="b", content=f"{LONG} 5 times.")])
    [kept] = p.refine().kept
    assert (kept.ids, kept.reason, kept.open) == (("a", "b"), "the numbers differ: 3 against 5", False)
    assert 0.9 <= kept.similarity < 1
    assert len(p) == 2


def test_a_group_is_no_chain(p):
    """A last one that is near the second and not near the head stays by itself."""
    words = LONG.split()
    first, second, third = LONG, " ".join([*words[:-2], "its", "tries"]), " ".join(["Do", *words[2:-4], "its", "tries"])
    p.apply([Add(id=name, content=text) for name, text in (("a", first), ("b", second), ("c", third))])
    p.tag("a", "helpful", 9)
    found = run(refine(p, threshold=0.85), None)
    assert all("c" not in group.ids for group in found.groups)
    assert p.get("c").content == third


def test_an_unknown_outcome_joins_a_known_one_only_where_it_says_no_more(p):
    """What failed is not said of advice of which nothing is known."""
    p.apply(
        [Add(id="a", content=f"{LONG}.", outcome=Outcome.FAILURE), Add(id="b", content=f"{LONG}. Then ask the user.")]
    )
    [kept] = p.refine().kept
    assert kept.reason == "only of one is the outcome known, and the other says more"
    p.update("b", content=LONG)
    p.refine()
    assert [(entry.id, entry.outcome) for entry in p.entries()] == [("a", Outcome.FAILURE)]


def test_only_what_is_new_is_compared(make, store):
    """A tag is nothing new; neither is what another process refined."""
    p = make()
    p.apply([Add(content=f"Advice number {n} is about the topic {n * 7}.") for n in range(5)])
    p.refine()
    p.apply([Tag(id=p.entries()[0].id, mark="helpful")])
    other = make()
    assert other.refine().groups == ()
    [mark] = store.find(Query(scope=p.scope, kinds=("playbook-refined",))).hits
    assert mark.record.data["number"] == p.number == 2
    again = store.find(Query(scope=p.scope, kinds=("playbook-refined",)))
    other.refine()
    assert store.find(Query(scope=p.scope, kinds=("playbook-refined",))).hits == again.hits


def test_some_entries_can_be_compared_by_id(p):
    """All others wait for the next time."""
    p.apply([Add(id="a", content=ONE), Add(id="b", content=OTHER), Add(id="c", content=f"{LONG} 3 times.")])
    assert p.refine(ids=["c"]).groups == ()
    assert p.refine().groups != ()
    with pytest.raises(NotFound):
        p.refine(ids=["none"])


def test_a_lower_threshold_compares_everything_again(p):
    """And one outside its range is refused."""
    p.apply(
        [
            Add(content="Always validate input before calling the tool"),
            Add(content="Always check input before calling the tool"),
        ]
    )
    assert p.refine().groups == ()
    assert len(run(refine(p, threshold=0.8), None).groups) == 1
    for wrong in (0, 1.1, -1):
        with pytest.raises(InvalidInput):
            run(refine(p, threshold=wrong), None)


def test_what_comes_back_or_changes_is_compared_again(p):
    """An entry that was retired is not; brought back, it is."""
    p.apply([Add(id="a", content=ONE), Add(id="b", content=OTHER)])
    p.update("b", retired="for a while")
    assert p.refine().groups == ()
    p.update("b", retired="")
    assert [group.ids for group in p.refine().groups] == [("a", "b")]


def test_an_empty_playbook_is_left_as_it_is(p, store):
    """Not even a record is written."""
    found = p.refine()
    assert (found.groups, found.kept, found.changed.number) == ((), (), 0)
    assert store.find(Query(scope=p.scope)).hits == []


def test_what_another_writer_adds_while_entries_are_merged_is_compared_too(make):
    """In the same refining."""
    p, other = make(), make()
    p.apply([Add(id="a", content=ONE), Add(id="b", content=OTHER)])

    def meanwhile(messages):
        other.tag("a", "helpful")
        other.apply([Add(id="c", content=BOTH)])
        return "no use"

    p.refine(ScriptedModel([meanwhile]))
    assert contents(p) == [BOTH]
    assert p.resolve("c") == "a"


def test_entries_of_another_scope_are_never_merged(make):
    """Each playbook has its own."""
    one, other = make(("acme", "alice")), make(("acme", "bob"))
    one.add(ONE)
    other.add(ONE)
    one.refine()
    other.refine()
    assert (len(one), len(other)) == (1, 1)


SPACE = Fingerprint("leaning", "1", 64)


class Leaning:
    """An embedder for which texts with the same first word are one, and all others have nothing in common."""

    weight, fingerprint = 0.5, SPACE

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.broken:
            raise EmbeddingError("out of order")
        rows = np.zeros((len(texts), 64), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[sum(text.split()[0].encode()) % 64] = 1
        return rows


def dense(store, *, broken: bool = False) -> Playbook:
    return Playbook(store, scope=("dense",), embedder=Leaning(broken=broken))


def test_with_an_embedder_the_cosine_decides(store):
    """Texts with few letters in common, but the same vector."""
    p = dense(store)
    p.apply([Add(id="a", content="Alpha is to be asked first."), Add(id="b", content="Alpha knows more.")])
    [kept] = p.refine().kept
    assert kept.ids == ("a", "b")
    assert kept.similarity == pytest.approx(1.0)


def test_an_embedder_that_fails_is_told_and_words_decide(store):
    """Nothing is lost by it."""
    p = dense(store, broken=True)
    p.apply([Add(id="a", content=ONE), Add(id="b", content=OTHER)])
    found = p.refine()
    assert [group.ids for group in found.groups] == [("a", "b")]
    assert found.warnings == ("dense: out of order",)


def test_a_model_words_what_is_merged(p):
    """One call; its text is recorded as any change."""
    p.apply([Add(id="a", content=ONE), Add(id="b", content=OTHER)])
    text = f"{LONG} carefully but quickly."
    model = ScriptedModel([f"{LONG} carefully and quickly."])
    found = p.refine(model)
    assert contents(p) == [f"{LONG} carefully and quickly."] != [text]
    assert (found.calls, found.groups[0].by, found.warnings) == (1, "model", ())
    assert [(call.tag, call.temperature) for call in model.calls] == [("playbook-merge", 0.0)]


@pytest.mark.parametrize("reply", ["", "Retry.", BOTH * 20, ModelError("down"), TimeoutError("slow")])
def test_without_a_usable_text_of_a_model_the_rules_word_it(p, reply):
    """Empty, too short, too long, or none: the merge is made all the same, and the result says so."""
    p.apply([Add(id="a", content=ONE, counts=Counts(helpful=1)), Add(id="b", content=OTHER, counts=Counts(harmful=2))])
    found = p.refine(ScriptedModel([reply]))
    assert contents(p) == [BOTH]
    assert p.get("b").counts == Counts(helpful=1, harmful=2)
    assert found.groups[0].by == "rules"
    [warning] = found.warnings
    assert warning.startswith("model: ")


def test_a_model_that_fails_is_not_asked_again(p):
    """One failed question tells enough."""
    for name in ("one", "two", "three"):
        p.apply([Add(content=f"In {name} cases: {ONE}"), Add(content=f"In {name} cases: {OTHER}")])
    model = ScriptedModel([ModelError("down")] * 9)
    found = p.refine(model)
    assert (len(model.calls), found.calls) == (1, 0)


def test_a_model_may_find_a_text_where_the_rules_found_none(store):
    """It is asked for near ones that nothing speaks against, once each, and one that loses something is not taken."""
    p = dense(store)
    p.apply([Add(id="a", content="Alpha wants names sorted."), Add(id="b", content="Alpha groups titles twice daily.")])
    good = "Alpha wants names sorted, and groups titles twice daily."
    assert p.refine(ScriptedModel(["Alpha sorts."])).kept[0].open
    p.update("b", content="Alpha groups titles twice daily!")
    found = p.refine(ScriptedModel([good]))
    assert contents(p) == [good]
    assert (found.groups[0].by, found.kept) == ("model", ())


def test_an_entry_that_changes_while_a_model_writes_is_looked_at_again(make):
    """The merge is worked out anew, with what the other process wrote."""
    p, other = make(), make()
    p.apply([Add(id="a", content=ONE), Add(id="b", content=OTHER)])

    def meanwhile(messages):
        other.tag("a", "helpful")
        return "no use"

    found = p.refine(ScriptedModel([meanwhile]))
    assert contents(p) == [BOTH]
    assert p.get("a").counts == Counts(helpful=1)
    assert any("changed while it was to be merged" in warning for warning in found.warnings)


WORDS = "retry check the balance before paying never 3 5 show_a Card. card 👍"
advice = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=6).map(" ".join)
counted = st.builds(Counts, helpful=st.integers(0, 3), harmful=st.integers(0, 3), neutral=st.integers(0, 3))
added = st.builds(Add, content=advice, section=st.sampled_from("AB"), outcome=st.sampled_from(Outcome), counts=counted)
neutral = st.builds(Add, content=advice, section=st.sampled_from("AB"), counts=counted)


@given(st.lists(st.lists(added, max_size=6), max_size=4), st.sampled_from([0.7, 0.9]))
def test_refining_never_loses_a_count_or_a_word_and_a_second_one_changes_nothing(batches, threshold):
    """Whatever is added, in whatever portions."""
    with Playbook(MemoryStore(), embedder="hashing") as p:
        originals = dict[str, str]()
        for batch in batches:
            p.apply(batch)
            before = total(p)
            originals |= {entry.id: entry.content for entry in p.entries() if entry.id not in originals}
            run(refine(p, threshold=threshold), None)
            assert total(p) == before
        for name, content in originals.items():
            assert missing(p.get(name).content, [content]) == ()
        number = p.number
        again = run(refine(p, threshold=threshold, ids=[entry.id for entry in p.entries()]), None)
        assert (p.number, again.groups) == (number, ())


@given(st.lists(added, max_size=12))
def test_two_exact_duplicates_never_stay_but_for_a_contradiction(deltas):
    """Of one folded text there is one entry, or one that works and one that fails."""
    with Playbook(MemoryStore(), embedder="hashing") as p:
        p.apply(deltas)
        p.refine()
        by_text = dict[str, list[Outcome]]()
        for entry in p.entries():
            by_text.setdefault(folded(entry.content), []).append(entry.outcome)
        for outcomes in by_text.values():
            assert len(outcomes) == 1 or sorted(outcomes) == ["failure", "success"]


@given(st.lists(neutral, max_size=10), st.integers(1, 4))
def test_exact_duplicates_end_the_same_in_whatever_portions_they_come(deltas, size):
    """The same texts, ids and counts, with no near ones in play."""
    ends = []
    for step in (size, len(deltas) or 1):
        with Playbook(MemoryStore(), embedder="hashing") as p:
            for start in range(0, len(deltas), step):
                p.apply([Add(id=f"x-{n}", content=d.content, section=d.section, counts=d.counts)
                         for n, d in enumerate(deltas) if start <= n < start + step])  # fmt: skip
                run(refine(p, threshold=1.0), None)
            ends.append([(entry.id, entry.content, entry.counts, set(entry.aliases)) for entry in p.entries()])
    assert ends[0] == ends[1]


def published() -> list[tuple[str, str, str]]:
    """Return the id, section and content of each bullet of the published AppWorld playbook, or skip the test."""
    given_path = os.environ.get("SEASONED_ACE_DATA")
    if given_path is None:
        pytest.skip("SEASONED_ACE_DATA names no folder with appworld-playbook-online.txt")
    path = Path(given_path)
    text = (path / "appworld-playbook-online.txt" if path.is_dir() else path).read_text(encoding="utf-8")
    return [(entry.id, section, entry.content) for section, entry in read(text)]


def test_the_published_playbook_is_refined_and_says_all_that_it_said():
    """No exact and no unexplained near duplicate is left, and every bullet resolves to one that has all its words."""
    bullets = published()
    try:
        embedder = MiniLMEmbedder()
    except (MissingExtra, EmbeddingError) as error:
        pytest.skip(f"all-MiniLM-L6-v2 is not here: {error}")
    with Playbook(MemoryStore(), embedder=embedder) as p:
        p.apply([Add(id=name, section=section, content=content) for name, section, content in bullets])
        found = p.refine()
        left = p.entries()
        assert len({folded(entry.content) for entry in left}) == len(left) < len(bullets)
        vectors = np.asarray(embedder.embed([entry.content for entry in left]))
        near = np.argwhere(np.triu(vectors @ vectors.T >= 0.9001, 1))
        told = {kept.ids: kept.reason for kept in found.kept}
        assert all(told.get((left[one].id, left[other].id)) for one, other in near.tolist())
        assert {name: missing(p.get(name).content, [content]) for name, _, content in bullets} == {
            name: () for name, _, _ in bullets
        }

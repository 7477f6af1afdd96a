"""Deltas and what they make of a playbook."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from seasoned.errors import EmbeddingError, InvalidInput, NotFound, WrongType
from seasoned.playbook import Add, Applied, Counts, DeltaEntry, Mark, Merge, Outcome, Playbook, Remove, Tag, Update
from seasoned.ports import Put
from seasoned.query import Query
from seasoned.records import Key, Record

RUN = Key(("acme", "alice"), "run", "run-1")
OTHER_RUN = Key(("acme", "alice"), "run", "run-2")


def statuses(changed):
    return [effect.status for effect in changed.effects]


def contents(playbook):
    return [entry.content for entry in playbook.entries()]


def test_an_added_entry_has_what_it_was_given(p, clock):
    """Id after the section, content, outcome, counts, sources and times; the version is its record's."""
    changed = p.apply(
        [
            Add(
                content="  Log in first.\nThen ask.  ",
                section="STRATEGIES AND HARD RULES",
                outcome="success",
                counts=Counts(helpful=2),
                sources=(RUN,),
            )
        ]
    )
    assert (changed.number, statuses(changed)) == (1, [Applied.WRITTEN])
    entry = p.get("sah-00001")
    assert entry.content == "Log in first.\nThen ask."
    assert (entry.section, entry.outcome) == ("STRATEGIES AND HARD RULES", Outcome.SUCCESS)
    assert (entry.counts, entry.sources) == (Counts(helpful=2), (RUN,))
    assert entry.created_at == entry.updated_at == clock.now()
    assert (entry.version, entry.retired, entry.aliases) == (1, None, ())


def test_a_delta_entry_is_added_with_its_category_and_time(p):
    """What agent-episodic-memory makes can be applied as it is."""
    at = datetime(2025, 5, 1, tzinfo=UTC)
    p.apply([DeltaEntry("tool_use", "read_file works", "success", at)])
    (entry,) = p.entries()
    assert (entry.section, entry.content, entry.outcome) == ("tool_use", "read_file works", Outcome.SUCCESS)
    assert (entry.id, entry.created_at) == ("tu-00001", at)


def test_ids_continue_one_counter_over_all_sections(p):
    """The next number follows the highest that was ever given, whatever its section."""
    p.apply([Add(content="a", section="FORMULAS"), Add(content="b", id="shr-00041"), Add(content="c", section="X Y")])
    assert [entry.id for entry in p.entries()] == ["for-00001", "shr-00041", "xy-00042"]


def test_an_id_is_never_given_twice(p, make):
    """Not after its entry was removed, not after all was cleared, not in another process, not after a rollback."""
    first = p.add("a").id
    p.remove(first)
    second = make().add("b").id
    p.clear()
    third = p.add("c").id
    p.rollback(0)
    fourth = make().add("d").id
    assert [first, second, third, fourth] == ["oth-00001", "oth-00002", "oth-00003", "oth-00004"]


def test_an_id_given_and_removed_in_one_batch_is_not_given_again(p):
    """It was told to the caller, so it is taken."""
    changed = p.apply([Add(content="a"), Remove(id="oth-00001")])
    assert [effect.id for effect in changed.effects] == ["oth-00001", "oth-00001"]
    assert p.add("b").id == "oth-00002"


@pytest.mark.parametrize("together", [True, False])
def test_the_same_advice_is_credited_and_not_written_twice(p, together):
    """Same section, content and outcome: counts are added and sources joined, within one batch as in two."""
    one = Add(content="Log in first.", counts=Counts(helpful=1), sources=(RUN,))
    other = Add(content="Log in first.", counts=Counts(helpful=1, harmful=1), sources=(RUN, OTHER_RUN))
    changes = [p.apply([one, other])] if together else [p.apply([one]), p.apply([other])]
    assert [status for changed in changes for status in statuses(changed)] == [Applied.WRITTEN, Applied.CREDITED]
    (entry,) = p.entries()
    assert entry.counts == Counts(helpful=2, harmful=1)
    assert entry.sources == (RUN, OTHER_RUN)


def test_another_outcome_or_section_is_another_entry(p):
    """Only what agrees in all three is the same."""
    p.apply([Add(content="a"), Add(content="a", outcome="failure"), Add(content="a", section="S"), Add(content="A")])
    assert len(p.entries()) == 4


def test_the_same_advice_without_news_changes_nothing(p):
    """Twenty times the same note: one entry, one change."""
    for _ in range(20):
        changed = p.apply([DeltaEntry("final_answer", "done")])
    assert statuses(changed) == [Applied.UNCHANGED]
    assert (len(p), p.number, len(p.history())) == (1, 1, 1)


def test_an_id_that_comes_with_known_advice_resolves_to_it(p):
    """Of two bullets with the same text each id leads to the one entry."""
    first = Add(id="shr-00001", content="a")
    changed = p.apply([first, Add(id="shr-00007", content="a", counts=Counts(helpful=2)), Add(content="b")])
    assert [effect.id for effect in changed.effects] == ["shr-00001", "shr-00001", "oth-00008"]
    assert p.resolve("shr-00007") == "shr-00001"
    assert p.get("shr-00007").counts == Counts(helpful=2)


def test_the_same_advice_under_the_same_id_is_the_same_delta_once_more(p):
    """So a file that is read twice counts once; also where the id is one that came with known advice."""
    deltas = [
        Add(id="shr-00001", content="a", counts=Counts(helpful=2)),
        Add(id="shr-00007", content="a", counts=Counts(helpful=3)),
    ]
    p.apply(deltas)
    assert statuses(p.apply([*deltas, *deltas])) == [Applied.UNCHANGED] * 4
    assert p.get("shr-00007").counts == Counts(helpful=5)


def test_an_id_that_belongs_to_other_advice_is_refused(p):
    """Whether as an entry or as an old id of one."""
    p.apply([Add(id="a", content="x"), Add(id="b", content="y"), Merge(ids=("a", "b"))])
    changed = p.apply([Add(id="a", content="z"), Add(id="b", content="z"), Add(content="z")])
    assert statuses(changed) == [Applied.REFUSED, Applied.REFUSED, Applied.WRITTEN]
    assert "belongs to an entry that says something else" in changed.effects[0].reason
    with pytest.raises(InvalidInput, match="'a' belongs"):
        p.add("z!", id="a")


def test_retired_advice_that_comes_again_stays_retired_and_says_so(p):
    """It is credited; whoever retired it had a reason, which the effect repeats."""
    p.add("a")
    p.update("oth-00001", retired="harmful")
    (effect,) = p.apply([Add(content="a", counts=Counts(helpful=1))]).effects
    assert (effect.status, effect.reason) == (Applied.CREDITED, "it is retired: harmful")
    assert p.entries() == []
    assert p.entries(retired=True)[0].counts == Counts(helpful=1)


def test_an_update_changes_only_what_it_names(p, clock):
    """The rest stays, the time of the change is kept; equal values are no change."""
    p.add("a", "S", "success")
    clock.advance(seconds=60)
    assert p.update("s-00001", content="b").status is Applied.WRITTEN
    entry = p.get("s-00001")
    assert (entry.content, entry.section, entry.outcome) == ("b", "S", Outcome.SUCCESS)
    assert entry.updated_at - entry.created_at == timedelta(seconds=60)
    assert p.update("s-00001", content="b", outcome="success").status is Applied.UNCHANGED
    assert p.number == 2


def test_a_retired_entry_is_not_listed_and_can_be_brought_back(p):
    """A reason retires it, "" brings it back."""
    p.add("a")
    p.update("oth-00001", retired="five harmful marks")
    assert (p.entries(), len(p), bool(p)) == ([], 0, False)
    assert p.get("oth-00001").retired == "five harmful marks"
    p.update("oth-00001", retired="")
    assert [entry.retired for entry in p.entries()] == [None]


def test_marks_are_counted(p):
    """Helpful, harmful and neutral each on their own, `times` each."""
    p.add("a")
    p.apply([Tag(id="oth-00001", mark=Mark.HELPFUL), Tag(id="oth-00001", mark="harmful", times=3)])
    p.tag("oth-00001", "neutral")
    assert p.get("oth-00001").counts == Counts(helpful=1, harmful=3, neutral=1)


def test_a_count_that_no_number_holds_is_refused(p):
    """The entry stays as it is, and the rest of the batch stands."""
    p.apply([Add(content="a", counts=Counts(helpful=2**53 - 1))])
    changed = p.apply([Tag(id="oth-00001", mark="helpful"), Add(content="b")])
    assert statuses(changed) == [Applied.REFUSED, Applied.WRITTEN]


def test_what_is_applied_by_the_same_name_counts_once(p, make):
    """A repeated call does nothing and says so, in another process and after a restart as well."""
    p.apply([Add(content="a"), Tag(id="oth-00001", mark="helpful")], by="run 7")
    again = make().apply([Add(content="a"), Tag(id="oth-00001", mark="helpful"), Add(content="b")], by="run 7")
    assert again.duplicate
    assert [(effect.id, effect.status) for effect in again.effects] == [
        ("oth-00001", Applied.UNCHANGED),
        ("oth-00001", Applied.UNCHANGED),
        ("", Applied.UNCHANGED),
    ]
    assert (again.number, p.get("oth-00001").counts) == (1, Counts(helpful=1))
    assert not p.apply([Tag(id="oth-00001", mark="helpful")], by="run 8").duplicate


def test_a_name_that_changed_nothing_is_used_up_as_well(p):
    """What was refused once does not come true because the same call is repeated later."""
    assert not p.apply([Tag(id="oth-00001", mark="helpful")], by="run 7").duplicate
    p.add("a")
    assert p.apply([Tag(id="oth-00001", mark="helpful")], by="run 7").duplicate
    assert p.get("oth-00001").counts == Counts()


def test_an_entry_that_does_not_exist_is_refused_and_the_others_stand(p):
    """A model may make up ids: each such delta says why, and nothing else is lost."""
    p.add("a")
    changed = p.apply(
        [
            Tag(id="999", mark="helpful"),
            Update(id="shr-00012", content="x"),
            Merge(ids=("oth-00001", "nobody")),
            Remove(id="12"),
            Add(content="b"),
        ]
    )
    assert statuses(changed) == [Applied.REFUSED] * 4 + [Applied.WRITTEN]
    assert [effect.reason for effect in changed.effects[:4]] == [
        "there is no entry '999'",
        "there is no entry 'shr-00012'",
        "there is no entry 'nobody'",
        "there is no entry '12'",
    ]
    assert contents(p) == ["a", "b"]


def test_a_delta_for_an_entry_that_has_changed_is_refused(p):
    """`expect` is the version that was read; two deltas of one batch for it both pass."""
    p.apply([Add(content="a"), Add(content="b")])
    p.tag("oth-00001", "helpful")
    deltas = [Update(id="oth-00001", content="A"), Update(id="oth-00002", content="B"), Remove(id="oth-00002")]
    changed = p.apply(deltas, expect={"oth-00001": 1, "oth-00002": 1})
    assert statuses(changed) == [Applied.REFUSED, Applied.WRITTEN, Applied.WRITTEN]
    assert changed.effects[0].reason == "'oth-00001' was expected in version 1, found 2"
    assert contents(p) == ["a"]


def test_a_merge_makes_one_entry_of_several(p):
    """Counts are summed, sources joined, the first keeps its id; the outcome is the one that is known."""
    p.apply(
        [
            Add(id="a", content="x", counts=Counts(helpful=1), sources=(RUN,)),
            Add(id="b", content="y", counts=Counts(helpful=2, harmful=1), sources=(RUN, OTHER_RUN), outcome="success"),
            Add(id="c", content="z", counts=Counts(neutral=4)),
            Merge(ids=("a", "b", "c"), content="x, y and z", section="ALL"),
        ]
    )
    (entry,) = p.entries()
    assert (entry.id, entry.content, entry.section) == ("a", "x, y and z", "ALL")
    assert entry.counts == Counts(helpful=3, harmful=1, neutral=4)
    assert (entry.sources, entry.aliases, entry.outcome) == ((RUN, OTHER_RUN), ("b", "c"), Outcome.SUCCESS)


def test_outcomes_that_disagree_leave_the_first(p):
    """A merge never invents one."""
    p.apply([Add(id=name, content=name, outcome=outcome) for name, outcome in
             (("n", "neutral"), ("s", "success"), ("f", "failure"))])  # fmt: skip
    p.apply([Merge(ids=("n", "s", "f"))])
    assert p.get("f").outcome is Outcome.NEUTRAL


def test_a_merge_of_retired_and_shown_entries_is_shown(p):
    """What somebody still shows does not vanish by a merge."""
    p.apply([Add(id="a", content="x"), Add(id="b", content="y"), Update(id="a", retired="old")])
    p.apply([Merge(ids=("a", "b"))])
    assert [entry.id for entry in p.entries()] == ["a"]


def test_old_ids_resolve_after_merges_of_merges(p, make):
    """However long the chain, for every verb, and in another process."""
    p.apply([Add(id=name, content=name) for name in "abcd"])
    p.apply([Merge(ids=("b", "a"))])
    p.apply([Merge(ids=("c", "a")), Merge(ids=("d", "b"))])
    assert [make().resolve(name) for name in "abcd"] == ["d"] * 4
    p.tag("a", "helpful")
    assert p.get("d").counts == Counts(helpful=1)
    assert p.apply([Merge(ids=("a", "b"))]).effects[0].status is Applied.UNCHANGED
    p.remove("b")
    assert [p.resolve(name) for name in "abcd"] == [None] * 4


def test_an_id_that_names_nothing_is_not_found(p):
    """`get` raises, `resolve` gives None, a blank id is invalid."""
    with pytest.raises(NotFound, match="no entry 'x'"):
        p.get("x")
    assert p.resolve("x") is None
    with pytest.raises(InvalidInput):
        p.get(" ")


def test_entries_come_in_order_of_first_writing(p):
    """Changes do not move them, and what was removed and brought back is where it was."""
    p.apply([Add(id=name, content=name, section=section) for name, section in ("aX", "bY", "cX", "dY")])
    p.tag("a", "helpful")
    p.remove("b")
    p.rollback(p.number - 1)
    assert [entry.id for entry in p.entries()] == ["a", "b", "c", "d"]
    assert [entry.id for entry in p.entries(section="Y")] == ["b", "d"]
    assert p.entries(section="Z") == []


def test_what_is_no_delta_is_refused_before_anything_is_written(p):
    """A dictionary, a text or one delta in place of a list."""
    for given in ([{"type": "ADD"}], "ADD", Add(content="a"), None, 7):
        with pytest.raises(WrongType):
            p.apply(given)
    with pytest.raises(InvalidInput):
        p.apply([Add(content="a")], by=" ")
    assert p.number == 0


def test_scopes_see_nothing_of_each_other(p, make):
    """The same ids in two scopes are two entries; below a scope is another one."""
    p.add("a")
    bob, below = make(("acme", "bob")), make(("acme", "alice", "work"))
    assert [each.resolve("oth-00001") for each in (bob, below)] == [None, None]
    bob.add("b")
    assert (contents(p), contents(bob), contents(below)) == (["a"], ["b"], [])


def test_foreign_and_damaged_entries_do_not_break_the_others(p, make, store, clock):
    """Missing fields have their defaults, what says nothing is left out, and a foreign entry can be changed."""

    def put(name, text, data):
        store.apply([Put(Record(key=Key(p.scope, "entry", name), text=text, at=clock.now(), data=data))])

    p.add("a")
    put("bare-00009", "No fields at all", {})
    put("odd", "Fields of other types", {"section": 7, "outcome": "x", "helpful": "many", "aliases": "no"})
    put("lines", "x", {"section": "two\n[+] lines", "retired": " "})
    put("blank", "  ", {"section": "S"})
    put("huge", "y", {"helpful": 1e300})
    put("list", "  ", {"outcome": ["success"]})
    for playbook in (p, make()):
        assert {entry.id for entry in playbook.entries()} == {"oth-00001", "bare-00009", "odd", "lines"}
        assert {entry.section for entry in playbook.entries()} == {"OTHERS"}
    assert p.add("b").id == "oth-00010"
    p.tag("bare-00009", "helpful")
    assert p.get("bare-00009").counts == Counts(helpful=1)
    p.rollback(p.number - 1)
    assert p.get("bare-00009").counts == Counts()
    put("bare-00009", " ", {})
    assert {entry.id for entry in p.entries()} == {"oth-00001", "odd", "lines", "oth-00010"}


def test_an_entry_says_what_it_was_learned_from(p, store):
    """Its record names the sources, so that they can be explained and forgotten together."""
    p.add("a", sources=(RUN,))
    (hit,) = store.find(Query(scope=p.scope, kinds=("entry",), source=RUN)).hits
    assert hit.text == "a"


def test_an_embedder_that_fails_is_reported(store, clock):
    """The entry is written, found by words, and its effect says what is missing."""

    def down(texts):
        raise EmbeddingError("no route to the embedder")

    p = Playbook(store, embedder=down, clock=clock)
    written, removed = p.apply([Add(content="Log in first."), Remove(id="x")]).effects
    assert written.status is Applied.WRITTEN
    assert "no route to the embedder" in written.reason
    assert removed.reason == "there is no entry 'x'"
    assert [hit.id for hit in p.search("log in")] == ["oth-00001"]

"""Curators: every operation of a model's reply, replies of every kind, and rules where there is no model."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.asking import run
from seasoned.errors import InvalidInput
from seasoned.playbook.curators import DeterministicCurator, ModelCurator, read_operations
from seasoned.playbook.deltas import Add, Merge, Remove, Tag, Update
from seasoned.playbook.entries import Entry, Mark, Outcome
from seasoned.playbook.reflections import Curated, Reflection
from seasoned.playbook.traces import Trace
from seasoned.records import Key, Scope
from seasoned.testing import ScriptedModel

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ENTRIES = [
    Entry(id="shr-00001", section="STRATEGIES", content="Read all pages.", created_at=NOW, updated_at=NOW),
    Entry(id="shr-00002", section="STRATEGIES", content="Page on.", created_at=NOW, updated_at=NOW, aliases=("old-1",)),
    Entry(id="calc-00003", section="FORMULAS", content="a = b", created_at=NOW, updated_at=NOW),
]
MARK = Tag(id="shr-00001", mark=Mark.HELPFUL)
VIEW = Reflection(key_insight="Ask for all pages.", deltas=(Add(content="Ask for all pages."),), marks=(MARK,))
TRACE = Trace(id="r1", task="Sum")


def curated(model, view=VIEW, trace=TRACE, **options) -> Curated:
    return run(ModelCurator(**options).curate(view, ENTRIES, trace), model)


def said(*operations, **fields) -> str:
    return json.dumps({"reasoning": "so", "operations": list(operations), **fields})


def read(*operations, **fields):
    """Return the deltas and warnings of operations."""
    found = read_operations(said(*operations), ENTRIES, **fields)
    return list(found.deltas), list(found.warnings)


def test_rules_take_over_what_is_suggested_once():
    """Marks first; additions that are alike but for case and spaces become one with the sources of both."""
    one, two = Key(Scope("t"), "turn", "1"), Key(Scope("t"), "turn", "2")
    view = Reflection(
        deltas=(
            Add(content="Ask twice.", section="s", sources=(one,)),
            Remove(id="shr-00002"),
            Add(content="ask  TWICE.", section="S", sources=(two,)),
            Remove(id="shr-00002"),
            Add(content="Ask twice.", section="s", outcome=Outcome.FAILURE),
        ),
        marks=(MARK,),
    )
    assert DeterministicCurator().curate(view, ENTRIES, TRACE).deltas == (
        MARK,
        Add(content="Ask twice.", section="s", sources=(one, two)),
        Remove(id="shr-00002"),
        Add(content="Ask twice.", section="s", outcome=Outcome.FAILURE),
    )


def test_every_operation_of_the_paper_works():
    """ADD, UPDATE, MERGE, DELETE and TAG, with the marks of the reflection before them; suggestions are its own."""
    reply = said(
        {"type": "ADD", "section": "FORMULAS", "content": "c = d"},
        {"type": "UPDATE", "id": "calc-00003", "content": "a = b + 1"},
        {"type": "MERGE", "ids": ["shr-00001", "shr-00002"], "content": "Read page by page."},
        {"type": "DELETE", "id": "calc-00003"},
        {"type": "TAG", "id": "shr-00002", "tag": "harmful"},
    )
    assert curated(ScriptedModel([reply])) == Curated(
        reasoning="so",
        deltas=(
            MARK,
            Add(section="FORMULAS", content="c = d"),
            Update(id="calc-00003", content="a = b + 1"),
            Merge(ids=("shr-00001", "shr-00002"), content="Read page by page."),
            Remove(id="calc-00003"),
            Tag(id="shr-00002", mark=Mark.HARMFUL),
        ),
    )


def test_operations_are_read_in_other_words():
    """Names without case, ids in brackets or of merged entries, other names of the fields."""
    assert read(
        {"op": "create", "Category": "## formulas", "text": "c = d"},
        {"action": "modify", "bullet_id": "[old-1]", "new_content": "Page on and on.", "section": "New Section"},
        {"operation": "Merge", "source_ids": "shr-00001, old-1, shr-00002", "merged_content": "Page on."},
        {"type": "remove", "entry_id": "calc-00003"},
        {"type": "add", "content": "No section."},
    ) == (
        [
            Add(section="FORMULAS", content="c = d"),
            Update(id="shr-00002", content="Page on and on.", section="New Section"),
            Merge(ids=("shr-00001", "shr-00002"), content="Page on."),
            Remove(id="calc-00003"),
            Add(section="OTHERS", content="No section."),
        ],
        [],
    )


def test_what_is_unknown_is_ignored_with_a_warning_and_the_rest_stands():
    """Operations, ids, tags, contents."""
    deltas, warnings = read(
        {"type": "EXPLODE", "id": "shr-00001"},
        {"type": "UPDATE", "id": "999", "content": "x"},
        {"type": "UPDATE", "id": "shr-00001"},
        {"type": "DELETE"},
        {"type": "MERGE", "ids": ["shr-00001", "999"]},
        {"type": "TAG", "id": "shr-00001", "tag": "superb"},
        {"type": "ADD", "section": "S", "content": None},
        {"type": "ADD", "section": "S", "content": "Check it. " * 40},
        "ADD something",
        {"type": "ADD", "section": "S", "content": "good"},
    )
    assert deltas == [Add(section="S", content="good")]
    assert warnings == [
        "operation 1, EXPLODE, was ignored: there is no such operation",
        "operation 2, UPDATE, was ignored: there is no entry '999'",
        "operation 3, UPDATE, was ignored: it changes nothing",
        "operation 4, DELETE, was ignored: there is no entry ''",
        "operation 5, MERGE, was ignored: a merge needs two entries that exist, found ['shr-00001'] of "
        "['shr-00001', '999']",
        "operation 6, TAG, was ignored: its tag is neither helpful, harmful nor neutral",
        "operation 7, ADD, was ignored: it has no content",
        "operation 8, ADD, was ignored: it repeats itself",
        "1 operations were ignored: they are no objects",
    ]


def test_a_merge_of_known_and_unknown_ids_takes_the_known():
    """Where two are left."""
    assert read({"type": "MERGE", "ids": ["shr-00001", "999", {"id": "calc-00003"}], "content": "Both."}) == (
        [Merge(ids=("shr-00001", "calc-00003"), content="Both.")],
        [],
    )


def test_a_merge_without_a_text_is_ignored():
    """What the others say would be lost."""
    deltas, warnings = read({"type": "MERGE", "ids": ["shr-00001", "calc-00003"]})
    assert (deltas, warnings) == ([], ["operation 1, MERGE, was ignored: it has no content"])


def test_a_reply_of_too_many_operations_is_cut():
    """At 32, with a warning."""
    deltas, warnings = read(*({"type": "ADD", "section": "S", "content": f"rule {n}"} for n in range(40)))
    assert len(deltas) == 32
    assert warnings == ["8 operations above 32 were ignored"]


def test_equal_operations_count_once():
    """A model that repeats itself adds nothing twice and marks nothing twice."""
    add, tag = {"type": "ADD", "section": "S", "content": "rule"}, {"type": "TAG", "id": "shr-00001", "tag": "helpful"}
    assert read(add, tag, add, tag)[0] == [Add(section="S", content="rule"), Tag(id="shr-00001", mark=Mark.HELPFUL)]


def test_a_model_calls_an_advice_a_success_only_where_the_run_is_known_to_have_gone_well():
    """A failure it may always call one."""
    operations = [{"type": "ADD", "content": word, "outcome": word} for word in ("success", "failure", "great")]
    outcomes = lambda found: [each.outcome for each in found[0]]  # noqa: E731
    neutral = Outcome.NEUTRAL
    assert outcomes(read(*operations)) == [neutral, Outcome.FAILURE, neutral]
    assert outcomes(read(*operations, succeeded=True)) == [Outcome.SUCCESS, Outcome.FAILURE, neutral]
    model = ScriptedModel([said(*operations), said(*operations)])
    assert curated(model, trace=Trace(id="r", reward=1)).deltas[1].outcome is Outcome.SUCCESS
    assert curated(model, trace=Trace(id="r", reward=0)).deltas[1].outcome is neutral


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"operations": [{"type": "DELETE", "id": "calc-00003"}]}\n```',
        'Sure: [{"type": "DELETE", "id": "calc-00003"}]',
        '{"type": "DELETE", "id": "calc-00003"}',
        '{"Operations": {"type": "DELETE", "id": "calc-00003"}}',
        '<think>{"operations": []}</think>{"operations": [{"type": "DELETE", "id": "calc-00003"}]}',
    ],
)
def test_a_reply_is_read_whatever_stands_around_it(reply):
    """A list or one operation will do as well."""
    model = ScriptedModel([reply])
    assert curated(model).deltas == (MARK, Remove(id="calc-00003"))
    assert len(model.calls) == 1


@pytest.mark.parametrize(
    "reply", ['{"operations": []}', '{"operations": null}', "[]", '{"reasoning": "nothing to do"}']
)
def test_to_change_nothing_is_a_decision(reply):
    """The marks stand, nobody is asked again."""
    model = ScriptedModel([reply])
    found = curated(model)
    assert (found.deltas, found.degraded) == ((MARK,), None)
    assert len(model.calls) == 1


@pytest.mark.parametrize("reply", ["", "no changes", '{"operations": [{"type": "ADD"', '{"facts": null}', "{}"])
def test_a_reply_that_cannot_be_read_is_asked_for_again_then_rules_decide(reply):
    """With the reason; after the retries what was suggested stands, and it says so."""
    model = ScriptedModel([reply, '{"operations": []}'])
    assert curated(model).degraded is None
    assert "Your last reply could not be used" in model.calls[1].text
    found = curated(ScriptedModel([reply, reply]))
    assert found.deltas == (MARK, Add(content="Ask for all pages."))
    assert found.degraded.startswith("curated without the model: model: the reply")
    assert found.warnings == (found.degraded,)


@pytest.mark.parametrize("error", [TimeoutError("60 s"), RuntimeError("boom")])
def test_where_the_model_raises_rules_decide(error):
    """It is asked once."""
    model = ScriptedModel([error, '{"operations": []}'])
    found = curated(model)
    assert found.deltas == (MARK, Add(content="Ask for all pages."))
    assert str(error) in found.degraded
    assert len(model.calls) == 1


def test_a_reflection_that_suggests_nothing_is_not_asked_about():
    """Its marks are taken over."""
    assert curated(None, Reflection(marks=(MARK,))).deltas == (MARK,)


@pytest.mark.parametrize("options", [{"budget_tokens": 0}, {"retries": True}, {"max_tokens": 0}])
def test_options_are_checked(options):
    """When it is made."""
    with pytest.raises(InvalidInput):
        ModelCurator(**options)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(["shr-00001", "old-1", "ADD", "UPDATE", "MERGE", "DELETE", "TAG", "helpful"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["type", "id", "ids", "content", "section", "tag", "operations", "outcome"]), inner, max_size=6
    ),
    max_leaves=25,
)  # fmt: skip


@given(_JSON.map(json.dumps) | st.text())
def test_reading_never_raises_and_never_names_what_does_not_exist(reply):
    """Whatever a model replies."""
    found = read_operations(reply, ENTRIES)
    known = {entry.id for entry in ENTRIES}
    for delta in [] if isinstance(found, str) else found.deltas:
        if isinstance(delta, Merge):
            assert set(delta.ids) <= known
        elif not isinstance(delta, Add):
            assert delta.id in known

"""Reflecting by a model: replies of every kind, rounds, and what happens where the model fails."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seasoned.asking import arun, run
from seasoned.errors import InvalidInput, ModelError
from seasoned.playbook.deltas import Add, Tag
from seasoned.playbook.entries import Entry, Mark, Outcome
from seasoned.playbook.reflections import Reflection
from seasoned.playbook.reflectors import FeedbackReflector, ModelReflector, read_reflection
from seasoned.playbook.traces import Trace, TraceStep
from seasoned.testing import AsyncScriptedModel, ScriptedModel

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ENTRIES = [
    Entry(id="shr-00001", section="S", content="Read all pages.", created_at=NOW, updated_at=NOW, aliases=("old-1",)),
    Entry(id="shr-00002", section="S", content="Check units.", created_at=NOW, updated_at=NOW),
    Entry(id="shr-00003", section="S", content="Never used.", created_at=NOW, updated_at=NOW),
]
TRACE = Trace(
    id="r1",
    task="Sum the songs",
    steps=(TraceStep(kind="tool", name="search", input={"n": 1}, error="boom"), TraceStep(kind="model", output="42")),
    answer="42",
    expected="43",
    reward=0.0,
    used=("shr-00001", "shr-00002"),
)
GOOD = {
    "reasoning": "It read one page.",
    "error_identification": "A page is missing.",
    "root_cause_analysis": "It did not ask for page 2.",
    "correct_approach": "Ask until a page is empty.",
    "key_insight": "Ask for pages until one is empty.",
    "bullet_tags": [{"id": "shr-00001", "tag": "helpful"}, {"id": "shr-00002", "tag": "neutral"}],
}
READ = Reflection(
    **{name: text for name, text in GOOD.items() if name != "bullet_tags"},
    deltas=(Add(section="STRATEGIES & INSIGHTS", content="Ask for pages until one is empty."),),
    marks=(Tag(id="shr-00001", mark=Mark.HELPFUL), Tag(id="shr-00002", mark=Mark.NEUTRAL)),
)
BY_RULES = ['tool search with n=1 failed: "boom"', "42"]


def reflected(model, trace=TRACE, **options) -> Reflection:
    return run(ModelReflector(**options).reflect(trace, ENTRIES), model)


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "```json\n{}\n```",
        "Here is my view:\n\n{}\n\nI hope that this helps.",
        "<think>The run {{failed}} [see]</think>{}",
        "[{}]",
    ],
)
def test_a_reply_is_read_whatever_stands_around_it(wrap):
    """Fences, words and thinking are passed over."""
    model = ScriptedModel([wrap.replace("{{", "{").replace("}}", "}").replace("{}", json.dumps(GOOD))])
    assert reflected(model) == READ
    assert len(model.calls) == 1


def test_sync_and_async_models_give_the_same():
    """One flow serves both."""
    model = AsyncScriptedModel([json.dumps(GOOD)])
    assert asyncio.run(arun(ModelReflector().reflect(TRACE, ENTRIES), model)) == READ


def test_null_fields_and_wrong_types_are_passed_over():
    """What can be read counts; names are compared without case and hyphens; a number is its digits."""
    reply = {
        "reasoning": None,
        "Error-Identification": ["first", "second", {"no": 1}],
        "root_cause_analysis": {"nested": "object"},
        "correct_approach": 42,
        "key_insight": "  Keep it.  ",
        "bullet_tags": None,
    }
    assert reflected(ScriptedModel([json.dumps(reply)])) == Reflection(
        error_identification="first\nsecond",
        correct_approach="42",
        key_insight="Keep it.",
        deltas=(Add(section="STRATEGIES & INSIGHTS", content="Keep it."),),
    )


@pytest.mark.parametrize(
    "tags",
    [
        [{"id": "[shr-00001]", "tag": "HELPFUL"}],
        [{"bullet_id": "old-1", "mark": "useful"}],
        {"shr-00001": "helpful"},
        {"id": "shr-00001", "tag": "helpful"},
        ["shr-00001: helpful"],
        [{"id": "shr-00001", "tag": "helpful"}, {"id": "old-1", "tag": "harmful"}, {"id": "shr-00001", "tag": "+"}],
    ],
)
def test_marks_are_read_in_every_form_and_count_once(tags):
    """Under the id that stands for the entry now; the first word on it stands."""
    reply = json.dumps({"key_insight": "k", "bullet_tags": tags})
    assert reflected(ScriptedModel([reply])).marks == (Tag(id="shr-00001", mark=Mark.HELPFUL),)


def test_marks_for_ids_that_do_not_exist_or_were_not_used_are_ignored_with_a_warning():
    """The others stand."""
    tags = [
        {"id": "999", "tag": "helpful"},
        {"id": "shr-00003", "tag": "helpful"},
        {"id": "shr-00002", "tag": "wonderful"},
        {"id": None, "tag": "helpful"},
        {"id": "shr-00001", "tag": "harmful"},
        7,
    ]
    found = reflected(ScriptedModel([json.dumps({"key_insight": "k", "bullet_tags": tags})]))
    assert found.marks == (Tag(id="shr-00001", mark=Mark.HARMFUL),)
    assert found.warnings == (
        "a mark for '999' was ignored: the run used no such entry",
        "a mark for 'shr-00003' was ignored: the run used no such entry",
        "a mark for 'shr-00002' was ignored: neither helpful, harmful nor neutral",
    )


@pytest.mark.parametrize(
    ("insight", "why"),
    [
        ("Check the units. " * 500, "it has 8499 characters, more than 2000"),
        ("Check the units. " * 20, "it repeats itself"),
        ("検算する。" * 40, "it repeats itself"),
        ('{"key_insight": "a blob"}', "it is JSON, no text"),
    ],
)
def test_degenerate_text_is_left_out_with_a_warning(insight, why):
    """Nothing of it is stored, the rest of the reply stands."""
    found = reflected(ScriptedModel([json.dumps({**GOOD, "key_insight": insight})]))
    assert found.warnings == (f"key_insight was left out: {why}",)
    assert found.deltas == ()
    assert found.correct_approach == "Ask until a page is empty."


def test_long_advice_that_says_something_is_kept():
    """A list of distinct steps is no repetition."""
    steps = " ".join(f"{n}. Ask {who} for {what}." for n, (who, what) in enumerate(
        [("the bank", "rates"), ("the broker", "fees"), ("the client", "limits"), ("the court", "terms"),
         ("the office", "a stamp"), ("the auditor", "the report"), ("the tax board", "a number")], 1))  # fmt: skip
    assert reflected(ScriptedModel([json.dumps({"key_insight": steps})])).key_insight == steps


@pytest.mark.parametrize(
    "reply",
    ["", "I cannot say.", '{"reasoning": "cut', "[1, 2]", "{}", '{"facts": null}', "<think>only thinking", '{"a": 1,}'],
)
def test_a_reply_that_cannot_be_read_is_asked_for_again_with_the_reason(reply):
    """Once by default; the second reply counts."""
    model = ScriptedModel([reply, json.dumps(GOOD)])
    assert reflected(model) == READ
    assert "Your last reply could not be used" not in model.calls[0].text
    assert "Your last reply could not be used" in model.calls[1].text


def test_where_no_reply_can_be_read_rules_reflect_and_say_so():
    """After the retries; nothing is a success."""
    model = ScriptedModel(["no", "no"])
    found = reflected(model)
    assert [each.content for each in found.deltas] == BY_RULES
    assert found.degraded == ("reflected without the model: round 1: model: the reply holds no JSON object or list")
    assert found.warnings == ("round 1: model: the reply holds no JSON object or list",)
    assert len(model.calls) == 2


@pytest.mark.parametrize("error", [TimeoutError("60 s"), ModelError("503"), RuntimeError("boom"), KeyError("x")])
def test_where_the_model_raises_rules_reflect_and_say_so(error):
    """It is asked once: a model that is down is not helped by asking again."""
    model = ScriptedModel([error, json.dumps(GOOD)])
    found = reflected(model)
    assert [each.content for each in found.deltas] == BY_RULES
    assert str(error) in found.degraded
    assert len(model.calls) == 1


def test_without_a_model_rules_reflect():
    """Nothing is asked of anybody."""
    assert [each.content for each in reflected(None).deltas] == BY_RULES


def test_another_reflector_may_stand_in():
    """Such as the one that reads the reward."""
    found = reflected(ScriptedModel([ModelError("503")]), otherwise=FeedbackReflector())
    assert {mark.mark for mark in found.marks} == {Mark.HARMFUL}
    assert found.degraded is not None


def test_rounds_show_the_model_its_own_view():
    """The last round stands, and counts as one reflection: no mark is given twice."""
    better = {**GOOD, "key_insight": "Pages end where one is empty."}
    model = ScriptedModel([json.dumps(GOOD), json.dumps(better), json.dumps(better)])
    found = reflected(model, rounds=3)
    assert found.key_insight == "Pages end where one is empty."
    assert [mark.id for mark in found.marks] == ["shr-00001", "shr-00002"]
    assert [call.text.count("Your view so far.") for call in model.calls] == [0, 1, 1]
    assert "| Ask for pages until one is empty." in model.calls[1].text


def test_a_round_that_fails_leaves_the_view_before_it():
    """With a warning, not degraded: the model has spoken."""
    found = reflected(ScriptedModel([json.dumps(GOOD), TimeoutError("60 s")]), rounds=2)
    assert found.key_insight == GOOD["key_insight"]
    assert found.degraded is None
    assert found.warnings == ("round 2: model: the model failed at 'playbook-reflect': TimeoutError: 60 s",)


def test_a_models_praise_is_no_success():
    """The insight is neutral, whatever the model says of the run."""
    reply = json.dumps({"reasoning": "A great success.", "key_insight": "Go on so.", "outcome": "success"})
    assert [each.outcome for each in reflected(ScriptedModel([reply])).deltas] == [Outcome.NEUTRAL]


def test_lone_surrogates_in_a_reply_are_replaced():
    """As everywhere in a store."""
    assert reflected(ScriptedModel(['{"key_insight": "bad \\ud800 end"}'])).key_insight == "bad \ufffd end"


@pytest.mark.parametrize("options", [{"rounds": 0}, {"retries": -1}, {"max_tokens": True}])
def test_options_are_checked(options):
    """When it is made."""
    with pytest.raises(InvalidInput):
        ModelReflector(**options)


def test_a_subclass_may_override_reflect():
    """And build on what the class gives."""

    class Strict(ModelReflector):
        def reflect(self, trace, entries):
            found = yield from self.asking(trace, entries)
            return [*found.deltas, *found.marks]

    assert run(Strict().reflect(TRACE, ENTRIES), ScriptedModel([json.dumps(GOOD)])) == [*READ.deltas, *READ.marks]


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["shr-00001", "helpful"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*GOOD, "id", "tag", "x"]) | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=20,
)


@given(_JSON.map(json.dumps) | st.text())
def test_reading_never_raises_and_never_marks_what_was_not_used(reply):
    """Whatever a model replies."""
    found = read_reflection(reply, ENTRIES[:2])
    if isinstance(found, str):
        assert found
    else:
        assert {mark.id for mark in found.marks} <= {"shr-00001", "shr-00002"}
        assert len({mark.id for mark in found.marks}) == len(found.marks)

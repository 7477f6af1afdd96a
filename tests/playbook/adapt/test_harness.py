"""Offline and online adaptation of a playbook to made-up formulas."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.asking import Ask
from seasoned.errors import InvalidInput, ModelError, WrongType
from seasoned.playbook import Add, FeedbackReflector, Mark, Playbook, Reflection, Tag
from seasoned.playbook.adapt import (
    Adaptation,
    Budget,
    Check,
    Data,
    Example,
    Generated,
    Roles,
    Settings,
    read_rows,
)

from .figures import RULES, TASK, AsyncLearner, Learner, examples, online_data, written

ONLINE = Settings(mode="online", window=4)


def contents(playbook):
    """What the playbook says, with its counters."""
    return [(e.id, e.content, e.counts.helpful, e.counts.harmful, e.counts.neutral) for e in playbook.entries()]


def test_online_accuracy_rises_as_the_playbook_learns(playbook):
    """The first window is wrong, since nobody knows the formulas; the later ones are right."""
    result = Adaptation(playbook, TASK, ONLINE).run(online_data(), Learner())
    assert [score.accuracy for score in result.windows] == [0.0, 1.0, 1.0, 1.0]
    assert result.online is not None
    assert result.online.accuracy == 0.75
    assert result.finished
    assert {each.content for each in playbook} == {rule for rule, _ in RULES.values()}


def test_a_right_answer_takes_four_calls_and_one_that_is_never_right_nine(playbook):
    """Generate, reflect, curate and generate again; or up to three rounds of reflecting and trying again between."""
    model = Learner()
    result = Adaptation(playbook, TASK, ONLINE).run(online_data(), model)
    assert Counter(model.asked) == {
        "playbook-generate": 4 * 5 + 12 * 2, "playbook-reflect": 4 * 3 + 12, "playbook-curate": 16,
    }  # fmt: skip
    assert result.spent.calls == len(model.asked) == 4 * 9 + 12 * 4
    assert result.spent.failed == 0


def test_entries_that_were_used_are_counted_once_a_sample(playbook):
    """Each formula helped in three of its four questions; the first, which it was learned from, did not use it."""
    Adaptation(playbook, TASK, ONLINE).run(online_data(), Learner())
    assert [counts[2:] for counts in contents(playbook)] == [(3, 0, 0)] * 4


def test_a_sample_of_many_rounds_counts_once(playbook):
    """Three rounds in which an entry is used and called harmful are one harmful mark."""

    class Misled:
        def generate(self, example, shown, reflection):
            return Generated(answer="7", used=shown.ids)

    playbook.add("Answer 7.", id="bad-00001")
    roles = Roles(generator=Misled(), reflector=FeedbackReflector(feedback=False, notes=False))
    Adaptation(playbook, TASK, Settings(), roles=roles).run(Data(train=examples(1)), Learner())
    assert contents(playbook)[0] == ("bad-00001", "Answer 7.", 0, 1, 0)


def test_an_entry_that_was_used_and_never_judged_is_marked_neutral(playbook):
    """It was used, which is known; what it did is not."""

    class Silent:
        def reflect(self, trace, entries):
            return Reflection(reasoning="nothing to say")

    class Nothing:
        def curate(self, reflection, entries, trace):
            return None

    class Reader:
        def generate(self, example, shown, reflection):
            return Generated(answer="7", used=shown.ids)

    playbook.add("Answer 7.", id="bad-00001")
    roles = Roles(generator=Reader(), reflector=Silent(), curator=Nothing())
    Adaptation(playbook, TASK, Settings(recheck=False), roles=roles).run(Data(train=examples(2)), None)
    assert contents(playbook) == [("bad-00001", "Answer 7.", 0, 0, 2)]


def test_offline_keeps_the_playbook_that_validated_best(playbook):
    """A curator that ruins the playbook at its second step: the first one's is kept, and tested."""

    class Ruining:
        def curate(self, reflection, entries, trace):
            if trace.sample <= 4:
                return [Add(section="FORMULAS & CALCULATIONS", content=rule) for rule, _ in RULES.values()]
            return [Tag(id=each.id, mark=Mark.HARMFUL) for each in entries] + [
                Add(content=f"Forget the formulas, {trace.sample}.")
            ]

    class Believing:
        def generate(self, example, shown, reflection):
            ruined = "Forget the formulas" in shown.text
            return "0" if ruined or not shown.text else example.target

    roles = Roles(generator=Believing(), curator=Ruining(), reflector=FeedbackReflector(notes=False))
    data = Data(train=examples(8), val=examples(4, start=20), test=examples(4, start=40))
    result = Adaptation(playbook, TASK, Settings(batch=4, validate_every=1), roles=roles).run(data, None)
    assert [score.accuracy for score in result.validations] == [1.0, 0.0]
    assert result.best == 1
    assert result.test is not None
    assert result.test.accuracy == 1.0
    assert all("Forget" not in each.content for each in playbook)
    assert playbook.history()[-1].number == result.number == 3


@pytest.mark.parametrize("count", [1, 3, 7])
def test_a_few_samples_are_trained_validated_and_tested_like_many(playbook, count):
    """The trained playbook is tested, though there were fewer steps than between two validations."""
    data = Data(train=examples(count), val=examples(4, start=20), test=examples(count, start=40))
    result = Adaptation(playbook, TASK, Settings(validate_every=100, baseline=True)).run(data, Learner())
    assert [score.total for score in result.validations] == [4]
    assert result.test is not None
    assert result.baseline is not None
    assert (result.baseline.accuracy, result.test.accuracy) == (0.0, 1.0)


def test_epochs_go_over_the_examples_again(playbook):
    """In the second every formula is known."""
    result = Adaptation(playbook, TASK, Settings(epochs=2)).run(Data(train=examples(4)), Learner())
    assert [(score.name, score.accuracy) for score in result.train] == [("e1", 0.0), ("e2", 1.0)]
    assert [score.accuracy for score in result.after] == [1.0, 1.0]


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_the_number_of_workers_changes_nothing(workers):
    """Batches of five are merged in the order of their examples, however many threads work on them."""
    with Playbook(embedder="hashing") as playbook:
        run = Settings(mode="online", window=5, batch=5, workers=workers)
        result = Adaptation(playbook, TASK, run).run(online_data(20), Learner())
        assert [score.accuracy for score in result.windows] == [0.0, 1.0, 1.0, 1.0]
        names = [
            "Quick Share = A / B",
            "Net Spread = A - B",
            "Cover Gap = (A - B) / B x 100",
            "Yield Twice = 2 x A / B",
        ]
        assert [each.content for each in playbook] == names
        assert [each[2:] for each in contents(playbook)] == [(3, 0, 0), (4, 0, 0), (4, 0, 0), (4, 0, 0)]


def test_workers_really_work_at_once(playbook):
    """Four examples of one window meet in the model, which waits for all of them."""
    meeting = threading.Barrier(4)

    class Meeting:
        def generate(self, example, shown, reflection):
            meeting.wait(timeout=30)
            return example.target

    data = Data(train=examples(4), test=examples(4))
    roles = Roles(generator=Meeting(), reflector=FeedbackReflector(notes=False, feedback=False))
    run = Settings(batch=4, workers=4, recheck=False)
    result = Adaptation(playbook, TASK, run, roles=roles).run(data, None)
    assert result.test is not None
    assert result.test.accuracy == 1.0


def test_an_async_model_gives_the_same_by_run_and_by_arun():
    """Tasks in place of threads."""

    def through(call):
        with Playbook(embedder="hashing") as playbook:
            run = Settings(mode="online", window=4, batch=4, workers=3)
            result = call(Adaptation(playbook, TASK, run))
            return result.windows, result.spent, contents(playbook)

    data = online_data(12)
    expected = through(lambda each: each.run(data, Learner()))
    assert through(lambda each: each.run(data, AsyncLearner())) == expected
    assert through(lambda each: asyncio.run(each.arun(data, AsyncLearner()))) == expected
    assert through(lambda each: asyncio.run(each.arun(data, Learner()))) == expected


def test_a_failed_call_is_a_wrong_answer_that_is_reported(playbook):
    """The second test call fails: that example is wrong, the others count, and the run ends."""
    model = Learner([2], lambda: RuntimeError("the line went dead"))
    result = Adaptation(playbook, TASK, ONLINE).run(online_data(8), model)
    assert [(score.right, score.total, score.failed) for score in result.windows] == [(0, 4, 1), (4, 4, 0)]
    assert (result.failed, result.spent.failed, result.finished) == (1, 1, True)


def test_whichever_call_fails_the_run_ends_and_every_example_is_counted():
    """For every n: call n fails, nothing is raised, and all windows are whole."""
    for number in range(1, 37):
        with Playbook(embedder="hashing") as playbook:
            model = Learner([number], lambda: ModelError("overloaded"))
            run = Settings(mode="online", window=4, rounds=2)
            result = Adaptation(playbook, TASK, run).run(online_data(8), model)
        assert [score.total for score in result.windows] == [4, 4]
        assert (result.finished, result.spent.failed) == (True, 1)
        assert set(result.errors) <= {"overloaded"}


def test_an_example_that_failed_while_learning_gets_one_more_try(playbook):
    """The reflector's call fails: nothing of the example is taken over, and it is learned from after the others."""
    model = Learner([2], lambda: ModelError("overloaded"))
    result = Adaptation(playbook, TASK, Settings()).run(Data(train=examples(4)), model)
    assert [each.content for each in playbook] == [
        rule for rule, _ in [*list(RULES.values())[1:], RULES["Quick Share"]]
    ]
    assert (result.failed, result.spent.failed) == (0, 1)


def test_an_example_that_always_fails_is_counted_and_costs_the_others_nothing(playbook):
    """Every role of its own code raises on it."""

    class Picky:
        def generate(self, example, shown, reflection):
            if example.id == "1":
                raise ZeroDivisionError("no such formula")
            return example.target

    roles = Roles(generator=Picky(), reflector=FeedbackReflector(notes=False, feedback=False))
    data = Data(train=examples(3), test=examples(3))
    result = Adaptation(playbook, TASK, Settings(), roles=roles).run(data, None)
    assert result.test is not None
    assert (result.test.right, result.test.failed) == (2, 1)
    assert result.finished


def test_a_budget_of_calls_is_never_exceeded(playbook, tmp_path):
    """It stops in the middle, says so, and with a larger budget goes on to the same end."""
    model, folder = Learner(), tmp_path / "run"

    def session(calls):
        bounded = Settings(mode="online", window=4, workers=3, budget=Budget(calls=calls))
        return Adaptation(playbook, TASK, bounded, checkpoint=folder).run(online_data(), model)

    first = session(30)
    assert (first.finished, first.spent.calls, len(model.asked)) == (False, 30, 30)
    assert first.stopped == "the budget of 30 calls is spent"
    assert first.windows[0].total == 4
    second = session(None)
    assert (second.finished, second.stopped) == (True, None)
    assert [score.accuracy for score in second.windows] == [0.0, 1.0, 1.0, 1.0]
    assert second.spent.calls == len(model.asked) == 84


def test_a_budget_of_tokens_stops_a_run(playbook):
    """No call is begun once the tokens are spent."""
    tight = Settings(mode="online", window=4, budget=Budget(tokens=1_000))
    result = Adaptation(playbook, TASK, tight).run(online_data(), Learner())
    assert result.stopped == "the budget of 1000 tokens is spent"
    assert 1_000 <= result.spent.tokens < 3_000


def test_tokens_are_those_that_the_model_reports(playbook):
    """An estimate only stands in where it reports none."""

    class Usage:
        prompt_tokens = 0
        completion_tokens = 0

    class Counting(Learner):
        usage = Usage()

        def chat(self, messages, **asked):
            self.usage.prompt_tokens += 100
            self.usage.completion_tokens += 10
            return super().chat(messages, **asked)

    result = Adaptation(playbook, TASK, Settings()).run(Data(train=examples(1)), Counting())
    assert (result.spent.calls, result.spent.prompt_tokens, result.spent.completion_tokens) == (9, 900, 90)


def test_progress_tells_how_many_are_through_of_how_many(playbook):
    """Once an example, from 1 to the last, with the accuracy of the phase."""
    told: list[tuple[int, int, float]] = []
    Adaptation(playbook, TASK, ONLINE, progress=lambda *each: told.append(each)).run(online_data(8), Learner())
    assert [done for done, _, _ in told] == list(range(1, 17))
    assert {total for _, total, _ in told} == {16}
    assert [accuracy for _, _, accuracy in told[8:12]] == [1.0] * 4


def test_a_progress_callback_that_raises_ends_nothing(playbook, caplog):
    """It is logged, and not called again."""
    calls = []

    def broken(done, total, accuracy):
        calls.append(done)
        raise OSError("no terminal")

    with caplog.at_level(logging.WARNING, "seasoned.playbook"):
        result = Adaptation(playbook, TASK, ONLINE, progress=broken).run(online_data(4), Learner())
    assert result.finished
    assert calls == [1]
    assert "progress callback" in caplog.text


def test_results_are_json_lines_with_one_for_each_example(playbook, tmp_path):
    """Question by question: what was said, what was expected, which entries were used."""
    folder = tmp_path / "run"
    result = Adaptation(playbook, TASK, ONLINE, checkpoint=folder).run(online_data(8), Learner())
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    tested = [row for row in rows if row["type"] == "answered" and row["phase"].startswith("window")]
    assert [row["id"] for row in tested] == [str(number) for number in range(8)]
    assert (tested[0]["answer"], tested[0]["target"], tested[0]["right"]) == ("0", "3.0", False)
    assert (tested[4]["right"], tested[4]["used"]) == (True, ["fc-00001"])
    assert json.loads(json.dumps(result.to_json()))["windows"][1]["accuracy"] == 1.0
    assert (folder / "results.jsonl").stat().st_mode & 0o077 == 0


def test_the_playbook_names_the_run_of_each_change(playbook):
    """The history says by which step an entry was learned."""
    result = Adaptation(playbook, TASK, Settings()).run(Data(train=examples(2)), Learner())
    assert [change.by for change in playbook.history()] == [f"{result.run}/e1/00001", f"{result.run}/e1/00002"]


def test_two_runs_over_one_playbook_do_not_take_each_other_for_repetitions(playbook):
    """Each run has a name of its own, so the second one's marks count too."""
    for _ in range(2):
        Adaptation(playbook, TASK, Settings()).run(Data(train=examples(4)), Learner())
    assert [counts[2] for counts in contents(playbook)] == [1, 1, 1, 1]


def test_only_entries_that_were_shown_count_as_used(playbook):
    """An id that the model makes up is passed over, and said."""

    class Inventing(Learner):
        def chat(self, messages, *, max_tokens, temperature, tag):
            if tag == "playbook-generate":
                return json.dumps({"reasoning": "", "bullet_ids": ["[xyz-00099]", "fc-00001"], "final_answer": "1"})
            return super().chat(messages, max_tokens=max_tokens, temperature=temperature, tag=tag)

    playbook.add(RULES["Quick Share"][0], "FORMULAS & CALCULATIONS")
    Adaptation(playbook, TASK, Settings()).run(Data(train=examples(1)), Inventing())
    assert [(each.id, each.counts.harmful) for each in playbook] == [("fc-00001", 1)]


def test_the_shown_playbook_stays_within_its_budget(playbook):
    """Proven entries come first; the others do not fit."""
    for number in range(60):
        playbook.add(f"Some advice of no great length, number {number}.")
    playbook.tag("oth-00050", "helpful")
    seen = []

    class Seeing:
        def generate(self, example, shown, reflection):
            seen.append(shown)
            return example.target

    roles = Roles(generator=Seeing(), reflector=FeedbackReflector(notes=False, feedback=False))
    run = Settings(playbook_tokens=200, recheck=False)
    Adaptation(playbook, TASK, run, roles=roles).run(Data(train=examples(1)), None)
    assert "oth-00050" in seen[0].ids
    assert 1 < len(seen[0].ids) < 12
    assert len(seen[0].text) < 200 * 5


def test_an_agent_of_ones_own_may_ask_several_times(playbook):
    """A generator may be a flow; its steps are what the reflector sees."""

    class Agent:
        def generate(self, example, shown, reflection):
            plan = yield Ask(messages=[{"role": "user", "content": "plan"}], max_tokens=10, tag="plan")
            answer = yield Ask(messages=[{"role": "user", "content": plan}], max_tokens=10, tag="act")
            return Generated(answer=answer)

    def model(messages):
        return "3.0" if messages[-1]["content"] == "go" else "go"

    roles = Roles(generator=Agent(), reflector=FeedbackReflector(notes=False, feedback=False))
    run = Settings(recheck=False)
    result = Adaptation(playbook, TASK, run, roles=roles).run(Data(train=examples(1)), model)
    assert result.train[0].accuracy == 1.0
    assert result.spent.calls == 2


def test_a_task_of_ones_own_needs_a_name_examples_and_a_check(playbook, tmp_path):
    """Any object will do; what its check raises makes the answer wrong, never the run."""

    class Echo:
        name = "echo"

        def examples(self, path):
            return read_rows(path)

        def check(self, example, answer):
            if example.id == "2":
                raise KeyError("broken")
            return Check(right=answer == example.target)

    path = written(tmp_path / "echo.jsonl", examples(2))
    roles = Roles(reflector=FeedbackReflector(notes=False, feedback=False))

    class Repeating:
        def generate(self, example, shown, reflection):
            return example.target

    roles = Roles(generator=Repeating(), reflector=FeedbackReflector(notes=False, feedback=False))
    result = Adaptation(playbook, Echo(), Settings(), roles=roles).run(Data(train=Echo().examples(path)), None)
    assert (result.train[0].right, result.train[0].failed) == (1, 1)


def test_without_a_model_every_answer_is_wrong_and_says_why(playbook, tmp_path):
    """None is no model: nothing is raised, all is reported."""
    folder = tmp_path / "run"
    result = Adaptation(playbook, TASK, ONLINE, checkpoint=folder).run(online_data(2), None)
    assert (result.windows[0].failed, result.failed) == (2, 4)
    assert "no model was given" in (folder / "results.jsonl").read_text()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"mode": "sideways"}, InvalidInput),
        ({"epochs": 0}, InvalidInput),
        ({"batch": True}, WrongType),
        ({"workers": 1_000}, InvalidInput),
        ({"mode": "online", "epochs": 2}, InvalidInput),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, error):
    """Before anything is asked."""
    with pytest.raises(error):
        Settings(**wrong)


def test_examples_that_cannot_be_told_apart_are_refused():
    """An id stands once in a data set, and there is something to learn from."""
    twice = [*examples(1), *examples(1)]
    with pytest.raises(InvalidInput, match="twice"):
        Data(train=twice)
    with pytest.raises(InvalidInput, match="no example"):
        Data(train=[])
    with pytest.raises(InvalidInput, match="no validation"):
        Adaptation(Playbook(embedder="hashing"), TASK, ONLINE).run(Data(train=examples(1), val=examples(1)), None)
    with pytest.raises(InvalidInput, match="0 or more"):
        Budget(calls=-1)
    with pytest.raises(InvalidInput, match="blank"):
        Example(id="1", question=" ")


def test_rows_that_are_no_examples_are_named_by_their_line(tmp_path):
    """The line, and what is missing."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"context": "?", "target": 1.5}\n\n{"question": "?"}\n')
    with pytest.raises(InvalidInput, match=r"line 3 of rows\.jsonl"):
        read_rows(path)
    path.write_text('{"context": "c", "question": "?", "target": 1.5, "id": "a", "unit": "EUR"}\n')
    assert read_rows(path) == [Example(id="a", question="?", target="1.5", context="c", data={"unit": "EUR"})]


@settings(max_examples=15)
@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 5), st.integers(1, 6))
def test_every_example_is_tested_and_learned_from_once(count, window, batch, workers):
    """Whatever the sizes: as many windows as are needed, as many answers as examples."""
    with Playbook(embedder="hashing") as playbook:
        run = Settings(mode="online", window=window, batch=batch, workers=workers)
        result = Adaptation(playbook, TASK, run).run(online_data(count), Learner())
    assert [score.total for score in result.windows] == [min(window, count - at) for at in range(0, count, window)]
    assert sum(score.total for score in result.after) == count
    assert result.failed == 0

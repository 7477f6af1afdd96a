"""`context` and `outcome`."""

from __future__ import annotations

import pytest


@pytest.fixture
def remembered(filled):
    """The command line over three sessions and a note."""
    assert filled("remember", "Oolong is steeped thrice.").code == 0
    return filled


def test_a_session_that_is_not_there_is_exit_code_3(remembered):
    """With a task too; standard output stays empty, and no context is kept."""
    for more in ((), ("--task", "Make tea"), ("--json",), ("--query", "tea")):
        ran = remembered("context", "--session", "nope", *more)
        assert (ran.code, ran.out, ran.err) == (3, "", "no session 'nope'\n")
    assert remembered("list", "--kind", "context-trace").code == 3


def test_a_context_for_a_task_draws_on_all_that_is_remembered(remembered):
    """The messages go to standard output, the trace to standard error; JSON has both."""
    ran = remembered("context", "--task", "How is oolong steeped?", "--budget", "500")
    assert ran.code == 0
    assert "steeped thrice" in ran.out
    assert ran.out.endswith("How is oolong steeped?\n")
    assert " tokens of 500" in ran.err
    assert ran.err.splitlines()[-1].startswith("trace: ")
    made = remembered("context", "-t", "How is oolong steeped?", "--session", "tea", "--json").json
    assert made["trace"]
    assert any("Noted, oolong it is." in str(message["content"]) for message in made["messages"])


def test_an_outcome_credits_what_the_context_showed(remembered):
    """Once for each rater: the same word again changes nothing, another takes its place."""
    trace = remembered("context", "--task", "How is oolong steeped?", "--json").json["trace"]
    done = remembered("outcome", trace, "--rating", "9", "--note", "Good tea.", "--json").json
    assert (done["status"], done["effect"], done["replaced"]) == ("written", 0.8, None)
    assert any(each.startswith("note:") for each in done["credited"])
    again = remembered("outcome", trace, "--rating", "9", "--note", "Good tea.")
    assert (again.code, again.out.endswith(", as said before\n")) == (0, True)
    ran = remembered("outcome", trace, "--reward", "-0.5")
    assert (ran.code, "credited with -0.50 in place of +0.80" in ran.out) == (0, True)
    assert remembered("outcome", trace, "--reward", "1", "--by", "judge", "--json").json["replaced"] is None


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("context",), "--session, --task, or both"),
        (("context", "-t", "x", "-q", "y"), "--query is for a session alone"),
        (("context", "-s", "tea", "--run", "r"), "--run and --profile"),
        (("outcome", "x"), "--rating (0 to 10) or by --reward"),
        (("outcome", "x", "--rating", "1", "--reward", "1"), "one of them"),
        (("outcome", "x", "--rating", "11"), "10"),
        (("context", "-t", " "), "task"),
    ],
)
def test_what_cannot_be_meant_is_an_invalid_value(remembered, args, says):
    """One line in the words of the command line."""
    ran = remembered(*args)
    assert (ran.code, ran.err.count("\n"), ran.out) == (2, 1, "")
    assert says in ran.err


def test_a_trace_that_is_not_there_is_an_error(remembered):
    """It is named."""
    ran = remembered("outcome", "nobody", "--rating", "5")
    assert (ran.code, "'nobody'" in ran.err) == (1, True)

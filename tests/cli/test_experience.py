"""`seasoned decisions` and `seasoned feedback`."""

from __future__ import annotations

import pytest

from seasoned import Memory


@pytest.fixture
def decided(seasoned, tmp_path):
    """The command line over a memory with two decisions."""
    with Memory(tmp_path / "seasoned.db", embedder="hashing") as memory:
        memory.experience.record(
            "Friday 6PM", "call", 0.7, domain="relationships", episode="ep", metrics={"a.stress": 9}
        )
        memory.experience.record("Buying a bicycle", "haggle", -0.2, tags=["money"], id="b")
    return seasoned


def test_the_newest_decisions_are_listed(decided):
    """Newest first, as a table or as JSON."""
    listed = decided("decisions", "--json").json["decisions"]
    assert [each["action"] for each in listed] == ["haggle", "call"]
    assert listed[1]["metrics"] == {"a.stress": 9}
    assert "call on relationships" in decided("decisions").out
    assert len(decided("decisions", "-n", "1", "--json").json["decisions"]) == 1


def test_similar_decisions_are_found_by_situation(decided):
    """With metrics, a floor and tags, and the reasons."""
    found = decided("decisions", "friday evening", "--metric", "a.stress=10", "--min-reward", "0", "--json").json
    assert [each["action"] for each in found["decisions"]] == ["call"]
    assert "metrics" in found["decisions"][0]["why"]
    assert decided("decisions", "friday", "--tag", "nothing").code == 3
    assert decided("decisions", "friday", "--metric", "stress").code == 2
    assert decided("decisions", "--tag", "money").code == 2


def test_a_person_can_rate_from_the_terminal(decided):
    """The rating is there at once, and a second one stands in its place."""
    assert "8/10" in decided("feedback", "ep", "--rating", "8", "--note", "Partner called back.").out
    assert decided("decisions", "--json").json["decisions"][1]["feedback"]["overall_effectiveness"] == 8
    ran = decided("feedback", "ep", "-r", "3", "--worsened", "career", "--json").json
    assert [each["overall_effectiveness"] for each in ran["history"]] == [8, 3]
    assert decided("feedback", "b", "--decision", "-r", "1").code == 0


def test_a_rating_that_cannot_be_is_refused(decided):
    """An unknown episode is an error, a rating of 11 an invalid value."""
    assert decided("feedback", "nobody", "-r", "5").code == 1
    assert decided("feedback", "ep", "-r", "11").code == 2
    assert decided("feedback", "ep").code == 2

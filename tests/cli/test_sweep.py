"""`seasoned sweep` removes what is too old, too many or past its time."""

from __future__ import annotations


def test_only_the_last_of_a_kind_stay(seasoned):
    """The newest two notes are kept and the others are counted."""
    for number in range(5):
        seasoned("remember", f"note number {number}")
    ran = seasoned("--json", "sweep", "--kind", "note", "--keep-last", "2")
    assert (ran.code, ran.json["removed"]) == (0, {"note": 3})
    assert seasoned("--json", "stats").json["by_kind"] == {"note": 2}


def test_a_limit_without_a_kind_is_refused(seasoned):
    """Nothing is removed where it is not said of what."""
    seasoned("remember", "a note")
    ran = seasoned("sweep", "--keep-last", "0")
    assert ran.code == 2
    assert "--kind" in ran.err
    assert seasoned("--json", "stats").json["records"] == 1

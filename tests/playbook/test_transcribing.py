"""Texts that are read more than once, into a playbook that has a history, and with sections in any script."""

from __future__ import annotations

import pytest

from seasoned.errors import InvalidInput
from seasoned.playbook import Applied, Counts

TWICE = """\
## S
[a-00001] helpful=2 harmful=0 :: x
[a-00001] helpful=3 harmful=0 :: y
[a-00001] helpful=1 harmful=0 :: x
"""


def state(playbook):
    return [(entry.id, entry.content, entry.counts.helpful) for entry in playbook]


def test_a_text_in_which_an_id_stands_twice_counts_once_however_often_it_is_read(make):
    """What got a new id at the first reading has it at the next."""
    p = make()
    first = p.load_text(TWICE)
    assert state(p) == [("a-00001", "x", 3), ("a-00002", "y", 3)]
    for _ in range(2):
        again = make().load_text(TWICE)
        assert {effect.status for effect in again.changed.effects} == {Applied.UNCHANGED}
        assert again.transcribed == first.transcribed
    assert state(p) == [("a-00001", "x", 3), ("a-00002", "y", 3)]
    assert p.number == 1


def test_a_new_id_of_a_text_is_none_that_was_ever_given(p):
    """Not that of an entry which was removed."""
    p.add("old", "S", id="a-00007")
    p.remove("a-00007")
    p.load_text("## S\n[a-00001] helpful=0 harmful=0 :: x\n[a-00001] helpful=0 harmful=0 :: y\n")
    assert [entry.id for entry in p] == ["a-00001", "a-00008"]


@pytest.mark.parametrize("section", ["می‌خواهم", "क्‍ष", "👩‍💻 CODE", "A  B", "​x", "a b"])
def test_the_name_of_a_section_is_read_as_it_was_written(make, section):
    """Joiners, wide spaces and the like belong to it."""
    one, other = make(("one",)), make(("other",))
    one.add("x", section)
    other.load_text(one.to_text())
    assert [entry.section for entry in other] == [section]
    assert one.load_text(one.to_text()).changed.effects[0].status is Applied.UNCHANGED


def test_nothing_of_a_text_is_kept_that_cannot_be_applied(p):
    """A blank `by` is refused before the preamble is."""
    with pytest.raises(InvalidInput):
        p.load_text("Hints.\n" + TWICE, by=" ")
    assert p.to_text() == ""
    p.load_text("Hints.\n" + TWICE, by="file")
    assert p.get("a-00002").counts == Counts(helpful=3)


def test_a_text_that_is_written_and_read_again_is_written_alike(make):
    """Also where as many bullets have been marked as have not, in a file that is without counters."""
    p = make()
    p.load_text("## A\n[a-00001] one\n[a-00002] two\n")
    p.tag("a-00002", "harmful")
    text = p.to_text()
    assert text == "## A\n[a-00001] one\n[a-00002] helpful=0 harmful=1 :: two\n"
    other = make(("other",))
    other.load_text(text)
    assert other.to_text() == text

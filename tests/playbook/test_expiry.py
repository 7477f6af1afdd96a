"""Entries that have ended: a playbook shows them no more, and makes its block anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from seasoned.errors import NotFound
from seasoned.playbook import Add
from seasoned.playbook.folds import Folds
from seasoned.ports import Put
from seasoned.query import Query

DAY = timedelta(days=1)


def end(p, clock, name, days):
    """Write that an entry lasts so many days from now."""
    (hit,) = p.store.find(Query(scope=p.scope, kinds=("entry",), where={"id": name}, expired=True)).hits
    p.store.apply([Put(replace(hit.record, until=clock.now() + days * DAY))])


@pytest.fixture
def two(p):
    """Two entries: the ids of both."""
    p.apply([Add(content="Check the oven"), Add(content="Weigh the flour")])
    return [entry.id for entry in p.entries()]


def test_an_entry_that_has_ended_is_there_no_more(p, clock, two):
    """It is neither listed nor found by its id, and no block shows it."""
    end(p, clock, two[0], 1)
    assert [entry.id for entry in p.entries()] == two
    before = p.block(task="bread")
    clock.advance(DAY)
    assert [entry.id for entry in p.entries()] == two[1:]
    with pytest.raises(NotFound):
        p.get(two[0])
    assert (before.ids, p.block(task="bread").ids) == (tuple(two), tuple(two[1:]))


def test_the_end_of_an_entry_counts_as_a_change_of_the_playbook(p, clock, two):
    """What is made of its entries is made anew; a clock that is set back is a change as well."""
    end(p, clock, two[0], 1)
    numbers = [p.seq]
    for days in (1, -1, 1):
        clock.set(clock.now() + days * DAY)
        numbers.append(p.seq)
    assert numbers == sorted(set(numbers))
    end(p, clock, two[1], 1)
    assert p.seq > numbers[-1]


def test_what_an_ended_entry_said_can_be_said_again(p, clock, two):
    """It is a new entry, under a new id."""
    end(p, clock, two[0], 1)
    clock.advance(DAY)
    p.apply([Add(content="Check the oven")])
    assert [entry.content for entry in p.entries()] == ["Weigh the flour", "Check the oven"]
    assert p.entries()[1].id not in two


def test_entries_of_which_one_has_ended_are_not_alike(p, clock):
    """What says the same is counted among those that are there."""
    p.apply([Add(content="Check the oven", section="A"), Add(content="Check the oven", section="B")])
    folds = Folds(p.store, p.scope, clock)
    first, second = (entry.id for entry in p.entries())
    end(p, clock, first, 1)
    assert folds.alike() == [{first, second}]
    clock.advance(DAY)
    assert folds.alike() == []

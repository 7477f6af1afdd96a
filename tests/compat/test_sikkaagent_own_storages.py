"""A storage of the caller's own is used by its three verbs alone, whatever way it has of doing them."""

from __future__ import annotations

import logging

import pytest

from seasoned.compat.sikkaagent.agents.base import BaseMessage
from seasoned.compat.sikkaagent.memories import Memory, MemoryRecord
from seasoned.compat.sikkaagent.storages import InMemoryStorage
from seasoned.compat.sikkaagent.utils.enums import RoleType
from seasoned.errors import WrongType

from .test_sikkaagent_storages import TOLD, FileStorage, ListStorage


def test_a_storage_that_appends_is_not_read_for_each_message():
    """Once it is known to append, adding costs the same however long the conversation is."""
    storage = ListStorage()
    memory = Memory(storage)
    for place in range(20):
        memory.add_message(BaseMessage(f"m{place}", "User"), RoleType.USER)
    assert (storage.saves, len(storage.rows)) == (20, 20)
    assert storage.loads <= 4


def test_a_storage_that_replaces_loses_nothing_of_what_was_there(tmp_path):
    """Found out at the first message that follows others, though they were saved before this memory was made."""
    storage = FileStorage(tmp_path / "rows.json")
    storage.save([TOLD[0].to_message(), TOLD[1].to_message()])
    memory = Memory(storage)
    memory.add_message(BaseMessage("three", "User"), RoleType.USER)
    memory.add_message(BaseMessage("four", "User"), RoleType.USER)
    assert [row["message"]["content"] for row in storage.load()] == ["be kind", "what is this? 太郎", "three", "four"]


def test_a_storage_that_keeps_its_last_rows_decides_itself():
    """It is not taken for one that replaces, and contexts show what it has."""

    class LastThree(ListStorage):
        def save(self, records):
            self.rows = [*self.rows, *records][-3:]

    memory = Memory(LastThree())
    for place in range(7):
        memory.add_message(BaseMessage(f"m{place}", "User"), RoleType.USER)
        assert memory.records()[-1].message.content == f"m{place}"
    assert [message["content"] for message in memory.get_context()[0]] == ["m4", "m5", "m6"]


def test_a_storage_made_from_one_of_ours_is_used_by_its_own_verbs():
    """What it does when it saves and loads is done."""

    class Upper(InMemoryStorage):
        def save(self, records):
            super().save([{**row, "message": {"content": row["message"]["content"].upper()}} for row in records])

    with Upper() as storage:
        memory = Memory(storage)
        memory.add_message(BaseMessage("hi", "User"), RoleType.USER)
        assert [record.message.content for record in memory.records()] == ["HI"]
        assert memory.storage is storage


def test_what_others_change_in_a_storage_is_seen():
    """Rows that are added, changed in place, put in another order, or removed."""
    storage = ListStorage()
    memory = Memory(storage)
    memory.add_records(TOLD[:2])

    def shown():
        return [record.message.content[:7] for record in memory.records()]

    assert shown() == ["be kind", "what is"]
    storage.rows.insert(0, {"role_type": "user", "message": {"content": "older"}})
    assert shown() == ["older", "be kind", "what is"]
    storage.rows[0]["message"]["content"] = "newer"
    assert shown() == ["newer", "be kind", "what is"]
    del storage.rows[1]
    assert shown() == ["newer", "what is"]
    assert memory.search("newer")[0].memory_record.uuid == "row 0"
    assert memory.search("older") == []


def test_the_errors_of_a_storage_are_its_own_and_lose_nothing():
    """A save that fails stores nothing anywhere; the next goes on."""

    class Failing(ListStorage):
        def save(self, records):
            if self.saves == 1:
                self.saves += 1
                raise OSError("the disk is full")
            super().save(records)

    storage = Failing()
    memory = Memory(storage)
    memory.add_message(BaseMessage("one", "User"), RoleType.USER)
    with pytest.raises(OSError, match="disk is full"):
        memory.add_message(BaseMessage("two", "User"), RoleType.USER)
    assert [record.message.content for record in memory.records()] == ["one"]
    memory.add_message(BaseMessage("two", "User"), RoleType.USER)
    assert [record.message.content for record in memory.records()] == ["one", "two"]


@pytest.mark.parametrize("rows", [None, "rows", {"a": 1}, 7])
def test_a_storage_that_loads_no_list_is_said_so(rows):
    """With what it gave."""

    class Odd(ListStorage):
        def load(self):
            return rows

    with pytest.raises(WrongType, match="loads a list"):
        Memory(Odd()).get_context()


def test_rows_that_hold_no_record_are_passed_over_and_named(caplog):
    """Rows of the caller's storage: the limit counts what is valid, and each bad row is logged once."""
    storage = ListStorage()
    good = MemoryRecord(BaseMessage("hi", "User"), RoleType.USER).to_message()
    storage.rows = [None, good, {"role_type": "tool", "message": {"content": "3"}}, {"message": {}}, 7]  # type: ignore[list-item]
    memory = Memory(storage)
    with caplog.at_level(logging.WARNING):
        assert [memory.get_context()[0] for _ in range(2)] == [[{"role": "user", "content": "hi"}]] * 2
    assert memory.context().left_out[-1].ids == ("row 0", "row 2", "row 3", "row 4")
    assert len(caplog.records) == 4

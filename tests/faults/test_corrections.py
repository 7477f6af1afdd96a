"""What is reported of facts that were corrected or false: what was made from them does not go on as if it were true."""

from __future__ import annotations

import json

import pytest

from seasoned import Key
from seasoned.errors import NotFound
from seasoned.transfer.importing import import_file

from .layers import stored


@pytest.fixture
def made(memory):
    """A note of two sentences, what was made from it alone and with another, in this scope and below, and from that."""
    memory.remember("Ann lives in Rome. She rides a horse.", id="a")
    memory.remember("Ben rides, too.", id="b")
    here = [Key(memory.scope, "note", "a")]
    memory.remember("A rider lives in Rome.", id="one", sources=here)
    memory.remember("Two of them ride.", id="two", sources=[*here, Key(memory.scope, "note", "b")])
    memory.within("below").remember("Riders are many.", id="deep", sources=[Key(memory.scope, "note", "two")])
    memory.playbook.add("Offer Ann a saddle.", "gifts", "success", id="gift", sources=here)
    return memory


def marked(memory):
    """The ids of what is marked for rewriting."""
    return sorted(hit.id for hit in memory.list({"data.stale": True}, subtree=True).hits)


def test_what_was_made_from_a_text_that_is_replaced_is_marked(made):
    """At any depth and below, with the new text in one write; the sentence that went is found no more."""
    assert made.update("a", text="Ann lives in Rome.").record.version == 2
    assert marked(made) == ["deep", "gift", "one", "two"]
    assert [hit.id for hit in made.recall("horse")] == []
    made.update("two", text="One of them rides.")
    assert marked(made) == ["deep", "gift", "one"]
    made.update("a", text="Ann lives in Oslo.")
    assert marked(made) == ["deep", "gift", "one", "two"]


def test_a_change_of_other_fields_marks_nothing(made):
    """Nor does the same text once more."""
    made.update("a", tags=["rome"], worth=2.0)
    made.update("a", text="Ann lives in Rome. She rides a horse.")
    assert marked(made) == []


def test_records_that_name_each_other_end_the_marking(memory):
    """A circle of sources is walked once, and the record that was changed is not marked itself."""
    memory.remember("egg", id="egg", sources=[Key(memory.scope, "note", "hen")])
    memory.remember("hen", id="hen", sources=[Key(memory.scope, "note", "egg")])
    memory.update("egg", text="an egg")
    assert marked(memory) == ["hen"]


def test_a_false_fact_is_taken_back_with_a_reason(made):
    """Forgotten, what hung on it alone goes, the rest is marked; an entry's reason stays in the playbook's history."""
    made.playbook.update("gift", retired="Ann never rode")
    receipt = made.forget("a")
    assert {"gift", "one"} <= set(receipt.derived)
    assert sorted(receipt.stale) == ["deep", "two"]
    with pytest.raises(NotFound):
        made.get("a")
    assert not any("lives in Rome" in each for each in stored(made))
    made.playbook.add("Ask about horses.", id="ask")
    made.playbook.update("ask", retired="nobody rides")
    assert made.playbook.render() == ""
    assert made.playbook.get("ask").retired == "nobody rides"


def test_an_export_of_mem0_is_read_under_whichever_name_it_stands(memory, tmp_path):
    """An empty list under one name hides no full one under another; the report says what was read and written."""
    for name, other in (("results", "memories"), ("memories", "results")):
        path = tmp_path / f"{name}.json"
        rows = [
            {"id": f"{name}-{number}", "memory": f"She likes tea {number}.", "user_id": "ann"} for number in range(3)
        ]
        path.write_text(json.dumps({other: [], name: rows}), "utf-8")
        report = import_file(memory, path)
        assert (report.read, report.written, report.refused) == (3, 3, ())
    assert memory.count(subtree=True) == 6

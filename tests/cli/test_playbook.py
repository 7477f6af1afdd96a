"""`seasoned playbook …`."""

from __future__ import annotations

import json
from functools import partial

import pytest

PAPER = """\
## STRATEGIES & INSIGHTS
[si-00003] helpful=4 harmful=1 :: Read the documentation
of a call before making it.
[si-00009] helpful=0 harmful=2 :: Guess the currency.

## OTHERS
[oth-00004] helpful=0 harmful=0 :: Ask when unsure.
"""


@pytest.fixture
def playbook(seasoned):
    """The commands over a playbook of two entries."""
    run = partial(seasoned, "playbook")
    assert run("add", "Read every page.", "--section", "API USE", "--outcome", "success").code == 0
    assert run("add", "Ask before you pay.").code == 0
    return run


def test_entries_are_added_and_shown(playbook):
    """As a table, as JSON, and as a model sees them."""
    assert "au-00001: written" not in playbook("add", "Read every page.", "-s", "API USE", "-o", "success").out
    shown = playbook("show", "--json").json["entries"]
    assert [(each["id"], each["content"], each["outcome"]) for each in shown] == [
        ("au-00001", "Read every page.", "success"),
        ("oth-00002", "Ask before you pay.", "neutral"),
    ]
    assert "Ask before you pay." in playbook("show").out
    assert "[+] Read every page." in playbook("show", "--rendered").out
    assert [each["id"] for each in playbook("show", "-s", "OTHERS", "--json").json["entries"]] == ["oth-00002"]
    assert playbook("show", "--section", "nothing").code == 3
    assert playbook("add", "x", "--id", "au-00001").code == 2


def test_marks_count_once_for_each_run(playbook):
    """And what is no entry is an error."""
    assert "+2 -0 o0" in playbook("tag", "oth-00002", "helpful", "--times", "2", "--by", "run 7").out
    assert "+2 -0 o0" in playbook("tag", "oth-00002", "helpful", "--by", "run 7").out
    assert playbook("tag", "nobody", "helpful").code == 1
    assert playbook("tag", "oth-00002", "useful").code == 2


def test_entries_are_merged_and_their_old_ids_lead_on(playbook):
    """One page has all that is known of the entry."""
    assert playbook("merge", "au-00001", "oth-00002", "--content", "Read every page; ask before you pay.").code == 0
    page = playbook("show", "oth-00002").out
    assert page.startswith("au-00001\n")
    assert "merged: oth-00002" in page
    assert "Read every page; ask before you pay." in page
    assert playbook("merge", "au-00001", "nobody").code == 1


def test_what_was_removed_or_cleared_comes_back_by_a_rollback(playbook):
    """The history says what happened; clearing needs a yes."""
    assert playbook("remove", "au-00001").code == 0
    assert "2 entries" not in playbook("clear").out
    assert playbook("clear", "--yes", "--json").json == {"cleared": True, "number": 4, "ids": ["oth-00002"]}
    assert playbook("show").code == 3
    assert "2 entries as they were after change 2" in playbook("rollback", "2").out
    assert [each["id"] for each in playbook("show", "--json").json["entries"]] == ["au-00001", "oth-00002"]
    changes = playbook("history", "--json").json["changes"]
    assert [each["number"] for each in changes] == [1, 2, 3, 4, 5]
    assert changes[2]["steps"][0]["after"] is None
    assert "rolled back to 2" in playbook("history", "-n", "1").out
    assert "au-00001 removed" in playbook("history", "au-00001").out
    assert playbook("rollback", "99").code == 2
    assert playbook("history", "nobody").code == 3


def test_the_paper_s_text_is_read_and_written_byte_for_byte(seasoned, tmp_path):
    """Reading it again changes nothing; new ids continue above its own."""
    (tmp_path / "in.txt").write_text(PAPER, encoding="utf-8")
    run = partial(seasoned, "playbook")
    assert "3 written" in run("import", "in.txt").out
    assert "3 unchanged" in run("import", "in.txt").out
    assert run("export", "out.txt").code == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == PAPER
    assert "oth-00010" in run("add", "New.").out


def test_json_holds_all_and_is_read_elsewhere(playbook, tmp_path):
    """Into another scope, with ids, outcomes and counts."""
    playbook("tag", "oth-00002", "harmful")
    assert playbook("export", "all.json", "--json").json["entries"] == 2
    assert playbook("import", "all.json", "--scope", "bob").code == 0
    here, there = playbook("show", "--json").json, playbook("show", "--scope", "bob", "--json").json
    assert [{**each, "version": 1} for each in here["entries"]] == there["entries"]
    assert json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))["entries"][1]["harmful"] == 1


def test_a_file_that_is_no_playbook_is_an_error(playbook, tmp_path):
    """Broken JSON, JSON of something else, no file at all."""
    (tmp_path / "broken.json").write_text('{"entries": [', encoding="utf-8")
    (tmp_path / "other.json").write_text('{"bullets": []}', encoding="utf-8")
    assert playbook("import", "broken.json").code == 1
    assert playbook("import", "other.json").code == 2
    assert playbook("import", "nowhere.txt").code == 1


def test_a_file_that_is_no_text_or_a_json_list_is_an_error(playbook, tmp_path):
    """And nothing of it becomes a part of the playbook's text."""
    (tmp_path / "odd.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "list.json").write_text('[{"content": "x"}]', encoding="utf-8")
    assert "is not UTF-8" in playbook("import", "odd.txt").err
    assert playbook("import", "odd.txt").code == 1
    assert playbook("import", "list.json").code == 2
    playbook("export", "out.txt")
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").startswith("## API USE\n")


def test_several_entries_are_removed_together_or_not_at_all(playbook):
    """One that is not there is named, and the others stay; as one change otherwise, each once."""
    assert playbook("remove", "oth-00002", "nobody").code == 1
    assert len(playbook("show", "--json").json["entries"]) == 2
    assert playbook("remove", "oth-00002", "au-00001", "oth-00002").code == 0
    assert [len(change["steps"]) for change in playbook("history", "--json").json["changes"]] == [1, 1, 2]


def test_near_duplicates_are_refined(playbook):
    """What was merged is said."""
    playbook("add", "Always read the documentation of a call first.")
    playbook("add", "Always read the documentation of a call first!")
    refined = playbook("refine", "--json").json
    assert [set(group["ids"]) for group in refined["groups"]] == [{"oth-00003", "oth-00004"}]
    assert playbook("refine").out == "0 merged, 0 contradictions\n"


def test_control_characters_do_not_reach_the_terminal(playbook):
    """What was stored is shown escaped."""
    playbook("add", "clear \x1b[2J the screen")
    assert "\x1b" not in playbook("show").out + playbook("show", "oth-00003").out + playbook("show", "--rendered").out


def test_without_a_memory_there_is_nothing_to_show(seasoned):
    """The file is not made by looking."""
    assert seasoned("playbook", "show").code == 1

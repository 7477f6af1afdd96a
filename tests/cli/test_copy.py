"""`seasoned copy` moves a memory to another file or engine."""

from __future__ import annotations


def test_a_copy_says_what_was_written_and_a_second_finds_it_there(seasoned):
    """Both places hold the same, and nothing is written twice."""
    seasoned("--db", "old.db", "--scope", "acme/太郎", "remember", "Alice likes oolong.")
    seasoned("--db", "old.db", "--scope", "acme", "remember", "The office opens at nine.")
    first = seasoned("--scope", "acme", "--json", "copy", "old.db", "new.db")
    again = seasoned("--scope", "acme", "--json", "copy", "old.db", "new.db")
    assert (first.code, first.json["written"], first.json["there_before"]) == (0, 2, 0)
    assert (again.code, again.json["written"], again.json["there_before"]) == (0, 0, 2)
    assert first.json["sha256"] == again.json["sha256"]
    assert "oolong" in seasoned("--db", "new.db", "--scope", "acme/太郎", "search", "what does Alice like?").out


def test_a_source_that_is_not_there_is_an_error_and_makes_no_file(seasoned, tmp_path):
    """A misspelt name is told."""
    ran = seasoned("copy", "olt.db", "new.db")
    assert ran.code == 1
    assert "olt.db" in ran.err
    assert list(tmp_path.iterdir()) == []

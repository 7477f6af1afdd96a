"""The other commands: `context`, `sessions`, `stats`, `forget`, `remember`, `doctor`, `reembed`, `demo`."""

from __future__ import annotations

import sqlite3


def test_a_context_goes_to_standard_output_and_its_account_to_standard_error(filled):
    """The text can be piped, the JSON sent to a model as it is."""
    ran = filled("context", "--session", "tea", "--budget", "200")
    assert ran.code == 0
    assert "oolong from Wuyi" in ran.out
    assert " tokens of 200" in ran.err
    made = filled("context", "-s", "tea", "-b", "200", "--reserve", "50", "--query", "oolong", "--json").json
    assert made["messages"][0]["role"] == "user"
    assert made["messages"][0]["name"] == "Zoë"
    assert made["tokens"] <= 150


def test_a_budget_that_is_too_small_is_an_invalid_value(filled):
    """The error says how much is needed."""
    ran = filled("context", "-s", "tea", "-b", "1")
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert "need" in ran.err


def test_sessions_are_listed_with_their_size_and_dates(filled):
    """Non-ASCII names stand as they are."""
    listed = {each["id"]: each for each in filled("sessions", "--json").json["sessions"]}
    assert {name: each["messages"] for name, each in listed.items()} == {"tea": 2, "茶": 1, "bike": 2}
    assert listed["tea"]["first"] == "2024-05-01T10:00:00+00:00"
    assert "茶" in filled("sessions").out


def test_scopes_are_apart(filled, chat):
    """What is imported for one scope no other sees; slashes and repeating mean the same."""
    assert filled("search", "oolong", "--scope", "acme/alice").code == 3
    assert filled("import", chat, "--scope", "acme/alice").code == 0
    assert filled("search", "oolong", "--scope", "acme", "--scope", "alice").code == 0
    assert filled("search", "oolong", SEASONED_SCOPE="acme/alice").code == 0
    assert filled("search", "oolong", "--scope", "acme").code == 3
    assert filled("search", "oolong", "--scope", "acme%2Falice").code == 3


def test_shared_options_stand_before_or_after_the_command(filled):
    """After the command goes before before it, and both go before the environment."""
    assert filled("--scope", "other", "search", "oolong").code == 3
    assert filled("--scope", "other", "search", "oolong", "--scope", "default").code == 0
    assert filled("search", "oolong", "--db", "seasoned.db", SEASONED_DB="none.db").code == 0
    assert filled("search", "oolong", SEASONED_DB="none.db").code == 1


def test_forget_shows_first_and_forgets_on_yes(filled):
    """Without --yes nothing changes."""
    ran = filled("forget", "--session", "bike")
    assert ran.code == 0
    assert "add --yes" in ran.err
    assert filled("forget", "--session", "bike", "--json").json["ids"] == ["messages/bike/1", "messages/bike/2"]
    assert filled("search", "lock code").code == 0
    assert filled("forget", "--session", "bike", "--yes").code == 0
    assert filled("search", "lock code").code == 3
    assert filled("forget", "--session", "bike").code == 3


def test_forget_selects_by_id_time_age_and_kind(filled):
    """Each condition narrows, and several must all hold."""

    def ids(*options: str) -> list[str]:
        return sorted(filled("forget", "--json", *options).json["ids"])

    assert ids("--id", "messages/tea/1") == ["messages/tea/1"]
    assert ids("--before", "2024-06-01T00:00:00Z") == ["messages/tea/1", "messages/tea/2"]
    assert ids("--before", "2024-07-02", "--session", "茶") == ["messages/茶/1"]
    assert len(ids("--older-than", "30", "--kind", "message")) == 5
    assert len(ids("--everything")) == 5
    assert filled("forget", "--older-than", "36500").code == 3


def test_forget_without_a_condition_or_with_an_unknown_id_changes_nothing(filled):
    """Both are errors, told apart by their exit codes."""
    ran = filled("forget", "--yes")
    assert (ran.code, "--session, --before, --older-than, --source, --kind, or --everything" in ran.err) == (2, True)
    assert filled("forget", "--id", "nobody", "--yes").code == 1
    assert filled("stats", "--json").json["records"] == 5


def test_hard_forgetting_leaves_no_byte_and_gives_a_receipt(filled, tmp_path):
    """The receipt says what was erased from where, and the text is in no file of the memory."""
    receipt = filled("forget", "--session", "bike", "--yes", "--hard", "--json").json
    assert receipt["erased"]["rows"] == 2
    assert (receipt["pending"], receipt["left"]) == ([], [])
    assert [path.name for path in tmp_path.glob("seasoned.db*") if b"4711-XQ" in path.read_bytes()] == []


def test_doctor_is_content_with_a_good_file_and_not_with_a_broken_one(filled, tmp_path):
    """A derived row that fits no record is found, and mended by --rebuild."""
    assert filled("doctor").out == "all is well\n"
    db = sqlite3.connect(tmp_path / "seasoned.db")
    db.execute("INSERT INTO source VALUES ('nothing', 999999)")
    db.commit()
    db.close()
    ran = filled("doctor", "--json")
    assert ran.code == 3
    assert ran.json["well"] is False
    assert ran.json["findings"][0]["where"] == "source"
    ran = filled("doctor", "--rebuild")
    assert (ran.code, ran.out) == (0, "rebuilt from 5 records\nall is well\n")


def test_a_file_that_is_no_memory_is_refused(filled, tmp_path):
    """A text file is neither opened nor changed."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database, only a text that is long enough to be looked at " * 20)
    before = path.read_bytes()
    ran = filled("stats", "--db", path)
    assert ran.code == 1
    assert ran.err.startswith("error: ")
    assert "is not a seasoned store" in ran.err
    assert "doctor" not in ran.err + filled("doctor", "--db", path).err
    assert path.read_bytes() == before


def test_reading_commands_make_no_file(seasoned, tmp_path):
    """A mistyped name is an error, not an empty memory."""
    for command in (
        ["search", "x"],
        ["context", "-s", "x"],
        ["sessions"],
        ["stats"],
        ["forget", "--everything"],
        ["export", "out"],
        ["doctor"],
    ):
        ran = seasoned(*command, "--db", "typo.db")
        assert ran.code == 1
        assert "there is no memory at 'typo.db'" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_remember_writes_a_note(seasoned):
    """The note is found by search, with its tags."""
    added = seasoned("remember", "Der Schlüssel liegt unter der Matte", "--tag", "home", "--json").json
    assert added["status"] == "written"
    (hit,) = seasoned("search", "Schlüssel", "--json").json["hits"]
    assert (hit["id"], hit["kind"], hit["data"]["tags"]) == (added["id"], "note", ["home"])


def test_reembed_gives_every_record_its_vector(filled):
    """After a change of embedder the number without a vector falls to none."""
    assert filled("stats", "--embedder", "static", "--json").json["without_vector"] == 5
    assert filled("reembed", "--embedder", "static", "--json").json["embedded"] == 5
    assert filled("stats", "--embedder", "static", "--json").json["without_vector"] == 0


def test_the_demo_answers_its_questions_and_leaves_nothing(seasoned, tmp_path):
    """Each answer stands among the first three hits with no model at all; the context keeps its budget and recalls."""
    shown = seasoned("demo", "--json").json
    assert shown["import"]["written"] == 80
    answers = ["walnuts", "21 March", "K-4711-20", "Seats 61 and 62", "乌龙茶"]
    for answer, asked in zip(answers, shown["questions"], strict=True):
        assert any(answer in hit["text"] for hit in asked["hits"]), asked["question"]
    assert shown["context"]["tokens"] <= 450
    assert shown["context"]["left_out"]
    assert shown["context"]["recalled"]
    assert list(tmp_path.iterdir()) == []


def test_the_demo_says_what_to_try_next(seasoned):
    """Its end names the first commands and the first lines of code."""
    ran = seasoned("demo")
    assert ran.code == 0
    assert "seasoned import" in ran.out
    assert "memory.conversation.context(" in ran.out

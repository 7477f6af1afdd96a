"""`list`, `get`, `history`, `explain`, `update`, `pin` and `unpin`."""

from __future__ import annotations

import pytest

from seasoned import Memory


@pytest.fixture
def noted(seasoned, tmp_path):
    """The command line over a memory with three notes, of which one was made from another, and one of a scope below."""
    with Memory(tmp_path / "seasoned.db", embedder="hashing") as memory:
        memory.remember("Oolong is steeped thrice.", id="tea", tags=["home"], at="2024-05-01")
        source = memory.get("tea").record.key
        memory.remember("Prefers oolong.", "habit", id="habit", at="2024-05-02", sources=[source])
        memory.remember("Bins go out on Mondays.", id="bins", at="2024-05-03")
        memory.within("alice").remember("Alice likes sencha.", id="sencha", at="2024-05-04")
    return seasoned


def ids(ran) -> list[str]:
    """Return the ids of the records that were listed."""
    return [each["id"] for each in ran.json["records"]]


def test_records_are_listed_as_they_were_written(noted):
    """Oldest first or newest first, as a table or as JSON with all that is stored."""
    assert ids(noted("list", "--json")) == ["tea", "habit", "bins"]
    assert ids(noted("list", "--newest", "--json")) == ["bins", "habit", "tea"]
    first = noted("list", "--json").json["records"][0]
    assert (first["kind"], first["text"], first["at"]) == (
        "note",
        "Oolong is steeped thrice.",
        "2024-05-01T00:00:00+00:00",
    )
    assert first["data"]["tags"] == ["home"]
    assert first["locked"] is False
    assert "Bins go out on Mondays." in noted("list").out


def test_a_list_is_narrowed_by_kind_and_by_a_condition(noted):
    """What fits nothing is exit code 3; what is no condition an invalid value."""
    assert ids(noted("list", "--kind", "habit", "--json")) == ["habit"]
    assert ids(noted("list", "--where", '{"data.tags": "home"}', "--json")) == ["tea"]
    assert ids(noted("list", "--where", '{"at": {"ge": "2024-05-02"}}', "--json")) == ["habit", "bins"]
    ran = noted("list", "--kind", "nothing")
    assert (ran.code, ran.out, ran.err) == (3, "", "no records\n")
    for wrong in ("{", "[]", '{"colour": 1}', '{"at": {"near": 1}}'):
        ran = noted("list", "--where", wrong)
        assert (ran.code, ran.err.count("\n"), ran.err.startswith("error: ")) == (2, 1, True)


def test_a_long_list_goes_on_where_it_ended(noted):
    """The word at the end asks for the next page."""
    ran = noted("list", "--limit", "2")
    assert "there are more: --cursor " in ran.err
    cursor = ran.err.split()[-1]
    rest = noted("list", "--limit", "2", "--cursor", cursor, "--json")
    assert (ids(rest), rest.json["cursor"]) == (["bins"], None)


def test_the_scopes_below_are_listed_with_their_names(noted):
    """Only where they are asked for."""
    assert "sencha" not in noted("list").out
    ran = noted("list", "--subtree")
    assert "default/alice" in ran.out
    assert ids(noted("list", "--subtree", "--json"))[-1] == "sencha"


def test_one_record_is_shown_whole(noted):
    """With its sources and data; an id that is not there is an error."""
    shown = noted("get", "habit", "--json").json
    assert (shown["kind"], shown["text"], shown["sources"]) == ("habit", "Prefers oolong.", ["note:tea"])
    ran = noted("get", "habit")
    assert ran.out.endswith("\nPrefers oolong.\n")
    assert "note:tea" in ran.out
    assert noted("get", "tea", "--kind", "habit").code == 1
    ran = noted("get", "nobody")
    assert (ran.code, "'nobody'" in ran.err) == (1, True)


def test_an_update_is_a_version_and_the_old_one_stays_in_the_history(noted):
    """Text, tags and worth change; what is not named stays."""
    assert noted("update", "tea", "--text", "Oolong is steeped five times.", "--worth", "2").out == (
        "tea stands in version 2\n"
    )
    changed = noted("update", "tea", "--tag", "kitchen", "--tag", "tea", "--json").json
    assert (changed["text"], changed["worth"]) == ("Oolong is steeped five times.", 2.0)
    assert changed["data"]["tags"] == ["kitchen", "tea"]
    versions = noted("history", "tea", "--json").json["versions"]
    assert [(each["version"], each["text"], each["worth"], each["current"]) for each in versions] == [
        (1, "Oolong is steeped thrice.", 0.0, False),
        (2, "Oolong is steeped five times.", 2.0, False),
        (3, "Oolong is steeped five times.", 2.0, True),
    ]
    ran = noted("history", "tea")
    assert "3 (now)" in ran.out
    assert "Oolong is steeped thrice." in ran.out


def test_an_update_of_nothing_is_refused(noted):
    """It names the options; a worth that is no number is refused too."""
    ran = noted("update", "tea")
    assert (ran.code, ran.err) == (2, "error: say what to change: --text, --tag or --worth\n")
    assert noted("update", "tea", "--worth", "nan").code == 2
    assert noted("update", "nobody", "--text", "x").code == 1


def test_a_record_is_explained_by_its_sources_and_by_what_came_of_it(noted):
    """Down to what was said, each level set in; and upwards."""
    found = noted("explain", "habit", "--json").json
    assert [(each["kind"], each["id"]) for each in found["chain"]] == [("habit", "habit"), ("note", "tea")]
    assert (found["uses"], found["recalled"], found["cut"]) == ([], [], False)
    assert [each["id"] for each in noted("explain", "tea", "--json").json["uses"]] == ["habit"]
    assert "\n. tea" in noted("explain", "habit").out
    assert "What came of it" in noted("explain", "tea").out
    assert noted("explain", "nobody").code == 1


def test_what_a_record_was_made_from_is_named_though_it_is_gone(noted, tmp_path):
    """A source that was forgotten alone leaves its name."""
    with Memory(tmp_path / "seasoned.db", embedder="hashing") as memory:
        tea, bins = memory.get("tea").record.key, memory.get("bins").record.key
        memory.remember("Tea before the bins.", id="both", sources=[tea, bins])
        elsewhere = memory.within("alice").get("sencha").record.key
        memory.within("bob").remember("Bob likes what Alice likes.", id="bob", sources=[elsewhere])
    ran = noted("explain", "bob", "--scope", "default/bob")
    assert (ran.code, "(it is gone)" in ran.out) == (0, True)
    gone = noted("explain", "bob", "--scope", "default/bob", "--json").json["chain"][1]
    assert gone == {"id": "sencha", "kind": "note", "scope": ["default", "alice"]}


def test_a_pinned_note_stands_in_every_context_until_it_is_unpinned(noted):
    """Whether that is new is told; only notes can be pinned."""
    assert noted("pin", "bins").out == "bins is pinned\n"
    assert noted("pin", "bins").out == "bins is pinned already\n"
    assert "Bins go out" in noted("context", "--task", "Write a poem").out
    assert noted("unpin", "bins", "--json").json == {"id": "bins", "pinned": False, "changed": True}
    assert noted("unpin", "bins").out == "bins is not pinned already\n"
    assert noted("pin", "nobody").code == 1


def test_what_is_locked_is_listed_as_locked(seasoned):
    """Without the key a record's place and time are shown, its text is not, and nothing changes or explains it."""
    seasoned("keys", "new", "--keys", "keys.toml", "--name", "first")
    name = seasoned("remember", "Quicksilver runs.", "--keys", "keys.toml", "--json").json["id"]
    for command in (("list",), ("get", name), ("history", name)):
        ran = seasoned(*command)
        assert (ran.code, "(locked: its key is not here)" in ran.out) == (0, True), (command, ran)
        assert "Quicksilver" in seasoned(*command, "--keys", "keys.toml").out
        assert "Quicksilver" not in seasoned(*command, "--json").out
    assert seasoned("list", "--json").json["records"][0]["locked"] is True
    assert seasoned("history", name, "--json").json["versions"][0]["locked"] is True
    for command in (("update", name, "--text", "x"), ("pin", name), ("explain", name)):
        ran = seasoned(*command)
        assert (ran.code, ran.err.count("\n")) == (1, 1)

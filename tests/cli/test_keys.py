"""`seasoned keys` and `--keys`: a memory that the command line opens with keys from a file of their own."""

from __future__ import annotations

import os
import stat
import tomllib

import pytest

from seasoned import Memory
from seasoned.stores.encrypted import read_keys

ALICE = ("--scope", "acme/alice")


@pytest.fixture
def sealed(seasoned):
    """The command line with a note of Alice in an encrypted memory, and her key in keys.toml."""
    assert seasoned("keys", "new", "--keys", "keys.toml", "--name", "first", *ALICE).code == 0
    assert seasoned("remember", "Quicksilver runs.", "--keys", "keys.toml", *ALICE).code == 0
    return seasoned


def test_a_new_key_lies_in_a_file_of_its_owner_alone(seasoned, tmp_path):
    """32 random bytes under the scope and the name; the output never shows them."""
    made = seasoned("keys", "new", "--keys", "keys.toml", "--json", "--scope", "acme/a%2Fb", "--name", 'the "first"')
    assert made.json == {"scope": ["acme", "a/b"], "name": 'the "first"', "file": "keys.toml"}
    seasoned("keys", "new", "--scope", "acme/a%2Fb", "--name", "2", SEASONED_KEYS_FILE="keys.toml")
    file = tmp_path / "keys.toml"
    assert os.name != "posix" or stat.S_IMODE(file.stat().st_mode) == 0o600
    held = tomllib.loads(file.read_text("utf-8"))
    assert {scope: [*keys] for scope, keys in held.items()} == {"acme/a%2Fb": ['the "first"', "2"]}
    first, second = held["acme/a%2Fb"].values()
    assert first != second
    assert first not in made.out + made.err
    assert read_keys(file).current(("acme", "a/b")) == "2"
    assert {each.name for each in tmp_path.iterdir()} == {file.name, f"{file.name}.lock"}


def test_a_key_of_a_day_is_named_for_it_and_never_replaced(seasoned, tmp_path):
    """A name stands for one key for ever: a second one of that name would lock what the first has sealed."""
    name = seasoned("keys", "new", "--keys", "keys.toml", "--json").json["name"]
    assert len(name) == len("2026-01-31")
    before = (tmp_path / "keys.toml").read_bytes()
    again = seasoned("keys", "new", "--keys", "keys.toml", "--name", name)
    assert (again.code, "give the new one a new name" in again.err) == (2, True)
    assert (tmp_path / "keys.toml").read_bytes() == before


def test_a_process_that_was_stopped_while_it_added_a_key_stops_no_other(seasoned, tmp_path):
    """What it left beside the file is no lock: the system let go of that."""
    (tmp_path / "keys.toml.new").write_text("half a fi")
    assert seasoned("keys", "new", "--keys", "keys.toml").code == 0
    assert (tmp_path / "keys.toml").exists()


def test_where_no_file_is_named_no_key_is_made(seasoned):
    """The error says both ways to name one."""
    ran = seasoned("keys", "new")
    assert (ran.code, "--keys FILE, or SEASONED_KEYS_FILE" in ran.err) == (2, True)


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
def test_a_file_of_keys_that_others_can_read_is_refused(sealed, tmp_path, mode):
    """Nothing is opened with it, and no key is added to it."""
    (tmp_path / "keys.toml").chmod(mode)
    for command in (("search", "quicksilver"), ("keys", "rotate"), ("keys", "new", "--name", "x")):
        ran = sealed(*command, "--keys", "keys.toml", *ALICE)
        assert (ran.code, f"(mode 0{mode:o}); run: chmod 600 keys.toml" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[a", "is no file of keys"),
        ("a = 1", "'a' is no such table"),
        ('[a]\n"1" = 5', "key '1' of 'a' in 'keys.toml' is not 32 bytes"),
        ('[a]\n"1" = "c2hvcnQ="', "key '1' of 'a' in 'keys.toml' is not 32 bytes"),
        ('[a]\n"1" = "no base64!"', "key '1' of 'a' in 'keys.toml' is not 32 bytes"),
        ('[""]\n"1" = "c2hvcnQ="', "must not be blank"),
    ],
)
def test_what_is_no_file_of_keys_is_said_without_showing_it(seasoned, tmp_path, text, says):
    """Not a table, not 32 bytes, not base64."""
    (tmp_path / "keys.toml").touch(0o600)
    (tmp_path / "keys.toml").write_text(text)
    ran = seasoned("remember", "tea", "--keys", "keys.toml")
    assert (ran.code, says in ran.err, "c2hvcnQ" in ran.err) == (2, True, False)
    assert not (tmp_path / "seasoned.db").exists()


def test_a_file_of_keys_that_is_not_there_is_an_error(seasoned):
    """Nothing is written in the clear for want of it."""
    ran = seasoned("remember", "tea", "--keys", "none.toml")
    assert (ran.code, "the keys in 'none.toml' cannot be read" in ran.err) == (1, True)


def test_with_keys_the_file_is_sealed_and_search_finds(sealed, tmp_path):
    """From the option or the environment; the database holds no word of it."""
    assert "Quicksilver runs." in sealed("search", "quicksilver", "--keys", "keys.toml", *ALICE).out
    assert "Quicksilver runs." in sealed("search", "quicksilver", *ALICE, SEASONED_KEYS_FILE="keys.toml").out
    held = b"".join(file.read_bytes() for file in tmp_path.glob("seasoned.db*"))
    assert b"uicksilver" not in held
    assert b"acme" in held


def test_without_keys_what_is_sealed_is_shown_as_locked(sealed):
    """`search` lists it, `doctor` reports it, and nothing is written beside it in the clear."""
    ran = sealed("search", "quicksilver", *ALICE)
    assert (ran.code, "(locked: its key is not here)" in ran.out) == (0, True)
    assert "degraded: locked: 1 records of acme/alice" in ran.err
    (hit,) = sealed("search", "quicksilver", "--json", *ALICE).json["hits"]
    assert (hit["locked"], hit["text"], hit["data"]) == (True, "", {"locked": True})
    checked = sealed("doctor", "--json", *ALICE)
    assert (checked.code, checked.json["findings"]) == (
        3, [{"where": "locked", "what": "1 records of acme/alice: their keys are not here"}],
    )  # fmt: skip
    for command in (("remember", "plain words"), ("sessions",), ("forget", "--session", "s")):
        ran = sealed(*command, *ALICE)
        assert (ran.code, ran.err.startswith("error: locked: the key 'first' of acme/alice")) == (1, True)
    assert sealed("doctor", "--keys", "keys.toml", *ALICE).code == 0


def test_a_rotation_seals_anew_and_says_when_the_old_key_may_go(sealed, tmp_path):
    """Counts as a table or JSON; then the old key's line can be removed."""
    sealed("keys", "new", "--keys", "keys.toml", "--name", "second", *ALICE)
    done = sealed("keys", "rotate", "--keys", "keys.toml", "--json", *ALICE)
    assert done.json == {"resealed": 1, "current": 0, "locked": 0, "unreadable": 0, "busy": 0, "done": True}
    again = sealed("keys", "rotate", "--keys", "keys.toml", *ALICE)
    assert "had the newest key" in again.out
    assert "it can be removed from the file" in again.err
    file = tmp_path / "keys.toml"
    file.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith('"first"')))
    assert "Quicksilver runs." in sealed("search", "quicksilver", "--keys", "keys.toml", *ALICE).out


def test_a_rotation_that_is_not_done_ends_with_three(sealed, tmp_path):
    """A record is locked, since its key was taken out of the file before."""
    (tmp_path / "keys.toml").write_text("")
    sealed("keys", "new", "--keys", "keys.toml", "--name", "second", *ALICE)
    sealed("remember", "Another.", "--keys", "keys.toml", *ALICE)
    ran = sealed("keys", "rotate", "--keys", "keys.toml", *ALICE)
    assert (ran.code, "not done" in ran.err) == (3, True)


def test_a_memory_without_keys_has_none_to_rotate(filled):
    """It is an invalid wish, and says what to name."""
    ran = filled("keys", "rotate")
    assert (ran.code, "not encrypted" in ran.err) == (2, True)


def test_a_copy_between_encrypted_memories_takes_the_keys_for_both(sealed, tmp_path):
    """Both places are opened with the same file."""
    assert sealed("copy", "seasoned.db", "other.db", "--keys", "keys.toml", *ALICE).code == 0
    with Memory(
        tmp_path / "other.db", scope=("acme", "alice"), embedder="hashing", keys=read_keys(tmp_path / "keys.toml")
    ) as memory:
        assert [hit.text for hit in memory.list().hits] == ["Quicksilver runs."]
    assert b"uicksilver" not in (tmp_path / "other.db").read_bytes()


def test_a_memory_in_the_clear_is_copied_into_an_encrypted_one(filled, tmp_path):
    """The keys are for the place that is written: the source is read as it is."""
    filled("keys", "new", "--keys", "keys.toml")
    assert filled("copy", "seasoned.db", "sealed.db", "--keys", "keys.toml").code == 0
    assert "oolong" in filled("search", "oolong", "--db", "sealed.db", "--keys", "keys.toml").out
    assert b"oolong" in (tmp_path / "seasoned.db").read_bytes()
    assert b"oolong" not in (tmp_path / "sealed.db").read_bytes()


def test_a_memory_that_is_sealed_in_part_is_copied_by_what_it_says(sealed, tmp_path):
    """Its newest record lies in the clear, in the scope above: what is sealed is opened, and sealed once."""
    assert sealed("remember", "We sell tea.", "--scope", "acme").code == 0
    ran = sealed("copy", "seasoned.db", "other.db", "--keys", "keys.toml", "--scope", "acme")
    assert (ran.code, "2 of 2 records written" in ran.out) == (0, True)
    found = sealed("search", "quicksilver", "--db", "other.db", "--keys", "keys.toml", "--json", *ALICE).json["hits"]
    assert [hit["text"] for hit in found] == ["Quicksilver runs."]
    held = b"".join(file.read_bytes() for file in tmp_path.glob("other.db*"))
    assert (b"uicksilver" in held, b"We sell tea." in held) == (False, True)

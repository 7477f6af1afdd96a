"""Bundles: export and import of a memory, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
from contextlib import ExitStack, closing
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned import CallableEmbedder, HashingEmbedder, Key, Memory, Note, Transferred
from seasoned.errors import BundleError, StoreError, WrongType
from seasoned.redaction import RedactionPolicy
from seasoned.testing import FakeClock, sequential_ids

ALICE = ("acme", "alice")


@pytest.fixture
def opened():
    """Open memories with an id source each, and close them in the end."""
    with ExitStack() as closing_all:

        def opened_at(location=None, scope=ALICE, **options):
            chosen = {"embedder": "hashing", "durability": "normal", "clock": FakeClock(), "ids": sequential_ids("n")}
            return closing_all.enter_context(Memory(location, scope=scope, **(chosen | options)))

        yield opened_at


@pytest.fixture
def full(opened):
    """Notes with history and sources, a session, a scope below, something removed and something ended."""
    memory = opened()
    memory.remember("turn", id="t", at="2026-01-05T10:00:00+09:00", tags=["a"], worth=2.5, until="2030-01-01")
    memory.remember("v1", id="x", sources=[Key(memory.scope, "note", "t"), Key(("other",), "note", "far")])
    memory.remember("a fact of 太郎 \u2028 and \x1f", "fact", id="f", data={"k": {"n": None, "l": [1, 2.5, True]}})
    memory.update("x", text="v2", data={"z": 1})
    memory.update("x", text="v3")
    memory.conversation.add(
        [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}], "s1", ids=["m1", "m2"]
    )
    memory.within("below", "deep").remember("deep", id="d", sources=[Key(memory.scope, "note", "t")])
    memory.remember("removed-text", id="gone")
    memory.forget("gone")
    memory.remember("ended-text", until="2025-12-31", id="ended")
    return memory


def contents(memory):
    """All that a memory holds, but for versions and for where it stands."""
    depth = len(memory.scope)
    return [
        (record.key.scope[depth:], record.key.kind, record.key.id, record.text, record.data, record.at, record.until,
         record.worth, [(key.kind, key.id) for key in record.sources])
        for kinds in ((), ("superseded",))
        for hit in memory.list(kinds=kinds, subtree=True).hits
        for record in [hit.record]
    ]  # fmt: skip


def test_what_was_exported_comes_back_whole(full, opened, tmp_path):
    """Text, data, times, worth, sources, old versions and scopes below, in the same order; found by words at once."""
    done = full.export(tmp_path / "all.jsonl")
    assert done == Transferred(read=8, written=8, tombstones=1)
    other = opened(tmp_path / "new.db")
    assert other.import_(tmp_path / "all.jsonl") == Transferred(read=8, written=8, tombstones=1)
    assert contents(other) == contents(full)
    assert [hit.id for hit in other.recall("fact 太郎")] == ["f"]
    assert other.conversation.messages("s1") == full.conversation.messages("s1")
    assert other.check() == []


def test_the_history_goes_on_after_an_import(full, opened, tmp_path):
    """Old versions come in their order before the present one, and the next update overwrites none of them."""
    full.export(tmp_path / "all.jsonl")
    other = opened(tmp_path / "new.db")
    other.import_(tmp_path / "all.jsonl")
    assert [(each.version, each.record.text) for each in other.history("x")] == [(1, "v1"), (2, "v2"), (3, "v3")]
    other.update("x", text="v4")
    other.update("x", text="v5")
    assert [(each.version, each.record.text, each.current) for each in other.history("x")] == [
        (1, "v1", False),
        (2, "v2", False),
        (3, "v3", False),
        (4, "v4", False),
        (5, "v5", True),
    ]


def test_of_what_was_removed_the_id_is_exported_and_of_what_has_ended_nothing(full, opened, tmp_path):
    """The id so that others can follow, unless it is asked to leave it out."""
    full.export(tmp_path / "all.jsonl")
    text = (tmp_path / "all.jsonl").read_text()
    assert ('"id": "gone"' in text, "removed-text" in text, "ended" in text) == (True, False, False)
    assert full.export(tmp_path / "none.jsonl", removals=False) == Transferred(read=8, written=8)
    assert '"gone"' not in (tmp_path / "none.jsonl").read_text()
    other = opened()
    other.import_(tmp_path / "none.jsonl")
    assert contents(other) == contents(full)


def test_an_import_into_another_scope_keeps_what_belongs_together(full, opened, tmp_path):
    """Of the same store too: sources inside follow the records, those outside stay, and nothing else changes."""
    full.export(tmp_path / "all.jsonl")
    before = contents(full)
    bob = opened(full.store, ("bob",))
    assert bob.import_(tmp_path / "all.jsonl").written == 8
    assert bob.get("x").record.sources == (Key(("bob",), "note", "t"), Key(("other",), "note", "far"))
    [deep] = bob.within("below", "deep").list().hits
    assert deep.record.sources == (Key(("bob",), "note", "t"),)
    assert [each.record.text for each in bob.history("x")] == ["v1", "v2", "v3"]
    assert contents(full) == before
    assert sorted(bob.forget("t", hard=True).derived) == ["1:note:x", "2:note:x", "d", "x"]
    assert contents(full) == before


def test_importing_twice_writes_nothing_twice(full, opened, tmp_path):
    """The second time all are there; into the memory it came from, too."""
    full.export(tmp_path / "all.jsonl")
    other = opened()
    other.import_(tmp_path / "all.jsonl")
    before = contents(other)
    assert other.import_(tmp_path / "all.jsonl") == Transferred(read=8, duplicate=8, tombstones=1)
    assert full.import_(tmp_path / "all.jsonl") == Transferred(read=8, duplicate=8, tombstones=1)
    assert contents(other) == before


def test_a_record_that_says_something_else_is_left_and_named(full, opened, tmp_path):
    """An import never overwrites; the result says which records it left out."""
    full.export(tmp_path / "all.jsonl")
    other = opened()
    other.remember("mine", id="t")
    done = other.import_(tmp_path / "all.jsonl")
    assert (done.written, done.duplicate) == (7, 0)
    assert done.refused == ("note 't': another record has this id",)
    assert other.get("t").text == "mine"


def test_a_child_exports_only_itself_and_what_lies_below(full, opened, tmp_path):
    """A subtree is a whole of its own."""
    assert full.within("below").export(tmp_path / "part.jsonl").written == 1
    other = opened()
    other.import_(tmp_path / "part.jsonl")
    assert [hit.record.key.scope for hit in other.list(subtree=True).hits] == [("acme", "alice", "deep")]


def test_an_empty_memory_makes_a_bundle_of_nothing(opened, tmp_path):
    """Which imports as nothing."""
    assert opened().export(tmp_path / "none.jsonl") == Transferred()
    assert opened().import_(tmp_path / "none.jsonl") == Transferred()


def test_a_large_memory_goes_through_in_parts_and_says_how_far(opened, tmp_path):
    """2,100 records; progress ends at the whole."""
    memory, other, seen = opened(), opened(), []
    for number in range(2100):
        memory.remember(f"note {number}", id=str(number))
    memory.export(tmp_path / "all.jsonl")
    other.import_(tmp_path / "all.jsonl", lambda done, total: seen.append((done, total)))
    assert [hit.text for hit in other.list(k=3000).hits] == [f"note {number}" for number in range(2100)]
    assert (seen[-1], len(seen) > 1, seen) == ((2100, 2100), True, sorted(seen))


def damaged(path):
    """Ways in which a bundle is not what was written."""
    lines = path.read_bytes().splitlines(keepends=True)
    foot = json.loads(lines[-1])
    return {
        "cut in the middle of a line": b"".join(lines)[:-200],
        "a line cut off": b"".join(lines[:-1]),
        "the first line only": lines[0],
        "a record missing": b"".join([*lines[:2], *lines[3:]]),
        "a record twice": b"".join([*lines[:2], *lines[1:]]),
        "two records swapped": b"".join([lines[0], lines[2], lines[1], *lines[3:]]),
        "a letter changed": b"".join(lines).replace(b"hello", b"hullo"),
        "a wrong number": b"".join([*lines[:-1], json.dumps(foot | {"records": 7}).encode()]),
        "something behind it": b"".join(lines) + b"{}\n",
        "a blank line behind it": b"".join(lines) + b"\n",
        "empty": b"",
        "text": b"Dear diary,\n",
        "other JSON": b'{"memories": []}\n{}\n',
        "a list": b"[1, 2]\n",
        "binary": bytes(range(256)) * 50,
        "nested without end": b"[" * 200_000,
        "a newer version": b"".join(lines).replace(b'"version": 1', b'"version": 2', 1),
        "no version": b"".join(lines).replace(b'"version": 1, ', b"", 1),
    }


def test_a_file_that_is_not_whole_is_refused_whole(full, opened, tmp_path):
    """Cut off, altered, foreign or newer: a BundleError with the path, and not one record is written."""
    full.export(tmp_path / "all.jsonl")
    bad = tmp_path / "bad.jsonl"
    other = opened()
    for what, content in damaged(tmp_path / "all.jsonl").items():
        bad.write_bytes(content)
        with pytest.raises(BundleError, match=r"bad\.jsonl"):
            other.import_(bad)
        assert other.count(subtree=True) == 0, what


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_said(opened, tmp_path, name):
    """Missing, or a folder."""
    with pytest.raises(BundleError, match="cannot be read"):
        opened().import_(tmp_path / name)


def bundle_of(path, *lines, version=2, graves=0):
    """Write a bundle of these lines, of which so many are tombstones, with a checksum that fits."""
    head = {"format": "seasoned-bundle", "version": version, "scope": ["x"], "exported": "2026-01-01T00:00:00+00:00"}
    text = "".join(json.dumps(line) + "\n" for line in (head, *lines)).encode()
    numbers = {"records": len(lines) - graves} | ({"tombstones": graves} if version > 1 else {})
    foot = json.dumps(numbers | {"sha256": hashlib.sha256(text).hexdigest()}).encode()
    path.write_bytes(text + foot + b"\n")
    return path


def line(**changes):
    """A record as a bundle has it."""
    whole = {"below": [], "kind": "note", "id": "a", "text": "tea", "data": {}, "sources": [], "worth": 0.0,
             "at": "2026-01-01T00:00:00+00:00", "until": None}  # fmt: skip
    return whole | changes


MISFITS = [
    {"id": ""},
    {"id": "a\x00b"},
    {"text": None},
    {"text": 5},
    {"data": []},
    {"worth": "much"},
    {"at": "yesterday"},
    {"at": None},
    {"below": "x"},
    {"below": [""]},
    {"sources": "x"},
    {"sources": [["x"]]},
    {"sources": [[[], "note", "a"]]},
    {"data": {"a": {"b": 10**30}}},
    {"until": 10**30},
]


@pytest.mark.parametrize("misfit", MISFITS, ids=str)
def test_a_record_that_breaks_a_rule_is_refused_by_itself_and_named(opened, tmp_path, misfit):
    """What another program wrote with a right checksum: the others come in, and the result says why this did not."""
    done = opened().import_(bundle_of(tmp_path / "b.jsonl", line(**misfit), line(id="fine")))
    assert (done.read, done.written, len(done.refused)) == (2, 1, 1)


def test_no_bundle_reaches_out_of_the_scope_it_is_read_into(opened, tmp_path):
    """Whatever its lines say, what is written lies there or below."""
    memory = opened()
    lines = [line(below=["..", "bob"], id="a"), line(below=["/"], id="b"), line(scope=["bob"], id="c")]
    memory.import_(bundle_of(tmp_path / "b.jsonl", *lines))
    assert opened(memory.store, ("acme",)).count(subtree=True) == memory.count(subtree=True) == 3
    assert opened(memory.store, ("bob",)).count(subtree=True) == 0


def test_an_old_version_that_is_none_harms_no_history(opened, tmp_path):
    """A record of that kind that another program made up is passed over."""
    memory = opened()
    made_up = line(kind="superseded", id="1:note:a", text="", data={"x": 1}, sources=[[["."], "note", "a"]])
    memory.import_(bundle_of(tmp_path / "b.jsonl", line(), made_up))
    memory.update("a", text="coffee")
    assert [each.record.text for each in memory.history("a")][-1] == "coffee"


def test_an_id_twice_in_one_bundle_is_written_once(opened, tmp_path):
    """The first stands; the same again is a duplicate, another text is refused."""
    done = opened().import_(bundle_of(tmp_path / "b.jsonl", line(), line(), line(text="coffee")))
    assert (done.written, done.duplicate, len(done.refused)) == (1, 1, 1)


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
def test_a_memory_is_not_exported_over_itself_nor_read_as_a_bundle(opened, tmp_path, end):
    """Neither over its file, nor over those beside it, under any name; it stays as it was."""
    path = tmp_path / "agent.db"
    memory = opened(path)
    memory.remember("tea", id="a")
    memory.list()
    os.link(f"{path}{end}", tmp_path / "alias")
    for target in (f"{path}{end}", tmp_path / "alias"):
        with pytest.raises(StoreError, match="itself"):
            memory.export(target)
        with pytest.raises(BundleError, match="itself"):
            memory.import_(target)
    memory.remember("more", id="b")
    memory.close()
    assert opened(path).count() == 2


def test_an_export_replaces_a_file_only_when_all_is_written(opened, tmp_path):
    """A failure on the way leaves what was there, and no litter; a success is for the owner alone."""
    memory = opened(tmp_path / "agent.db")
    memory.remember("tea")
    target = tmp_path / "out" / "all.jsonl"
    with pytest.raises(StoreError, match="cannot be written"):
        memory.export(target)
    target.mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be written"):
        memory.export(target)
    assert list(target.parent.iterdir()) == [target]
    target.rmdir()
    target.write_text("before")
    memory.export(target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_text().startswith('{"format": "seasoned-bundle"')
    assert list(target.parent.iterdir()) == [target]


def test_a_damaged_record_that_an_export_leaves_out_is_named(opened, tmp_path):
    """A backup with a hole says so."""
    memory = opened(tmp_path / "agent.db")
    for name in "abc":
        memory.remember(name, id=name)
    memory.close()
    with closing(sqlite3.connect(tmp_path / "agent.db")) as db:
        db.execute("UPDATE record SET data = '[broken' WHERE id = 'b'")
        db.commit()
    done = opened(tmp_path / "agent.db").export(tmp_path / "all.jsonl")
    assert (done.written, len(done.degraded)) == (2, 1)
    assert "'b'" in done.degraded[0]


def test_an_import_embeds_in_its_own_space_and_says_where_it_could_not(full, opened, tmp_path):
    """Vectors are not in a bundle; where the embedder fails the records stand, and reembed repairs."""
    full.export(tmp_path / "all.jsonl")
    down = [True]

    def embed(texts):
        if down[0]:
            raise TimeoutError("no answer")
        return HashingEmbedder(64).embed(texts)

    other = opened(embedder=CallableEmbedder(embed, "mine", dimension=64))
    done = other.import_(tmp_path / "all.jsonl")
    assert (done.written, len(done.degraded)) == (8, 1)
    assert "no answer" in done.degraded[0]
    assert other.stats()["without_vector"] == 6
    down[0] = False
    assert (other.reembed(), other.stats()["without_vector"]) == (6, 0)


def test_a_bundle_of_a_changed_memory_brings_the_changes(opened, tmp_path):
    """Tags, validity and texts changed since the first export are in the second."""
    memory = opened()
    memory.remember("tea", id="a")
    memory.export(tmp_path / "one.jsonl")
    memory.update("a", tags=["x"], until=FakeClock().now() + timedelta(days=1))
    memory.export(tmp_path / "two.jsonl")
    other = opened()
    other.import_(tmp_path / "two.jsonl")
    assert (other.get("a").record.data, other.get("a").record.until) == (
        {"tags": ["x"]},
        FakeClock().now() + timedelta(days=1),
    )


@pytest.mark.parametrize("path", [None, 5, b"x", ["x"]], ids=repr)
def test_what_is_no_path_is_refused(opened, path):
    """A number is no open file of ours."""
    memory = opened()
    for verb in (memory.import_, memory.export):
        with pytest.raises(WrongType, match="path"):
            verb(path)


def test_a_memory_that_was_closed_reads_and_writes_no_bundle(opened, tmp_path):
    """Though the file is there."""
    memory = opened()
    memory.export(tmp_path / "all.jsonl")
    memory.close()
    for verb in (memory.import_, memory.export):
        with pytest.raises(StoreError, match="closed"):
            verb(tmp_path / "all.jsonl")


@pytest.fixture
def both(full, opened, tmp_path):
    """A memory and one that has read its bundle, and a way to bring over what changed since."""
    other = opened(tmp_path / "other.db")
    full.export(tmp_path / "first.jsonl")
    other.import_(tmp_path / "first.jsonl")

    def brought(**terms):
        full.export(tmp_path / "next.jsonl")
        return other.import_(tmp_path / "next.jsonl", **terms)

    return full, other, brought


def test_who_follows_has_the_changes_and_the_removals(both):
    """A new text with the old one in the history, new tags and worth, removals in the scope and of all of one below."""
    source, other, brought = both
    source.update("x", text="v4", worth=3)
    source.update("t", tags=["b"])
    source.forget("f")
    source.within("below", "deep").forget(everything=True)
    other.remember("my own", id="own")
    done = brought(follow=True)
    assert (done.written, done.changed, done.removed, done.refused) == (2, 2, 2, ())
    assert [each.record.text for each in other.history("x")] == ["v1", "v2", "v3", "v4"]
    other.forget("own")
    assert contents(other) == contents(source)
    assert other.check() == []
    assert [hit.id for hit in other.recall("fact 太郎")] == []


def test_who_follows_loses_what_it_derived_from_what_was_removed(both):
    """As by any forgetting; what it wrote on its own stays."""
    source, other, brought = both
    other.remember("seen in f", id="mine", sources=[Key(other.scope, "fact", "f")])
    other.remember("my own", id="own")
    source.forget("f")
    assert brought(follow=True).removed == 2
    assert [hit.id for hit in other.list(kinds=("note",)).hits] == ["t", "x", "own"]


def test_who_does_not_follow_keeps_what_it_has(both):
    """Nothing changes, nothing goes; what says something else is named."""
    source, other, brought = both
    before = contents(other)
    source.update("x", text="another")
    source.forget("f")
    done = brought()
    assert (done.changed, done.removed, done.tombstones) == (0, 0, 2)
    assert done.refused == ("note 'x': another record has this id",)
    assert [row for row in contents(other) if row[1] != "superseded"] == [
        row for row in before if row[1] != "superseded"
    ]


def test_what_was_removed_here_comes_back_only_where_that_is_asked_for(both):
    """A bundle of before does not undo a forgetting in passing, followed or not; in a scope below neither."""
    source, other, brought = both
    other.forget("f")
    other.forget(everything=True, subtree=True, kinds=("message",))
    other.within("below", "deep").forget("d", hard=True)
    before = contents(other)
    for terms in ({}, {"follow": True}):
        done = brought(**terms)
        assert sorted(done.refused) == [
            f"{name}: it was removed here; import with restore to bring it back"
            for name in ("fact 'f'", "message 'm1'", "message 'm2'", "note 'd'")
        ]
        assert contents(other) == before
    assert brought(restore=True).written == 4
    assert sorted(contents(other)) == sorted(contents(source))


def test_a_record_that_was_removed_and_written_again_is_there(both):
    """It is no removal any more, on neither side."""
    source, other, brought = both
    source.forget("f")
    source.remember("a new fact", "fact", id="f")
    other.forget("f")
    other.remember("mine", "fact", id="f")
    done = brought(follow=True)
    assert (done.changed, done.removed, done.tombstones) == (1, 0, 1)
    assert other.get("f").text == "a new fact"


def test_no_tombstone_reaches_out_of_the_scope_it_is_read_into(opened, tmp_path):
    """Not by its parts, and not by what breaks a rule: that is refused and named."""
    memory = opened()
    memory.remember("kept", id="n")
    parent = opened(memory.store, ("acme",))
    parent.remember("kept", id="n")
    graves = [
        {"gone": ["..", "n"], "kind": "note", "id": "n"},
        {"gone": [""], "kind": "note", "id": "n"},
        {"gone": "alice", "kind": "note", "id": "n"},
        {"gone": [], "kind": "", "id": "n"},
    ]
    done = memory.import_(bundle_of(tmp_path / "b.jsonl", *graves, graves=len(graves)), follow=True)
    assert (done.removed, len(done.refused)) == (0, 3)
    assert (memory.get("n").text, parent.get("n").text) == ("kept", "kept")


def test_a_bundle_of_the_first_version_is_read(opened, tmp_path):
    """It has no tombstones, and a foot that does not count them."""
    path = bundle_of(tmp_path / "b.jsonl", line(id="fine"), version=1)
    assert opened().import_(path, follow=True) == Transferred(read=1, written=1)


NAMES = ("a", "b", "c")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), st.sampled_from(NAMES), st.sampled_from(("tea", "milk"))),
        st.tuples(st.just("update"), st.sampled_from(NAMES), st.sampled_from(("rice", "bread"))),
        st.tuples(st.just("forget"), st.sampled_from(NAMES), st.just("")),
        st.tuples(st.just("below"), st.sampled_from(NAMES), st.sampled_from(("tea", ""))),
        st.tuples(st.just("bring"), st.just(""), st.just("")),
    ),
    max_size=25,
)


def _step(memory, verb, name, text):
    """Do what a step says, where the memory is so that it can be done."""
    scope = memory.within("below") if verb == "below" else memory
    there = {hit.id for hit in scope.list().hits}
    if verb == "remember" or (verb == "below" and text):
        scope.remember(text, id=name)
    elif verb == "update" and name in there:
        scope.update(name, text=text)
    elif verb in ("forget", "below") and name in there:
        scope.forget(name)


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_who_follows_always_equals_its_source(tmp_path_factory, steps):
    """Whatever is written, changed and removed between two bundles."""
    path = tmp_path_factory.mktemp("bundles") / "b.jsonl"
    with Memory(scope=ALICE, embedder="hashing") as source, Memory(scope=ALICE, embedder="hashing") as other:
        for verb, name, text in [*steps, ("bring", "", "")]:
            _step(source, verb, name, text)
            if verb == "bring":
                source.export(path)
                done = other.import_(path, follow=True, restore=True)
                assert done.refused == ()
                assert sorted(contents(other), key=repr) == sorted(contents(source), key=repr)


def test_an_export_takes_the_place_of_nothing_but_a_file(full, opened, tmp_path):
    """Not of a pipe, a folder or another memory; through a link it writes what the link names."""
    os.mkfifo(tmp_path / "pipe")
    opened(tmp_path / "other.db").remember("theirs")
    sqlite3.connect(tmp_path / "foreign.sqlite").execute("CREATE TABLE t (x)").connection.close()
    for name in ("pipe", ".", "other.db", "foreign.sqlite"):
        with pytest.raises(StoreError, match=r"cannot be written|database|memory"):
            full.export(tmp_path / name)
    (tmp_path / "link").symlink_to(tmp_path / "real.jsonl")
    full.export(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real.jsonl").read_text().startswith("{")
    with pytest.raises(BundleError, match="regular file"):
        full.import_(tmp_path / "pipe")


def test_who_follows_keeps_what_it_wrote_and_changed_itself(both):
    """A record with the same id that is its own, an update of its own, and its own pins; each is named."""
    source, other, brought = both
    source.remember("theirs", id="same")
    other.remember("mine", id="same")
    other.update("t", text="changed here")
    source.update("t", text="changed there")
    other.remember("pinned here", id="p")
    other.pin("p")
    source.pin("x")
    source.remember("short", id="gone-there")
    source.forget("gone-there")
    other.remember("mine too", id="gone-there")
    done = brought(follow=True)
    assert {line.partition(":")[0] for line in done.refused} >= {
        "note 'same'",
        "note 't'",
        "context-pins 'notes'",
        "note 'gone-there'",
    }
    assert [other.get(name).text for name in ("same", "t", "gone-there")] == ["mine", "changed here", "mine too"]
    assert other.pin("p") is False


def test_a_playbook_of_its_own_is_not_followed(opened, tmp_path):
    """Entries are numbered alike on both sides; one that came with bundles goes on with its history."""
    source, own, fresh = opened(), opened(), opened()
    source.playbook.add("Always preheat the oven.", section="baking")
    own.playbook.add("Never open the door.", section="baking")
    source.export(tmp_path / "b.jsonl")
    done = own.import_(tmp_path / "b.jsonl", follow=True)
    assert {line.partition(": ")[2] for line in done.refused} == {"this memory has a playbook of its own"}
    assert [entry.content for entry in own.playbook] == ["Never open the door."]
    fresh.import_(tmp_path / "b.jsonl", follow=True)
    source.playbook.add("Let it cool.", section="baking")
    source.playbook.tag(next(iter(source.playbook)).id, "helpful", by="run")
    source.export(tmp_path / "b.jsonl")
    assert fresh.import_(tmp_path / "b.jsonl", follow=True).refused == ()
    assert [(entry.content, entry.counts) for entry in fresh.playbook] == [
        (entry.content, entry.counts) for entry in source.playbook
    ]
    assert len(fresh.playbook.history()) == 3


def test_what_tells_of_what_was_forgotten_stays_away_too(opened, tmp_path):
    """A note derived from a message that was forgotten here does not bring its words back, followed or not."""
    source, other = opened(), opened()
    source.conversation.add([{"role": "user", "content": "Mara has diabetes"}], ids=["m1"])
    source.conversation.add([{"role": "user", "content": "Mara likes tea"}], ids=["m2"])
    sources = [Key(source.scope, "message", name) for name in ("m1", "m2")]
    source.remember("Mara: diabetes, tea", id="about", sources=sources)
    source.export(tmp_path / "b.jsonl")
    other.import_(tmp_path / "b.jsonl")
    other.forget("m1")
    other.update("about", text="Mara: tea")
    for terms in ({}, {"follow": True}):
        other.import_(tmp_path / "b.jsonl", **terms)
        assert other.get("about").text == "Mara: tea"
    other.forget("about")
    refused = other.import_(tmp_path / "b.jsonl", follow=True).refused
    assert "note 'about': it was removed here; import with restore to bring it back" in refused
    source.remember("diabetes again", id="new", sources=sources[:1])
    source.export(tmp_path / "c.jsonl")
    assert (
        "note 'new': it was made from what was removed here; import with restore to bring it back"
        in other.import_(tmp_path / "c.jsonl", follow=True).refused
    )


def test_what_was_removed_there_and_written_again_comes_back_to_who_follows(both):
    """But not what was forgotten here meanwhile."""
    source, other, brought = both
    source.forget("f")
    assert brought(follow=True).removed == 1
    source.remember("again", "fact", id="f")
    done = brought(follow=True)
    assert (done.written, done.refused, other.get("f").text) == (1, (), "again")
    other.forget("f")
    assert [line.partition(":")[0] for line in brought(follow=True).refused] == ["fact 'f'"]


def test_a_restored_memory_remembers_what_was_forgotten(full, opened, tmp_path):
    """A bundle tells it to a new memory, and that tells it on, by a bundle or a copy."""
    full.conversation.add([{"role": "user", "content": "my secret is 42"}], ids=["secret"])
    full.export(tmp_path / "old.jsonl")
    full.forget("secret", hard=True)
    full.export(tmp_path / "new.jsonl")
    restored, copied, last = opened(), opened(), opened()
    restored.import_(tmp_path / "new.jsonl")
    restored.export(tmp_path / "restored.jsonl")
    last.import_(tmp_path / "restored.jsonl")
    full.copy_to(copied)
    for memory in (restored, last, copied):
        refused = memory.import_(tmp_path / "old.jsonl").refused
        assert "message 'secret': it was removed here; import with restore to bring it back" in refused


def test_what_is_forgotten_while_a_bundle_is_read_stays_away(opened, tmp_path):
    """The removals are looked at again for each part of it."""
    source, other = opened(), opened()
    source.remember_all([Note(text=f"said {number}", id=str(number)) for number in range(600)])
    source.export(tmp_path / "b.jsonl")
    other.remember("said 599", id="599")

    def forget(done, total):
        if other.count({"id": "599"}):
            other.forget("599")

    assert other.import_(tmp_path / "b.jsonl", forget).refused == (
        "note '599': it was removed here; import with restore to bring it back",
    )
    assert other.count() == 599


def test_one_id_that_may_not_be_stored_costs_only_itself(opened, tmp_path):
    """Where ids are redacted and no key names them: the others are written, and tombstones stop nothing."""
    pytest.importorskip("depii")
    source = opened()
    source.remember_all([Note(text=f"note {number}", id=f"n{number}") for number in range(300)])
    source.remember("mail", id="bob@example.com")
    source.remember("gone", id="eve@example.com")
    source.forget("eve@example.com")
    source.export(tmp_path / "b.jsonl")
    other = opened(redaction=RedactionPolicy())
    done = other.import_(tmp_path / "b.jsonl", follow=True)
    assert (done.written, len(done.refused)) == (300, 1)
    assert other.export(tmp_path / "c.jsonl").written == 300
    assert other.import_(tmp_path / "b.jsonl", follow=True).duplicate == 300


def test_a_record_that_has_ended_since_is_not_written(opened, tmp_path):
    """It is named each time, and never counted as written."""
    source = opened()
    source.remember("soon over", id="s", until=FakeClock().now() + timedelta(hours=1))
    source.export(tmp_path / "b.jsonl")
    clock = FakeClock()
    clock.advance(timedelta(hours=2))
    other = opened(clock=clock)
    for _ in range(2):
        assert other.import_(tmp_path / "b.jsonl").refused == ("note 's': its time is over",)


def test_a_scope_of_a_bundle_that_names_a_person_is_named_as_ids_are(opened, tmp_path):
    """With a key by a digest, without one it is refused; the operator's own scope stays."""
    pytest.importorskip("depii")
    source = opened()
    source.within("bob@example.com").remember("likes tea", id="t")
    source.export(tmp_path / "b.jsonl")
    with_key = opened(redaction=RedactionPolicy(key=b"k" * 16))
    assert with_key.import_(tmp_path / "b.jsonl").written == 1
    assert with_key.import_(tmp_path / "b.jsonl").duplicate == 1
    assert not any("bob" in part for scope in with_key.scopes() for part in scope)
    done = opened(redaction=RedactionPolicy()).import_(tmp_path / "b.jsonl")
    assert (done.written, len(done.refused), "bob@" in done.refused[0]) == (0, 1, False)

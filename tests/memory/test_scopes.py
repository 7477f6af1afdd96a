"""Scopes: exact in every verb and in every arm of search; narrowing, and reading what lies below."""

from __future__ import annotations

import threading

import pytest

from seasoned import Key, Memory, Scope
from seasoned.errors import InvalidScope, NotFound, StoreClosed, WrongType

from .helping import ids, spelling, texts


def test_no_verb_sees_or_changes_anothers_records(alice, bob):
    """Get, list, count, recall, update, history, forget, sessions, scopes: each is bound to its scope."""
    alice.remember("The vault code is 4711", id="secret")
    assert (ids(bob.list()), bob.count(), ids(bob.recall("vault code"))) == ([], 0, [])
    for verb in (bob.get, bob.history, bob.forget, lambda name: bob.update(name, text="mine")):
        with pytest.raises(NotFound):
            verb("secret")
    assert bob.scopes() == []
    assert bob.forget(everything=True, subtree=True).total == 0
    assert texts(alice.list()) == ["The vault code is 4711"]


def test_forgetting_one_user_leaves_the_other_whole(alice, bob):
    """3 of Alice's go, both of Bob's stay, and a second call has nothing to do."""
    for number in range(3):
        alice.remember(f"alice {number}")
    for number in range(2):
        bob.remember(f"bob {number}")
    assert alice.forget(everything=True).total == 3
    assert texts(bob.list()) == ["bob 0", "bob 1"]
    assert alice.forget(everything=True).total == 0


def test_the_same_id_in_two_scopes_is_two_records(alice, bob):
    """Updating and forgetting one leaves the other."""
    alice.remember("of alice", id="doc")
    bob.remember("of bob", id="doc")
    alice.update("doc", text="of alice, changed")
    alice.forget("doc")
    assert texts(bob.list()) == ["of bob"]
    assert bob.get("doc").record.version == 1


def test_identity_in_metadata_moves_nothing(alice, bob):
    """A user id or scope in `data` is plain data."""
    alice.remember("note", data={"user_id": "bob", "scope": ["acme", "bob"]}, id="x")
    assert (alice.get("x").record.data["user_id"], bob.count()) == ("bob", 0)


@pytest.mark.parametrize("arm", ["words", "vectors", "subtree", "filter", "listing"])
def test_each_arm_alone_finds_no_foreign_record(place, opened, arm):
    """Two tenants with the same text: every way of asking gives one hit, one's own."""
    one = opened(place, ("acme", "alice"), embedder=spelling() if arm == "vectors" else "hashing")
    two = opened(one.store, ("acme", "bob"), embedder=spelling() if arm == "vectors" else "hashing")
    one.remember("green tea at four", id="a", tags=["t"])
    two.remember("green tea at four", id="b", tags=["t"])
    ask = {
        "words": lambda memory: memory.recall("green tea"),
        "vectors": lambda memory: memory.recall("gren teh"),
        "subtree": lambda memory: memory.recall("green tea", subtree=True),
        "filter": lambda memory: memory.recall("tea", where={"data.tags": "t"}),
        "listing": lambda memory: memory.list({"data.tags": "t"}, subtree=True),
    }[arm]
    assert (ids(ask(one)), ids(ask(two))) == (["a"], ["b"])


def test_a_tenants_ranking_does_not_depend_on_another_tenant(alice, bob):
    """Scores and order are the same before and after a neighbour writes a thousand notes of the same words."""
    for number in range(20):
        alice.remember(f"tea number {number} " + "green " * (number % 3), id=str(number))
    before = [(hit.id, hit.score) for hit in alice.recall("green tea", k=20)]
    for number in range(1000):
        bob.remember(f"green tea {number}")
    assert [(hit.id, hit.score) for hit in alice.recall("green tea", k=20)] == before


@pytest.mark.parametrize("mark", [":", "/", ".", "|", "%", "_", "\\", '"', "'", "`", "-", "%2F", "*", "?", " "])
def test_no_part_of_a_scope_can_imitate_a_separator(opened, place, mark):
    """Parts that hold it make two disjoint scopes, in every kind of read, and neither lies below the other."""
    left = opened(place, (f"a{mark}b", "c"))
    right = opened(left.store, ("a", f"b{mark}c"))
    left.remember("tea left")
    right.remember("tea right")
    for memory, own in ((left, "tea left"), (right, "tea right")):
        for subtree in (False, True):
            assert texts(memory.list(subtree=subtree)) == texts(memory.recall("tea", subtree=subtree)) == [own]
    assert opened(left.store, ("a",)).count(subtree=True) == 1


def test_a_scope_is_a_whole_segment_not_a_beginning(opened, place):
    """`foo` reads neither `foobar`, nor `f%`, nor `f_o`."""
    first = opened(place, ("foo",))
    for name in ("foo", "foobar", "f%", "f_o", "Foo", "fo"):
        opened(first.store, (name,)).remember(f"tea of {name}")
    for name in ("foo", "foobar", "f%", "f_o", "Foo", "fo"):
        memory = opened(first.store, (name,))
        assert texts(memory.list(subtree=True)) == texts(memory.recall("tea", subtree=True)) == [f"tea of {name}"]


def test_within_narrows_and_a_subtree_read_reaches_down(opened, place):
    """The parent reads the parts below only where it says so; the child never reads up."""
    acme = opened(place, ("acme",))
    anna = acme.within("anna")
    private = anna.within("private", "diary")
    assert private.scope == Scope(("acme", "anna", "private", "diary"))
    for memory, text in ((acme, "tea for all"), (anna, "tea of anna"), (private, "tea in private")):
        memory.remember(text)
    assert texts(acme.list()) == texts(acme.recall("tea")) == ["tea for all"]
    assert acme.count() == 1
    assert texts(acme.list(subtree=True)) == ["tea for all", "tea of anna", "tea in private"]
    assert sorted(texts(acme.recall("tea", subtree=True))) == ["tea for all", "tea in private", "tea of anna"]
    assert acme.count(subtree=True) == 3
    assert texts(anna.list(subtree=True)) == ["tea of anna", "tea in private"]
    assert texts(private.list(subtree=True)) == ["tea in private"]
    assert acme.scopes() == [acme.scope, anna.scope, private.scope]
    assert anna.scopes() == [anna.scope, private.scope]


def test_a_group_does_not_see_what_was_said_in_private(opened, place):
    """Sibling scopes share nothing."""
    root = opened(place, ("user",))
    root.within("alice", "private").remember("I am looking for a new job")
    assert ids(root.within("group", "1").recall("new job", subtree=True)) == []


def test_a_memory_within_a_closed_one_is_closed_and_closing_it_closes_nothing(opened, place):
    """The store belongs to the memory that opened it."""
    parent = opened(place)
    child = parent.within("x")
    child.close()
    parent.remember("still open")
    other = parent.within("y")
    parent.close()
    with pytest.raises(StoreClosed):
        other.remember("too late")


def test_two_threads_of_an_agent_with_a_scope_each_share_nothing(place, opened):
    """The scope is named by the constructor, and each thread's secret is only its own."""
    first = opened(place, ("crew", "thread-0"))
    memories = [first, opened(first.store, ("crew", "thread-1"))]
    threads = [
        threading.Thread(target=memory.remember, args=(f"the secret of {number}",))
        for number, memory in enumerate(memories)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [texts(memory.recall("secret")) for memory in memories] == [["the secret of 0"], ["the secret of 1"]]


@pytest.mark.parametrize(
    ("scope", "error"),
    [
        ((), InvalidScope),
        ("", InvalidScope),
        ("  ", InvalidScope),
        (("acme", ""), InvalidScope),
        (("acme", "a\nb"), InvalidScope),
        (("acme", "a\0b"), InvalidScope),
        (("acme", "a\x1fb"), InvalidScope),
        (("bad \ud800",), InvalidScope),
        (("x" * 513,), InvalidScope),
        (42, WrongType),
        (("acme", 42), WrongType),
        (None, WrongType),
        ({"acme"}, WrongType),
    ],
)
def test_a_scope_that_names_nobody_is_refused(tmp_path, scope, error):
    """A number is not the text of it; nothing is created."""
    with pytest.raises(error):
        Memory(tmp_path / "agent.db", scope=scope, embedder="hashing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("part", ["", " ", 42, None])
def test_a_part_below_that_names_nobody_is_refused(alice, part):
    """By the same rule as the constructor's; so is none at all."""
    with pytest.raises((InvalidScope, WrongType)):
        alice.within(part)


def test_a_scope_of_one_part_may_be_written_as_a_text(opened, place):
    """`"alice"` and `("alice",)` are one scope."""
    one = opened(place, "alice")
    one.remember("tea")
    assert opened(one.store, ("alice",)).count() == 1


def test_a_source_in_another_scope_gives_no_way_in(alice, bob):
    """Naming a foreign key as source neither shows nor holds the foreign record."""
    bob.remember("of bob", id="b")
    alice.remember("derived", id="a", sources=[Key(bob.scope, "note", "b")])
    bob.forget("b")
    assert ids(alice.list()) == ["a"]
    assert alice.forget(source=Key(bob.scope, "note", "b")).ids == ("a",)

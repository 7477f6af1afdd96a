"""The paper's text format, read and written without loss."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seasoned.embedders import resolve
from seasoned.errors import InvalidInput, WrongType
from seasoned.playbook.core import Core
from seasoned.playbook.deltas import Add, Tag
from seasoned.playbook.entries import Counts, Mark
from seasoned.playbook.paper import PaperBook, PaperEntry, PaperSection, read, write
from seasoned.playbook.transcribing import load, to_text, transcribed
from seasoned.search import Searcher
from seasoned.stores.memory import MemoryStore

ALL = """These are hints.

## STRATEGIES & INSIGHTS
[si-00001] helpful=3 harmful=1 :: Read the specification first:
1. of the call
2. of its result

[si-00007] helpful=0 harmful=0 :: Keep code short.

## CODE SNIPPETS:

[cs-00004] Bullets without counters are read as well.
## OTHERS
"""

bullets = ["[x-00001]", "[x-00001] y", "\\\\[x-00001] y", "[z] helpful=1 harmful=0 :: c"]
counters = ["helpful=1 harmful=2 :: d", "\\helpful=1 harmful=2 :: d"]
headers = ["## A", "##", "### b", "\\## A"]
breaks = ["\n", "\n\n", "\r\n", "\r", "\t", "\x0b", "\u2028", " "]
pieces = st.sampled_from([*bullets, *counters, *headers, *breaks, "\\", "工具", "é", "x", "[", "%5B"])
texts = st.one_of(st.lists(pieces, max_size=12).map("".join), st.text(st.characters(codec="utf-8")))
contents = texts.map(str.strip)
ids = st.one_of(
    st.builds("{}-{:05d}".format, st.sampled_from(["si", "shr", "工"]), st.integers(0, 10**6)),
    st.text(st.sampled_from("[]%5Bab -工"), min_size=1, max_size=8).filter(str.strip),
)
counts = st.builds(Counts, helpful=st.integers(0, 9), harmful=st.integers(0, 9))


@st.composite
def entries(draw: st.DrawFn) -> PaperEntry:
    name, content = draw(ids), draw(contents)
    numbered = name[-5:].isascii() and name[-5:].isdigit() and name[-6:-5] == "-" and not set(name) & set("[] ")
    found = draw(st.one_of(st.none(), counts)) if numbered else draw(counts)
    tail = draw(st.sampled_from(["", "\n", "\n\n", "  \n", "\r"] if content else ["", "\n", "\n  \n"]))
    return PaperEntry(id=name, content=content, counts=found, tail=tail)


@st.composite
def books(draw: st.DrawFn) -> PaperBook:
    names = st.text(st.sampled_from("AB &:#工"), min_size=1, max_size=6).map(str.strip).filter(bool)
    section = st.builds(
        PaperSection,
        name=names,
        entries=st.lists(entries(), max_size=4).map(tuple),
        after=st.sampled_from(["", "\n", "\nsome words\n"]),
    )
    return PaperBook(
        preamble=draw(st.sampled_from(["", "Hints:\n", "\n\n"])), sections=tuple(draw(st.lists(section, max_size=4)))
    )


@pytest.fixture
def core() -> Iterator[Core]:
    store = MemoryStore()
    yield Core(store, ("acme", "alice"), searcher=Searcher(store, resolve("hashing")))  # type: ignore[arg-type]
    store.close()


def test_a_playbook_is_read_with_all_it_has() -> None:
    """Preamble, headers with and without a colon, counters, content of several lines, an empty section."""
    book = read(ALL)
    assert book.preamble == "These are hints.\n\n"
    assert [(section.name, len(section.entries)) for section in book.sections] == [
        ("STRATEGIES & INSIGHTS", 2),
        ("CODE SNIPPETS", 1),
        ("OTHERS", 0),
    ]
    (_, first), (_, second), (_, third) = book
    assert first.content == "Read the specification first:\n1. of the call\n2. of its result"
    assert (first.id, first.counts) == ("si-00001", Counts(helpful=3, harmful=1))
    assert (second.id, second.counts) == ("si-00007", Counts())
    assert (third.id, third.counts) == ("cs-00004", None)
    assert write(book) == ALL


def test_new_ids_go_on_above_the_highest_that_was_read() -> None:
    """There is one counter over all sections."""
    assert read(ALL).next_number == 8
    assert read("").next_number == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "only words",
        "[x-00001] above the first header",
        "words\n[x-00001] above\n## A\n## A\n",
        "## A\r\n[x-00001] helpful=1 harmful=0 :: b\r\nc\r\n",
        "  [odd id] helpful=1 harmful=2::no space",
        "## A\n[x-00001]\thelpful=0   harmful=0 ::   b  \n\n\n[x-00001] helpful=0 harmful=0 ::",
        "## A\n[x-00001] helpful=0 harmful=0 ::\n\n  code below\n",
        "## A\n[x-00001] a\n\\## no header\n\\[y-00001] no bullet\n\\\\## two\n",
        "## A\n[x-00001]\n\\helpful=1 harmful=0 :: b",
        "## A\n[x-00001]\nhelpful=1 harmful=0 :: b",
        "## A\n[x-00001] helpful=9999999999999999999 harmful=0 :: b",
        "##\n## \n###\n#",
    ],
)
def test_a_text_is_written_as_it_was_read(text: str) -> None:
    """Byte for byte, however it is spaced."""
    assert write(read(text)) == text


@pytest.mark.skipif("SEASONED_ACE_DATA" not in os.environ, reason="SEASONED_ACE_DATA names no folder with the data")
def test_the_published_playbook_is_written_as_it_was_read() -> None:
    """All 359 bullets of the AppWorld playbook, without counters and with a header that ends in a colon."""
    text = Path(os.environ["SEASONED_ACE_DATA"], "appworld-playbook-online.txt").read_bytes().decode()
    book = read(text)
    assert write(book) == text
    assert len(list(book)) == 359
    assert book.sections[6].name == "TROUBLESHOOTING AND PITFALLS"
    assert all(entry.counts is None for _, entry in book)


@given(texts)
@example("[x-00001] \\helpful=1 harmful=0 :: a")
def test_any_text_is_written_as_it_was_read(text: str) -> None:
    """No text is changed by reading and writing it."""
    assert write(read(text)) == text


@given(books())
def test_any_playbook_is_read_as_it_was_written(book: PaperBook) -> None:
    """No content, id or name is read as something else than what was written."""
    assert read(write(book)) == book


def test_a_bullet_that_could_not_be_read_back_is_refused() -> None:
    """Blank text around content, a head of another bullet, or no counters with an id that is none of the paper's."""
    for wrong in (
        {"content": " a"},
        {"tail": "b"},
        {"head": "[y-00002] "},
        {"head": "[x-00001] ", "counts": Counts()},
        {"id": "odd", "counts": None},
    ):
        with pytest.raises(InvalidInput):
            PaperEntry(**{"id": "x-00001", "content": "a", **wrong})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        PaperSection(name="A", after="\n## B")
    with pytest.raises(InvalidInput):
        PaperBook(preamble="[x-00001] a\n")
    with pytest.raises(WrongType):
        read(b"## A")  # type: ignore[arg-type]


def test_an_id_that_stands_twice_is_reported_and_gets_a_new_one() -> None:
    """The first keeps it; the new number is above all that were read and all that are in the playbook."""
    book = read("## A\n[a-00003] one\n[a-00003] two\n[a-00002] three\n[a-00003] helpful=2 harmful=0 :: four")
    found = transcribed(book)
    assert [(add.id, add.content) for add in found.deltas] == [
        ("a-00003", "one"), ("a-00004", "two"), ("a-00002", "three"), ("a-00005", "four"),
    ]  # fmt: skip
    assert found.renamed == (("a-00003", "a-00004"), ("a-00003", "a-00005"))
    assert found.deltas[3].counts == Counts(helpful=2)
    assert transcribed(book, above=40).renamed[0] == ("a-00003", "a-00041")


def test_a_bullet_without_content_is_skipped_and_said() -> None:
    """It cannot be an entry; the others are."""
    found = transcribed(read("## A\n[a-00001] helpful=0 harmful=0 ::\n[a-00002] helpful=0 harmful=0 :: two"))
    assert [add.id for add in found.deltas] == ["a-00002"]
    assert found.skipped[0][0] == "a-00001"


def test_a_playbook_in_the_store_is_written_as_it_was_loaded(core: Core) -> None:
    """Preamble, the order of sections, empty ones included, ids and counters are kept."""
    text = "Hints.\n\n## B\n[b-00002] helpful=3 harmful=1 :: one\ntwo\n[b-00009] helpful=0 harmful=0 :: three\n\n## EMPTY:\n\n## A\n[a-00001] helpful=0 harmful=2 :: four\n"  # noqa: E501  # one file
    loaded = load(core, text)
    assert loaded.changed.number == 1
    assert to_text(core) == text
    assert core.apply([Add(content="five", section="A")]).effects[0].id == "a-00010"
    core.apply([Tag(id="b-00009", mark=Mark.HELPFUL), Add(content="six", section="NEW")])
    assert to_text(core) == (
        "Hints.\n\n## B\n[b-00002] helpful=3 harmful=1 :: one\ntwo\n[b-00009] helpful=1 harmful=0 :: three\n\n"
        "## EMPTY:\n\n## A\n[a-00001] helpful=0 harmful=2 :: four\n[a-00010] helpful=0 harmful=0 :: five\n\n"
        "## NEW\n[new-00011] helpful=0 harmful=0 :: six\n"
    )


def test_loading_a_text_twice_changes_nothing_when_it_is_named(core: Core) -> None:
    """`by` makes a second load of the same file a duplicate."""
    load(core, ALL, by="file")
    assert load(core, ALL, by="file").changed.duplicate
    assert len(core.entries()) == 3


def test_bullets_that_nobody_marked_stay_without_counters_where_the_file_has_none(core: Core) -> None:
    """As in the published playbook; one that was marked shows its counters."""
    load(core, "## A\n[a-00001] one\n[a-00002] two\n")
    core.apply([Tag(id="a-00002", mark=Mark.HARMFUL)])
    assert to_text(core) == "## A\n[a-00001] one\n[a-00002] helpful=0 harmful=1 :: two\n"


@given(st.lists(st.tuples(st.sampled_from(["A", "B:", "工 具"]), texts.filter(str.strip)), max_size=6, unique=True))
def test_any_content_survives_the_text(given_entries: list[tuple[str, str]]) -> None:
    """What one playbook writes, another reads: the same sections, ids and contents."""
    with_one, with_other = MemoryStore(), MemoryStore()
    one, other = (Core(s, ("a",), searcher=Searcher(s, resolve("hashing"))) for s in (with_one, with_other))  # type: ignore[arg-type]
    one.apply([Add(content=content, section=section) for section, content in given_entries])
    load(other, to_text(one))
    assert to_text(other) == to_text(one)
    assert {(e.id, e.section, e.content) for e in other.entries()} == {
        (e.id, e.section, e.content) for e in one.entries()
    }
    with_one.close()
    with_other.close()

"""The searcher: text in, vectors and hits out, with and without an embedder."""

from __future__ import annotations

import numpy as np
import pytest

from seasoned import CallableEmbedder, HashingEmbedder, Hits, MemoryStore, Scope
from seasoned.errors import EmbeddingError, InvalidInput, WrongType
from seasoned.search import CHUNK_CHARS, MAX_CHUNKS, Searcher, says_something

SCOPE = Scope(("acme", "alice"))


@pytest.fixture
def asked():
    return []


@pytest.fixture
def searcher(asked):
    def embed(texts):
        asked.extend(texts)
        return HashingEmbedder(32).embed(texts)

    return Searcher(MemoryStore(), CallableEmbedder(embed, "mine", dimension=32))


def test_a_text_has_one_vector_a_piece_and_a_blank_one_none(searcher, asked):
    """All pieces of all texts go to the embedder in one call, none longer than it reads."""
    vectors, failed = searcher.vectors(["short", " \n", "word " * 500])
    assert failed is None
    assert [None if each is None else each.values.shape for each in vectors] == [(1, 32), None, (3, 32)]
    assert "".join(asked) == "short" + "word " * 500
    assert max(len(piece) for piece in asked) <= CHUNK_CHARS


def test_of_a_very_long_text_so_many_pieces_are_embedded(searcher, asked):
    """What follows them is found by words."""
    [vectors], _ = searcher.vectors(["word " * 200_000])
    assert vectors.values.shape == (MAX_CHUNKS, 32)
    assert len(asked) == MAX_CHUNKS


def test_no_texts_ask_nothing(searcher, asked):
    """Of no text there is no vector, and no call."""
    assert (searcher.vectors([]), asked) == (([], None), [])


def test_where_the_embedder_fails_there_is_no_vector_and_a_reason():
    """For the whole batch; the strict form raises."""
    searcher = Searcher(MemoryStore(), CallableEmbedder(lambda texts: [[np.nan]] * len(texts), "bad", dimension=1))
    vectors, failed = searcher.vectors(["a", "b"])
    assert vectors == [None, None]
    assert failed.startswith("dense: ")
    with pytest.raises(EmbeddingError, match="not finite"):
        searcher.required_vectors(["a"])


def test_an_embedder_that_counts_nothing_is_not_asked():
    """Words alone: no vectors, no degradation."""
    searcher = Searcher(MemoryStore(), HashingEmbedder())
    assert not searcher.dense
    assert searcher.vectors(["a"]) == ([None], None)
    assert searcher.search("a", k=1, scope=SCOPE) == Hits()


def test_the_space_is_known_or_said_to_be_unknown(searcher):
    """None while the embedder cannot be asked."""
    assert searcher.space == "mine/1/32"

    def down(texts):
        raise OSError("down")

    assert Searcher(MemoryStore(), CallableEmbedder(down, "mine")).space is None


@pytest.mark.parametrize(
    ("query", "error"),
    [("", InvalidInput), (" \n", InvalidInput), (None, WrongType), (5, WrongType), (b"x", WrongType)],
)
def test_a_query_that_asks_nothing_is_refused(searcher, query, error):
    """Before the embedder is asked."""
    with pytest.raises(error, match="query"):
        searcher.search(query, k=1, scope=SCOPE)


@pytest.mark.parametrize(
    ("text", "says"), [("tea", True), ("茶", True), ("5", True), ("🎉", False), ("?!…", False), ("", False)]
)
def test_a_text_says_something_if_it_has_a_word(text, says):
    """An emoji has none."""
    assert says_something(text) is says

"""What holds for every embedder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seasoned.embedders import embed_checked
from seasoned.errors import WrongType
from seasoned.ports import Embedder

ANY_TEXT = st.text(st.characters(), max_size=60)
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LONE_SURROGATE = "a\ud83d broken \udc00 half"


@FEW
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=6), data=st.data())
def test_a_vector_does_not_depend_on_its_batch(embedder: Embedder, texts: list[str], data: st.DataObject):
    """A text has the same vector alone, in company, and in any order."""
    order = data.draw(st.permutations(range(len(texts))))
    together = embedder.embed(texts)
    shuffled = embedder.embed([texts[n] for n in order])
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    np.testing.assert_allclose(alone, together, atol=1e-5)
    np.testing.assert_allclose(shuffled, together[order], atol=1e-5)


@FEW
@given(texts=st.lists(ANY_TEXT, max_size=6))
def test_rows_are_always_unit_or_zero_and_never_nan(embedder: Embedder, texts: list[str]):
    """Whatever the texts, the rows are float32, contiguous, finite, and of length one or zero."""
    rows = embedder.embed(texts)
    assert rows.shape == (len(texts), embedder.fingerprint.dimension)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    lengths = np.linalg.norm(rows, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


def test_no_texts_give_no_rows(embedder: Embedder):
    """An empty list gives an empty table of the right width."""
    assert embedder.embed([]).shape == (0, embedder.fingerprint.dimension)


def test_a_lone_surrogate_does_no_harm(embedder: Embedder):
    """Half of a character, as cut strings have it, is read as the replacement character."""
    rows = embedder.embed([LONE_SURROGATE, "a\ufffd broken \ufffd half"])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-5)


def test_two_surrogates_that_make_a_character_are_that_character(embedder: Embedder):
    """A pair of surrogates, as some JSON readers leave it, is read as the character it stands for."""
    rows = embedder.embed(["ship \ud83d\ude80 it", "ship 🚀 it"])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-5)


def test_a_single_string_is_refused(embedder: Embedder):
    """A string handed in for a list would be embedded letter by letter, so it raises."""
    with pytest.raises(WrongType, match="not one str"):
        embedder.embed("a text")


def test_something_that_is_not_a_text_is_refused(embedder: Embedder):
    """A list that holds None raises, and says what it held."""
    with pytest.raises(WrongType, match="NoneType"):
        embedder.embed(["a text", None])  # type: ignore[list-item]


def test_the_fingerprint_does_not_change_with_use(embedder: Embedder):
    """The vector space is the same before and after a call, and has the width of the rows."""
    before = embedder.fingerprint
    assert embedder.embed(["a text"]).shape[1] == before.dimension
    assert embedder.fingerprint == before


def test_the_weight_lies_between_nothing_and_everything(embedder: Embedder):
    """A weight is a share, from 0 to 1."""
    assert 0 <= embedder.weight <= 1


def test_threads_share_an_embedder(embedder: Embedder):
    """Four threads that embed at once get what one gets alone."""
    texts = [f"The keeper of light {n} logged the fog." for n in range(12)]
    expected = embedder.embed(texts)
    with ThreadPoolExecutor(4) as threads:
        for rows in threads.map(lambda _: embedder.embed(texts), range(8)):
            np.testing.assert_allclose(rows, expected, atol=1e-5)


def test_a_checked_call_changes_nothing_that_was_right(embedder: Embedder):
    """What an embedder of ours returns passes the check untouched."""
    texts = ["The keeper logged the fog.", "Green tea in Kyoto."]
    np.testing.assert_array_equal(embed_checked(embedder, texts), embedder.embed(texts))

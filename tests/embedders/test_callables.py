"""CallableEmbedder and embed_checked: any model, held to its promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike, NDArray

from seasoned.embedders import CallableEmbedder, embed_checked
from seasoned.errors import EmbeddingError, InvalidInput
from seasoned.ports import Fingerprint

FOREIGN = Fingerprint("foreign", "3", 2)


@dataclass(frozen=True)
class Foreign:
    """A third party's embedder, which may not keep what its fingerprint promises."""

    function: Callable[[Sequence[str]], ArrayLike]
    fingerprint: Fingerprint = FOREIGN
    weight: float = 0.65

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.function(texts)  # type: ignore[return-value]  # which is the point


def rows_by(kind: str, function: Callable[[Sequence[str]], ArrayLike], texts: list[str]) -> NDArray[np.float32]:
    """Embed with `function`, as a callable or as a third party's embedder."""
    if kind == "callable":
        return CallableEmbedder(function, "caller's", dimension=2).embed(texts)
    return embed_checked(Foreign(function), texts)


def sevens(texts: list[str]) -> list[list[float]]:
    """Seven numbers a text."""
    return [[3.0, 4.0, 0, 0, 0, 0, 0] for _ in texts]


def test_the_dimension_is_learned_from_the_first_vectors():
    """A model of seven dimensions needs no configuration."""
    embedder = CallableEmbedder(sevens, "sevens")
    assert embedder.embed(["a"]).shape == (1, 7)
    assert str(embedder.fingerprint) == "sevens/1/7"


def test_rows_are_normalised():
    """(3, 4) becomes (0.6, 0.8)."""
    row = CallableEmbedder(sevens, "sevens").embed(["a"])[0]
    np.testing.assert_allclose(row[:2], [0.6, 0.8], atol=1e-7)


def test_asking_for_the_fingerprint_first_embeds_one_text_once():
    """An unknown dimension is learned by one short call, a known one by none."""
    calls: list[list[str]] = []

    def counted(texts: list[str]) -> list[list[float]]:
        calls.append(texts)
        return sevens(texts)

    assert CallableEmbedder(counted, "sevens", dimension=7).fingerprint.dimension == 7
    assert calls == []
    embedder = CallableEmbedder(counted, "sevens")
    assert embedder.fingerprint == embedder.fingerprint
    assert [len(texts) for texts in calls] == [1]


def test_another_dimension_later_is_an_error():
    """A model that was swapped under the function is noticed, and both numbers are named."""
    embedder = CallableEmbedder(lambda texts: [[1.0] * len(text) for text in texts], "shifting")
    embedder.embed(["four"])
    with pytest.raises(EmbeddingError, match=r"\(1, 5\).*\(1, 4\)"):
        embedder.embed(["fives"])


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([[1.0, 0.0]], r"shape \(1, 2\), wanted \(2, 2\)"),
        ([1.0, 0.0], r"shape \(2,\), wanted \(2, 2\)"),
        ([[1.0], [1.0]], r"shape \(2, 1\), wanted \(2, 2\)"),
        ([[], []], r"shape \(2, 0\), wanted \(2, 2\)"),
        ([[1.0, 0.0], [float("nan"), 1.0]], "not finite, in row 1 of 2"),
        ([[float("inf"), 0.0], [0.0, 1.0]], "not finite, in row 0 of 2"),
        ([[1.0, 0.0], [1.0]], "list that is not a table of numbers"),
        ([["a", "b"], ["c", "d"]], "list that is not a table of numbers"),
        (None, r"shape \(\), wanted"),
        ({"data": []}, "dict that is not a table of numbers"),
    ],
)
@pytest.mark.parametrize("kind", ["callable", "foreign"])
def test_what_is_not_a_table_of_finite_rows_is_an_error(kind: str, returned: ArrayLike, said: str):
    """The error says what was found and what was wanted."""
    with pytest.raises(EmbeddingError, match=said):
        rows_by(kind, lambda _: returned, ["a", "b"])


@pytest.mark.parametrize("kind", ["callable", "foreign"])
def test_a_failure_of_the_function_names_it_and_keeps_its_cause(kind: str):
    """The original exception is the cause."""

    def failing(texts: Sequence[str]) -> ArrayLike:
        raise ConnectionError(f"no route for {len(texts)}")

    with pytest.raises(EmbeddingError, match="no route for 1") as caught:
        rows_by(kind, failing, ["a"])
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_foreign_embedder_gets_texts_that_can_be_encoded():
    """A lone surrogate is replaced before a third party's tokenizer meets it."""
    seen: list[str] = []

    def keeping(texts: Sequence[str]) -> ArrayLike:
        seen.extend(texts)
        return np.ones((len(texts), 2))

    embed_checked(Foreign(keeping), ["half \ud83d"])
    assert seen == ["half \ufffd"]


@given(
    arrays(
        st.sampled_from([np.float64, np.float32]),
        st.tuples(st.integers(1, 4), st.just(2)),
        elements=st.floats(allow_nan=False, allow_infinity=False, width=32),
    )
)
def test_any_finite_table_becomes_unit_or_zero_rows(table: NDArray[np.float64]):
    """However large or small the numbers, rows keep their direction and get length one; zero rows stay."""
    rows = embed_checked(Foreign(lambda _: table), ["text"] * len(table))
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), table.any(axis=1), atol=1e-5)
    assert np.array_equal(np.sign(rows[rows != 0]), np.sign(table[rows != 0]))


def test_the_largest_numbers_do_not_overflow():
    """A row near the largest float of all is normalised, not lost."""
    rows = CallableEmbedder(lambda _: [[1.7e308, 1.7e308], [5e-324, 0.0]], "extreme").embed(["a", "b"])
    np.testing.assert_allclose(rows, [[0.5**0.5, 0.5**0.5], [1.0, 0.0]], atol=1e-6)


def test_instances_are_independent():
    """Two embedders of different dimensions in one process do not disturb each other."""
    seven = CallableEmbedder(sevens, "sevens")
    two = CallableEmbedder(lambda texts: [[1.0, 0.0] for _ in texts], "twos", weight=0.1)
    assert seven.embed(["a"]).shape == (1, 7)
    assert two.embed(["a"]).shape == (1, 2)
    assert (seven.fingerprint.dimension, two.fingerprint.dimension) == (7, 2)
    assert (seven.weight, two.weight) == (0.65, 0.1)


def test_an_embedder_without_a_name_is_refused():
    """Its vectors could not be told from another's."""
    with pytest.raises(InvalidInput, match="name"):
        CallableEmbedder(sevens, "")


def test_a_weight_that_is_no_share_is_refused():
    """A weight is from 0 to 1."""
    with pytest.raises(InvalidInput, match=r"from 0 to 1, not 1\.5"):
        CallableEmbedder(sevens, "sevens", weight=1.5)


def test_a_dimension_below_one_is_refused():
    """A vector has at least one number."""
    with pytest.raises(InvalidInput, match="at least 1, not 0"):
        CallableEmbedder(sevens, "sevens", dimension=0)

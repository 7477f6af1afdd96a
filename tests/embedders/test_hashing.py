"""HashingEmbedder: always there, and the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from seasoned.embedders import HashingEmbedder
from seasoned.errors import InvalidInput

PRINT_ONE = (
    "from seasoned.embedders import HashingEmbedder; print(HashingEmbedder(16).embed(['fog at dawn']).tobytes().hex())"
)


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_every_process_hashes_alike(seed: str):
    """The vector does not depend on Python's own hash seed, nor on the process."""
    printed = subprocess.run(
        [sys.executable, "-c", PRINT_ONE],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert printed == HashingEmbedder(16).embed(["fog at dawn"]).tobytes().hex()


def test_texts_that_share_words_are_nearer_than_texts_that_do_not():
    """The cosine grows with what two texts have in common, inflected or misspelt."""
    rows = HashingEmbedder().embed(
        [
            "The keeper logged the heavy fog",
            "the keepers log heavy fogs",
            "teh keeper logged hevy fog",
            "Invoice 77 is paid",
        ]
    )
    inflected, misspelt, unrelated = rows[1:] @ rows[0]
    assert inflected > 0.8
    assert misspelt > 0.5
    assert unrelated < 0.2


def test_words_without_meaning_count_little():
    """Two texts that share only stop words are hardly alike."""
    left, right = HashingEmbedder().embed(
        ["this is what they were about: penguins", "this is what they were about: turbines"]
    )
    assert left @ right < 0.5


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_blank_text_has_a_zero_row(text: str):
    """Where there is nothing, nothing is known."""
    assert not HashingEmbedder().embed([text]).any()


@pytest.mark.parametrize("text", ["🚀🔥", "图书馆", "ห้องสมุด", "ᚠᛇᚻ", "?!"])
def test_a_text_of_any_script_has_a_vector(text: str):
    """Chinese, Thai, runes, emoji and bare punctuation are all hashed."""
    assert HashingEmbedder().embed([text]).any()


def test_the_dimension_is_the_callers_and_stands_in_the_fingerprint():
    """Two embedders of different dimensions are independent of each other."""
    small, large = HashingEmbedder(64), HashingEmbedder(512)
    assert (small.fingerprint.dimension, large.fingerprint.dimension) == (64, 512)
    assert small.embed(["fog"]).shape == (1, 64)
    assert small.fingerprint != large.fingerprint


def test_only_words_count_beside_hashing():
    """Its weight is zero."""
    assert HashingEmbedder().weight == 0.0


def test_a_dimension_too_small_is_refused():
    """Below eight places everything collides."""
    with pytest.raises(InvalidInput, match="at least 8, not 7"):
        HashingEmbedder(7)


def test_a_text_said_twice_is_the_same_direction():
    """Repeating a whole text scales all its terms alike."""
    rows = HashingEmbedder().embed(["fog harbour", "fog harbour fog harbour"])
    assert np.isclose(rows[0] @ rows[1], 1.0, atol=1e-6)

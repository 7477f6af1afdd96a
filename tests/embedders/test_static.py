"""StaticEmbedder: the table of wordllama, without wordllama's code."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

from seasoned.embedders import StaticEmbedder

TEXTS = ["The keeper logged the fog at dawn.", "x", "我昨天在图书馆借了书。", "🚀 déjà vu", "pump " * 900]

# WordLlama.load() of 0.4.0.post1 looks for the tokenizer in the wrong folder and would download it
BY_WORDLLAMA = """
import sys, pathlib, numpy as np, wordllama
from safetensors.numpy import load_file
texts = sys.stdin.buffer.read().decode().split("\\0")
home = pathlib.Path(wordllama.__file__).parent
tokenizer = wordllama.WordLlama.load_tokenizer(home / "tokenizers" / "l2_supercat_tokenizer_config.json")
table = load_file(home / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
rows = wordllama.WordLlamaInference(table, tokenizer).embed(texts, norm=True)
sys.stdout.buffer.write(np.ascontiguousarray(rows, dtype=np.float32).tobytes())
"""


def test_the_vectors_are_wordllamas_own(static: StaticEmbedder):
    """The same texts through wordllama itself give the same rows."""
    found = subprocess.run(
        [sys.executable, "-c", BY_WORDLLAMA], input="\0".join(TEXTS).encode(), capture_output=True, check=True
    ).stdout
    theirs = np.frombuffer(found, dtype=np.float32).reshape(len(TEXTS), 256)
    np.testing.assert_allclose(static.embed(TEXTS), theirs, atol=1e-5)


def test_wordllama_itself_is_never_imported(static: StaticEmbedder):
    """Importing it would configure the root logger and load requests; the process stays as it was."""
    code = (
        "import logging, sys\n"
        "from seasoned.embedders import StaticEmbedder\n"
        "StaticEmbedder().embed(['fog'])\n"
        "assert not logging.getLogger().handlers\n"
        "assert 'wordllama' not in sys.modules and 'requests' not in sys.modules\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_paraphrase_is_nearer_than_another_subject(static: StaticEmbedder):
    """It knows words of like meaning."""
    asked, same, other = static.embed(["my doctor's phone number", "call the physician", "the recipe needs two eggs"])
    assert asked @ same > asked @ other + 0.1


def test_an_empty_text_has_a_zero_row(static: StaticEmbedder):
    """Where there is no token, nothing is known."""
    assert not static.embed([""]).any()


def test_a_short_text_takes_about_a_tenth_of_a_millisecond(static: StaticEmbedder):
    """A thousand short texts take well under a second."""
    texts = [f"The keeper logged fog number {n}." for n in range(1000)]
    static.embed(texts[:1])
    started = time.perf_counter()
    static.embed(texts)
    assert time.perf_counter() - started < 1.0


def test_a_long_text_is_read_to_its_end(static: StaticEmbedder):
    """What stands after many words still moves the vector."""
    start = "the harbour lay still " * 500
    rows = static.embed([start, start + "invoice turbine penguin " * 200])
    assert rows[0] @ rows[1] < 0.98


def test_it_counts_half_beside_words(static: StaticEmbedder):
    """Its weight is the one measured."""
    assert static.weight == 0.5

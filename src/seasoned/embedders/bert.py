"""The forward pass of a small BERT encoder in plain numpy: token ids in, mean of the last states out.

Written after Devlin et al. 2018 (arXiv:1810.04805) and the layout that sentence-transformers saves, for
all-MiniLM-L6-v2: six layers, 384 wide, twelve heads. Everything is float32; an encoder is read-only after it is
made, so threads share it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from seasoned.errors import EmbeddingError

Floats: TypeAlias = NDArray[np.float32]
Tensors: TypeAlias = Mapping[str, Floats]

WIDTH = 384
_LAYERS = 6
_HEADS = 12
_HEAD = WIDTH // _HEADS
_INNER = 4 * WIDTH
_EPSILON = np.float32(1e-12)

_GELU_ROWS = 64  # a block that stays in the processor's cache
_GELU = tuple(
    np.float32(c)
    for c in (
        0.797884941,
        0.0363330846,
        -3.25949778e-05,
        -5.53061926e-05,
        3.96474419e-06,
        -1.32263319e-07,
        1.75617012e-09,
    )
)
"""erf(x / sqrt 2) = tanh(x P(x x)), P fitted for the least maximum error (Lawson's method): 5.8e-8 before rounding."""


@dataclass(frozen=True, slots=True)
class Linear:
    """x -> x weight + bias."""

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        """Return a new array."""
        y: Floats = x @ self.weight
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class Norm:
    """Layer normalisation over the last axis."""

    scale: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        """Normalise `x` in place, and return it."""
        x -= x.mean(axis=-1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(WIDTH)
        x /= np.sqrt(variance + _EPSILON)
        x *= self.scale
        x += self.bias
        return x


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Attention, then two dense maps, each added to its input and normalised."""

    queries_keys_values: Linear
    attended: Linear
    attended_norm: Norm
    widen: Linear
    narrow: Linear
    norm: Norm


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """All weights of the model; `positions` has the vector of the one token type already in it."""

    words: Floats
    positions: Floats
    norm: Norm
    layers: tuple[Layer, ...]


def encoder_from(tensors: Tensors) -> Encoder:
    """Return the encoder whose weights are `tensors`, by the names of the Hugging Face BERT layout.

    Raises:
        EmbeddingError: a tensor is missing or has another shape than all-MiniLM-L6-v2.
    """
    position_rows = _tensor(tensors, "embeddings.position_embeddings.weight", None, WIDTH)
    type_rows = _tensor(tensors, "embeddings.token_type_embeddings.weight", None, WIDTH)
    return Encoder(
        words=_tensor(tensors, "embeddings.word_embeddings.weight", None, WIDTH),
        positions=position_rows + type_rows[0],
        norm=_norm(tensors, "embeddings.LayerNorm"),
        layers=tuple(_layer(tensors, f"encoder.layer.{n}") for n in range(_LAYERS)),
    )


def mean_states(encoder: Encoder, batch: Sequence[Sequence[int]]) -> Floats:
    """Return for each list of token ids the mean of its last states, shape (n, 384); no list may be empty.

    Shorter lists are padded to the longest inside, and the padding counts for nothing.
    """
    lengths = np.array([len(ids) for ids in batch])
    real = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(real.shape, dtype=np.intp)
    ids[real] = np.concatenate([np.asarray(row, dtype=np.intp) for row in batch])
    states = encoder.words[ids]
    states += encoder.positions[: real.shape[1]]
    states = _last_states(encoder, states.reshape(-1, WIDTH), real).reshape(*real.shape, WIDTH)
    sums: Floats = np.matmul(real.astype(np.float32)[:, None, :], states)[:, 0]
    sums /= lengths[:, None].astype(np.float32)
    return sums


def gelu(x: Floats) -> Floats:
    """Return x (1 + erf(x / sqrt 2)) / 2, to the last digit of float32 but one."""
    y = np.empty_like(x)
    for start in range(0, len(x), _GELU_ROWS):
        block = x[start : start + _GELU_ROWS]
        _gelu_into(y[start : start + _GELU_ROWS], block, np.minimum(block * block, np.float32(36)))
    return y


def _gelu_into(y: Floats, x: Floats, square: Floats) -> None:
    np.multiply(square, _GELU[-1], out=y)
    for coefficient in _GELU[-2:0:-1]:
        y += coefficient
        y *= square
    y += _GELU[0]
    y *= x
    np.tanh(y, out=y)
    y += np.float32(1)
    y *= x
    y *= np.float32(0.5)


def _last_states(encoder: Encoder, states: Floats, real: NDArray[np.bool_]) -> Floats:
    bias = None if real.all() else np.where(real, 0, -np.inf).astype(np.float32)[:, None, None, :]
    states = encoder.norm(states)
    for layer in encoder.layers:
        attended = layer.attended(_attention(layer.queries_keys_values(states), real.shape, bias))
        attended += states
        states = layer.attended_norm(attended)
        inner = layer.narrow(gelu(layer.widen(states)))
        inner += states
        states = layer.norm(inner)
    return states


def _attention(mixed: Floats, shape: tuple[int, ...], bias: Floats | None) -> Floats:
    queries, keys, values = mixed.reshape(*shape, 3, _HEADS, _HEAD).transpose(2, 0, 3, 1, 4)
    scores: Floats = queries @ keys.swapaxes(-1, -2)
    if bias is not None:
        scores += bias
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    taken: Floats = scores @ values
    taken /= scores.sum(axis=-1, keepdims=True)
    return taken.swapaxes(1, 2).reshape(-1, WIDTH)


def _layer(tensors: Tensors, name: str) -> Layer:
    return Layer(
        queries_keys_values=_queries_keys_values(tensors, f"{name}.attention.self"),
        attended=_linear(tensors, f"{name}.attention.output.dense", WIDTH, WIDTH),
        attended_norm=_norm(tensors, f"{name}.attention.output.LayerNorm"),
        widen=_linear(tensors, f"{name}.intermediate.dense", _INNER, WIDTH),
        narrow=_linear(tensors, f"{name}.output.dense", WIDTH, _INNER),
        norm=_norm(tensors, f"{name}.output.LayerNorm"),
    )


def _queries_keys_values(tensors: Tensors, name: str) -> Linear:
    """Join the three maps into one; the division of the scores by the root of the head's width is in the first."""
    maps = [_linear(tensors, f"{name}.{part}", WIDTH, WIDTH) for part in ("query", "key", "value")]
    scale = np.float32(_HEAD**-0.5)
    weights = [maps[0].weight * scale, maps[1].weight, maps[2].weight]
    biases = [maps[0].bias * scale, maps[1].bias, maps[2].bias]
    return Linear(np.ascontiguousarray(np.concatenate(weights, axis=1)), np.concatenate(biases))


def _linear(tensors: Tensors, name: str, outputs: int, inputs: int) -> Linear:
    weight = _tensor(tensors, f"{name}.weight", outputs, inputs)
    return Linear(np.ascontiguousarray(weight.T), _tensor(tensors, f"{name}.bias", outputs))


def _norm(tensors: Tensors, name: str) -> Norm:
    return Norm(_tensor(tensors, f"{name}.weight", WIDTH), _tensor(tensors, f"{name}.bias", WIDTH))


def _tensor(tensors: Tensors, name: str, *shape: int | None) -> Floats:
    if name not in tensors:
        raise EmbeddingError(f"the weights have no tensor {name!r}; wanted those of all-MiniLM-L6-v2")
    found = tensors[name]
    if found.ndim != len(shape) or any(want not in (None, have) for want, have in zip(shape, found.shape, strict=True)):
        raise EmbeddingError(f"the tensor {name!r} has shape {found.shape}, wanted {shape}, that of all-MiniLM-L6-v2")
    return found.astype(np.float32, copy=False)

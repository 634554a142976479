"""Networks from transformers, randomly initialised: wav2vec 2.0 in three sizes, and CLIP in two.

Shapes: B recordings, T samples, F frames, D dimensions, L layers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from bench.cells.speech import LEAST_FRAMES

if TYPE_CHECKING:
    from transformers import CLIPModel, Wav2Vec2Config, Wav2Vec2ForPreTraining

_FIVE = {"conv_kernel": (10, 3, 3, 3, 2), "conv_stride": (5, 2, 2, 2, 2)}  # 100 frames/s at 8 kHz
_STILL = {  # no dropout: a small network that sees few recordings
    "feat_extract_norm": "layer", "hidden_dropout": 0.0, "activation_dropout": 0.0,
    "attention_dropout": 0.0, "feat_proj_dropout": 0.0, "feat_quantizer_dropout": 0.0,
    "layerdrop": 0.0, "num_conv_pos_embedding_groups": 4,
}  # fmt: skip
SIZES: dict[str, dict[str, Any]] = {
    "wav2vec2-base": {},  # transformers' defaults
    "wav2vec2-small": _FIVE | _STILL | {
        "conv_dim": (64,) * 5, "hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 192, "num_conv_pos_embeddings": 31, "num_codevectors_per_group": 32,
        "codevector_dim": 64, "proj_codevector_dim": 64,
    },
    "wav2vec2-tiny": _FIVE | _STILL | {
        "conv_dim": (16,) * 5, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 32, "num_conv_pos_embeddings": 15, "num_codevectors_per_group": 8,
        "codevector_dim": 16, "proj_codevector_dim": 16,
    },
}  # fmt: skip
"""Settings that differ from transformers' `Wav2Vec2Config`, by architecture."""
CLIP_SIZES: dict[str, tuple[int, int, int]] = {"clip-small": (64, 2, 4), "clip-tiny": (16, 1, 2)}
"""Units, layers and attention heads of both transformers, by architecture."""


def config_of(arch: str) -> "Wav2Vec2Config":
    """Return the transformers configuration of an architecture."""
    from transformers import Wav2Vec2Config

    return Wav2Vec2Config(**SIZES[arch])


def make_network(arch: str, draw: np.random.Generator) -> "Wav2Vec2ForPreTraining":
    """Return the initialised network with its quantiser."""
    from transformers import Wav2Vec2ForPreTraining

    with drawing(draw, "cpu"):
        return Wav2Vec2ForPreTraining(config_of(arch))


@contextmanager
def drawing(draw: np.random.Generator, device: str) -> Iterator[None]:
    """Context manager that seeds torch's global generators from a stream and restores them."""
    devices = [torch.device(device)] if device != "cpu" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(int(draw.integers(2**62)))
        yield


@cache
def _convolutions(arch: str) -> list[tuple[int, int]]:
    """Return kernel and stride of each convolution."""
    config = config_of(arch)
    return list(zip(config.conv_kernel, config.conv_stride, strict=True))


def frames_of(arch: str, samples: int) -> int:
    """Return the number of frames that the convolutions compute from this many samples."""
    for kernel, stride in _convolutions(arch):
        samples = (samples - kernel) // stride + 1 if samples >= kernel else 0
    return samples


def least_samples(arch: str) -> int:
    """Return the smallest number of samples with LEAST_FRAMES frames."""
    samples = LEAST_FRAMES
    for kernel, stride in reversed(_convolutions(arch)):
        samples = (samples - 1) * stride + kernel
    return samples


@torch.no_grad()
def pooled_layers(network: nn.Module, wave: Tensor, longest: int, least: int) -> Tensor:
    """Return the mean over time of each layer's outputs, (L, D).

    A recording longer than `longest` is processed in pieces, which are weighted by length. A last
    piece shorter than `least` is omitted.
    """
    pieces = [piece for piece in wave.split(longest) if len(piece) >= least]
    total = sum(map(len, pieces))
    means = []
    for piece in pieces:
        states = network(piece[None], output_hidden_states=True).hidden_states
        means.append(torch.stack([state[0].mean(dim=0) for state in states]) * (len(piece) / total))
    return torch.stack(means).sum(dim=0)


def make_clip(
    arch: str, *, side: int, words: int, length: int, draw: np.random.Generator
) -> "CLIPModel":
    """Return both initialised encoders; they give unit vectors of one size.

    Args:
        arch: one of `CLIP_SIZES`.
        side: height and width of a picture, pixels; a sixteenth of its area is one patch.
        words: size of the vocabulary; its last word ends a sentence.
        length: number of words of the longest sentence.
        draw: source of randomness.
    """
    from transformers import CLIPConfig, CLIPModel

    width, layers, heads = CLIP_SIZES[arch]
    both: dict[str, Any] = {
        "hidden_size": width, "intermediate_size": 4 * width, "num_hidden_layers": layers,
        "num_attention_heads": heads, "projection_dim": width,
    }  # fmt: skip
    text = {"vocab_size": words, "max_position_embeddings": length, "bos_token_id": 1}
    text |= {"pad_token_id": 0, "eos_token_id": words - 1}
    config = CLIPConfig(
        text_config=both | text,
        vision_config=both | {"image_size": side, "patch_size": side // 4},
        projection_dim=width,
    )
    with drawing(draw, "cpu"):
        return CLIPModel(config)

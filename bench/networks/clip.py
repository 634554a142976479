"""Networks of `image-text`: CLIP from transformers in two sizes, randomly initialised."""

from typing import TYPE_CHECKING, Any

import numpy as np

from bench.networks.wav2vec import drawing

if TYPE_CHECKING:
    from transformers import CLIPModel

SIZES: dict[str, tuple[int, int, int]] = {"clip-small": (64, 2, 4), "clip-tiny": (16, 1, 2)}
"""Units, layers and attention heads of both transformers, by architecture."""


def make_clip(
    arch: str, *, side: int, words: int, length: int, draw: np.random.Generator
) -> "CLIPModel":
    """Return both initialised encoders; they give unit vectors of one size.

    Args:
        arch: one of `SIZES`.
        side: height and width of a picture, pixels; a sixteenth of its area is one patch.
        words: size of the vocabulary; its last word ends a sentence.
        length: number of words of the longest sentence.
        draw: source of randomness.
    """
    from transformers import CLIPConfig, CLIPModel

    width, layers, heads = SIZES[arch]
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

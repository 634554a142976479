"""Drawn pictures of two shapes, each with a sentence that describes it.

"a small red disc left of a large blue square": 3 kinds of shapes, 6 colours and 2 sizes give 36
shapes, so there are 36 x 36 x 2 = 2592 sentences.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import torch
from torch import Tensor

from bench.cells.image_text import TEST_PAIRS, TRAIN_PAIRS
from bench.data.images import fingerprint_of
from bench.data.shapes import GRAIN, KINDS, SIDE, filled
from bench.data.streams import Purpose, stream

COLOURS = {
    "red": (230, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230), "yellow": (240, 220, 20),
    "white": (250, 250, 250), "black": (5, 5, 5),
}  # fmt: skip
SIZES = {"small": (4, 7), "large": (11, 15)}  # from the centre to the edge, pixels
RELATIONS = ("left of", "above")
SHIFT = 4  # largest distance of a shape from the line on which both are, pixels

DESCRIPTIONS = [" ".join(words) for words in product(SIZES, COLOURS, KINDS)]
PAD, BEGIN, END = "", "<", ">"
VOCABULARY = (PAD, BEGIN, "a", "of", "left", "above", *SIZES, *COLOURS, *KINDS, END)
LENGTH = 12  # of the longest sentence in words, with its beginning and end


@dataclass(frozen=True)
class Pairs:
    """P pictures with their captions."""

    pixels: Tensor  # uint8 (P, 3, SIDE, SIDE)
    words: Tensor  # indices into VOCABULARY, int64 (P, LENGTH)

    def of(self, rows: Tensor) -> "Pairs":
        """Return the pairs at these indices."""
        return Pairs(self.pixels[rows], self.words[rows])


@dataclass(frozen=True)
class CaptionedSet:
    """Training and test pairs, with the hash of their content."""

    train: Pairs
    test: Pairs
    fingerprint: str


@cache
def draw_scenes() -> CaptionedSet:
    """Return the pictures and captions, identical on every machine."""
    train, test = (_pairs(part, count) for part, count in enumerate((TRAIN_PAIRS, TEST_PAIRS)))
    content = [t.numpy().tobytes() for p in (train, test) for t in (p.pixels, p.words)]
    return CaptionedSet(train, test, fingerprint_of(content))


def with_held_out(whole: CaptionedSet, count: int) -> CaptionedSet:
    """Return a set whose test pairs are `count` of the training pairs, chosen at random."""
    order = torch.from_numpy(stream(0, Purpose.LABELS, count).permutation(len(whole.train.words)))
    return CaptionedSet(
        whole.train.of(order[count:]), whole.train.of(order[:count]), whole.fingerprint
    )


def words_of(caption: str) -> list[int]:
    """Return the indices of a sentence's words, with beginning, end and padding, (LENGTH,)."""
    words = [BEGIN, *caption.split(), END]
    return [VOCABULARY.index(word) for word in words + [PAD] * (LENGTH - len(words))]


def _pairs(part: int, count: int) -> Pairs:
    drawn = [_scene(stream(0, Purpose.DATA, SIDE, 3, part, number)) for number in range(count)]
    pixels = torch.from_numpy(np.stack([picture for picture, _ in drawn]))
    words = torch.tensor([words_of(caption) for _, caption in drawn])
    return Pairs(pixels.permute(0, 3, 1, 2).contiguous(), words)


def _scene(draw: np.random.Generator) -> tuple[np.ndarray, str]:
    """Return a picture, uint8 (SIDE, SIDE, 3), and its sentence."""
    picture = draw.integers(60, 196, 3) + draw.normal(0, GRAIN, (SIDE, SIDE, 1))
    relation = RELATIONS[draw.integers(len(RELATIONS))]
    names = [DESCRIPTIONS[draw.integers(len(DESCRIPTIONS))] for _ in range(2)]
    for half, name in enumerate(names):
        size, colour, kind = name.split()
        radius = int(draw.integers(*SIZES[size]))
        along = half * SIDE // 2 + int(draw.integers(radius, SIDE // 2 - radius + 1))
        across = SIDE // 2 + int(draw.integers(-SHIFT, SHIFT + 1))
        row, column = (across, along) if relation == "left of" else (along, across)
        picture = np.where(filled(kind, row, column, radius)[:, :, None], COLOURS[colour], picture)
    return picture.clip(0, 255).astype(np.uint8), f"a {names[0]} {relation} a {names[1]}"

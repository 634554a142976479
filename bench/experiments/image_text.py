"""Contrastive training of an image and a text encoder, and retrieval of test pairs.

Source: DCL, Sec. 5, conjectures that its loss helps CLIP (arXiv:2103.00020) at small batches.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from bench.cells.image_text import ImageText
from bench.data.scenes import CaptionedSet, draw_scenes, with_held_out
from bench.experiments.outcome import Clock, Outcome, Result, Spent, one_by_one
from bench.experiments.timing import FEW, deterministic, seconds_of, steps_s
from bench.results.folder import CellFolder, Folders
from bench.train.image_text import ImageTextTraining, embedded
from bench.train.loop import train


def run(cells: Sequence[ImageText], folders: Folders, device: str) -> list[Outcome]:
    """Train each pair of encoders; the history has one record per epoch."""
    return one_by_one(_result, cells, folders, device)


def probe(cell: ImageText, data: Path, device: str, clock: Clock) -> Spent:
    """Time training steps and the encoding of a few pairs."""
    pairs = pairs_of(cell)
    training = ImageTextTraining(cell, pairs, device)
    few = pairs.test.of(torch.arange(FEW))
    encode = torch.no_grad()(lambda: embedded(training.online, few, device))
    shares = len(pairs.test.words) / FEW
    return Spent(0.0, steps_s(training, clock) + shares * seconds_of(encode, clock))


def pairs_of(cell: ImageText) -> CaptionedSet:
    """Return the pairs that a cell is trained on and evaluated on."""
    whole = draw_scenes()
    return with_held_out(whole, cell.test_count) if cell.held_out else whole


def _result(cell: ImageText, folder: CellFolder, data: Path, device: str) -> Result:
    pairs = pairs_of(cell)
    with deterministic(device):
        training = ImageTextTraining(cell, pairs, device)
        train(training, folder)
        with torch.no_grad():
            image_PD, text_PD = embedded(training.online.eval(), pairs.test, device)
    watched = {k: v for k, v in folder.history()[-1].items() if k in ImageText.metrics}
    words = pairs.test.words.to(device)
    return Result(
        watched
        | {
            "image_to_text_top1": retrieved(image_PD @ text_PD.T, words),
            "text_to_image_top1": retrieved(text_PD @ image_PD.T, words),
        },
        provenance={"dataset": pairs.fingerprint},
    )


def retrieved(similarities_PP: Tensor, words_PL: Tensor) -> float:
    """Return how often the nearest item of the other kind belongs to the query, in percent.

    An item of another pair with the same caption also counts.

    Args:
        similarities_PP: a row for each query, a column for each item.
        words_PL: caption of each pair.
    """
    nearest_P = similarities_PP.argmax(dim=1)
    right_P = (words_PL[nearest_P] == words_PL).all(dim=1)
    return 100.0 * right_P.float().mean().item()

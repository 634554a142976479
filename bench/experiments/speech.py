"""Contrastive pretraining on raw audio, and SUPERB's evaluation of the frozen encoder.

Source: DCL, App. 6, Table 16.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor

from bench.cells.speech import TASKS, AnySpeech, Speech
from bench.data.recordings import Corpus, load_recordings, log_mel
from bench.data.streams import Purpose, stream
from bench.errors import DataFailure
from bench.evaluate.layers import drawn_rows, weighted_top1
from bench.experiments.outcome import Clock, Outcome, Result, Spent, one_by_one
from bench.experiments.timing import FEW, deterministic, seconds_of, steps_s
from bench.networks.hugging_face import least_samples, make_network, pooled_layers
from bench.results.folder import CellFolder, Folders
from bench.train.loop import train
from bench.train.speech import LabelTraining, SpeechTraining

LONGEST_S = 20.0  # of a piece of a recording that is evaluated
Pooled = Callable[[Tensor], Tensor]
"""Function from a wave to its features, (L, D)."""


def run(cells: Sequence[Speech], folders: Folders, device: str) -> list[Outcome]:
    """Train and evaluate each encoder; the history has one record per epoch."""
    return one_by_one(_result, cells, folders, device)


def probe(cell: AnySpeech, data: Path, device: str, clock: Clock) -> Spent:
    """Time training steps and the features of a few recordings."""
    corpora = open_sets(cell, data)
    corpus, seconds = corpora[cell.recordings], 0.0
    if isinstance(cell, Speech):
        seconds = steps_s(SpeechTraining(cell, corpus, device), clock)
    elif cell.baseline == "labels":
        seconds = steps_s(LabelTraining(cell, corpus, device), clock)
    hear = pooled_by(untrained(cell), cell, device)
    waves = [corpus.train.waves[row] for row in range(min(FEW, len(corpus.train.waves)))]
    few_s = seconds_of(lambda: [hear(wave) for wave in waves], clock)
    return Spent(0.0, seconds + few_s * cell.heard(0) / len(waves))


def open_sets(cell: AnySpeech, data: Path) -> dict[str, Corpus]:
    """Return the recordings that a cell needs, by name.

    Raises:
        DataError: a set is missing, or a recording cannot be read.
    """
    least = least_samples(cell.arch)
    return {
        name: load_recordings(
            name, data, sample_rate=cell.sample_rate, least=least, held_out=cell.held_out
        )
        for name in cell.sets
    }


def untrained(cell: AnySpeech) -> torch.nn.Module:
    """Return the initial network for the cell's seed."""
    whole = make_network(cell.arch, stream(cell.seed, Purpose.INIT, 0))
    network: torch.nn.Module = whole.wav2vec2
    return network


def pooled_by(network: torch.nn.Module, cell: AnySpeech, device: str) -> Pooled:
    """Return a function that averages the layers of a frozen network over time."""
    network = network.to(device).eval()
    longest, least = round(LONGEST_S * cell.sample_rate), least_samples(cell.arch)
    return lambda wave: pooled_layers(network, wave.to(device), longest, least)


def accuracies(cell: AnySpeech, corpora: dict[str, Corpus], hear: Pooled) -> dict[str, float]:
    """Return the accuracy, in percent, of each task with labels.

    Raises:
        DataFailure: there are too few labels.
    """
    heard: dict[tuple[str, str, int], Tensor] = {}

    def features(corpus: Corpus, part: str, rows: Iterable[int]) -> Tensor:
        for row in rows:
            if (corpus.name, part, row) not in heard:
                heard[corpus.name, part, row] = hear(getattr(corpus, part).waves[row])
        return torch.stack([heard[corpus.name, part, row] for row in rows])

    found = {}
    for place, task in enumerate(TASKS):
        corpus = corpora[cell.set_of(task)]
        if task not in corpus.classes:
            continue
        if not len(corpus.test.waves):
            raise DataFailure(f"{corpus.name}: the data set has no test recordings")
        labels_n = corpus.train.labels[task]
        draws = drawn_rows(
            labels_n,
            classes=corpus.classes[task],
            labels_per_class=cell.labels_per_class,
            draws=cell.label_draws,
            generator=stream(cell.seed, Purpose.EVALUATE, place),
        )
        test_mLD = features(corpus, "test", range(len(corpus.test.waves)))
        right = [
            weighted_top1(
                features(corpus, "train", rows),
                labels_n[rows],
                test_mLD,
                corpus.test.labels[task],
                corpus.classes[task],
            )
            for rows in draws
        ]
        found[f"{task}_top1"] = fmean(right)
    return found


def _result(cell: Speech, folder: CellFolder, data: Path, device: str) -> Result:
    corpora = open_sets(cell, data)
    with deterministic(device):
        training = SpeechTraining(cell, corpora[cell.recordings], device)
        train(training, folder)
        hear = pooled_by(training.online.wav2vec2, cell, device)
        metrics = accuracies(cell, corpora, hear)
    watched = {k: v for k, v in folder.history()[-1].items() if k in Speech.metrics}
    return Result(watched | metrics, provenance=fingerprints(corpora))


def fingerprints(corpora: dict[str, Corpus]) -> dict[str, str]:
    """Return the hashes of the recordings, for the provenance."""
    return {"dataset": " ".join(corpus.fingerprint for corpus in corpora.values())}


def mel_statistics(cell: AnySpeech) -> Pooled:
    """Return a function from a waveform to log-mel statistics, as a single layer."""
    return lambda wave: log_mel(wave, cell.sample_rate)[None]

"""The experiment `speech`: its loss is the library's, it goes on to the bit, it learns tones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.testing import assert_close

from bench.cells.speech import SAMPLES_PER_FRAME, Speech, SpeechBaseline
from bench.data.streams import Purpose, stream
from bench.errors import DataFailure, Interrupted, LaunchError
from bench.results.fitness import unfit
from bench.results.folder import CellFolder

pytest.importorskip("transformers")

SMALL: dict[str, Any] = {
    "experiment": "speech", "recordings": "tones", "sample_rate": 8000, "crop_s": 0.3,
    "arch": "wav2vec2-tiny", "labels_per_class": 5, "label_draws": 2, "mask_prob": 0.065,
    "mask_length": 10, "K": 5, "loss": "infonce", "tau": 0.1, "diversity_weight": 0.1,
    "gumbel_start": 2.0, "gumbel_end": 0.5, "gumbel_decay": 0.9, "epochs": 1, "batch_size": 16,
    "optimizer": "adam", "lr": 1e-3, "weight_decay": 0.01, "lr_schedule": "constant", "seed": 0,
}  # fmt: skip
OF_BASELINE = ("recordings", "sample_rate", "crop_s", "arch", "labels_per_class", "label_draws")
TRAINED = ("epochs", "batch_size", "optimizer", "lr", "weight_decay", "lr_schedule")


def speech(**changes: Any) -> Speech:
    return Speech.model_validate(SMALL | changes)


def baseline(kind: str, **changes: Any) -> SpeechBaseline:
    names = (*OF_BASELINE, *TRAINED)
    head = {"experiment": "speech-baseline", "baseline": kind, "seed": 0}
    return SpeechBaseline.model_validate(head | {n: SMALL[n] for n in names} | changes)


def training_of(cell: Speech) -> Any:
    from bench.experiments.speech import open_sets
    from bench.train.speech import SpeechTraining

    return SpeechTraining(cell, open_sets(cell, Path())["tones"], "cpu")


def drawn(training: Any) -> tuple[Any, torch.Tensor, torch.Tensor]:
    """Return a batch, its mask and its distractors, as the first step has them."""
    from bench.train.speech import draw_distractors, draw_mask

    draw, cell = stream(0, Purpose.NEGATIVES, 0, 0), training.cell
    batch = training.heard(0, 0)
    mask_BF = draw_mask(batch.frames, cell.mask_prob, cell.mask_length, draw)
    return batch, mask_BF, draw_distractors(mask_BF, cell.K, draw)


def test_the_loss_is_that_of_transformers() -> None:
    from bench.networks.hugging_face import drawing

    training = training_of(speech())
    network, (batch, mask_BF, others_NK) = training.online, drawn(training)
    network.config.contrastive_logits_temperature = training.cell.tau
    network.train()
    places_N = mask_BF.flatten().nonzero()[:, 0]
    sampled_BFK = torch.zeros(*mask_BF.shape, training.cell.K, dtype=torch.long)
    sampled_BFK[mask_BF] = places_N[others_NK]
    with drawing(np.random.default_rng(3), "cpu"):
        theirs = network(
            batch.wave_BT, batch.present_BT, mask_time_indices=mask_BF,
            sampled_negative_indices=sampled_BFK,
        )  # fmt: skip
    (theirs.loss / mask_BF.sum()).backward()
    gradients = [p.grad.clone() for p in network.parameters() if p.grad is not None]
    network.zero_grad()
    with drawing(np.random.default_rng(3), "cpu"):
        loss, _ = training.loss(batch, mask_BF, others_NK)
    loss.backward()
    assert_close(loss, theirs.loss / mask_BF.sum())
    mine = [p.grad for p in network.parameters() if p.grad is not None]
    assert_close(mine, gradients, rtol=1e-4, atol=1e-6)


def test_a_stopped_training_ends_with_the_same_bits(tmp_path: Path) -> None:
    from bench.train.loop import train

    def trained(name: str, stop_after: int = -1) -> Any:
        training, steps = training_of(speech(loss="dcl", epochs=2)), 0

        def heartbeat() -> None:
            nonlocal steps
            steps += 1
            if steps == stop_after:
                raise Interrupted

        (tmp_path / name).mkdir(exist_ok=True)
        train(training, CellFolder(tmp_path / name), heartbeat)
        return training

    whole = trained("whole")
    for steps in (2, 5):
        with pytest.raises(Interrupted):
            trained("stopped", stop_after=steps)
    resumed = trained("stopped")
    state = resumed.online.state_dict()
    for name, value in whole.online.state_dict().items():
        assert torch.equal(value, state[name]), name
    assert CellFolder(tmp_path / "whole").history() == CellFolder(tmp_path / "stopped").history()


def test_each_recording_has_a_span_and_distractors_of_its_own() -> None:
    from bench.train.speech import draw_distractors, draw_mask

    draw = np.random.default_rng(0)
    frames = [4, 5, 40, 400]
    mask_BF = draw_mask(frames, 0.065, 10, draw)
    counts = mask_BF.sum(dim=1).tolist()
    assert min(counts) >= 2
    assert all(not row[count:].any() for row, count in zip(mask_BF, frames, strict=True))
    assert 0.35 < counts[-1] / 400 < 0.6  # wav2vec 2.0, Sec. 3.1: about 49 %
    others_NK = draw_distractors(mask_BF, 50, draw)
    row_of = mask_BF.nonzero()[:, 0]
    assert bool((row_of[others_NK] == row_of[:, None]).all())
    assert bool((others_NK != torch.arange(len(others_NK))[:, None]).all())


def test_a_distractor_with_the_code_word_of_the_target_is_no_negative() -> None:
    from bench.train.speech import similarities

    target_ND = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    pos_N, neg_NK = similarities(target_ND, target_ND, torch.tensor([[1, 2], [0, 0], [0, 1]]))
    assert_close(pos_N, torch.ones(3))
    assert neg_NK.tolist() == [[-torch.inf, 0.0], [-torch.inf, -torch.inf], [0.0, 0.0]]


@pytest.mark.parametrize(
    "changes",
    [
        {"loss": "eqco", "alpha": 50.0},
        {"loss": "dual-temperature", "tau_beta": 1.0, "form": "released"},
    ],
)
def test_every_objective_of_similarities_takes_a_step(changes: dict[str, Any]) -> None:
    training = training_of(speech(**changes))
    before = [p.detach().clone() for p in training.online.parameters()]
    training.online.train()
    training.step(0)
    assert any(
        not torch.equal(a, b) for a, b in zip(before, training.online.parameters(), strict=True)
    )


def test_baselines_are_evaluated_alike_and_labels_help(tmp_path: Path) -> None:
    from bench.experiments.outcome import Result
    from bench.experiments.speech_baseline import run
    from bench.results.folder import Folders

    cells = [baseline("raw"), baseline("untrained"), baseline("labels", epochs=8, lr=5e-3)]
    paths = [CellFolder(tmp_path / cell.id) for cell in cells]
    for folder in paths:
        folder.path.mkdir()
    results = run(cells, Folders(paths, encoders=tmp_path, data=tmp_path), "cpu")
    assert all(isinstance(found, Result) for found in results), results
    raw, untrained, labels = (found.metrics for found in results if isinstance(found, Result))
    assert raw["speaker_top1"] > 90  # a timbre is what log-mel energies are
    assert labels["speaker_top1"] > untrained["speaker_top1"] + 10


def test_layers_are_weighed_by_what_they_tell() -> None:
    from bench.evaluate.layers import weighted_top1

    draw = torch.Generator().manual_seed(0)
    labels_n = torch.arange(60) % 3
    told = torch.nn.functional.one_hot(labels_n, 3).float()
    noise = torch.randn(60, 3, generator=draw)
    x_nLD = torch.stack([noise, told + 0.1 * torch.randn(60, 3, generator=draw)], dim=1)
    assert weighted_top1(x_nLD[:30], labels_n[:30], x_nLD[30:], labels_n[30:], 3) == 100.0
    alone = x_nLD[:, :1]
    assert weighted_top1(alone[:30], labels_n[:30], alone[30:], labels_n[30:], 3) < 70.0


def test_too_few_labels_end_a_cell_in_one_line() -> None:
    from bench.evaluate.layers import drawn_rows

    settings: dict[str, Any] = {"classes": 2, "labels_per_class": 3, "draws": 1}
    with pytest.raises(
        DataFailure, match=r"^labels_per_class is 3, but a class has only 2 recordings$"
    ):
        drawn_rows(torch.tensor([0, 0, 1, 1, 1]), generator=np.random.default_rng(0), **settings)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"loss": "eqco"}, "alpha must be set with loss 'eqco'"),
        ({"alpha": 3.0}, "alpha cannot be set with loss 'infonce', which does not use it"),
        (
            {"gumbel_end": 3.0},
            "gumbel_end may not be above gumbel_start, because the temperature falls "
            "from gumbel_start to gumbel_end",
        ),
        ({"recordings": "../away"}, "recordings"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        speech(**changes)


def test_a_run_without_the_extra_ends_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.cli import run

    monkeypatch.setattr(run, "find_spec", lambda _: None)
    needed = r"speech needs the package transformers: pip install 'contrastive-bench\[speech\]'"
    with pytest.raises(LaunchError, match=f"^{needed}$"):
        run.check_data([speech()], Path())
    with pytest.raises(LaunchError, match=f"^{needed}$"):
        run.check_data([baseline("raw")], Path())


def test_baselines_drop_a_training_that_they_do_not_have() -> None:
    assert baseline("raw").id == baseline("raw", lr=1.0, epochs=5).id
    assert baseline("labels").id != baseline("labels", lr=1.0).id
    with pytest.raises(ValidationError, match="lr must be set with baseline 'labels'"):
        baseline("labels", lr=None)


def test_other_recordings_are_other_data_and_changed_ones_are_marked() -> None:
    known = [("a", None, 8000), ("b", None, 8000), ("a", "b", 8000), ("a", None, 16000)]
    origins = [
        (speech(recordings=r, word_recordings=w, sample_rate=rate, seed=seed),
         {"dataset": f"{r} {w} {rate}"})
        for r, w, rate in known
        for seed in (0, 1)
    ]  # fmt: skip
    assert unfit(origins, []) == {}
    origins[0] = (origins[0][0], {"dataset": "changed"})
    why = "the data of a differ between 1 cell and 1 cell (fingerprints changed, a None 8000)"
    assert unfit(origins, []) == {cell.id: why for cell, _ in origins[:2]}


def test_more_distractors_than_frames_are_refused_before_anything_is_computed() -> None:
    from bench.networks.hugging_face import SIZES, frames_of

    for arch, samples in SAMPLES_PER_FRAME.items():
        frames = frames_of(arch, 100 * samples + 400)
        assert frames_of(arch, 99 * samples + 400) == frames - 1
    assert SIZES.keys() == SAMPLES_PER_FRAME.keys()
    assert speech(K=29).K == 29
    with pytest.raises(
        ValidationError,
        match=r"K is 100000, but a crop of 0\.3 s has only 29 other frames to use as " "negatives",
    ):
        speech(K=100_000)

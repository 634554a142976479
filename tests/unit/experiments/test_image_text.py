"""The experiment `image-text`: its loss is the library's, it goes on to the bit, it learns."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch.testing import assert_close

from bench.cells.image_text import ImageText
from bench.errors import Interrupted, LaunchError
from bench.results.folder import CellFolder

pytest.importorskip("transformers")

SMALL: dict[str, Any] = {
    "experiment": "image-text", "pairs": "drawn-scenes", "arch": "clip-tiny", "loss": "infonce",
    "tau": 0.07, "learned_tau": True, "epochs": 1, "batch_size": 512, "optimizer": "adamw",
    "lr": 1e-2, "weight_decay": 0.2, "exempt": True, "lr_schedule": "cosine", "seed": 0,
}  # fmt: skip


def training_of(**changes: Any) -> Any:
    from bench.experiments.image_text import pairs_of
    from bench.train.image_text import ImageTextTraining

    cell = ImageText.model_validate(SMALL | changes)
    return ImageTextTraining(cell, pairs_of(cell), "cpu")


def test_the_loss_is_that_of_transformers() -> None:
    from bench.train.image_text import embedded

    training = training_of()
    network, pairs = training.online, training.train_pairs.of(torch.arange(16))
    theirs = network(
        input_ids=pairs.words, pixel_values=pairs.pixels.float() / 127.5 - 1, return_loss=True
    ).loss
    theirs.backward()
    gradients = [p.grad.clone() for p in network.parameters()]
    network.zero_grad()
    image_BD, text_BD = embedded(network, pairs, "cpu")
    loss, _ = training.loss(image_BD, text_BD)
    loss.backward()
    assert_close(loss, theirs)
    similarity_BB = text_BD @ text_BD.T - torch.eye(16)
    assert similarity_BB.max() < 1 - 1e-4  # each sentence is read to its end
    assert_close([p.grad for p in network.parameters()], gradients, rtol=1e-4, atol=1e-6)


def test_dcl_leaves_the_positive_out_of_the_sum() -> None:
    training = training_of(loss="dcl", tau=0.5)
    draw = torch.Generator().manual_seed(0)
    image_BD, text_BD = (
        torch.nn.functional.normalize(torch.randn(4, 8, generator=draw), dim=1) for _ in range(2)
    )
    loss, _ = training.loss(image_BD, text_BD)
    terms = []
    for a_BD, b_BD in ((image_BD, text_BD), (text_BD, image_BD)):
        for i in range(4):
            others = sum(math.exp(float(a_BD[i] @ b_BD[j]) / 0.5) for j in range(4) if j != i)
            terms.append(math.log(others) - float(a_BD[i] @ b_BD[i]) / 0.5)
    assert_close(loss.item(), sum(terms) / 8, rtol=1e-5, atol=1e-6)


def test_a_learned_temperature_stays_at_its_limit_or_above() -> None:
    training = training_of()
    training.online.logit_scale.data.fill_(10.0)
    training.step(0)
    assert training.probes.line()["tau_end"] == pytest.approx(0.01)
    learned = training_of()
    learned.step(0)
    assert learned.probes.line()["tau_end"] != pytest.approx(0.07, abs=1e-6)
    fixed = training_of(learned_tau=False)
    fixed.step(0)
    assert fixed.probes.line()["tau_end"] == pytest.approx(0.07)


def test_a_stopped_training_ends_with_the_same_bits(tmp_path: Path) -> None:
    from bench.train.loop import train

    def trained(name: str, stop_after: int = -1) -> Any:
        training, steps = training_of(loss="dcl"), 0

        def heartbeat() -> None:
            nonlocal steps
            steps += 1
            if steps == stop_after:
                raise Interrupted

        (tmp_path / name).mkdir(exist_ok=True)
        train(training, CellFolder(tmp_path / name), heartbeat)
        return training

    whole = trained("whole")
    with pytest.raises(Interrupted):
        trained("stopped", stop_after=3)
    state = trained("stopped").online.state_dict()
    for name, value in whole.online.state_dict().items():
        assert torch.equal(value, state[name]), name
    assert CellFolder(tmp_path / "whole").history() == CellFolder(tmp_path / "stopped").history()


def test_a_sentence_describes_its_picture() -> None:
    from bench.data.scenes import COLOURS, VOCABULARY, draw_scenes

    whole = draw_scenes()
    assert whole.fingerprint == "ffbb1ee4b72a7800"
    seen = 0
    for pixels, words in zip(whole.test.pixels[:100], whole.test.words[:100], strict=True):
        _, _, size, colour, kind, *relation, _, size2, colour2, kind2 = [
            VOCABULARY[i] for i in words.tolist() if VOCABULARY[i] not in ("", ">")
        ]
        if colour == colour2:  # which pixels are whose cannot be told
            continue
        places = [
            (pixels == torch.tensor(COLOURS[name])[:, None, None]).all(dim=0).nonzero()
            for name in (colour, colour2)
        ]
        axis = 1 if relation == ["left", "of"] else 0
        first, second = (place.float()[:, axis].mean() for place in places)
        assert first < second
        if (kind, size2) == (kind2, "large") and size == "small":
            assert len(places[0]) < len(places[1])
        seen += 1
    assert seen > 50


def test_one_test_pair_is_a_fifth_of_a_percent_either_way() -> None:
    cell = ImageText.model_validate(SMALL)
    steps = [cell.step_of(f"{way}_top1") for way in ("image_to_text", "text_to_image", "train")]
    assert steps == [0.2, 0.2, None]


def test_held_out_pairs_are_not_trained_on() -> None:
    from bench.experiments.image_text import pairs_of

    cell = ImageText.model_validate(SMALL | {"held_out": 0.1})
    pairs = pairs_of(cell)
    assert (len(pairs.train.words), len(pairs.test.words)) == (3600, 400)
    test = {p.numpy().tobytes() for p in pairs.test.pixels}
    assert test.isdisjoint(p.numpy().tobytes() for p in pairs.train.pixels)


def test_equal_captions_count_as_found() -> None:
    from bench.experiments.image_text import retrieved

    similarities_PP = torch.tensor([[0.1, 0.9, 0.0], [0.2, 0.3, 0.9], [0.0, 0.0, 1.0]])
    assert retrieved(similarities_PP, torch.tensor([[1], [1], [2]])) == pytest.approx(200 / 3)
    assert retrieved(similarities_PP, torch.tensor([[1], [3], [2]])) == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"tau": 0.005},
            "training starts at the temperature tau, which must be at least 0.01",
        ),
        ({"lr_schedule": "plateau"}, "only in experiment 'pretrain'"),
        ({"base_lr": 0.1, "lr_scaling": "linear"}, "set lr instead"),
        ({"batch_size": 4001}, "batch_size = 4001 is above the number of training pairs, 4000"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        ImageText.model_validate(SMALL | changes)


def test_a_run_without_the_extra_ends_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.cli import run

    monkeypatch.setattr(run, "find_spec", lambda _: None)
    needed = r"image-text needs the package transformers: .*\[image-text\]'"
    with pytest.raises(LaunchError, match=f"^{needed}$"):
        run.check_data([ImageText.model_validate(SMALL)], Path())

"""Wrong labels: how many, which, and that the generator alone decides."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bench.data.labelled import LabelNoise, with_noise

LABELS = torch.arange(10).repeat(2000)


def noisy(noise: LabelNoise, eta: float, seed: int = 0, dataset: str = "digits") -> Tensor:
    draw = np.random.default_rng(seed)
    return with_noise(LABELS, classes=10, noise=noise, eta=eta, generator=draw, dataset=dataset)


@pytest.mark.parametrize("noise", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("eta", [0.0, 0.4, 0.8, 1.0])
def test_a_share_eta_is_wrong(noise: LabelNoise, eta: float) -> None:
    """Five standard deviations of a binomial; 0 and 1 are exact."""
    share = float((noisy(noise, eta) != LABELS).double().mean())
    assert abs(share - eta) <= 5 * (eta * (1 - eta) / len(LABELS)) ** 0.5


def test_symmetric_noise_takes_every_other_class_alike() -> None:
    wrong = noisy("symmetric", 1.0)
    counts = torch.zeros(10, 10).index_put_((LABELS, wrong), torch.tensor(1.0), accumulate=True)
    assert counts.diagonal().sum() == 0
    others = counts[~torch.eye(10, dtype=torch.bool)]
    assert (others - 2000 / 9).abs().max() < 5 * (2000 / 9) ** 0.5


def test_asymmetric_noise_takes_one_class_for_another() -> None:
    assert torch.equal(noisy("asymmetric", 1.0), (LABELS + 1) % 10)
    found = noisy("asymmetric", 1.0, dataset="cifar10")
    # airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck
    assert found[:10].tolist() == [0, 1, 0, 5, 7, 3, 6, 7, 8, 1]


def test_the_generator_alone_decides() -> None:
    assert torch.equal(noisy("symmetric", 0.4), noisy("symmetric", 0.4))
    assert not torch.equal(noisy("symmetric", 0.4), noisy("symmetric", 0.4, seed=1))


def test_the_same_images_are_wrong_for_either_kind_and_more_of_them_with_eta() -> None:
    few, many = (noisy("symmetric", eta) != LABELS for eta in (0.4, 0.6))
    assert torch.equal(few, noisy("asymmetric", 0.4) != LABELS)
    assert bool((many | ~few).all())


def test_labels_without_noise_are_the_labels() -> None:
    assert noisy("none", 0.0) is LABELS


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"eta": 1.5}, "label noise needs eta in [0, 1] and at least 2 classes, found 1.5 and 10"),
        ({"classes": 1}, "label noise needs eta in [0, 1] and at least 2 classes, found 0.4 and 1"),
        ({"classes": 9}, "labels must be 0 to 8, found 0 to 9"),
    ],
)
def test_arguments_out_of_their_domain(wrong: dict[str, Any], text: str) -> None:
    settings: dict[str, Any] = {"classes": 10, "noise": "symmetric", "eta": 0.4} | wrong
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        with_noise(LABELS, **settings, generator=np.random.default_rng(0))

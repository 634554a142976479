"""The classifier trained along with the encoder: it learns, resumes, and teaches nothing."""

import io

import numpy as np
import torch
from torch.testing import assert_close

from bench.cells.linear_protocols import LINEAR_PROTOCOLS
from bench.evaluate.features import Features
from bench.evaluate.linear import OnlineLinear
from tests.fakes.features import CLASSES, DIM, clouds, train


def steps_of(online: OnlineLinear, both: Features, steps: range) -> OnlineLinear:
    for step in steps:
        batch = torch.from_numpy(np.random.default_rng(step).permutation(200)[:32])
        online.step(both.train[batch], both.train_labels[batch])
    return online


def new_online(seed: int = 0) -> OnlineLinear:
    return OnlineLinear(DIM, CLASSES, np.random.default_rng(seed), "cpu")


def test_online_learns_nearly_what_logistic_regression_does() -> None:
    both = clouds()
    online = steps_of(new_online(), both, range(400))
    _, best = train(LINEAR_PROTOCOLS["logistic"], both)
    assert online.top1(both.test, both.test_labels) > best - 3
    assert new_online().top1(both.test, both.test_labels) < best - 20


def test_online_goes_on_from_a_checkpoint_bit_for_bit() -> None:
    both, file = clouds(), io.BytesIO()
    torch.save(steps_of(new_online(), both, range(20)).state_dict(), file)
    file.seek(0)
    resumed = new_online(seed=1)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    ahead = steps_of(new_online(), both, range(50))
    assert_close(
        steps_of(resumed, both, range(20, 50)).state_dict(), ahead.state_dict(), rtol=0, atol=0
    )


def test_online_begun_from_a_checkpoint_before_the_first_step() -> None:
    resumed, both = new_online(seed=1), clouds()
    resumed.load_state_dict(new_online().state_dict())
    assert_close(
        steps_of(resumed, both, range(3)).state_dict(),
        steps_of(new_online(), both, range(3)).state_dict(),
        rtol=0,
        atol=0,
    )


def test_online_gives_the_encoder_no_gradient_and_heeds_no_unlabelled_image() -> None:
    both = clouds()
    x = both.train[:8].clone().requires_grad_()
    labels = both.train_labels[:8].clone()
    half = labels.clone()
    half[4:] = -1
    with_unlabelled, without = new_online(), new_online()
    with_unlabelled.step(x.bfloat16(), half)
    without.step(x.bfloat16()[:4], labels[:4])
    assert x.grad is None
    assert_close(with_unlabelled.state_dict(), without.state_dict())

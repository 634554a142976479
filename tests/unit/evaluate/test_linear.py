"""The linear classifier against autograd, against the optimum of its convex problem, by hand."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.testing import assert_close

from bench.cells.linear_protocols import LINEAR_PROTOCOLS, LinearProtocol
from bench.errors import Diverged
from bench.evaluate.features import Features
from bench.evaluate.linear import (
    Classifier,
    hold_out,
    linear_top1,
)
from bench.evaluate.regression import logistic_top1
from tests.fakes.features import CLASSES, DIM, Factory, clouds, train


def test_gradient_is_autograds_over_the_labelled() -> None:
    classifier = Classifier(DIM, CLASSES, np.random.default_rng(0), "cpu")
    x, labels = clouds().train[:9], torch.tensor([0, 3, -1, 2, 1, -1, 1, 1, 0])
    weight, bias = (p.detach().clone().requires_grad_() for _, p in classifier.named_parameters())
    nn.functional.cross_entropy(x @ weight.T + bias, labels, ignore_index=-1).backward()
    classifier.set_gradient(x, labels)
    assert_close(classifier.weight.grad, weight.grad)
    assert_close(classifier.bias.grad, bias.grad)


def test_without_a_label_there_is_no_gradient() -> None:
    classifier = Classifier(DIM, CLASSES, np.random.default_rng(0), "cpu")
    classifier.set_gradient(torch.ones(3, DIM), torch.full((3,), -1))
    assert_close(classifier.weight.grad, torch.zeros(CLASSES, DIM))


def test_weights_begin_as_the_released_code_has_them() -> None:
    classifier = Classifier(500, 40, np.random.default_rng(0), "cpu")
    assert classifier.weight.std().item() == pytest.approx(0.01, rel=0.02)
    assert bool((classifier.bias == 0).all())


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [100, 10_000])
def test_reaches_the_optimum_of_the_convex_problem(batch_size: int) -> None:
    """weight_decay w on all parameters is scikit-learn's C = 1 / (n w) with the bias a feature."""
    both, decay = clouds(), 0.02
    protocol = LinearProtocol(
        optimizer="sgd", base_lr=0.2, batch_size=batch_size, epochs=250, weight_decay=decay
    )
    factory, top1 = train(protocol, both)
    x, test = (np.c_[t.double().numpy(), np.ones(len(t))] for t in (both.train, both.test))
    oracle = LogisticRegression(
        C=1 / (len(x) * decay), fit_intercept=False, tol=1e-8, max_iter=1000
    ).fit(x, both.train_labels.numpy())
    found = torch.cat([factory.weights[0], factory.weights[1][:, None]], dim=1).double()
    assert_close(found, torch.from_numpy(oracle.coef_), rtol=2e-3, atol=2e-3)
    assert top1 == pytest.approx(100 * oracle.score(test, both.test_labels.numpy()), abs=0.5)


def test_rates_of_a_step_schedule_and_batches_of_an_epoch() -> None:
    """200 images in batches of 64 are four steps an epoch."""
    protocol = LinearProtocol(
        optimizer="sgd", base_lr=0.3, batch_size=64, epochs=5, schedule="step", lr_drops=(2, 4)
    )
    factory, _ = train(protocol, clouds())
    assert factory.rates == pytest.approx([0.3] * 8 + [0.03] * 8 + [0.003] * 4)
    assert factory.asked == {"optimizer": "sgd", "exempt": False, "names": ["weight", "bias"]}


def test_rates_of_the_cosine_scaled_by_the_batch() -> None:
    """A batch larger than the 200 images is all of them, and the rate that of 200."""
    protocol = LinearProtocol(
        optimizer="lars", base_lr=0.5, lr_scaling="linear", batch_size=4096, epochs=4
    )
    factory, _ = train(protocol, clouds())
    shares = [1, (1 + 0.5**0.5) / 2, 0.5, (1 - 0.5**0.5) / 2]
    assert factory.rates == pytest.approx([0.5 * 200 / 256 * share for share in shares])


def test_every_image_is_seen_once_an_epoch_in_a_new_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    gradient = Classifier.set_gradient

    def spy(self: Classifier, x: Tensor, labels: Tensor) -> None:
        seen.append(x[:, 0])
        gradient(self, x, labels)

    monkeypatch.setattr(Classifier, "set_gradient", spy)
    both = clouds(n=10)
    train(LinearProtocol(optimizer="sgd", batch_size=4, epochs=3), both)
    assert [len(batch) for batch in seen] == [4, 4, 2] * 3
    epochs = [torch.cat(seen[i : i + 3]) for i in (0, 3, 6)]
    for epoch in epochs:
        assert_close(epoch.sort().values, both.train[:, 0].sort().values)
    assert all(not torch.equal(a, b) for a, b in itertools.pairwise(epochs))


def test_a_plateau_is_one_of_the_held_out_tenth_and_never_of_the_test_part() -> None:
    protocol = LinearProtocol(
        optimizer="sgd", base_lr=1e-9, epochs=9, schedule="plateau", plateau_drops=2, patience=3
    )
    both = clouds()
    factory, _ = train(protocol, both)
    assert factory.rates == pytest.approx([1e-9] * 4 + [1e-10] * 3 + [1e-11] * 2)
    other = Features(both.train, both.train_labels, both.test, both.test_labels.flip(0))
    protocol = LINEAR_PROTOCOLS["mutual-information"]
    assert_close(
        train(protocol, other)[0].weights, train(protocol, both)[0].weights, rtol=0, atol=0
    )
    assert train(protocol, other)[1] < train(protocol, both)[1] - 20


def test_what_is_held_out_is_not_trained_on() -> None:
    both = clouds(n=95)
    parts, rows = hold_out(both, 0.1, np.random.default_rng(0))
    assert torch.equal(parts.train, both.train[rows])
    assert (len(parts.train), len(parts.test)) == (85, 10)
    whole = torch.cat([parts.train, parts.test])
    assert_close(whole[whole[:, 0].argsort()], both.train[both.train[:, 0].argsort()])
    for x, label in zip(parts.test, parts.test_labels, strict=True):
        assert both.train_labels[(both.train == x).all(dim=1)] == label
    assert len(hold_out(clouds(n=2), 0.1, np.random.default_rng(0))[0].test) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LINEAR_PROTOCOLS))
def test_the_generator_alone_decides(name: str) -> None:
    both, protocol = clouds(n=60), LINEAR_PROTOCOLS[name]
    before = torch.get_rng_state()
    first, top1 = train(protocol, both)
    torch.rand(3)
    again, top1_again = train(protocol, both)
    assert top1 == top1_again
    if protocol.optimizer == "lbfgs":
        return
    assert_close(again.weights, first.weights, rtol=0, atol=0)
    assert not torch.equal(train(protocol, both, seed=1)[0].weights[0], first.weights[0])
    torch.set_rng_state(before)
    train(protocol, both)
    assert torch.equal(torch.get_rng_state(), before)


def test_logistic_is_scikit_learns_on_standardised_features() -> None:
    both = clouds(m=2000)
    shifted = Features(both.train * 30 + 7, both.train_labels, both.test * 30 + 7, both.test_labels)
    train_x, train_y, test_x, test_y = (t.double().numpy() for t in vars(shifted).values())
    _, top1 = train(LINEAR_PROTOCOLS["logistic"], shifted)
    assert top1 == pytest.approx(logistic_top1(train_x, train_y, test_x, test_y), abs=0.06)


def test_a_classifier_that_is_no_longer_finite() -> None:
    protocol = LinearProtocol(optimizer="sgd", base_lr=1e38, epochs=5, weight_decay=1.0)
    with pytest.raises(Diverged, match=r"^a weight of the linear classifier is infinite or not a "):
        train(protocol, clouds())


def test_labels_beyond_the_classes() -> None:
    both = clouds()
    wrong = Features(both.train, both.train_labels + 1, both.test, both.test_labels)
    with pytest.raises(ValueError, match=r"^labels must be 0 to 3, found 0 to 4$"):
        train(LINEAR_PROTOCOLS["moco"], wrong)


@pytest.mark.parametrize("schedule", ["cosine", "plateau"])
def test_it_learns_from_what_is_shown_of_the_rows_it_trains_on(
    schedule: Literal["cosine", "plateau"],
) -> None:
    both, asked = clouds(), []
    protocol = LinearProtocol(
        optimizer="sgd", base_lr=0.2, batch_size=64, epochs=3, schedule=schedule,
        plateau_drops=1 if schedule == "plateau" else 0, shown="crop-flip",
    )  # fmt: skip

    def shown(epoch: int, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        asked.append((epoch, torch.cat(list(batches)).sort().values))
        yield from (both.train[rows] for rows in batches)

    found = linear_top1(
        both, protocol=protocol, classes=CLASSES, generator=np.random.default_rng(0),
        optimiser=Factory(), shown=shown,
    )  # fmt: skip
    _, plain = train(protocol.model_copy(update={"shown": "image"}), both)
    assert found.top1 == plain
    assert [epoch for epoch, _ in asked] == [0, 1, 2]
    kept = 180 if schedule == "plateau" else 200
    assert all(len(rows.unique()) == kept for _, rows in asked)
    assert all(int(rows.max()) > 190 for _, rows in asked)  # rows of the whole training part


def test_what_is_shown_and_the_protocol_agree() -> None:
    for protocol in ("moco", "logistic"):
        wrong = None if protocol == "moco" else lambda *_: iter(())
        need = "given" if wrong is None else "left out"
        told = f"`shown` must be {need}, because the protocol trains on "
        with pytest.raises(ValueError, match=f"{told}'{LINEAR_PROTOCOLS[protocol].shown}'$"):
            linear_top1(
                clouds(), protocol=LINEAR_PROTOCOLS[protocol], classes=CLASSES,
                generator=np.random.default_rng(0), optimiser=Factory(), shown=wrong,
            )  # fmt: skip

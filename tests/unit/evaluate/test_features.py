"""Features are those of evaluation mode and leave no trace in the encoder; what accuracy counts."""

import re

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from bench.errors import Diverged
from bench.evaluate.features import Accuracy, Features, accuracy, check_labels, extract, normalise


def encoder() -> nn.Sequential:
    with torch.random.fork_rng():
        net = nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.BatchNorm1d(5), nn.Dropout(0.5))
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.linspace(-1, 1 + i, p.numel()).reshape(p.shape))
    return net


def images(n: int) -> Tensor:
    return torch.arange(n * 12).mul(7).remainder(256).float().reshape(n, 3, 2, 2) / 255


def features(train: Tensor, test: Tensor) -> Features:
    zeros = [torch.zeros(len(x), dtype=torch.int64) for x in (train, test)]
    return Features(train, zeros[0], test, zeros[1])


@pytest.mark.slow
def test_features_are_those_of_evaluation_mode_whatever_the_batch() -> None:
    net = encoder().eval()
    expected = net(images(7)).detach()
    net.train()
    for batch_size in (1, 3, 7, 100):
        found = extract(net, images(7).split(batch_size))
        assert_close(found, expected)
        assert not found.requires_grad


def test_every_module_keeps_its_mode_and_its_statistics() -> None:
    net = encoder().train()
    net[2].eval()  # a frozen batch norm
    before = {name: value.clone() for name, value in net.state_dict().items()}
    extract(net, images(6).split(4))
    assert [m.training for m in net] == [True, True, False, True]
    assert net.training
    assert_close(net.state_dict(), before)


def test_the_mode_is_kept_when_encoding_fails() -> None:
    net = encoder().train()
    with pytest.raises(RuntimeError, match="mat1"):
        extract(net, [images(6)[:, :1]])
    assert all(m.training for m in net.modules())


def test_low_precision_outputs_become_float32_and_an_encoder_needs_no_parameters() -> None:
    found = extract(nn.Flatten(), [images(3).bfloat16()])
    assert found.dtype == torch.float32
    assert found.shape == (3, 12)


def test_features_that_are_not_finite() -> None:
    net = encoder()
    net.load_state_dict(
        {k: v * torch.nan if k == "1.bias" else v for k, v in net.state_dict().items()}
    )
    with pytest.raises(Diverged, match=r"^a feature of the frozen encoder is infinite or not a"):
        extract(net, images(6).split(4))


def test_accuracy_by_hand() -> None:
    """Label 2 stands first, third, fifth, sixth, and before its equal 3 but not its equal 1."""
    scores = torch.tensor(
        [
            [0.0, 0.0, 9.0, 0.0, 0.0, 0.0],
            [0.0, 5.0, 4.0, 5.0, 0.0, 0.0],
            [1.0, 1.0, 0.5, 1.0, 1.0, 0.0],
            [1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
            [0.0, 0.0, 7.0, 7.0, 0.0, 0.0],
            [0.0, 7.0, 7.0, 0.0, 0.0, 0.0],
        ]
    )
    assert_close(accuracy(scores, torch.full((6,), 2)), Accuracy(200 / 6, 500 / 6))


def test_scores_that_are_not_numbers_are_no_success() -> None:
    assert accuracy(torch.full((4, 6), torch.nan), torch.zeros(4, dtype=torch.int64)) == (0, 0)


def test_standardised_by_the_training_part_alone() -> None:
    """A dimension that does not vary is only centred."""
    train = torch.tensor([[1.0, 0.1], [3.0, 0.1], [5.0, 0.1]])
    found = normalise(features(train, torch.tensor([[3.0, 1.1]])), "standardise")
    side = (8 / 3) ** 0.5
    assert_close(found.train, torch.tensor([[-2 / side, 0.0], [0.0, 0.0], [2 / side, 0.0]]))
    assert_close(found.test, torch.tensor([[0.0, 1.0]]))


def test_unit_length() -> None:
    found = normalise(features(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 2.0]])), "l2")
    assert_close(found.train, torch.tensor([[0.6, 0.8]]))
    assert_close(found.test, torch.tensor([[0.0, 1.0]]))


def test_an_unknown_normalisation() -> None:
    with pytest.raises(
        ValueError,
        match=r"^the normalisation of features must be none, l2 or standardise, found 'max'$",
    ):
        normalise(features(torch.ones(2, 2), torch.ones(1, 2)), "max")


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 2), (4,), (5, 2), (5,)],
        [(3, 2), (3,), (5, 2), (4,)],
        [(3, 2), (3,), (5, 3), (5,)],
        [(0, 2), (0,), (5, 2), (5,)],
        [(3,), (3,), (5,), (5,)],
        [(3, 2, 1), (3,), (5, 2), (5,)],
    ],
)
def test_shapes_that_do_not_agree(shapes: list[tuple[int, ...]]) -> None:
    said = (
        "the features and labels must have shapes (n, D), (n,), (m, D) and (m,), "
        f"with all sizes above 0, found {shapes}"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        Features(*[torch.zeros(shape) for shape in shapes])


@pytest.mark.parametrize(("low", "high"), [(-1, 2), (0, 3)])
def test_labels_that_are_no_class(low: int, high: int) -> None:
    labels = torch.tensor([low, high])
    wrong = Features(torch.ones(2, 1), labels, torch.ones(2, 1), torch.tensor([0, 0]))
    said = f"labels must be 0 to 2, found {low} to {high}"
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        check_labels(wrong, 3)

"""The protocols have the numbers that the papers print."""

from typing import Any

import pytest
from pydantic import ValidationError

from bench.cells.linear_protocols import LINEAR_PROTOCOLS, LinearProtocol
from bench.papers.reader import load_paper
from bench.suites.facts import agrees


@pytest.mark.parametrize(
    ("name", "paper", "protocol", "least"),
    [
        ("openselfsup", "dcl", "linear-eval-openselfsup", 8),
        ("simsiam", "dcl", "linear-eval-simsiam", 6),
        ("unigrad", "unigrad", "linear-eval", 7),
        ("unigrad-released", "unigrad", "released-code-linear-eval", 10),
        ("mutual-information", "mutual-information", "linear-transfer", 10),
    ],
)
def test_numbers_are_the_printed_ones(name: str, paper: str, protocol: str, least: int) -> None:
    ours = LINEAR_PROTOCOLS[name]
    rate = ours.base_lr * (ours.batch_size / 256 if ours.lr_scaling == "linear" else 1)
    known = ours.model_dump() | {"lr": rate}
    stated: dict[str, Any] = {}
    for statement in load_paper(paper).statements(protocol):
        if statement.when.get("linear.optimizer", ours.optimizer) == ours.optimizer:
            stated |= {} if "dataset" in statement.when else statement.stated
    fields = {k.removeprefix("linear."): v for k, v in stated.items() if k.startswith("linear.")}
    compared = {field: value for field, value in fields.items() if field in known}
    assert len(compared) >= least
    assert {f: known[f] for f, value in compared.items() if not agrees(known[f], value)} == {}


def test_rates_by_hand() -> None:
    """1.6 at batch 4096, as the released code of unigrad says; MoCo's 30, 3 and 0.3."""
    released = LINEAR_PROTOCOLS["unigrad-released"]
    assert released.lr_at(0, 4096) == pytest.approx(1.6)
    assert released.lr_at(45, 4096) == pytest.approx(0.8)
    assert released.lr_at(90, 4096) == pytest.approx(0, abs=1e-12)
    simclr = LINEAR_PROTOCOLS["simclr"]  # arXiv:2002.05709, README of its code: 0.1 at 256
    assert simclr.lr_at(0, 4096) == pytest.approx(1.6)
    assert (simclr.batch_size, simclr.epochs, simclr.weight_decay) == (4096, 90, 0)
    hypersphere = LINEAR_PROTOCOLS["hypersphere"]
    found = [hypersphere.lr_at(epoch, 128) for epoch in (0, 60, 80)]
    assert found == pytest.approx([1e-3, 2e-4, 4e-5])
    moco = LINEAR_PROTOCOLS["moco"]
    rates = [moco.lr_at(epoch, 100) for epoch in (0, 59, 60, 79, 80, 99)]
    assert rates == pytest.approx([30, 30, 3, 3, 0.3, 0.3])
    plateau = LINEAR_PROTOCOLS["mutual-information"]
    assert [plateau.lr_at(29, 256, drops) for drops in (0, 1, 2)] == pytest.approx(
        [0.01, 0.001, 0.0001]
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"schedule": "step"}, "lr_drops must be set with schedule 'step', and only with it"),
        ({"lr_drops": (3,)}, "lr_drops must be set with schedule 'step', and only with it"),
        (
            {"schedule": "plateau"},
            "plateau_drops must be set with schedule 'plateau', and only with it",
        ),
        (
            {"plateau_drops": 1},
            "plateau_drops must be set with schedule 'plateau', and only with it",
        ),
        (
            {"shown": "crop-flip", "normalise": "l2"},
            "the setting shown can be 'crop-flip' or 'as-pretraining' only with "
            "normalise 'none' and an optimizer other than 'lbfgs'",
        ),
    ],
)
def test_drops_and_schedule_need_each_other(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as raised:
        LinearProtocol(optimizer="sgd", epochs=5, **fields)
    assert raised.value.errors()[0]["msg"] == f"Value error, {said}"


def test_what_is_shown_enters_ids_where_it_is_new() -> None:
    """Classifiers that learn from features alone keep the ids that they had."""
    assert "shown" not in LINEAR_PROTOCOLS["logistic"].record()
    shown = {name: p.record().get("shown") for name, p in LINEAR_PROTOCOLS.items()}
    assert shown.pop("mutual-information") == "as-pretraining"  # App. C.2
    assert shown.pop("mutual-information-cifar10") == "as-pretraining"
    assert shown.pop("logistic") is None
    assert set(shown.values()) == {"crop-flip"}


def test_mutual_information_drops_once_on_cifar10() -> None:
    """App. C.2: 2 with patience 10 (CIFAR10: 1)."""
    two, one = (
        LINEAR_PROTOCOLS[f"mutual-information{name}"].model_dump() for name in ("", "-cifar10")
    )
    assert (two.pop("plateau_drops"), one.pop("plateau_drops")) == (2, 1)
    assert two == one


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        LINEAR_PROTOCOLS["moco"].base_lr = 3.0  # type: ignore[misc]

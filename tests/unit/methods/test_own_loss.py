"""What functions of one's own are handed, learn, draw and remember; and that it resumes."""

from pathlib import Path
from typing import Any

import pytest
import torch

from bench.cells.pretrain import Pretrain
from bench.data.draws import drawn_by
from bench.data.streams import Purpose
from bench.loss_files import TRUST, read_loss_file
from bench.methods.negatives import Similarities
from bench.methods.objectives import Pair
from bench.methods.own_loss import OwnLoss
from tests.fakes.cells import small_cell, training_of, weights
from tests.fakes.embeddings import two_views

BARE = 'what: "A loss"\nversion: 1\n'
PROTOTYPES = """\
what: "Learned prototypes, their centre, and a random direction"
version: 1
parameters: {count: {type: int, at_least: 1, default: 4}}
learned: {prototypes_PD: {shape: [count, feature_dim], std: 1}, log_scale: 1}
"""
CODE = """\
import torch

def begin(feature_dim):
    return {"centre_D": torch.zeros(feature_dim), "batches": torch.tensor(0)}

def update(state, key_ND):
    state["centre_D"].lerp_(key_ND.mean(dim=0), 0.5)
    state["batches"] = state["batches"] + 1

def prototypes(query_ND, key_ND, prototypes_PD, log_scale, count, state, labels_N, generator):
    aside_D = torch.randn(query_ND.shape[1], generator=generator)
    target_NP = ((key_ND - state["centre_D"]) @ prototypes_PD.T).softmax(dim=1).detach()
    log_NP = (log_scale.exp() * query_ND @ prototypes_PD.T).log_softmax(dim=1)
    return -(target_NP * log_NP).sum(dim=1) + 0.01 * (labels_N + 1) * (query_ND @ aside_D) ** 2
"""


def own_cell(folder: Path, name: str, yaml: str, code: str, **settings: Any) -> Pretrain:
    (folder / f"{name}.yaml").write_text(yaml)
    (folder / f"{name}.py").write_text(code)
    identity = read_loss_file(folder / f"{name}.yaml").identity
    return small_cell(**{"loss": name, "loss_file": identity} | settings)


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(TRUST, str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("optimizer", ["sgd", "lars", "adamw", "muon"])
def test_what_it_learns_and_remembers_goes_on_to_the_bit(trusted: Path, optimizer: str) -> None:
    cell = own_cell(trusted, "prototypes", PROTOTYPES, CODE, count=5, optimizer=optimizer)
    whole, begun, resumed = (training_of(cell) for _ in range(3))
    first = weights(whole)
    assert first["objective.learned.prototypes_PD"].shape == (5, 8)
    for step in range(4):
        whole.step(step)
    for step in range(2):
        begun.step(step)
    resumed.load(begun.state())
    for step in range(2, 4):
        resumed.step(step)
    last = weights(whole)
    for name, value in weights(resumed).items():
        assert torch.equal(value, last[name]), name
    learned = [name for name in last if name.startswith("objective.learned")]
    assert len(learned) == 2
    assert not any(torch.equal(last[name], first[name]) for name in learned)
    assert last["objective.state.batches"] == 2 * 4  # directions


def test_what_it_learns_has_the_rate_and_no_weight_decay(trusted: Path) -> None:
    yaml = f"{BARE}learned: {{shift: 2, unused: 3}}\n"
    code = (
        "def shifted(query_ND, key_ND, shift, unused):\n    return shift * (query_ND[:, 0] ** 0)\n"
    )
    cell = own_cell(trusted, "shifted", yaml, code, weight_decay=0.5, lr_schedule="constant")
    training = training_of(cell)
    training.step(0)
    last = weights(training)
    assert last["objective.learned.shift"].item() == pytest.approx(2 - cell.lr)
    assert last["objective.learned.unused"].item() == 3


def pair_of(epoch: int = 0, direction: int = 0) -> Pair:
    query, key = two_views(4, 8)
    draw = drawn_by(0, Purpose.NEGATIVES, epoch, 0).of(direction)
    return Pair(query, key, query, Similarities(query[:, 0], query), draw=draw)


def test_its_generator_is_a_stream_of_seed_epoch_step_and_direction(trusted: Path) -> None:
    code = (
        "import torch\n\ndef drawn(query_ND, generator):\n"
        "    return torch.randn(len(query_ND), generator=generator)\n"
    )
    loss = OwnLoss(own_cell(trusted, "drawn", BARE, code))
    first = loss(pair_of())
    assert torch.equal(loss(pair_of()), first)
    for other in (pair_of(epoch=1), pair_of(direction=1)):
        assert not torch.equal(loss(other), first)


def test_it_is_handed_the_keys_of_the_queue_and_the_labels(trusted: Path) -> None:
    code = (
        "def seen(query_ND, key_ND, queued_KD, neg_NK, labels_N):\n"
        "    assert (query_ND @ queued_KD.T - neg_NK).abs().max() < 1e-6\n"
        "    assert labels_N.shape == (len(query_ND),) and labels_N.min() >= 0\n"
        "    return (query_ND - key_ND).square().sum(dim=1)\n"
    )
    training = training_of(own_cell(trusted, "seen", BARE, code, method="moco-v2"))
    training.step(0)


@pytest.mark.parametrize(
    "settings", [{"method": "unigrad"}, {"method": "simclr", "negative_views": "keys"}]
)
def test_it_is_handed_a_correlation_matrix(trusted: Path, settings: dict[str, Any]) -> None:
    code = (
        "def spread(query_ND, correlation_DD):\n"
        "    assert correlation_DD.diagonal().sum().sub(1).abs() < 1e-4\n"
        "    return (query_ND @ correlation_DD * query_ND).sum(dim=1)\n"
    )
    training_of(own_cell(trusted, "spread", BARE, code, **settings)).step(0)

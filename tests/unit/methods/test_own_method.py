"""Methods of files: SwAV and DINO are their papers', and go on to the bit."""

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from lightly.loss import DINOLoss
from lightly.loss.swav_loss import sinkhorn as lightly_sinkhorn
from torch import Tensor
from torch.testing import assert_close

from bench.cells.pretrain import Pretrain
from bench.loss_files import SHIPPED_METHODS
from bench.suites.own_files import shipped_methods, with_own_loss
from bench.suites.presets import filled, load_presets
from tests.fakes.cells import SMALL, training_of, weights

NARROW: dict[str, Any] = {"train_images": 64, "projector_hidden_dim": 16, "prototypes": 10}
OF: dict[str, dict[str, Any]] = {
    "swav": {"stored": 32, "stored_from_epoch": 1},
    "dino": {"teacher_momentum": 0.9, "teacher_tau_epochs": 2},
}


@cache
def names_in(name: str) -> dict[str, Any]:
    """Return what a file of bench defines."""
    names: dict[str, Any] = {"__name__": name}
    exec((SHIPPED_METHODS / f"{name}.py").read_text(), names)
    return names


def cell_of(method: str, **changes: Any) -> Pretrain:
    settings = SMALL | {"method": method} | NARROW | OF[method] | changes
    known = with_own_loss(filled(settings, load_presets(Path())), shipped_methods(), {})
    return Pretrain.model_validate(known)


def draws(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("epsilon", "steps"), [(0.05, 3), (0.5, 1), (0.03, 7)])
def test_swavs_assignments_are_lightlys(epsilon: float, steps: int) -> None:
    unit = torch.nn.functional.normalize
    score_BK = unit(draws(24, 8), dim=1) @ unit(draws(10, 8, seed=1), dim=1).T
    ours = names_in("swav")["sinkhorn"](score_BK, epsilon=epsilon, steps=steps)
    theirs = lightly_sinkhorn(score_BK.clone(), iterations=steps, epsilon=epsilon)
    assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    assert_close(ours.sum(dim=1), torch.ones(24))


def test_dinos_loss_is_lightlys() -> None:
    theirs = DINOLoss(output_dim=10, teacher_temp=0.07, student_temp=0.1, center_momentum=0.9)
    students = [draws(6, 10, seed=v) for v in range(4)]
    loss: Callable[..., Tensor] = names_in("dino")["cross_entropy"]
    centre_K = torch.zeros(10)
    for batch in range(2):  # the second has a centre
        teachers = [draws(6, 10, seed=9 + 2 * batch + v) for v in range(2)]
        targets = [((out - centre_K) / 0.07).softmax(dim=1) for out in teachers]
        centre_K.lerp_(torch.cat(teachers).mean(dim=0), 0.1)
        ours = loss(students, targets, tau=0.1)
        assert_close(ours, theirs(teachers, students), rtol=1e-6, atol=1e-6)
        assert_close(centre_K, theirs.center.flatten())


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("swav", {"optimizer": "adamw", "N": 32}),
        (
            "dino",
            {
                "views": "multi-crop",
                "local_size": 8,
                "image_size": 16,
                "online_linear": True,
                "train_images": 32,
            },
        ),
    ],
)
def test_a_method_goes_on_to_the_bit(method: str, changes: dict[str, Any]) -> None:
    cell = cell_of(method, **changes)
    whole, begun, resumed = (training_of(cell) for _ in range(3))
    middle = whole.steps_an_epoch - 1  # before what stood still moves
    for step in range(whole.steps):
        whole.step(step)
    for step in range(middle):
        begun.step(step)
    state = copy.deepcopy(begun.state())
    torch.manual_seed(1)
    resumed.load(state)
    for step in range(middle, whole.steps):
        resumed.step(step)
    last = weights(whole)
    assert [k for k, v in weights(resumed).items() if not torch.equal(v, last[k])] == []
    line = whole.probes.line()
    (quantity,) = set(line) & {"assignment_entropy", "teacher_entropy"}
    assert line == resumed.probes.line()
    assert 0 < line[quantity] < line["train_loss"]
    assert set(line) & {"q_b", "grad_norm_q", "positive_similarity"} == set()


@pytest.mark.parametrize(("method", "part"), [("swav", "prototypes"), ("dino", "last")])
def test_last_layers_stand_still_for_an_epoch(method: str, part: str) -> None:
    training = training_of(cell_of(method))
    first = weights(training)[f"method.{part}.weight"]
    for step in range(training.steps_an_epoch):
        training.step(step)
    assert_close(weights(training)[f"method.{part}.weight"], first)
    training.step(training.steps_an_epoch)
    assert (weights(training)[f"method.{part}.weight"] - first).abs().max() > 1e-5


def test_dinos_teacher_follows_its_student() -> None:
    training = training_of(cell_of("dino", teacher_momentum=0.75))
    training.step(0)  # rate and momentum are those of the first step
    before = weights(training)
    training.step(1)
    now = weights(training)
    share = 0.25 * (1 + torch.cos(torch.tensor(torch.pi / training.steps)).item()) / 2
    mine = next(name for name in now if name.startswith("method.teacher."))
    theirs = mine.replace("method.teacher.", "online.")
    assert_close(now[mine], before[mine].lerp(now[theirs], share))
    assert not torch.equal(now[mine], before[mine])


def test_swav_assigns_stored_outputs_once_there_are_as_many() -> None:
    training = training_of(cell_of("swav", epochs=3))
    stored = []
    for step in range(3):
        stored.append(weights(training)["method.stored_VMD"].any(dim=2).sum().item())
        training.step(step)
    assert stored == [0, 2 * 16, 2 * 32]
    newest = weights(training)["method.stored_VMD"]
    training.step(3)
    assert_close(weights(training)["method.stored_VMD"][:, 16:], newest[:, :16])


def test_no_record_of_queries_and_keys_is_made_of_it() -> None:
    with pytest.raises(ValueError, match="target 'own' has no queries and keys to record"):
        cell_of("dino", record="mine", record_file="0" * 16)
